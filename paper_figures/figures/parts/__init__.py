"""The parts of figures that need more than one file: NAME_*.py belongs to the figure NAME."""

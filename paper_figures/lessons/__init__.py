"""What the notebooks call by name, so that a cell shows its idea: a module for each lesson, or for each half of one."""

"""Pictures along a scale: confidence curves, the positions that are chosen, and the answers of a scale path."""

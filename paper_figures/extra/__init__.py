"""What most readers never need: each folder can be deleted with its tests and its entry points, and the rest runs."""

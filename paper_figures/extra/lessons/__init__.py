"""What the notebooks call by name, so that a cell shows its idea: a module for each notebook, or for each half of one.

All notebooks but 3 and 8 need it, and go with it.

Needs: diff frontier leverage packages pages reward_controls scale_paths scale_pictures sequences spacing steering testing
"""

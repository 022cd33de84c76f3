"""What notebooks call that no reader would write: pages to drag, recorded decodes, small models.

Notebooks 3, 4, 8 and 10 do without it.

Needs: diff frontier leverage packages pages reward_controls scale_paths scale_pictures sequences
  spacing steering testing
"""

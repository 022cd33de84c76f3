"""What notebooks call that no reader would write: pages to drag, recorded decodes, small models.

Notebooks 3, 4, 8 and 10 do without it.

Needs: apart diff frontier packages pages scale_paths scale_pictures sequences steering
"""

"""Every answer that any scale of an interval gives, as a path with proved breakpoints, and pictures along the scale.

Needs: diff pages
"""

"""Every answer that any scale of an interval gives, as a path with proved breakpoints.

Needs: diff pages
"""

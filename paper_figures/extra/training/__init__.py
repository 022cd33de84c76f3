"""Train the shipped models from random numbers, and measure and write them as they ship.

Needs: stories story_tasks
"""

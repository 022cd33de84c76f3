"""Step maps: the tokens of an answer and the step that committed each, as serving engines return them.

Needs: drafts
"""

"""The playground: a page on which anybody decodes in the browser, with the shipped models and their rewards.

Needs: diff pages
"""

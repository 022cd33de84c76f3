"""Whether a model answers alike on another machine, and which answers hinge on a near-tie.

Files: rws_decode/commands/check.py rws_decode/commands/fragility.py
"""

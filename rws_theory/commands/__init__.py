"""The commands of `python -m rws_theory`, and the machinery of every command line here.

`line` runs a command out of a table, `options` turns dataclasses into arguments, `exits` says how a command ends.
"""

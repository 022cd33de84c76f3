"""Strategies of other papers that mask committed tokens again."""

"""Strategies that mask committed tokens again, or replace them: ReMDM, P2, WINO, LLaDA2.1 editing."""

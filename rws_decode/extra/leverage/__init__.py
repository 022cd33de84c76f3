"""Leverage: at which steps of a run a reward could have changed what is unmasked, with a picture, from its trace."""

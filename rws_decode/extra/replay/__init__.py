"""The command that repeats a run from its trace, with or without its model."""

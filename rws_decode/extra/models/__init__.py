"""The command that lists the models that can be named: what each is for, its licence, and how to have it."""

from rws_theory.commands.exits import CLOSED, INTERRUPTED, TERMINATED, Terminated, ended  # noqa: F401

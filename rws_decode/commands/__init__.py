"""The commands of `python -m rws_decode`: each a module with `run`, as `rws_theory.commands.line` has it.

A package of your own adds a command by an entry point of the group `rws_decode.commands`, which names a `Command`. In
its pyproject.toml:

    [project.entry-points."rws_decode.commands"]
    summarise = "my_package.commands:SUMMARISE"

and in `my_package/commands.py`, which should import quickly:

    from rws_theory.commands.line import Command

    SUMMARISE = Command("my_package.summarise", "summarise a folder of traces")

The command `summarise` then runs that module, under `rws` as under `python -m rws_decode`. `bench`,
`calibrate` and `train` are added so.
"""

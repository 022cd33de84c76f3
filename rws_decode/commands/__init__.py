"""The subcommands of `python -m rws_decode`: each a module with `add_arguments(parser)` and `run(args) -> int`."""

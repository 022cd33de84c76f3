"""The commands of the decoder: a module each, with a function of the same name.

A command is a function with types and a docstring, which are its options and its help. An entry point of the group
`rws.commands` names it, in a package of your own as here. In pyproject.toml:

    [project.entry-points."rws.commands"]
    summarise = "my_package.summarise:summarise"

and in `my_package/summarise.py`:

    GROUP = "Inspect"  # the heading in `rws --help`: Decode, Inspect, Study, Theory, Maintain or your own


    def summarise(folder: Path, /, *, longest: int = 80) -> None:
        '''Summarise a folder of traces.

        Parameters
        ----------
        folder
            where the traces lie
        longest
            characters of a line
        '''

`summarise DIR --longest 60`, after `rws`, calls it. A whole number that it returns is the exit status, and a ValueError
is printed in one line with status 2. Nothing of the module is imported before it is called: `rws --help` reads GROUP
and the first line of the docstring from its source. `RESUMES = True` says that the same command continues where it was
stopped. Many options, and those that commands share, are fields of a dataclass (`rws_decode.cli.options`): such a
function has the one argument `options`. A command that has commands of its own is a `cyclopts.App`.
"""

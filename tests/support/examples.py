"""How many examples a slow property tries: a tenth at each run, and all in ten of the seeds of `make explore`."""


def examples(count: int) -> int:
    """Return a tenth of `count`, at least five, or `count` where that is less."""
    return min(count, max(5, count // 10))

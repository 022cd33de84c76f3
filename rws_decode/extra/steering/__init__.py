"""Ways to use a reward that are not a factor of the logits: copies of a decode, weighed, chosen from or looked ahead.

`steer` runs one of them (`table.METHODS`), and counts what it costs: forwards, reward calls, gradients, seconds.
"""

import lazy_loader

# The names are in __init__.pyi, once; each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""`ablate`: does guided decoding use what the reward says, or would a fixed temperature have done the same?

`twins` makes the reward-blind twins of a strategy, `ablate` decodes prompts by all of them, `sequence` says after each
prompt how far apart they are, and `verdict` what follows.
"""

import lazy_loader

# The names are in __init__.pyi, once; each is imported when it is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

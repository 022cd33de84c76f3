from .files import (
    Checkpoint as Checkpoint,
    locate_model as locate_model,
    models_directory as models_directory,
)
from .packages import (
    DIGESTS as DIGESTS,
    PACKAGED as PACKAGED,
    Packaged as Packaged,
    is_installed as is_installed,
)

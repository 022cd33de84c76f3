from .protocol import (
    Evidence as Evidence,
    abilities_of as abilities_of,
    describe as describe,
    gives_order as gives_order,
)
from .table import (
    STRATEGIES as STRATEGIES,
    as_strategy as as_strategy,
    check_text as check_text,
    offered as offered,
    strategy_from as strategy_from,
)

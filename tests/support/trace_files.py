"""What the file of a trace is made of, for tests that read or change it."""

from rws_decode.trace.data import NOT_NEEDED, STEP_MAP_LACKS
from rws_decode.trace.file import SCHEMA, trace_bytes

__all__ = ["NOT_NEEDED", "SCHEMA", "STEP_MAP_LACKS", "trace_bytes"]

"""Decoding on the masked positions alone: one forward, one reading of the logits, no waiting for the device."""

from rws_decode.gpu.decode import decode_compact
from rws_decode.settings import CompactSavings

__all__ = ["CompactSavings", "decode_compact"]

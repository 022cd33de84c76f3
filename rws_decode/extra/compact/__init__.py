"""Decoding on the masked positions alone: one forward, one reading of the logits, no waiting for the device.

Needs: savings
"""

from rws_decode.extra.compact.decode import decode_compact
from rws_decode.extra.compact.savings import CompactSavings

__all__ = ["CompactSavings", "decode_compact"]

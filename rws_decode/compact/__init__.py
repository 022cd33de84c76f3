"""Decoding on the masked positions alone: one forward, one reading of the logits, no waiting for the device."""

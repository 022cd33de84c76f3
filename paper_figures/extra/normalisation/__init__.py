"""A study of what normalises the reward: where RWS listens to it, and what it gains or loses there.

Needs: centred steering verify
"""

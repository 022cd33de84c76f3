"""Which answers hinge on a near-tie, and between what values the mean of their scores then lies."""

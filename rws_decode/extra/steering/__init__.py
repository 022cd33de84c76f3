"""Ways to use a reward that are not a factor of the logits: copies of a decode, weighed, chosen from or looked ahead.

`steer` runs one of them (`table.METHODS`), and counts what it costs: forwards, reward calls, gradients, seconds.
"""

"""Whether a model gives the same answers elsewhere: a small file of what it gave, and what differs from it."""

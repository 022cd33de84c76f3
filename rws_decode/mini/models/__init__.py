"""Shipped weights, one directory each with its model card."""

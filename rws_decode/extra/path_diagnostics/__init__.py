"""Measure and plot what the order of a decode costs under its model."""

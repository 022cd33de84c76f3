"""Runs repeated from their traces, and runs compared with each other."""

"""Runs repeated from their traces, and runs compared: with each other, and with the plain loop."""

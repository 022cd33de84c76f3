"""What most users never need: each folder can be deleted, and is reached through entry points."""

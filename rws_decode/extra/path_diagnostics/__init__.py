"""What the order of a decode was worth under its model, and maps of it."""

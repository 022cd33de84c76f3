"""Compute a sample of the recorded answers again, and make a run the record that ships."""

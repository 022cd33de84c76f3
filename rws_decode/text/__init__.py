"""What is said, as text and as token ids: dialogues, chat templates, special tokens."""

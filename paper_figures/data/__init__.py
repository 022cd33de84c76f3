"""What is decoded: the keyword prompts made for this project, and loaders for the published benchmarks."""

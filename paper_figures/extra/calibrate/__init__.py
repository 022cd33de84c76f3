"""Mean and SD of a reward model's raw scores on a sample of pairs, by which its rewards are normalised."""

"""Uniform diffusion: models without a mask token, such as DiffusionGemma, and their decode."""

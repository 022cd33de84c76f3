"""Recipe for `mini-prose`: a small masked diffusion model of real English, from a pretrained encoder."""

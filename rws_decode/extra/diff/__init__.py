"""Where two runs diverge and why: positions that changed places, and the factor at which their confidences cross."""

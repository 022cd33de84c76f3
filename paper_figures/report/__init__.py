"""The report: one page of plain conclusions, every exhibit, the claim check, and where each number comes from."""

"""The report: one page of plain conclusions, every exhibit, the ledger, and where each number comes from."""

"""What commands share: their options, how cyclopts reads them, progress, and how they end."""

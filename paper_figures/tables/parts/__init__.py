"""The parts of tables that need more than one file: TABLE_*.py belongs to the table TABLE."""

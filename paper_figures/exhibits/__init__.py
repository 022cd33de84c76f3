"""What figures and tables are made of: looks, tables beside the paper's, words for differences, pieces of exhibits."""

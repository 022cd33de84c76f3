"""What exhibits share: reading runs, names, differences and findings in words, paper beside ours, style, drawing."""

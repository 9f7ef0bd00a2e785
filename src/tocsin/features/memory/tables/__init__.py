"""What is read from the tables of memory in one piece, and where a page of it begins."""

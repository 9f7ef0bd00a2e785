"""What a text asks for, done by skills."""

"""What the files of strangers say, read in child processes, in a form that chat models take."""

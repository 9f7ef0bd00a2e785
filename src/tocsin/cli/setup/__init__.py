"""Setting Tocsin up: the `.env` file, the questions that fill it in, and what is set."""

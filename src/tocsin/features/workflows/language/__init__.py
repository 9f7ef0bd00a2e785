"""What a workflow file may say, and everything that can be known of it before it runs."""

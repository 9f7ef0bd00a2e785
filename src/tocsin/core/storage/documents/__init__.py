"""Small texts that channels keep, in the database or in Redis."""

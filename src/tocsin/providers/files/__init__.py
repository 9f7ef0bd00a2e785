"""Extract the content of untrusted files in child processes, in a form that chat models accept."""

"""`tocsin demo`: everything on this machine, against stand-ins."""

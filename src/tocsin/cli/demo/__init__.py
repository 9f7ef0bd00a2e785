"""`tocsin demo`: all of Tocsin on this machine, against stand-ins."""

"""heartbeat: notice when no service ran, and tell the operator. The whole of a feature in one package.

Install this directory (`pip install .`) next to Tocsin, and its setting, table, audit action, command, check, status
line, route and service are in all that Tocsin lists and runs: no other file names it.
"""

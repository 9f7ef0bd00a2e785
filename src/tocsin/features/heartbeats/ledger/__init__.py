"""The ledger: the rules, the rows that they write, and the messages that follow."""

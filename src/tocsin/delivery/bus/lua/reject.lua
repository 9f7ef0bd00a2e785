#!lua flags=allow-oom
-- KEYS: list. ARGV: a record.
reject(KEYS[1], ARGV[1])

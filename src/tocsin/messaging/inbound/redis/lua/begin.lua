#!lua flags=allow-oom
-- ARGV: …, number, owner. Returns 1, or 0 if another process owns the event.
if not held(ARGV[2], ARGV[3]) then return {at, 0} end
call('HINCRBY', key(ARGV[2]), 'attempts', 1)
return {at, 1}

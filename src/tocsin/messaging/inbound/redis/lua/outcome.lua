#!lua flags=allow-oom
-- ARGV: …, number, owner, ending, replies, reason. Returns 1, or 0 if another process owns the event.
local e = held(ARGV[2], ARGV[3])
if not e or e.status == 'new' then return {at, 0} end
move(e, 'replying')
call('HSET', key(e.seq), 'ending', ARGV[4], 'replies', ARGV[5], 'reason', ARGV[6])
return {at, 1}

#!lua flags=allow-oom,no-writes
-- ARGV: …, state or empty, number before which to begin or empty, limit.
local set = ARGV[2] == '' and P .. 'all' or P .. 'status:' .. ARGV[2]
local from = ARGV[3] == '' and '+inf' or '(' .. ARGV[3]
local found = {}
for _, seq in ipairs(call('ZRANGE', set, from, '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, ARGV[4])) do
  found[#found + 1] = {tonumber(seq), call('HGETALL', key(seq))}
end
return {at, found}

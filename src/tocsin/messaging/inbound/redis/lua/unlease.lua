#!lua flags=allow-oom
-- ARGV: …, name, holder. The token is kept, so that the next one is higher.
local k = P .. 'lease:' .. ARGV[2]
if call('HGET', k, 'holder') == ARGV[3] then call('HSET', k, 'holder', '', 'until', 0) end
return {at}

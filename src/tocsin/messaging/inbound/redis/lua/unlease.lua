#!lua flags=allow-oom
-- ARGV: …, name, holder. The token stays, for the next one to be higher.
local k = P .. 'lease:' .. ARGV[2]
if call('HGET', k, 'holder') == ARGV[3] then call('HSET', k, 'holder', '', 'until', 0) end
return {at}

#!lua flags=no-writes
-- Return the change counter of a kind, and version and document of each of its active runs.
local found = { redis.call('GET', prefix .. 'active:' .. ARGV[1]) or '0' }
for _, id in ipairs(redis.call('ZRANGE', prefix .. 'i:active:' .. ARGV[1], 0, -1)) do
  local head = redis.call('HMGET', run_key(id), 'version', 'doc')
  found[#found + 1] = { head[1], head[2] }
end
return found

#!lua flags=allow-oom
-- KEYS: streams. ARGV: group, consumer, age, count. Creates missing groups, claims abandoned
-- entries; returns the keys that are not streams, with the error.
local refused = {}
for _, stream in ipairs(KEYS) do
  local claimed = redis.pcall('XAUTOCLAIM', stream, ARGV[1], ARGV[2], ARGV[3], '0-0', 'COUNT', ARGV[4], 'JUSTID')
  if claimed.err then
    local made = redis.pcall('XGROUP', 'CREATE', stream, ARGV[1], '0', 'MKSTREAM')
    if made.err then table.insert(refused, {stream, made.err}) end
  end
end
return refused

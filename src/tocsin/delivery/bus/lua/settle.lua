#!lua flags=allow-oom
-- KEYS: stream, list. ARGV: group, then for each entry its id, and its record if it is rejected, else ''.
for i = 2, #ARGV, 2 do
  redis.call('XACK', KEYS[1], ARGV[1], ARGV[i])
  if redis.call('XDEL', KEYS[1], ARGV[i]) == 1 and ARGV[i + 1] ~= '' then reject(KEYS[2], ARGV[i + 1]) end
end

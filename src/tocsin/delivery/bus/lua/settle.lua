#!lua flags=allow-oom
-- KEYS: stream, list. ARGV: group, then for each entry its id and, when it is rejected, the record of it, or ''.
for i = 2, #ARGV, 2 do
  redis.call('XACK', KEYS[1], ARGV[1], ARGV[i])
  if redis.call('XDEL', KEYS[1], ARGV[i]) == 1 and ARGV[i + 1] ~= '' then reject(KEYS[2], ARGV[i + 1]) end
end

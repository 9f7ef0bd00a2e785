-- Replace a text, unless it has changed since it was read.
-- KEYS: the document; ARGV: the text as it was read (empty if there was none), the new text. Returns 1 if replaced.
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then
  return 0
end
redis.call('SET', KEYS[1], ARGV[2])
return 1

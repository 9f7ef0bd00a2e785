-- KEYS: streams. ARGV: group, idle milliseconds, a consumer that stops now. A consumer with entries is kept.
for _, stream in ipairs(KEYS) do
  local consumers = redis.pcall('XINFO', 'CONSUMERS', stream, ARGV[1])
  for _, c in ipairs(consumers.err and {} or consumers) do
    if c[4] == 0 and (c[2] == ARGV[3] or c[6] > tonumber(ARGV[2])) then
      redis.call('XGROUP', 'DELCONSUMER', stream, ARGV[1], c[2])
    end
  end
end

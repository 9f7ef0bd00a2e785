local window, ids = KEYS[1], KEYS[2]
if redis.call('LPOS', ids, ARGV[1]) then return 0 end
for place = 5, #ARGV do redis.call('RPUSH', window, ARGV[place]) end
redis.call('LTRIM', window, -tonumber(ARGV[2]), -1)
redis.call('EXPIRE', window, ARGV[3])
redis.call('LPUSH', ids, ARGV[1])
redis.call('LTRIM', ids, 0, MAX_IDS - 1)
redis.call('EXPIRE', ids, ARGV[4])
return 1

-- KEYS: records by chat, set of those that wait; ARGV: chat, record, its state.
if redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2]) == 0 then return 0 end
if ARGV[3] == PENDING then redis.call('SADD', KEYS[2], ARGV[1]) end
return 1

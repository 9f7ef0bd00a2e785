#!lua
-- ARGV: …, name, holder, duration in microseconds. Returns the token, or 0 if another process holds the lease.
local k, holder = P .. 'lease:' .. ARGV[2], ARGV[3]
local v = call('HMGET', k, 'holder', 'token', 'until')
if v[1] and v[1] ~= holder and tonumber(v[3]) > at then return {at, 0} end
keep_time()
-- The token contains the time, so that no token is reused after Redis has lost its data.
local token = v[1] == holder and tonumber(v[2]) or math.max(at, (tonumber(v[2]) or 0) + 1)
call('HSET', k, 'holder', holder, 'token', token, 'until', at + tonumber(ARGV[4]))
return {at, token}

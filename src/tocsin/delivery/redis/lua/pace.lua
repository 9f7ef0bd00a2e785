#!lua flags=allow-oom
-- ARGV: …, rules of the one channel, its name, target.
keep_time()
local channel, target = ARGV[4], ARGV[5]
local rule = rules[channel]
open_account(channel, rule)
local turn = math.max(at, rule.free, lane_free(channel, target))
draw_all(channel, rule, target, turn)
return {at, turn - at}

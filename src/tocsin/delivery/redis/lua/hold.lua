#!lua flags=allow-oom
-- ARGV: …, channel, target, wait, reason.
keep_time()
hold(pace_key('lane', ARGV[3], ARGV[4]), tonumber(ARGV[5]), ARGV[6])
return {at}

#!lua flags=allow-oom
-- ARGV: …, bucket, channel, target, wait, reason.
keep_time()
hold(pace_key(ARGV[3], ARGV[4], ARGV[5]), tonumber(ARGV[6]), ARGV[7])
return {at}

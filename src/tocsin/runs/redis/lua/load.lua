#!lua flags=no-writes
-- Return for each ID its version and document, and with ARGV[1] = '1' its parts; an empty table for an unknown ID.
local found = {}
for n = 2, #ARGV do
  local key = run_key(ARGV[n])
  local head = redis.call('HMGET', key, 'version', 'doc')
  local row = head[1] and { head[1], head[2] } or {}
  if head[1] and ARGV[1] == '1' then
    local fields = redis.call('HGETALL', key)
    for i = 1, #fields, 2 do
      if string.sub(fields[i], 1, 2) == 'p:' then
        row[#row + 1] = fields[i]
        row[#row + 1] = fields[i + 1]
      end
    end
  end
  found[#found + 1] = row
end
return found

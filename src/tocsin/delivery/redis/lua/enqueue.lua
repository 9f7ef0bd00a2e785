#!lua
-- ARGV: …, for each delivery id, channel, target, once, key, not_before, expires_at, fixed (JSON), the message's key,
-- operation, thread.
keep_time()
local n = (#ARGV - 2) / 11

-- The files that a message names; nil if it leaves those of an earlier one as they are.
local function files_of(fixed)
  local content = (cjson.decode(fixed).extra or {}).content
  return type(content) == 'table' and content.attach or nil
end

-- Let a delivery have the files of the one whose place it takes.
local function keep_files(d, w)
  local old = call('HMGET', P .. 'd:' .. w.id, 'fixed', 'kept_files')
  local files, kept = files_of(old[1]), old[2]
  if files then kept = #files > 0 and cjson.encode(files) or '[]' end
  if not kept then return end
  set(d, 'kept_files', kept)
  call('ZADD', P .. 'attached', wall / 1e6, d.id)
end

-- Give a delivery the position and the waits of the one that waits with the same key.
local function take_place(d, fixed)
  local waiting = call('HGET', message_of(d), 'waiting')
  local w = waiting and load(waiting)
  call('HSET', message_of(d), 'waiting', d.id)
  if not w or (w.status ~= 'queued' and w.status ~= 'retry_wait') then return end
  local old = call('HMGET', P .. 'd:' .. w.id, 'next_at', 'error', 'error_class')
  if w.operation == 'send' and old[3] == AMBIGUOUS then return end -- it may have been sent: the new one edits it
  d.seq, d.status, d.not_before = w.seq, w.status, d.not_before or w.not_before
  if w.status == 'retry_wait' then
    set(d, 'due', w.due or at, 'next_at', old[1] or wall, 'failures', w.failures)
    set(d, 'error', old[2] or '', 'error_class', old[3] or '')
  end
  if d.operation ~= 'withdraw' and not files_of(fixed) then keep_files(d, w) end
  wait_no_more(w)
  close(w, d.operation == 'withdraw' and 'cancelled' or 'superseded')
  set(w, 'note', 'delivery ' .. d.id .. ' took its place')
end

local seq = call('INCRBY', P .. 'seq', n) - n
local answers = {}
for i = 0, n - 1 do
  local b = 2 + i * 11
  local id, channel, target, once, key = ARGV[b + 1], ARGV[b + 2], ARGV[b + 3], ARGV[b + 4], ARGV[b + 5]
  local known = nil
  if call('EXISTS', P .. 'd:' .. id) == 1 then
    known = id -- a repeated call, whose first answer was lost
  elseif key ~= '' then
    known = call('HGET', P .. 'keys', key)
    local age = known and wall - (tonumber(call('HGET', P .. 'd:' .. known, 'created')) or 0)
    if age and age >= IDEMPOTENCY_US then known = nil end
  end
  if known then
    answers[i + 1] = call('HGETALL', P .. 'd:' .. known)
  else
    local d = {id = id, channel = channel, target = target, seq = seq + i, created = wall,
      lane = channel .. ':' .. target, status = 'queued', mkey = ARGV[b + 9], operation = ARGV[b + 10], thread = ARGV[b + 11],
      not_before = tonumber(ARGV[b + 6]), expires_at = tonumber(ARGV[b + 7])}
    if d.mkey ~= '' then
      take_place(d, ARGV[b + 8])
      set(d, 'mkey', d.mkey, 'operation', d.operation)
    end
    if d.thread ~= '' then set(d, 'thread', d.thread) end
    set(d, 'fixed', ARGV[b + 8], 'channel', channel, 'target', target, 'seq', d.seq, 'created', wall,
      'status', d.status)
    if once == '1' then set(d, 'once', once) end
    if d.not_before then set(d, 'not_before', d.not_before) end
    local m = member(d)
    call('ZADD', P .. 'all', wall, m)
    call('ZADD', P .. 'status:' .. d.status, wall, m)
    call('ZADD', P .. 'channel:' .. channel, wall, m)
    call('ZADD', P .. 'target:' .. target, wall, m)
    if key ~= '' then
      set(d, 'key', key)
      call('HSET', P .. 'keys', key, id)
    end
    if d.expires_at then
      set(d, 'expires_at', d.expires_at)
      call('ZADD', P .. 'mortal', d.expires_at, id)
    end
    if d.not_before and d.not_before > wall then
      call('ZADD', P .. 'scheduled', d.not_before, id)
    else
      call('ZADD', P .. 'lane:' .. d.lane, d.seq, id)
      -- A delivery behind others does not change when the lane is due.
      if call('ZCARD', P .. 'lane:' .. d.lane) == 1 then settle(channel, target) end
    end
    note(id)
    answers[i + 1] = d.mkey ~= '' and call('HGETALL', P .. 'd:' .. id) or 0
  end
end
return {at, answers}

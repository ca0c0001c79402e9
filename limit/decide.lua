-- decide.lua: admits or refuses one request under all limits of one identity, and charges all of them or none.
--
-- KEYS[1]  the identity's hash. Fields: w<s> "start count previous" (start in s), l<s> packed times, b<s> "time deficit";
--          <s> is the window in seconds, and a shadow limit's field has "~" in front
-- ARGV[1]  numbers, packed: unsigned, big-endian, of so many bytes
--            now       7  in ms; 0, as always in production, reads TIME
--          then, for each limit
--            kind      1  1 sliding window, 2 fixed window, 3 log, 4 bucket; plus 4 if it refuses nobody
--            capacity  7  of a bucket, in tokens
--            limit     7  how many in a window; a bucket's refill in tokens a window
--            window    5  in ms, whole seconds
--            cost      7  0 only looks
--          and, for a lease
--            most      7  as many requests of these costs are charged at once as pass, up to so many
-- then     for each limit its field; limits that share a field come with the same cost (and buckets with the same refill)
-- reply    numbers, packed alike
--            allowed   1  0 or 1
--            at        7  the time in ms that the charges stand under, which a refund names; 0 where the limits disagree
--                         about it (after the clock went back), and then nothing can be refunded
--          then, for each limit
--            verdict   1  1 if it passes, plus 2 if its state was unreadable or more than a window ahead, and it was
--                         started anew
--            remaining 7
--            reset     7  in ms
--            wait      7  in ms, signed, after a refusal; -1 if no waiting helps
--          and, for a lease
--            taken     7  how many requests were charged
--
-- Packed, since redis_proxy reads and copies each number of a command and of a reply by itself.
-- A refusal writes nothing, but for an expiry that was missing. 64-bit Redis 6.2 and later, Valkey.
-- Every number is an integer below 2^53, exact in a double, and is divided only after fmod took the remainder away.
-- "+ 0" turns text into a number, as tonumber does at twice the price, and fails the call where there is none.

local key = KEYS[1]
local fmod, max, min = math.fmod, math.max, math.min

local SLIDING, FIXED, LOG, BUCKET = 1, 2, 3, 4
local NEVER = -1
local MAX_EXACT = 9007199254740991 -- 2^53 - 1, a bucket's largest deficit
local MAX_COUNT = 10000000000000   -- the largest limit
local MAX_LOG = 6 * 1000           -- the longest log, in bytes
local MAX_TTL = 9000000000000      -- in ms: 285 years
local SLACK = 1000                 -- a key lives this many ms longer than it must, so that few calls move its expiry
local VIRTUAL_TTL = 86400000       -- under a test's clock, which does not run with Redis'

local now, first = struct.unpack('>I7', ARGV[1])
local virtual = now > 0
if not virtual then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Each algorithm takes its field's text (false if there is none) and what ARGV says, and returns
--   pass, flags (2 if started anew), remaining, reset, wait, the text to write or nil, when the field may go, its time.
-- Its time is now, or the field's own where that is later: the clock went back, and the field waits for it. Waits are
-- counted from now all the same.

-- In how many ms a sliding window's use has fallen to "most", which is less than it is with "left" ms to go.
local function sliding_wait(most, count, previous, left, length)
  if count <= most then
    local x = (most - count) * length
    return left - (x - fmod(x, previous)) / previous
  end
  local x = most * length
  return left + length - (x - fmod(x, count)) / count
end

local function window(text, sliding, limit, length, cost, charge)
  local start, count, previous, flags = now - now % length, 0, 0, 0
  if text then
    local s, c, p = string.match(text, '^(%d+) (%d+) (%d+)$')
    if not s then
      flags = 2
    else
      local age = (start - s * 1000) / length
      c, p = c + 0, p + 0
      if age < -1 or age % 1 ~= 0 or c > MAX_COUNT or p > MAX_COUNT then
        flags = 2
      elseif age == 0 then
        count, previous = c, p
      elseif age == 1 then
        previous = c
      elseif age == -1 then
        start, count, previous = start + length, c, p
      end
    end
  end

  local at = max(now, start)
  local left = start + length - at
  local used = count
  if sliding and previous > 0 then -- count + ceil(previous * left / length)
    local x = previous * left
    local rest = fmod(x, length)
    used = count + (x - rest) / length
    if rest > 0 then used = used + 1 end
  end

  local pass = used + cost <= limit
  local write
  if pass and charge and cost > 0 then
    count, used = count + cost, used + cost
    write = string.format('%d %d %d', start / 1000, count, previous)
  end

  local reset, wait = 0, 0
  if not sliding then
    reset = start + length - now
  elseif used > 0 and limit > 0 then
    reset = at - now + sliding_wait(min(used, limit) - 1, count, previous, left, length)
  end
  if not pass then
    if cost > limit then
      wait = NEVER
    elseif not sliding then
      wait = reset
    else
      wait = at - now + sliding_wait(limit - cost, count, previous, left, length)
    end
  end
  return pass, flags, limit - used, reset, wait, write, start + 2 * length, at
end

local function log(text, limit, length, cost, charge)
  local total, at, flags = 0, now, 0
  if text then
    local newest = #text > 0 and #text <= MAX_LOG and #text % 6 == 0 and struct.unpack('>I6', text, #text - 5)
    if newest and newest - now <= length then
      total, at = #text / 6, max(now, newest)
    else
      flags = 2
    end
  end

  local dead, high = 0, total -- the first "dead" entries have left the window
  while dead < high do
    local middle = math.floor((dead + high + 1) / 2)
    if struct.unpack('>I6', text, 6 * middle - 5) > at - length then high = middle - 1 else dead = middle end
  end
  local used = total - dead

  local pass = used + cost <= limit
  local write
  if pass and charge and cost > 0 then
    write = string.rep(struct.pack('>I6', at), cost)
    if used > 0 then write = string.sub(text, 6 * dead + 1) .. write end
    text, dead, used = write, 0, used + cost
  end

  -- In how many ms so many entries are left. The bounds hold for any state that is ours, and make one that is not harmless.
  local function falls_to(most)
    local leaver = struct.unpack('>I6', text, 6 * (dead + used - most) - 5)
    return min(2 * length, max(1, leaver + length - now))
  end

  local reset, wait = 0, 0
  if used > 0 and limit > 0 then reset = falls_to(min(used, limit) - 1) end
  if not pass then
    if cost > limit then wait = NEVER else wait = falls_to(limit - cost) end
  end
  return pass, flags, limit - used, reset, wait, write, at + length, at
end

-- The deficit is what the bucket lacks to be full. A token is as many units as the window has ms, so that each ms
-- refills "limit" units exactly.
local function bucket(text, capacity, limit, length, cost, charge)
  local at, deficit, flags = now, 0, 0
  if text then
    local t, d = string.match(text, '^(%d+) (%d+)$')
    if not t or t - now > length or d + 0 > MAX_EXACT then
      flags = 2
    else
      at = max(now, t)
      deficit = max(0, d - (at - t) * limit)
    end
  end

  local full, price = capacity * length, cost * length
  local pass = limit > 0 and deficit <= full - price
  local write
  if pass and charge and cost > 0 then
    deficit = deficit + price
    write = string.format('%d %d', at, deficit)
  end

  local function refilled(units) -- in how many ms
    local rest = fmod(units, limit)
    local ms = at - now + (units - rest) / limit
    if rest > 0 then ms = ms + 1 end
    return ms
  end

  local reset, wait, tokens = 0, 0, 0
  if limit > 0 then
    if deficit > 0 then reset = refilled(deficit) end
    local units = max(0, full - deficit)
    tokens = (units - fmod(units, length)) / length
  end
  if not pass then
    if limit == 0 or cost > capacity then wait = NEVER else wait = refilled(deficit - (full - price)) end
  end
  return pass, flags, tokens, reset, wait, write, now + reset, at
end

local count = #ARGV - 1
local texts = redis.pcall('HMGET', key, unpack(ARGV, 2))
local foreign = texts.err -- the key is no hash, and none of ours
if foreign then
  if not string.find(foreign, 'WRONGTYPE', 1, true) then return texts end
  texts = {}
end

-- Worked out as if admitted; where that charged something and another limit refuses, again without charging. A lease is
-- worked out without charging, to see for how many requests there is room, and where it is admitted again for so many.
local allowed, at, expires, writes, verdicts
local most = #ARGV[1] > 7 + 27 * count and struct.unpack('>I7', ARGV[1], first + 27 * count)
local times, room = 1, most
local charge, settled = not most, false
repeat
  allowed, at, expires, writes, verdicts = 1, nil, now, {}, ''
  local place = first
  for i = 1, count do
    local field, text = ARGV[i + 1], texts[i]
    local kind, capacity, limit, length, cost
    kind, capacity, limit, length, cost, place = struct.unpack('>BI7I7I5I7', ARGV[1], place)
    local refuses = kind <= BUCKET
    if not refuses then kind = kind - BUCKET end
    cost = cost * times
    local pass, flags, remaining, reset, wait, write, forget, time
    if kind == SLIDING or kind == FIXED then
      pass, flags, remaining, reset, wait, write, forget, time = window(text, kind == SLIDING, limit, length, cost, charge)
    elseif kind == LOG then
      pass, flags, remaining, reset, wait, write, forget, time = log(text, limit, length, cost, charge)
    else
      pass, flags, remaining, reset, wait, write, forget, time = bucket(text, capacity, limit, length, cost, charge)
    end
    if foreign then flags = 2 end
    if pass then
      flags = flags + 1
      if most and cost > 0 then room = min(room, (remaining - fmod(remaining, cost)) / cost) end
    elseif refuses then
      allowed = 0
    end
    if write then
      writes[#writes + 1] = field
      writes[#writes + 1] = write
    end
    if at and at ~= time then at = 0 else at = time end
    expires = max(expires, forget)
    verdicts = verdicts .. struct.pack('>BI7I7i7', flags, max(0, remaining), reset, wait)
  end
  if charge then
    settled = allowed == 1 or #writes == 0
  else
    settled = allowed == 0 or not most
    if not settled then times = room end
  end
  charge = not charge
until settled

if #writes > 0 then
  if foreign then redis.call('DEL', key) end
  redis.call('HSET', key, unpack(writes))
end
local need = virtual and VIRTUAL_TTL or min(expires - now, MAX_TTL)
local ttl = redis.call('PTTL', key)
if ttl == -1 or (#writes > 0 and ttl < need) then redis.call('PEXPIRE', key, need + SLACK) end
if most then verdicts = verdicts .. struct.pack('>I7', allowed * times) end
return struct.pack('>BI7', allowed, at) .. verdicts

-- room.lua: what a waiting room on Redis does for a poll and for a join.
--
--   room:line    sorted set, id -> number: the line          room:number  the last number
--   room:seen    sorted set, id -> time: the heartbeats      room:open, room:rate  settings
--   room:asks:ID how often ID asked: the rate limit. A real room lets it expire: one command
--                more than is counted here.
--
-- Connections to Redis are pooled, one for each request under way. poll and join are the
-- strongest form: one round trip (a pipeline; for the join, whose second command needs the
-- answer to its first, a script that Redis keeps). *_one_by_one wait for every answer.
local redis = require "nginx.redis"

local LINE, SEEN, NUMBER = "room:line", "room:seen", "room:number"
local LIMIT = 1e9 -- of asks: the measurement polls the same ids for as long as it takes
local POOL_IDLE_MS, POOL_SIZE = 60000, 4096
local JOIN = [[local n = redis.call('INCR', KEYS[1])
redis.call('ZADD', KEYS[2], n, ARGV[1])
return n]]

local room = {}
local address, join_sha, secret

function room.init(redis_address)
   address = redis_address
   secret = tostring(math.random()) .. os.time()
end

local function answer(body)
   ngx.header["Content-Length"] = #body -- else nginx sends it in chunks, which costs more
   ngx.print(body)
end

local function fail(status, code, detail)
   ngx.status = status
   answer('{"code":"' .. code .. '","detail":"' .. tostring(detail) .. '"}')
end

-- A pooled connection; nil when the client has been told that there is none.
local function connect()
   local r = redis:new()
   r:set_timeout(10000)
   local ok, err = r:connect(address)
   if not ok then
      fail(503, "queue_unavailable", err)
      return nil
   end
   return r
end

local function release(r)
   r:set_keepalive(POOL_IDLE_MS, POOL_SIZE)
end

local function ticket(id, position, total, rate)
   answer('{"token":"' .. id .. '","queue":"login","lane":"default","state":"waiting",' ..
      '"position":' .. position .. ',"total":' .. total .. ',"eta_s":' ..
      (rate > 0 and math.ceil(position / rate) or "null") .. ',"poll_after_ms":1000}')
end

local function answer_poll(id, asks, rank, total, open, rate)
   if asks > LIMIT then
      return fail(429, "too_fast", id)
   elseif rank == ngx.null then
      return fail(404, "ticket_unknown", id)
   elseif open ~= "1" then
      return fail(503, "queue_unavailable", "closed")
   end
   ticket(id, rank + 1, total, tonumber(rate) or 0)
end

local function asked_id()
   return string.sub(ngx.var.uri, #"/v1/tickets/" + 1)
end

function room.poll()
   local id, r = asked_id(), connect()
   if not r then return end
   r:init_pipeline(6)
   r:incr("room:asks:" .. id)
   r:zrank(LINE, id)
   r:zcard(LINE)
   r:zadd(SEEN, "XX", ngx.now() * 1000, id)
   r:get("room:open")
   r:get("room:rate")
   local a, err = r:commit_pipeline()
   if not a then return fail(503, "queue_unavailable", err) end
   release(r)
   answer_poll(id, a[1], a[2], a[3], a[5], a[6])
end

function room.poll_one_by_one()
   local id, r = asked_id(), connect()
   if not r then return end
   local asks, err = r:incr("room:asks:" .. id)
   if not asks then return fail(503, "queue_unavailable", err) end
   local rank, total = r:zrank(LINE, id), r:zcard(LINE)
   r:zadd(SEEN, "XX", ngx.now() * 1000, id)
   local open, rate = r:get("room:open"), r:get("room:rate")
   release(r)
   answer_poll(id, asks, rank, total, open, rate)
end

-- As hard to guess as the room's secret.
local last = 0
local function new_id()
   last = last + 1
   return ngx.md5(secret .. last)
end

local function answer_join(id, number)
   ngx.status = 201
   ngx.header["Location"] = "/v1/tickets/" .. id
   ticket(id, number, number, 0)
end

function room.join()
   local id, r = new_id(), connect()
   if not r then return end
   if not join_sha then
      join_sha = r:script("load", JOIN)
   end
   local number, err = r:evalsha(join_sha, 2, NUMBER, LINE, id)
   if not number then return fail(503, "queue_unavailable", err) end
   release(r)
   answer_join(id, number)
end

function room.join_one_by_one()
   local id, r = new_id(), connect()
   if not r then return end
   local number, err = r:incr(NUMBER)
   if not number then return fail(503, "queue_unavailable", err) end
   r:zadd(LINE, number, id)
   release(r)
   answer_join(id, number)
end

return room

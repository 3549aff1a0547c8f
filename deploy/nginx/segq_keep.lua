-- segq_keep.lua: nginx gives good verdicts by itself for as long as the router allows with them
-- (X-Segq-Keep: its replica_fresh, a quarter of a second). Into /etc/nginx/; the lines in
-- segq_gate.conf and segq_verify.conf that name it are comments until you want it. It takes the
-- module of Debian's package libnginx-mod-http-lua (also in nginx-extras).
--
-- A visitor's request looks here first, and goes on to the site by @segq_in; without a kept verdict
-- it stays where it is, and auth_request asks a router. (Kept verdicts given as answers to that
-- question cost twice as much: a subrequest for each request.)
--
-- A verdict is kept under all that it was given for: nginx's server (another one may ask other
-- routers, or otherwise), the queue, Authorization and every cookie, as they were sent to the router.
-- So two visitors, or two sites, never share one. Refusals, exemptions, renewed passes and passes that
-- are good once or for one path come without X-Segq-Keep. Each worker process has its own.

local s = package.loaded.segq_keep -- of this worker
if s then -- nginx runs this file for each request; what it defines is made once
    return s.run()
end
s = { now = {}, before = {}, bytes = 0, turn = 0, at = 0 }
package.loaded.segq_keep = s

-- What the site is told: a router's headers, and the variables of segq_gate.conf.
local lines = { "X-Segq-Queue", "X-Segq-Ticket", "X-Segq-Subject", "X-Segq-Lane", "X-Segq-Expires" }
local vars = { "segq_pass_queue", "segq_ticket", "segq_subject", "segq_lane", "segq_expires" }

local function question()
    local v = ngx.var
    return v.server_name .. ":" .. v.server_port .. "\n" .. v.segq_queue .. "\n" ..
        (v.http_authorization or "") .. "\n" .. (v.http_cookie or "")
end

-- Kept verdicts: to "End of" them the lines of deploy/haproxy/segq_gate.lua (tests/check.sh
-- compares). Not one file for both: each gate is copied alone to a machine of its own, and would
-- need a path for modules there. Nothing here calls nginx or HAProxy: sys_gate_keep tries it alone.
local MOST_MS = 1000                -- whatever a router says
local MOST_BYTES = 16 * 1024 * 1024 -- of what is kept in such a time
local ANSWER_BYTES = 1024           -- of one answer, with its table

-- The answer to question q that may be given again at time at (seconds); nil: ask.
local function find(q, at)
    if at < s.at then -- the clock was set back: the age of these is not known
        s.now, s.before, s.bytes, s.turn = {}, {}, 0, at
    end
    s.at = at
    local kept = s.now[q] or s.before[q]
    return kept and at < kept.till and kept.answer or nil
end

-- Keeps the answer to q, asked at time at, for ms. Older ones are forgotten by the table, without
-- a look at each.
local function keep(q, at, ms, answer)
    if at > s.at then -- asked before the clock was set back
        return
    end
    if at >= s.turn then
        s.before, s.now, s.bytes, s.turn = s.now, {}, 0, at + MOST_MS / 1000
    end
    if s.bytes < MOST_BYTES then
        s.now[q] = { till = at + math.min(ms, MOST_MS) / 1000, answer = answer }
        s.bytes = s.bytes + #q + ANSWER_BYTES
    end
end
-- End of kept verdicts.

-- Of the visitor's request.
local function go_in()
    local kept = find(question(), ngx.now())

    if not kept then
        return
    end
    local var = ngx.var
    for i = 1, #vars do
        if kept[i] then
            var[vars[i]] = kept[i]
        end
    end
    return ngx.exec("@segq_in")
end

-- Of the question to a router.
local function note_question()
    local ctx = ngx.ctx

    ctx.segq_question, ctx.segq_at = question(), ngx.now()
end

-- Of its answer.
local function keep_answer()
    local ms = tonumber(ngx.var.upstream_http_x_segq_keep or "") -- only a router's answer has it
    local header = ngx.header

    if not ms or ngx.status ~= 204 or header["Set-Cookie"] or header["X-Segq-Pass"] then
        return
    end
    local answer = {}
    for i = 1, #lines do
        answer[i] = header[lines[i]]
    end
    keep(ngx.ctx.segq_question, ngx.ctx.segq_at, ms, answer)
end

function s.run()
    if ngx.get_phase() == "header_filter" then
        keep_answer()
    elseif ngx.is_subrequest then
        note_question()
    else
        go_in()
    end
end

s.run()

-- segq_keep.lua: nginx gives good verdicts by itself for as long as the router allows with them
-- (X-Segq-Keep: its replica_fresh, a quarter of a second). Into /etc/nginx/; the lines in
-- segq_verify.conf that name it are comments until you want it. It takes the module of Debian's
-- package libnginx-mod-http-lua (also in nginx-extras).
--
-- A verdict is kept under all that it was given for: the queue, Authorization and every cookie, as
-- they were sent to the router. So two visitors never share one. Refusals, exemptions, renewed
-- passes and passes that are good once or for one path come without X-Segq-Keep. Each worker
-- process has its own.

local MOST_MS = 1000               -- whatever a router says
local MOST_BYTES = 16 * 1024 * 1024 -- of cookies, that are kept in such a time

local s = package.loaded.segq_keep -- of this worker
if not s then
    s = { now = {}, before = {}, bytes = 0, turn = 0 }
    package.loaded.segq_keep = s
end

local lines = { "X-Segq-Queue", "X-Segq-Ticket", "X-Segq-Subject", "X-Segq-Lane", "X-Segq-Expires" }

local function question()
    local v = ngx.var
    return v.segq_queue .. "\n" .. (v.http_authorization or "") .. "\n" .. (v.http_cookie or "")
end

-- What is older than MOST_MS is forgotten, without a look at each; also when the clock was set.
local function forget_old(at)
    local time = MOST_MS / 1000
    if at >= s.turn or at < s.turn - time then
        s.before, s.now, s.bytes, s.turn = s.now, {}, 0, at + time
    end
end

local function answer()
    local q, at = question(), ngx.now()
    local kept = s.now[q] or s.before[q]

    if kept and at < kept.till and at >= kept.at then
        local header = ngx.header
        for i = 1, #lines do
            header[lines[i]] = kept[i]
        end
        return ngx.exit(204)
    end
    ngx.ctx.segq_question, ngx.ctx.segq_at = q, at
end

local function keep()
    local ms = tonumber(ngx.var.upstream_http_x_segq_keep or "") -- no router's answer has none
    local header = ngx.header

    if not ms or ngx.status ~= 204 or header["Set-Cookie"] or header["X-Segq-Pass"] then
        return
    end
    local q, at = ngx.ctx.segq_question, ngx.ctx.segq_at
    forget_old(at)
    if s.bytes < MOST_BYTES then
        local kept = { at = at, till = at + math.min(ms, MOST_MS) / 1000 }
        for i = 1, #lines do
            kept[i] = header[lines[i]]
        end
        s.now[q], s.bytes = kept, s.bytes + #q
    end
end

if ngx.get_phase() == "header_filter" then
    keep()
else
    answer()
end

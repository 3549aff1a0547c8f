-- segq_gate.lua: asks the routers whether a visitor may come in, and tells them what the site
-- wants of a session. For segq_gate.cfg, which says when, and in SEGQ_ASK at which address (a
-- frontend of its own, so that routers that are down are left out), in SEGQ_GATE_SECRET_FILE
-- where the gate's secret is.
--
--   segq_verify   sets txn.segq: "in" (and what is known of the visitor), "room" (and
--                 txn.segq_to: where to wait, txn.segq_visit: page, form or call), "down"
--                 (there is no verdict)
--   segq_command  X-Segq-Command of the answer: release, extend, extend=SECONDS, revoke
--
-- A good verdict is given here again, to who presents the same, for as long as the router allows
-- with it (X-Segq-Keep: its replica_fresh, a quarter of a second). Refusals, exemptions, renewed
-- passes and passes that are good once or for one path come without it.

local base = "http://" .. assert(os.getenv("SEGQ_ASK"), "SEGQ_ASK is not set")
local secret_file = os.getenv("SEGQ_GATE_SECRET_FILE") or ""
local secret

if secret_file ~= "" then
    local f = assert(io.open(secret_file), "cannot read " .. secret_file)
    secret = f:read("l")
    f:close()
    assert(secret and #secret >= 16, secret_file .. ": a secret of 16 characters at least")
end

-- What belongs to the visitor's connection and body, not to the question.
local own = {
    ["connection"] = true, ["content-length"] = true, ["transfer-encoding"] = true,
    ["upgrade"] = true, ["expect"] = true, ["te"] = true, ["trailer"] = true,
    ["keep-alive"] = true, ["proxy-connection"] = true, ["host"] = true,
}

-- HAProxy counts values from 0, its client wants them from 1.
local function values(of)
    local out, i = {}, 0
    while of[i] do
        out[#out + 1] = of[i]
        i = i + 1
    end
    return out
end

-- Two Cookie lines of one visitor are one (RFC 6265).
local function cookies(headers)
    return headers["cookie"] and table.concat(values(headers["cookie"]), "; ") or ""
end

local function first(headers, name)
    return headers and headers[name] and headers[name][0]
end

local answers = {
    ["x-segq-queue"] = "txn.segq_pass_queue", ["x-segq-ticket"] = "txn.segq_ticket",
    ["x-segq-subject"] = "txn.segq_subject", ["x-segq-lane"] = "txn.segq_lane",
    ["x-segq-device"] = "txn.segq_device",
    ["x-segq-expires"] = "txn.segq_expires", ["x-segq-bypass"] = "txn.segq_bypass",
    -- of a pass that was renewed: in its cookie, or (of who sends none) in a line
    ["set-cookie"] = "txn.segq_renewed", ["x-segq-pass"] = "txn.segq_renewed_pass",
}

-- More than a hundred lines (tune.http.maxhdr) and HAProxy 2.6's client writes past its
-- table: the whole process dies. Some are added to these on the way.
local LINES_MAX = 80

local function is_too_much(headers)
    local lines = 0

    for name, of in pairs(headers) do
        local i = 0
        while not own[name] and of[i] do
            lines, i = lines + 1, i + 1
        end
    end
    return lines > LINES_MAX
end

-- What the visitor said, but for its own.
local function asked(headers)
    local ask = {}

    for name, of in pairs(headers) do
        if not own[name] then
            ask[name] = values(of)
        end
    end
    return ask
end

local s = { now = {}, before = {}, bytes = 0, turn = 0, at = 0 } -- of this thread

local function now_s()
    local t = core.now()
    return t.sec + t.usec / 1000000
end

-- All that a good verdict depends on, as it is sent to the router: two visitors never share one.
-- No line has a line's end in it, and with their number none passes for one of the other kind.
local function question(queue, headers)
    local bearers = headers["authorization"] and values(headers["authorization"]) or {}
    local jars = headers["cookie"] and values(headers["cookie"]) or {}
    return queue .. "\n" .. #bearers .. "\n" .. table.concat(bearers, "\n") .. "\n" ..
        table.concat(jars, "\n")
end

-- Kept verdicts: to "End of" them the lines of deploy/nginx/segq_keep.lua (tests/check.sh
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

-- Of a router's answer: variables of the transaction by name.
local function known(headers)
    local answer = {}

    for name, var in pairs(answers) do
        answer[var] = first(headers, name)
    end
    return answer
end

local function keep_answer(q, at, headers, answer)
    local ms = tonumber(first(headers, "x-segq-keep"))

    if ms and not headers["set-cookie"] and not headers["x-segq-pass"] then
        keep(q, at, ms, answer)
    end
end

local function let_in(txn, answer)
    for var, v in pairs(answer) do
        txn:set_var(var, v)
    end
    txn:set_var("txn.segq", "in")
end

-- The router's answer; nil: none.
local function ask_router(txn, headers)
    local ask = asked(headers)

    ask["host"] = { first(headers, "host") or "segq" }
    ask["x-original-uri"] = { txn.f:pathq() }
    ask["x-original-method"] = { txn.f:method() }
    return core.httpclient():get{
        url = base .. "/v1/verify?queue=" .. txn:get_var("txn.segq_queue"),
        headers = ask, timeout = 3000,
    }
end

local function verify(txn)
    local headers = txn.http:req_get_headers()

    if is_too_much(headers) then
        txn:set_var("txn.segq", "odd")
        return
    end
    local q, at = question(txn:get_var("txn.segq_queue"), headers), now_s()
    local kept = find(q, at)
    txn:set_priv({ question = q, headers = headers }) -- for segq_command, when the request is gone
    if kept then
        let_in(txn, kept)
        return
    end
    local r = ask_router(txn, headers)
    local status = r and r.status
    if status == 204 then
        local answer = known(r.headers)
        keep_answer(q, at, r.headers, answer)
        let_in(txn, answer)
    elseif status == 401 or status == 403 then
        local to = first(r.headers, "x-segq-location")
        if to then
            txn:set_var("txn.segq_to", to)
            txn:set_var("txn.segq_visit", first(r.headers, "x-segq-visit") or "page")
        end
        txn:set_var("txn.segq", "room")
    elseif status == 400 or status == 414 or status == 431 then
        txn:set_var("txn.segq", "odd") -- what a router does not read it lets nobody in for
    else
        txn:set_var("txn.segq", "down")
    end
end

local function command(txn)
    local v = first(txn.http:res_get_headers(), "x-segq-command")
    local of = txn:get_priv()
    local ask = {
        ["host"] = { "segq" }, ["content-type"] = { "application/x-www-form-urlencoded" },
        ["x-forwarded-for"] = { txn.f:src() },
    }

    if not of then -- nobody was asked about this request
        return
    end
    ask["cookie"] = of.headers["cookie"] and { cookies(of.headers) }
    ask["authorization"] = of.headers["authorization"] and { first(of.headers, "authorization") }
    if secret then
        ask["x-segq-gate-secret"] = { secret }
    end
    local r = core.httpclient():post{ url = base .. "/v1/session", headers = ask,
                                      body = "command=" .. v, timeout = 3000 }
    s.now[of.question], s.before[of.question] = nil, nil
    if not r or r.status ~= 204 then
        core.Warning("segq: " .. v .. " was answered " .. tostring(r and r.status))
    end
end

core.register_action("segq_verify", { "http-req" }, verify, 0)
core.register_action("segq_command", { "http-res" }, command, 0)

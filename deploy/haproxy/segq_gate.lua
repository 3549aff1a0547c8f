-- segq_gate.lua: asks the routers whether a visitor may come in, and tells them what the site
-- wants of a session. For segq_gate.cfg, which says when, and in SEGQ_ASK at which address (a
-- frontend of its own, so that routers that are down are left out), in SEGQ_GATE_SECRET_FILE
-- where the gate's secret is.
--
--   segq_verify   sets txn.segq: "in" (and what is known of the visitor), "room" (and
--                 txn.segq_to: where to wait, txn.segq_visit: page, form or call), "down"
--                 (there is no verdict)
--   segq_command  X-Segq-Command of the answer: release, extend, extend=SECONDS, revoke

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
    ["x-segq-expires"] = "txn.segq_expires", ["x-segq-bypass"] = "txn.segq_bypass",
    -- of a pass that was renewed: in its cookie, or (of who sends none) in a line
    ["set-cookie"] = "txn.segq_renewed", ["x-segq-pass"] = "txn.segq_renewed_pass",
}

-- More than a hundred lines (tune.http.maxhdr) and HAProxy 2.6's client writes past its
-- table: the whole process dies. Some are added to these on the way.
local LINES_MAX = 80

-- What the visitor said, but for its own; nil: too much.
local function asked(headers)
    local ask, lines = {}, 0

    for name, of in pairs(headers) do
        if not own[name] then
            ask[name] = values(of)
            lines = lines + #ask[name]
        end
    end
    return lines <= LINES_MAX and ask or nil
end

local function verify(txn)
    local headers = txn.http:req_get_headers()
    local ask = asked(headers)

    if not ask then
        txn:set_var("txn.segq", "odd")
        return
    end
    ask["host"] = { first(headers, "host") or "segq" }
    ask["x-original-uri"] = { txn.f:pathq() }
    ask["x-original-method"] = { txn.f:method() }
    -- For segq_command, when the request is gone.
    txn:set_var("txn.segq_cookie", cookies(headers))
    txn:set_var("txn.segq_authorization", first(headers, "authorization") or "")
    local r = core.httpclient():get{
        url = base .. "/v1/verify?queue=" .. txn:get_var("txn.segq_queue"),
        headers = ask, timeout = 3000,
    }
    local status = r and r.status
    if status == 204 then
        for name, var in pairs(answers) do
            local v = first(r.headers, name)
            if v then
                txn:set_var(var, v)
            end
        end
        txn:set_var("txn.segq", "in")
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
    local ask = {
        ["host"] = { "segq" }, ["content-type"] = { "application/x-www-form-urlencoded" },
        ["x-forwarded-for"] = { txn.f:src() },
    }

    for header, var in pairs({ cookie = "txn.segq_cookie",
                               authorization = "txn.segq_authorization" }) do
        local said = txn:get_var(var)
        if said and said ~= "" then
            ask[header] = { said }
        end
    end
    if secret then
        ask["x-segq-gate-secret"] = { secret }
    end
    local r = core.httpclient():post{ url = base .. "/v1/session", headers = ask,
                                      body = "command=" .. v, timeout = 3000 }
    if not r or r.status ~= 204 then
        core.Warning("segq: " .. v .. " was answered " .. tostring(r and r.status))
    end
end

core.register_action("segq_verify", { "http-req" }, verify, 0)
core.register_action("segq_command", { "http-res" }, command, 0)

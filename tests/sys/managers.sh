# managers.sh: for stories with two managers and a Redis (local.sh --managers 2): who leads,
# and what they say of Redis. Sourced after lib.sh.
. "$here/redis.sh"

manager_at() { # admin port offset: its own view of itself
    http --max-time 2 -H "Authorization: Bearer $(admin_token)" \
        "http://127.0.0.1:$((PORT + $1))/v1/admin/manager"
}
leads() { [ "$(manager_at "$1" | jq -r .role 2>/dev/null)" = leader ]; }
find_leader() { # sets L (admin port offset), LNAME, and the same of the other: S, SNAME
    if leads 1; then L=1 LNAME=queuemng S=3 SNAME=queuemng2
    elif leads 3; then L=3 LNAME=queuemng2 S=1 SNAME=queuemng
    else return 1; fi
    A=http://127.0.0.1:$((PORT + L))
}
somebody_leads() { find_leader; }
nobody_leads() { ! leads 1 && ! leads 3; }
grace_is() { find_leader && [ "$(admin GET /v1/admin/queues/login | jq -r .grace)" = "$1" ]; }
epoch() { manager_at "$L" | jq .epoch; }

# Faults of this kind that the managers have counted.
redis_errors() {
    local p
    for p in 1 3; do http "http://127.0.0.1:$((PORT + p))/metrics"; done |
        awk -v k="segq_redis_errors_total{kind=\"$1\"}" '$1 == k { n += $2 } END { print n + 0 }'
}

# Fewer wait than did before; what the queue says of those who have just joined lags. On a
# slow machine nobody may be left, and one who comes is let in at once.
lets_in() { # how many
    local w
    w=$(queue_field waiting)
    [ "${w:-null}" != null ] || return 1
    [ "$w" -le "$still" ] || still=$w
    [ "$w" -le $((still - $1)) ] ||
        { [ "$w" = 0 ] && [ "$(join_queue | field state)" = admitted ]; }
}
# releases_go_on "when": somebody leads, and people are let in
releases_go_on() {
    local t0
    t0=$(now_ms)
    wait_for 60 "$1: one leads" somebody_leads
    still=0
    wait_for 60 "$1: releases go on" lets_in 1
    echo "     $1: $(($(now_ms) - t0)) ms"
}
redis_is() { find_leader && [ "$(manager_at "$L" | jq -r .redis)" = "127.0.0.1:$1" ]; }

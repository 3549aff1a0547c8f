#!/bin/bash
# A price for a place, over real processes: two routers, two queues, two addresses. A join is asked for
# work; its answer is one place at any router, and good for its queue, address and name only; the joins of
# all routers turn it on, an operator turns it on and off, and status says since when and why.
. "$(dirname "$0")/lib.sh"

up --routers 2 --task-nodes 0 --release-per-s 1 --set state=paused --set router.trusted_proxies=127.0.0.1/32
ctl() { "$BIN/segqctl" --dir "$C" "$@"; }
ctl queue add shop state=paused challenge.mode=on challenge.cost=1024 >"$DIR/add" || give_up "no second queue"

join() { # ROUTER QUEUE ADDRESS curl-arguments...: the answer; its status is in $DIR/status
    curl -s --max-time 20 -o "$DIR/answer" -w '%{http_code}' -X POST -H "X-Forwarded-For: $3" "${@:4}" \
        "$1/v1/queues/$2/tickets" >"$DIR/status"
}
status() { cat "$DIR/status"; }
code() { field code <"$DIR/answer"; }
solved() { python3 "$here/solve.py" <"$DIR/answer"; }
asked() { join "$@" && [ "$(status)" = 428 ]; }

# ---- by hand
ctl challenge login on >"$DIR/out"
check "segqctl says from what to what" grep -q 'mode.*auto.*on' "$DIR/out"
ctl queue set login challenge.cost=1024 >/dev/null
wait_for 10 "a join is asked for work" asked "$R" login 10.0.0.1
wait_for 10 "by the other router, too" asked "$R2" login 10.0.0.1
check_eq "it says so" "$(code)" challenge_required
a=$(solved)
join "$R2" login 10.0.0.77 -H "segq-challenge: $a"
check_eq "with the answer it is let in, from the same network" "$(status)" 201
token=$(field token <"$DIR/answer")
join "$R" login 10.0.0.1 -H "segq-challenge: $a"
check_eq "the same answer at the other router" "$(status) $(field token <"$DIR/answer")" "200 $token"
wait_for 10 "is one place" waiting_is 1
join "$R" login 10.0.9.1 -H "segq-challenge: $a"
check_eq "at another address" "$(status) $(code)" "403 challenge_other_address"
join "$R" shop 10.0.0.1 -H "segq-challenge: $a"
check_eq "at another queue" "$(status) $(code)" "403 challenge_other_queue"
join "$R" login 10.0.0.1 -H "segq-challenge: $a" -d '{"subject":"anna"}'
check_eq "for another person" "$(status) $(code)" "403 challenge_other_join"
join "$R" login 10.0.0.1 -H "segq-challenge: ${a:0:200}"
check_eq "cut off" "$(status) $(code)" "403 challenge_invalid"
for i in 1 2 3; do join "$R2" login 10.0.0.1 -H "segq-challenge: $a"; done
check_eq "again and again" "$(status) $(code)" "403 challenge_used"
told() { http "$R/v1/tickets/$token" | field total; }
check_eq "none of these is a place" "$(told)" 1

join "$R" login 10.0.0.2 -d '{"subject":"anna"}'
a=$(solved)
join "$R2" login 10.0.0.2 -d '{"subject":"bert"}' -H "segq-challenge: $a"
check_eq "what anna asked for is not for bert" "$(code)" challenge_other_join
join "$R2" login 10.0.0.2 -d "{\"subject\":\"anna\",\"altcha\":\"$a\"}"
check_eq "but for anna, also as a member" "$(status)" 201
join "$R" shop 10.0.0.2
check_eq "the second queue asks for itself" "$(status)" 428
a=$(solved)
join "$R" shop 10.0.0.2 -H "segq-challenge: $a"
check_eq "and lets in" "$(status)" 201

# ---- one browser, two tabs that both work
tab() { # NAME: opens it
    curl -s "${LOOKS[@]}" -b "$DIR/jar" -c "$DIR/jar" -H 'X-Forwarded-For: 10.0.3.1' "$R/q/shop" >"$DIR/$1"
}
hidden() { sed -n "s/.*name=\"$2\" value=\"\([^\"]*\)\".*/\1/p" "$DIR/$1"; }
press() { # NAME: its work is done
    local answer
    answer=$(hidden "$1" altcha | base64 -d | python3 "$here/solve.py")
    curl -s -o /dev/null -w '%{http_code}' -b "$DIR/jar" -c "$DIR/jar" -H 'X-Forwarded-For: 10.0.3.1' \
        --data-urlencode "altcha=$answer" --data-urlencode "door=$(hidden "$1" door)" "$R/q/shop/join"
}
tab one
tab two
check_eq "both have their place by the first that has worked" "$(press one)" 303
grep segq "$DIR/jar" >"$DIR/had"
check_eq "and the other goes there" "$(press two)" 303
check "with the same ticket" cmp "$DIR/had" <(grep segq "$DIR/jar")
ctl status login >"$DIR/out"
check "status says since when and why" grep -q 'joins cost work since .*by hand' "$DIR/out"
check_eq "a metric counts what came of them" \
    "$(http "http://127.0.0.1:$((PORT + 31))/metrics" | grep -c '^segq_challenges_total{result="used"} 1')" 1
ctl challenge login off >/dev/null
is_free() { join "$R" login 10.0.1.1 && [ "$(status)" = 201 ]; }
wait_for 10 "off: joins are free" is_free

# ---- by the joins of all routers; an address pays for itself
ctl queue set login challenge.mode=auto challenge.from_joins_per_s=60 >/dev/null
both() { # 40 joins a second at each router: each alone is below the bound
    local i r
    for r in "$R" "$R2"; do
        for ((i = 0; i < 40; i++)); do
            printf 'url = "%s/v1/queues/login/tickets"\nrequest = POST\nheader = "X-Forwarded-For: 10.%d.%d.1"\noutput = /dev/null\nnext\n' "$r" $((RANDOM % 200)) $i
        done
    done | sed '$d' >"$DIR/crowd"
    curl -s -Z --parallel-max 20 --max-time 20 -K "$DIR/crowd" 2>/dev/null
    ctl status login | grep -q 'joins cost work since .*came in a second'
}
wait_for 20 "eighty in a second over two routers turn it on" both
wait_for 10 "for a join alone, too" asked "$R" login 10.9.9.9
ctl queue set login challenge.from_joins_per_s=0 challenge.per_address=2 >/dev/null
is_free() { join "$R" login 10.8.$((RANDOM % 200)).1 && [ "$(status)" = 201 ]; }
wait_for 10 "without a bound of joins it is off" is_free
join "$R" login 10.7.7.1
join "$R" login 10.7.7.2
join "$R" login 10.7.7.3
check_eq "the third of a network in a minute pays" "$(status)" 428
join "$R" login 10.7.8.3
check_eq "another network does not" "$(status)" 201
keys() { curl -s "${LOOKS[@]}" -H "X-Forwarded-For: $1" "$R/q/login" | sed -n 's/.*"keys":\([0-9]*\).*/\1/p'; }
for ((i = 0; i < 7; i++)); do join "$R" login 10.7.7.1; done
check_eq "the more a network takes the more it pays" "$(keys 10.7.7.9)" 4096
ctl challenge login on >/dev/null
wait_for 10 "by hand all pay" asked "$R" login 10.7.9.9
check_eq "another network still the least" "$(keys 10.7.9.8)" 1024
ctl challenge login auto >/dev/null

# ---- a good pass spares a few joins, not all
ctl queue set shop state=open release_per_s=50 >"$DIR/out" || give_up "shop does not open"
join "$R" shop 10.6.6.6
a=$(solved)
join "$R" shop 10.6.6.6 -H "segq-challenge: $a"
token=$(field token <"$DIR/answer")
has_pass() { pass=$(http "$R/v1/tickets/$token" | field pass) && [ -n "$pass" ] && [ "$pass" != null ]; }
wait_for 20 "whoever has worked gets a pass" has_pass
got=
for i in 1 2 3 4; do
    join "$R" shop 10.6.6.6 -H "Authorization: Bearer $pass"
    got="$got $(status)"
done
check_eq "it is worth three joins a minute" "$got" " 201 201 201 428"

# ---- networks whose joins look like a script's
ctl queue set shop challenge.mode=off suspects=reject suspects_from=5 >"$DIR/out" || give_up "no suspects"
pose() { join "$R" shop 203.0.113.9 -A 'Mozilla/5.0 (X11)'; }
is_suspect() { pose && [ "$(status) $(code)" = "429 suspect_network" ]; }
free() { join "$R" shop 203.0.113.9 && [ "$(status)" = 201 ]; }
wait_for 10 "without a challenge a network joins freely" free
token=$(field token <"$DIR/answer")
wait_for 10 "joins that say to be a browser and are none make a network a suspect" is_suspect
shows() { ctl suspects shop >"$DIR/out" && grep -q '^203\.0\.113\.0/24 *shop' "$DIR/out"; }
wait_for 10 "segqctl suspects shows its prefix" shows
counted() { ctl status shop | grep -q '; suspects: 1'; }
wait_for 10 "status counts it" counted
join "$R" shop 203.0.113.200
check_eq "all of it is refused" "$(status)" 429
join "$R" shop 203.0.112.9 -A 'Mozilla/5.0 (X11)' -H 'Accept-Language: de'
check_eq "a browser of another network is not" "$(status)" 201
check_eq "whoever has a place keeps it" \
    "$(curl -s -o /dev/null -w '%{http_code}' -H 'X-Forwarded-For: 203.0.113.9' "$R/v1/tickets/$token")" 200
ctl queue set shop suspects=challenge >/dev/null
works() { pose && [ "$(status)" = 428 ]; }
wait_for 10 "by challenge it works for its place" works

# ---- another check in place of work
cat >"$DIR/siteverify.py" <<'END'
import http.server
class Site(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        said = self.rfile.read(int(self.headers["Content-Length"])).decode()
        body = b'{"success": %s}' % (b"true" if "response=person" in said else b"false")
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *a):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Site)
print(server.server_port, flush=True)
server.serve_forever()
END
python3 "$DIR/siteverify.py" >"$DIR/site.port" 2>/dev/null &
site=$!
helpers+=("$site")
wait_for 10 "a service that tells people from programs" test -s "$DIR/site.port"
ctl queue set shop state=paused suspects=off challenge.mode=on challenge.verify_fallback=refuse \
    challenge.verify_url="http://127.0.0.1:$(cat "$DIR/site.port")/siteverify" >"$DIR/out" 2>&1
check "segqctl says that it is not public" grep -q 'verify_allow' "$DIR/out"
ctl queue set shop 'challenge.verify_allow=["127.0.0.1"]' >/dev/null
verified() { join "$R" shop 10.4.4.4 -H 'segq-verify: person-1' && [ "$(status)" = 201 ]; }
wait_for 10 "its token is a place" verified
token=$(field token <"$DIR/answer")
join "$R" shop 10.4.4.4 -H 'segq-verify: person-1'
check_eq "once" "$(status) $(field token <"$DIR/answer")" "200 $token"
join "$R" shop 10.4.4.4 -H 'segq-verify: person-1' -d '{"subject":"bert"}'
check_eq "and for nobody else" "$(status) $(code)" "403 challenge_used"
join "$R" shop 10.4.4.4 -H 'segq-verify: robot'
check_eq "others have none" "$(status) $(code)" "403 challenge_unverified"
kill "$site"
refused() { join "$R" shop 10.4.4.4 -H "segq-verify: person-$RANDOM" && [ "$(status)" = 503 ]; }
wait_for 10 "without the service its fallback holds" refused

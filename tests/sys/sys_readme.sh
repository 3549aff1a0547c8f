#!/bin/bash
# README.md and docs/, typed word for word: `make run`, the commands by hand, in a game, in front
# of a website, tasks, calls, schedules, budgets, orders, launch night, a claim, growing. Only ports
# and folders are changed; a block that nobody types is noticed. On the same cluster: every answer
# is as proto/openapi.yaml says.
. "$(dirname "$0")/lib.sh"

for p in nginx openssl python3 jq cc; do
    command -v $p >/dev/null || give_up "$p is not installed (deploy/deps.sh gate)"
done
TLS=$((PORT + 90))
U=https://localhost:$TLS

# What stands on a page between fences after the line that begins so: the first such block of a
# shell. That it was taken is written down (page:line).
page=README.md
block() { # beginning of a line
    awk -v from="$1" -v page="$page" -v taken="$DIR/taken" 'index($0, from) == 1 { on = 1 } on && /^```$/ { exit }
        on && code { print } on && /^```sh$/ { code = 1; print page ":" FNR >>taken }' "$root/$page" |
        sed -e "s|build/rel/bin/|$BIN/|; s|--dir run|--dir $C|; s|run/secrets|$C/secrets|" \
            -e "s|localhost:8080|127.0.0.1:$((PORT + 10))|g; s|localhost:8081|127.0.0.1:$((PORT + 11))|g" \
            -e "s|localhost:8443|localhost:$TLS|g; s|deploy/|$root/deploy/|g; s|clients/|$root/clients/|g"
}
# A block is typed, line after line, in a folder of its own; its output is in $DIR/out.
type_in() { # "claim" beginning of a line [sed script, for what takes for ever]
    block "$2" | sed "${3:-}" >"$DIR/typed"
    [ -s "$DIR/typed" ] || give_up "$page has no commands after: $2"
    check "$1" eval "(cd '$DIR' && bash -eu typed >out 2>&1 || ! cat out)"
}
said() { check "$1" eval "grep -qE '$2' '$DIR/out' || ! cat '$DIR/out'"; } # "claim" pattern

env BASE_PORT="$PORT" RUN_DIR="$C" BIN="$BIN" WAIT_S=240 "$root/deploy/run.sh" >"$DIR/run.log" 2>&1 &
run=$!
helpers+=("$run")
wait_for 60 "make run says what to type" grep -q 'Ctrl-C ends it' "$DIR/run.log"

page_of() { sed -n "s/^  $1  *\(http[^ ]*\).*/\1/p" "$DIR/run.log"; }
for p in 'start page' 'waiting room' 'the dashboard'; do
    check_eq "$p: is there" "$(status_of -L -H 'Accept: text/html' "$(page_of "$p")")" 200
done

# ---- by hand
page=docs/first-steps.md
type_in "the commands by hand" "## A ticket's life by hand"
said "a place in the line" '"state":"waiting","position":1,"total":1,'
said "its story" '^because '
said "the queue's figures" '^\{"queue":"login","state":"open","waiting":[01],'

type_in "segqctl by its name" "The other pages type" "s|\$PWD/build/rel/bin|$BIN|; s|^segqctl|SEGQ_DIR='$C' segqctl|"
said "  finds the cluster" '^queue login '

# ---- make demo, smaller
demo=(env PLAYERS=4000 ARRIVE_S=2 RUN_DIR="$C" BIN="$BIN")
definition() { "$BIN/segqctl" --dir "$C" --json queue show login | jq -cS 'del(.version)'; }
# so small that its line has several segments
"$BIN/segqctl" --dir "$C" queue set login segment_capacity=1000 >"$DIR/out" 2>&1
before=$(definition)
check "the demo keeps all promises" eval '"${demo[@]}" RATE=250 "$root/deploy/demo.sh" >"$DIR/out" 2>&1'
said "where to watch it is said first" "^Watch it: http://127.0.0.1:$((PORT + 1))/#token="
said "each second says how many wait" '^ +[0-9]+ s  [0-9 ]+ wait, [0-9 ]+/s go in, the last one in [0-9]+ s$'
said "a node is killed amid it" '^ +[0-9]+ s  segment\.[01] has its whole line again: [0-9.]+ m?s without it$'
said "one is added" 'ADDED a segment node'
said "its judgement" '^  yes  nobody lost a place$'
check "  has no other word" eval '! grep -q "^  NO" "$DIR/out"'
check_eq "the nodes are as they were" "$("$BIN/segqctl" --dir "$C" status | grep -c '^segment\.[01]  up')" 2
check "  and the added one is gone" eval '! "$BIN/segqctl" --dir "$C" status | grep -q "^added"'
check_eq "all of them got in" "$(jq .admitted "$C/demo.json")" 4000
most_said=$(sed -nE 's/^ +[0-9]+ s  ([0-9 ]+) wait.*/\1/p' "$DIR/out" | tr -d ' ' | sort -n | tail -n 1)
check "  and its words said the length of all segments: $most_said" test "${most_said:-0}" -ge 1500
check "there was a line: $(jq .most_waiting "$C/demo.json")" jq -e '.most_waiting >= 1500' "$C/demo.json"
check_eq "the queue is as it was" "$(definition)" "$before"
helper "${demo[@]}" RATE=1 "$root/deploy/demo.sh"
rate_is() { "$BIN/segqctl" --dir "$C" --json queue show login | jq -e ".release_per_s == $1" >/dev/null; }
wait_for 20 "another one, slow" rate_is 1
kill -TERM "$H"
wait_for 20 "is broken off" is_gone "$H"
check_eq "the queue is as it was" "$(definition)" "$before"
"$BIN/segqctl" --dir "$C" flush login --yes >"$DIR/out" 2>&1

# ---- in a game
page=docs/game.md
type_in "the client is compiled and waits" "A game in C or C++"
said "it has its pass" '^eyJ[A-Za-z0-9_.-]+$'
{
    printf '#include "segq.h"\nvoid show(long long, double);\nvoid login(const char *);\nvoid f(const char *saved);\n'
    printf 'void f(const char *saved)\n{\n%s\n}\n' "$(sed -n '/^```c$/,/^```$/p' "$root/$page" | grep -v '^```')"
} >"$DIR/snippet.c"
check "what it shows of the client is C" cc -std=c11 -Wall -Werror -fsyntax-only -I"$root/clients/c" "$DIR/snippet.c"
type_in "the game server's questions" '## On the game server'
check_eq "come in, and the slot is free" "$(grep -c '^HTTP/1.1 204' "$DIR/out")" 2
page=docs/clients.md
type_in "somebody is let in, in Python" "# Clients"
said "  with a pass" '^eyJ[A-Za-z0-9_.-]+$'
command -v node >/dev/null || give_up "node is not installed (deploy/deps.sh clients)"
sed -n '/^```html$/,/^```$/{/^  /p}' "$root/docs/game.md" |
    sed "s|https://q1.example|http://127.0.0.1:$((PORT + 10))|; s|https://q2.example|http://127.0.0.1:$((PORT + 11))|" >"$DIR/page.js"
timeout 60 node -e '
    const fs = require("fs");
    globalThis.Segq = require(process.argv[1]);
    globalThis.show = globalThis.again = globalThis.sorry = globalThis.tell = () => {};
    globalThis.login = pass => { console.log(pass); process.exit(); };
    eval(fs.readFileSync(process.argv[2], "utf8"));' "$root/clients/js/segq_events.js" "$DIR/page.js" >"$DIR/out" 2>&1
said "somebody is let in by the script for pages" '^eyJ[A-Za-z0-9_.-]+$'
type_in "and in JavaScript" "[For JavaScript and TypeScript]" 's|"\./|"|'
said "  with a pass, too" '^eyJ[A-Za-z0-9_.-]+$'

# ---- requests that wait
page=docs/requests.md
# What `make run` says to type, as it stands: what it leaves in line is not in the way of the pages.
printed() { sed -n "s/^  $1  *//p" "$DIR/run.log"; }
eval "$(printed 'submit a task')" >"$DIR/out"
said "make run says how to submit a task" '"state":"waiting"'
type_in "a task's life, typed" "# Requests that wait"
said "its delay runs" '"state":"scheduled"'
said "a worker has it" '"payload":{"prompt":"a cat"}'
said "it is done" '"state":"succeeded"'
said "its result" '\{"url":"cat.png"\}$'
eval "$(printed 'take it')" >"$DIR/hello"
eval "$(printed 'it is done' | sed "s/TASK/$(jq -r '.tasks[0].task' "$DIR/hello")/; s/LEASE/$(jq -r '.tasks[0].lease_id' "$DIR/hello")/")" >"$DIR/out"
said "and how to take it, and that it is done" '"state":"succeeded"'
task_call() { http -H "Authorization: Bearer $(task_token)" -d "$2" "$R$1"; } # PATH BODY
task_call /v1/queues/images/tasks '{"payload":1}' >"$DIR/out"
task_call /v1/queues/images/tasks/take '{"lease":"1m","wait":"5s"}' >"$DIR/taken2"
type_in "how far it is, typed" "While a worker has a task" \
    "1s|^|AUTH='Authorization: Bearer $(task_token)' TASK=$(jq -r '.tasks[0].task' "$DIR/taken2") LEASE=$(jq -r '.tasks[0].lease_id' "$DIR/taken2"); |"
said "  is heard" '"state":"running"'
cp "$root/docs/pictures/page.png" "$DIR/cat.png"
type_in "a payload of bytes, typed" "## Payloads that are no JSON" "1s|^|AUTH='Authorization: Bearer $(task_token)'; |"
said "  is in line" '"state":"waiting"'
task_call "/v1/tasks/$(jq -r '.tasks[0].task' "$DIR/taken2")/ack" "{\"lease_id\":\"$(jq -r '.tasks[0].lease_id' "$DIR/taken2")\",\"take\":{\"queue\":\"images\",\"wait\":\"5s\"}}" >"$DIR/out"
said "  and is taken as bytes" '"payload_base64":"iVBOR'
type_in "a permit, typed" "## Permits"
said "  its pass opens" 'HTTP/1.1 204'
type_in "what operators ask" "## For operators"
said "its story" '^because +succeeded: kept until 20[0-9]{2}-'
type_in "a worker of several queues, typed" "A worker of several queues" "1s|^|AUTH='Authorization: Bearer $(task_token)'; |"
said "  nothing is there" '"tasks":\[\]'
type_in "many tasks in one call, typed" "### Submitting many at once" "1s|^|AUTH='Authorization: Bearer $(task_token)'; |"
type_in "a group, typed" "## Groups" "1s|^|AUTH='Authorization: Bearer $(task_token)'; |; s/batch7/batch8/g" # 7: openapi.py's
said "  its tasks are counted" '"sealed":true,"over":false,"tasks":2,'
type_in "a chain, typed" "## One task after another" "1s|^|AUTH='Authorization: Bearer $(task_token)'; |"
said "  its first task is in line" '"state":"waiting"'
page=docs/calls.md
longer='s/sleep 2 /sleep 4 /' # a busy machine
type_in "calls, typed" "# Requests that segq sends" "$longer"
said "a callback is done in line" '"state":"succeeded","kind":"callback","endpoint":"gen","status":200'
said "a request is answered as by the endpoint" '\{"status":"ok"\}$'
type_in "a route, typed" "## The model says where" "1s|^|AUTH='Authorization: Bearer $(task_token)'; |; $longer"
said "  a call goes its way" '"state":"'
said "  its rules" '^llm +/model +big-\* +gen +10s'
type_in "the same in other words" "## Callers of other API queues" "1s|^|AUTH='Authorization: Bearer $(task_token)'; |"
said "  a task of the classic kind" '"task_type":"offline"'
type_in "several servers, typed" "## Several servers behind an endpoint"
type_in "a rule of units, typed" "## Units that are known later"
said "  it says from and to" '^endpoint gen: cost'
type_in "what a target says is left, typed" "## What the target says is left"
page=docs/orders.md
shop_at() { echo "s/9010/$((PORT + 97))/"; }
block "# Close unpaid orders" | sed -n "1{$(shop_at);s/ &\$//;s/^/exec /;p}" >"$DIR/shop"
helper bash -c "exec bash -eu '$DIR/shop' >'$DIR/closed' 2>&1"
type_in "an order, which is paid" "# Close unpaid orders" "1d;$(shop_at);$longer"
said "  its time had not come" '"state":"scheduled"'
said "  and never will" '"state":"cancelled"'
type_in "one that is not" "# Close unpaid orders" "1d;3d;5,6d;s/30m/1s/;s/order-17/order-18/;s/:17}/:18}/"
wait_for 20 "  is closed" grep -q '^/close .*"order":18' "$DIR/closed"
check_eq "  and the other is not" "$(grep -c 17} "$DIR/closed")" 0
page=docs/gpu.md
for k in 1 2; do helper python3 "$root/deploy/demo_gpu_model.py" $((PORT + 85 + k)) "$DIR/gpu$k.jsonl" 8 50; done
type_in "a line before model servers, typed" "# A line before GPUs" \
    "1,2d;s/9021/$((PORT + 86))/;s/9022/$((PORT + 87))/;s|pkill -HUP rt_cluster|pkill -HUP -f 'rt_cluster .*$C/'|;$longer"
said "  the answer streams through" '^data: \[DONE\]'
said "  both servers are up" "127.0.0.1:$((PORT + 87)).* up"
page=docs/budgets.md
type_in "a budget, typed" "# One budget"
type_in "a budget of units, typed" "Endpoints that are one account"
page=docs/schedules.md
type_in "a schedule, typed" "# Schedules"
said "its next times" '"schedule":"nightly","next":\[[0-9]+,[0-9]+,[0-9]+,[0-9]+,[0-9]+\],"definition":\{"cron":'
type_in "operators' schedules, typed" "* Operators have the same" "s|^segqctl|'$BIN/segqctl' --dir '$C'|;s|localhost:[0-9]*/v1/admin|127.0.0.1:$((PORT + 1))/v1/admin|"
said "  when it would fire" 'T02:30:00.0[12]:00'
"$BIN/segqctl" --dir "$C" task schedules delete images nightly --yes >"$DIR/out" 2>&1
check "make demo-tasks, smaller, keeps all promises" eval 'env TASKS=20000 TENANTS=50 RUN_DIR="$C" BIN="$BIN" "$root/deploy/demo-tasks.sh" >"$DIR/out" 2>&1 || ! cat "$DIR/out"'
said "amid it the task node is killed" 'kill -9 of the task node'
said "  the dashboard's address comes first" '^the dashboard  http://127.0.0.1:[0-9]+/#token='
said "  a line of words a second" '^ +[0-9]+ s  [0-9 ]+ wait, [0-9 ]+ run, about [0-9 ]+ done$'
said "its report" '^judge: [0-9]+ passed, 0 failed$'

# ---- before a website
page=docs/website.md
check "a gate whose site has no port ends" eval '! env RUN_DIR="$C" TLS_PORT=$TLS HTTP_PORT=$((PORT + 91)) SITE_PORT=$((PORT + 10)) "$root/deploy/gate.sh" >"$DIR/out" 2>&1'
said "  and says which, and what to type" "^gate: the small site cannot listen on port $((PORT + 10)): .*SITE_PORT=$((PORT + 11)) make gate"
helper python3 -m http.server $((PORT + 92)) --bind 127.0.0.2 # whoever has that port of another address is in nobody's way
env RUN_DIR="$C" TLS_PORT=$TLS HTTP_PORT=$((PORT + 91)) SITE_PORT=$((PORT + 92)) "$root/deploy/gate.sh" >"$DIR/gate.log" 2>&1 &
gate=$!
helpers+=("$gate")
ask() { http -k -b "$DIR/jar" -c "$DIR/jar" "${LOOKS[@]}" "$@"; }
serves() { [ "$(ask -o /dev/null -w '%{http_code}' "$U/shop.html")" = 302 ]; }
wait_for 20 "the gate stands" serves
type_in "paused, asked, resumed" 'Open `https://localhost:8443/shop.html`'
said "who has no pass goes to the room" '^location: /q/login\?return=/shop.html'
said "a program is told" '^x-segq-location: /q/login'
type_in "the rule that decides, asked" "Which rule decides for a request" "s|/etc/segq/gate.secret|$C/secrets/gate.secret|"
said "  the queue's own room, as there are no rules" '^\{"verdict":"room","rule":null,"other_rule":null,"queue":"login","queue_known":true,"pass":"pass missing or invalid","bypass":null,"trusted":true,"unclear":false,"uri":"/tickets/7","method":"GET","host":"www.shop.example"\}'
let_in() {
    ask -o /dev/null "$U/q/login?return=/shop.html"
    ask -o /dev/null -X POST -H 'Sec-Fetch-Site: same-origin' --data 'return=/shop.html' "$U/q/login/enter"
    ask "$U/shop.html" | grep -q 'You are in'
}
wait_for 20 "who was let in sees the site" let_in
type_in "words and looks" '## The page'
type_in "a message in two languages" '`page.messages` has it in other languages'
"$BIN/segqctl" --dir "$C" pause login >/dev/null
says() { http -k -H 'Accept-Language: zh' "$U/q/login?return=/" | grep -q '秋季促销'; }
wait_for 20 "the page has them, in the visitor's language" says
says_now() { http -k -H 'Accept-Language: zh' "$U/q/login?return=/" | grep -q '十分钟后恢复'; }
wait_for 20 "and the message of the moment" says_now
check "in at most 12 KB on the wire" test "$(http -k -H "Accept-Encoding: gzip" "$U/q/login?return=/" | wc -c)" -le 12288
nginx_pid=$(cat "$C/gate/nginx.pid")
kill -TERM "$gate"
wait_for 10 "its end ends nginx" is_gone "$nginx_pid"
mkdir -p "$DIR/own" && echo 'my own site' >"$DIR/own/index.html"
helper python3 -m http.server $((PORT + 98)) --bind 127.0.0.1 --directory "$DIR/own"
helper env SITE=http://127.0.0.1:$((PORT + 98)) RUN_DIR="$C" TLS_PORT=$TLS HTTP_PORT=$((PORT + 91)) SITE_PORT=$((PORT + 92)) "$root/deploy/gate.sh" >"$DIR/own.log" 2>&1
own_site() { ask "$U/" | grep -q 'my own site'; }
wait_for 20 "SITE=... puts another site behind it" own_site

# ---- the day before, and on launch night
page=docs/rehearse.md
type_in "a night is rehearsed, typed" "# Rehearse the night" "s|^segqctl|'$BIN/segqctl'|;s|conf/|$root/conf/|"
said "  each variant's waits" '^rate=600 +[0-9]+ '
check "  a page" grep -q '</html>' "$DIR/night.html"
sed '/^  arrivals:/,/at: 30m/d' "$root/conf/night.yaml" >"$DIR/past.yaml"
type_in "a past night is played, typed" "## A past night" "s|^segqctl|'$BIN/segqctl'|;s|/var/lib/segq/audit|$C/audit|;s|night.yaml|past.yaml|"
page=docs/launch-night.md
type_in "at eight o'clock" '## At eight' '/ watch /d'
check_eq "the tiers decide" "$("$BIN/segqctl" --dir "$C" queue show login | jq -c '[.state, .release_per_s]')" '["open",0]'
said "each says from and to" '^queue login: release_per_s: .* -> 200$'
"$BIN/segqctl" --dir "$C" audit >"$DIR/out"
said "and written down" 'login: release_per_s 0 -> 200'

# ---- configuration
page=docs/configuration.md
sed -n '/^```yaml$/,/^```$/p' "$root/$page" | grep -v '^```' >"$DIR/queuemng.yaml"
check "the queue that it shows is taken" eval "'$BIN/queuemng' -t -c '$DIR/queuemng.yaml' | grep -q 'rate_per_s: 2000'"

# ---- a claim
block '## Lanes and claims' >"$DIR/claim"
claims() { (cd "$DIR" && bash -eu claim >out 2>&1) && grep -q '"lane":"vip"' "$DIR/out"; }
wait_for 20 "a claim opens its lane, as soon as routers know of it" claims

# ---- a price for a place
page=docs/challenge.md
type_in "joins cost work, typed" '| `cost` |' "s|^segqctl|'$BIN/segqctl' --dir '$C'|"
costs() { "$BIN/segqctl" --dir "$C" status login | grep -q 'joins cost work since .*, by hand'; }
wait_for 10 "  the status says so" costs
"$BIN/segqctl" --dir "$C" challenge login off >"$DIR/out" 2>&1
said "  from -> to" 'challenge'
page=docs/devices.md
type_in "a ticket of one device, typed" 'Try it:' "s|^segqctl|'$BIN/segqctl' --dir '$C'|"
said "  is refused another" '"code":"other_device",.*"ticket":"[0-9]+-[0-9]+"'
printf 'TOKEN=%s\n' "$(sed -n 's/.*"token":"\([^"]*\).*/\1/p' "$DIR/out" | head -n 1)" >"$DIR/typed_token"
type_in "an operator helps, typed" '**An operator helps**' "1i . ./typed_token
s|^segqctl|'$BIN/segqctl' --dir '$C'|"
said "  from -> to" '^ticket [0-9]+-[0-9]+ of queue login: the device that joined -> the next one that shows it, until '
"$BIN/segqctl" --dir "$C" queue set login bind=none >"$DIR/out" 2>&1

# ---- growing: another router and another segment node
page=docs/operations.md
one="s#segqctl --context [a-z]*#'$BIN/segqctl' --dir '$C'#g;s# task.token# '$C/secrets/task.token'#" # old is new, too
"$BIN/segqctl" --dir "$C" pool add 'ride/*' >"$DIR/out" 2>&1
wait_for 20 "tasks to carry" eval 'http -H "Authorization: Bearer $(task_token)" -d "{\"payload\":1}" "$R/v1/queues/ride/eu/tasks" | grep -q task'
exports() { "$BIN/segqctl" --dir "$C" task export 'ride/*' >"$DIR/out" 2>&1; }
wait_for 20 "its partitions are there" exports
type_in "tasks are carried elsewhere, typed" "## Carrying tasks elsewhere" "$one;5d"
type_in "or a part of them" "A part of a pool moves" "$one"
"$BIN/segqctl" --dir "$C" pool delete 'ride/*' final --yes >"$DIR/out" 2>&1
mkdir -p "$DIR/grow"
cp -p "$C/secrets/cluster.secret" "$C/secrets/pass.key" "$DIR/grow"
grow() { # program admin port listen port
    block '## Growing' | sed -n "s|^$1 *-c conf/|exec '$BIN/$1' -c '$root/conf/|p" | sed "s|\.yaml .*|.yaml' \
        --set name=grown_$1 --set listen=127.0.0.1:$3 --set admin=127.0.0.1:$2 --set managers=127.0.0.1:$PORT|" >"$DIR/grow/$1"
    [ -s "$DIR/grow/$1" ] || give_up "$page does not say how $1 is started"
    helper sh -c "cd '$DIR/grow' && . ./$1"
}
grow rt_cluster $((PORT + 93)) $((PORT + 94))
grow seg_cluster $((PORT + 95)) $((PORT + 96))
wait_for 30 "growing: the new router knows the queue" has_status 200 "http://127.0.0.1:$((PORT + 94))/v1/queues/login"
has_node() { "$BIN/segqctl" --dir "$C" status | grep -q 'grown_seg_cluster'; }
wait_for 30 "  the new segment node is there" has_node

# ---- who is in line, several lines, a word when the turn comes
ctl="s|segqctl|'$BIN/segqctl' --dir '$C'|g"
page=docs/challenge.md
type_in "suspects, typed" '`bypass`, or sign claims.' "$ctl"
page=docs/game.md
type_in "several queues, typed" "## Several queues at once" "$ctl"
said "  two places" '"queue": *"north","state".*"queue": *"south","state"'
type_in "  and by a claim" "**One person, one group.**" "$ctl"
said "  two places, too" '"queue": *"north","state".*"queue": *"south","state"'
page=docs/requests.md
type_in "an offer, typed" "## One task in several queues" "$ctl; 1s|^|AUTH='Authorization: Bearer $(task_token)'; |"
page=docs/rehearse.md
type_in "what requests cost, typed" "## What requests cost your machine" "s|^segqctl|'$BIN/segqctl'|; s|measure|measure --for 2|; s|rehearse night|rehearse $root/conf/night|"
page=docs/turn.md
"$BIN/segqctl" --dir "$C" queue add shop >/dev/null
type_in "people are told, typed" "# Told when it is one's turn" "$ctl"
type_in "  and the page asks" "## On the waiting page" "$ctl"
type_in "  and routers send" "### Web Push without a service of yours" "$ctl"
"$BIN/segqctl" --dir "$C" pause shop >/dev/null
has_shop() { has_status 200 "$R/v1/queues/shop"; }
wait_for 20 "  the routers know" has_shop
type_in "  a contact" "## Who is told" "1s|^|TICKET=$(http -X POST "$R/v1/queues/shop/tickets" | jq -r .token); |"
page=docs/privacy.md
type_in "one person's traces are deleted, typed" "## To delete one person's traces" "s|AUDIT_DIR/NODE|$(find "$C/audit" -name 'audit-*.jsonl' -printf '%h\n' | head -1)|"

# ---- as a service, and as a package: what stands at the end of the install (the rest: test_deb.sh)
page=README.md
for typed in "$(grep '^segqctl ' "$root/deploy/systemd/README.md")" "$(block '## Install' | grep '^segqctl ')"; do
    typed=$(sed "s|http://127.0.0.1:7071|$A|; s|/etc/segq/|$C/|" <<<"$typed")
    check "installed: ${typed%% /*} ..." eval "(cd '$DIR' && '$BIN'/$typed >out 2>&1)"
    said "  says who is there" 'router\.0'
done

# ---- what the texts call metrics (cookies and functions are none; Redis' are there with Redis only,
# that of regions where one is named)
for p in 1 30 47 70; do http "http://127.0.0.1:$((PORT + p))/metrics"; done | sed -n 's/^# HELP \([a-z_]*\) .*/\1/p' >"$DIR/metrics"
(cd "$root" && grep -ohE '`segq_[a-z_]+`' README.md docs/*.md proto/*.md deploy/*/README.md deploy/SIZING.md tests/README.md) |
    tr -d '`' | grep -vxE 'segq_(pass|ticket|places|shop|poll|admin|lang|region_info|redis_.*)' | sort -u >"$DIR/named"
check "they are named in many places" test "$(wc -l <"$DIR/named")" -ge 10
check_eq "and are there" "$(grep -vxFf "$DIR/metrics" "$DIR/named")" ""

# ---- what proto/openapi.yaml says
"$BIN/../deploy/yaml2json" "$root/proto/openapi.yaml" >"$DIR/openapi.json"
check "the answers are as openapi.yaml says" eval \
    "'$here/openapi.py' '$DIR/openapi.json' '$R' '$A' '$C/secrets/admin.token' '$BIN/segqctl' >'$DIR/out' || ! cat '$DIR/out'"
said "all of it" '^[0-9]{2,} answers, 0 disagree'

# ---- all of it: but `make` (by its scripts, above) and a signal (sys_upgrade)
(cd "$root" && awk '/^```sh$/ { at = FILENAME ":" FNR; n = 0 } /^```$/ { at = "" }
    at && !/^```/ && !/^(make|kill) / && !n++ { print at }' README.md docs/*.md) | sort >"$DIR/blocks"
check "there are many" test "$(wc -l <"$DIR/blocks")" -ge 14
check_eq "every one of them was typed" "$(sort -u "$DIR/taken" | comm -23 "$DIR/blocks" -)" ""

kill -TERM "$run"
wait_for 30 "the end of make run ends the cluster" is_gone "$run"

#!/bin/bash
# Every command of segqctl against a real cluster, and what it says when something is wrong.
. "$(dirname "$0")/lib.sh"

up --set away=0 --capacity 50 --seg-nodes 2 --routers 2 --set release_per_s=20 --set state=paused --set idle.game=15m \
    --set 'queuemng.metrics=[{name: cpu, kind: proc, what: cpu}, {name: load, kind: proc, what: cpu}]'
ctl() { "$BIN/segqctl" --dir "$C" "$@" >"$DIR/out" 2>"$DIR/err" </dev/null; }
# at_terminal WORD command...: what it says, and its exit, when WORD is typed at a terminal
at_terminal() {
    python3 - "$BIN/segqctl" --dir "$C" "$@" >"$DIR/out" <<'E'
import os, pty, sys
argv = sys.argv[1:4] + sys.argv[5:]
pid, fd = pty.fork()
if pid == 0:
    os.execv(argv[0], argv)
os.write(fd, sys.argv[4].encode() + b"\n")
try:
    while True:
        data = os.read(fd, 4096)
        if not data:
            break
        os.write(1, data)
except OSError: # the terminal is closed
    pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
E
}
says() { grep -qE -- "$1" "$DIR/out"; }         # pattern, on standard output
complains() { grep -qE -- "$1" "$DIR/err"; }
runs_well() { local rc; ctl "$@"; rc=$?; [ $rc = 0 ] && [ ! -s "$DIR/err" ]; }
# exits CODE PATTERN command...: nothing on standard output, one line that matches
exits() {
    local want=$1 pattern=$2 rc
    shift 2
    ctl "$@"
    rc=$?
    [ $rc = "$want" ] && [ ! -s "$DIR/out" ] && [ "$(wc -l <"$DIR/err")" = 1 ] &&
        complains "$pattern" && return
    echo "# segqctl $*: exit $rc, out: $(head -c 300 "$DIR/out") err: $(head -c 300 "$DIR/err")"
    return 1
}
same_definition() {
    ctl -o yaml queue show login && yaml . >"$DIR/yaml.json" && ctl -o json queue show login &&
        jq -e --slurpfile y <(jq . "$DIR/yaml.json") '. == $y[0]' "$DIR/out" >/dev/null
}
state() { ctl queue show "${1:-login}" && jq -r .state "$DIR/out"; }
kept() { ctl queue show "$1" && jq -r ".$2" "$DIR/out"; }
is() { [ "$("${@:2}")" = "$1" ]; } # value command...

# ---- status ----
join_many 120 "$DIR/j"
check_eq "120 joined" "$(tokens_of "$DIR/j" | wc -l)" 120
full_view() { ctl status && says '120 waiting'; }
wait_for 5 "status: 120 waiting" full_view
check "status: both nodes" says '^segment\.1 +up'
check "status: both routers" says '^router\.1 '
check "status: the queue and its limit" says '^queue login \(paused\): 0/s allowed, limited by paused$'
check "status: a full segment, and who is before the next" says 'sealed +\[####################\] +50 +50 +50 +0 '
check "status: the second" says ' +50 +50 +50 +50  '
check "status QUEUE" runs_well status login
check "  shows that queue" says '^queue login'
check "status: no such queue" exits 1 "no queue 'nosuch'" status nosuch
check "--json" runs_well --json status
check "  is the answer as it came" test "$(jq -r '.queues[0].queue' "$DIR/out")" = login

# ---- watch ----
"$BIN/segqctl" --dir "$C" watch >"$DIR/watch" 2>"$DIR/watch.err" &
w=$!
helpers+=("$w")
pictures() { [ "$(grep -c '^queue login' "$DIR/watch")" -ge 2 ]; }
wait_for 10 "watch: a picture every second" pictures
kill -INT "$w"
wait "$w"
check_eq "watch ends well with Ctrl-C" $? 0
# Whoever reads it goes away.
piped() { timeout 20 "$BIN/segqctl" --dir "$C" "$@" 2>"$DIR/err" | head -c 1 >/dev/null; echo "${PIPESTATUS[0]}"; }
for words in "watch --json" "watch" "status"; do
    # shellcheck disable=SC2086
    check_eq "$words | head ends" "$(piped $words)" 0
    check "  quietly" test ! -s "$DIR/err"
done
to_full() { timeout 20 "$BIN/segqctl" --dir "$C" "$@" >/dev/full 2>"$DIR/err"; echo $?; }
for words in "watch --json" "status" "-h" "--version"; do
    # shellcheck disable=SC2086
    check_eq "$words to a full disk: 1" "$(to_full $words)" 1
    check "  and it says so" complains 'No space left'
done

# ---- queues ----
check "queue list" runs_well queue list
check "  names login" says '^login +paused +1 +50 +20/s$'
check "queue add" runs_well queue add fresh state=paused segment_capacity=500 merge=false \
    'lanes=[{"name":"vip","weight":9},{"name":"default"}]' idle.game=7m
check_eq "  number" "$(kept fresh segment_capacity)" 500
check_eq "  bool" "$(kept fresh merge)" false
check_eq "  list" "$(kept fresh 'lanes[0].weight')" 9
check_eq "  dotted key" "$(kept fresh idle.game)" 7m
wait_for 5 "it can be joined" has_status 201 -X POST "$R/v1/queues/fresh/tickets"
check "queue add of one that is there" exits 1 'queue fresh exists already; .*segqctl queue set\)$' queue add fresh
check_eq "  leaves it as it is" "$(kept fresh segment_capacity)" 500
check "queue add: no such key" exits 1 'nonsense: unknown key; allowed: name, .*, rollout' \
    queue add other nonsense=1
check "  all of them, and those that were meant" exits 1 \
    'rate, sgement_capacity, game: unknown keys; did you mean release_per_s, segment_capacity, idle.game\?' \
    queue add other rate=5 sgement_capacity=9 state=open game=3s
check "queue add: not a queue's name" exits 1 \
    'name: .UPPER_. is.*allowed: a name \(a-z 0-9.*begins with a letter' queue add UPPER_
check "queue add: not a name" exits 1 'Not A Name.*allowed: a name' queue add 'Not A Name'
check "queue set" runs_well queue set fresh idle.game=3m release_per_s=12.5 open_next_at=0.5
check_eq "  a time" "$(kept fresh idle.game)" 3m
check_eq "  its neighbour stays" "$(kept fresh idle.mobile)" 2m
check_eq "  a fraction" "$(kept fresh release_per_s)" 12.5
check "queue set: out of range" exits 1 'open_next_at.*[0-9]$' queue set fresh open_next_at=7
check "queue set: nothing to set" exits 2 'usage: segqctl queue set' queue set fresh
check "queue set: not KEY=VALUE" exits 2 'not KEY=VALUE' queue set fresh merge
check "queue set: broken JSON" exits 2 'JSON' queue set fresh 'lanes=[{'
check "queue show: no such queue" exits 1 '^segqctl: no queue nosuch$' queue show nosuch
check "  in scripts with its code" exits 1 '"status": ?404.*"code": ?"queue_not_found"' -o json queue show nosuch
for words in "queue show logn" "pause lgoin" "join loginn" "status logn" "flush logn" "rate logn 5"; do
    # shellcheck disable=SC2086
    check "$words: the one that was meant" exits 1 '; did you mean login\?$' $words
done
asks() { exits 2 "1 person waits\. .*--yes" queue delete fresh; }
wait_for 5 "queue delete asks, with how many wait" asks
check_eq "  it is still there" "$(kept fresh segment_capacity)" 500
check "queue delete --yes" runs_well queue delete fresh --yes
check "  and how to undo it" says 'segqctl queue restore fresh'
gone() { has_status 403 -X POST "$R/v1/queues/fresh/tickets"; }
wait_for 5 "  nobody joins it" gone
check "queue delete again" exits 1 "no queue 'fresh'" queue delete fresh
check "  with --yes" exits 1 'no queue fresh' queue delete fresh --yes
check "status has it" runs_well status
check "  as deleted" says '^queue fresh is deleted, with 1 waiting'
check "queue restore" runs_well queue restore fresh
check_eq "  it is as it was" "$(kept fresh segment_capacity)" 500
check "queue restore again" exits 1 'queue fresh is there: it was not deleted' queue restore fresh
asks() { exits 2 "1 person waits\. .*no undo.*--yes" queue delete fresh final; }
wait_for 5 "queue delete final asks" asks
check "queue delete final" runs_well queue delete fresh final --yes
check "  cannot be undone" exits 1 'no queue fresh was deleted' queue restore fresh
check "queue delete: another word" exits 2 'final' queue delete login now

# ---- tickets ----
check "join" runs_well join login --client browser --subject ann
t=$(awk '$1 == "token" { print $2 }' "$DIR/out")
check "  a ticket in line" says '^position +121$'
check "join again, same subject" runs_well join --subject ann login
check_eq "  the same ticket" "$(awk '$1 == "token" { print $2 }' "$DIR/out")" "$t"
check "join: client that is none" exits 1 'client.*(game|browser)' join login --client toaster
check "claim: no lane" exits 2 '--lane L' claim login
check "claim: replaces no token" exits 2 'is not a token' claim login --lane vip --replaces 17-4
check "claim: several queues, one twice" exits 2 'name each queue once' claim login shop login --lane vip
check "claim: names with a comma" exits 2 'name each queue once' claim login,shop --lane vip
check "claim: no name" exits 2 'small letters, digits, _ and -' claim Login --lane vip
check "claim: one of several is replaced" exits 2 'queue alone' claim login shop --lane vip --replaces 17-4
check "claim: no key" exits 2 'no key to sign with' claim login --lane vip
check "claim: a time that is none" exits 2 '--ttl takes 1 to 86400 seconds' claim login --lane vip --ttl 5m
check "join: claim that is none" exits 1 'claim' join login --claim a.b.c
check "poll" runs_well poll "$t"
check "  waiting" says '^state +waiting$'
check "poll of a forged one" exits 1 'not a ticket of ours$' poll "${t%?}x${t:0:1}"

# ---- pause, resume, release, close, open, flush ----
check "release while paused" runs_well release login 7
released() { ctl status login && says ', 7 released'; }
wait_for 5 "  seven are let in" released
check "release: not a number" exits 2 "'x' is not a number" release login x
check "release: nobody" exits 1 'release|count|from 1' release login 0
check "resume" runs_well resume login
all_in() { ctl poll "$t" && says '^state +admitted$'; }
wait_for 30 "  everybody is let in, ann last" all_in
check "  with a pass" says '^pass +[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$'
check "close" runs_well close login
check_eq "  it says so" "$(state)" closed
closed() { exits 1 'the queue is closed' join login; }
wait_for 5 "  joins are refused" closed
check "open" runs_well open login
opened() { ctl join login; }
wait_for 5 "  joins are taken" opened
check "pause" runs_well pause login
check_eq "  it says so" "$(state)" paused
join_many 60 "$DIR/j2"
t2=$(tokens_of "$DIR/j2" | tail -n 1)
check "leave" runs_well leave "$(tokens_of "$DIR/j2" | head -n 1)"
check "  says what that means" says '^the place is given up$'
check "  in scripts it says nothing" eval 'runs_well -o json leave "$(tokens_of "$DIR/j2" | head -n 1)" && [ ! -s "$DIR/out" ]'
check "leave again is no error" runs_well leave "$(tokens_of "$DIR/j2" | head -n 1)"
asks() { exits 2 '59 people wait\. .*no undo.*--yes' flush login; }
wait_for 5 "flush asks, with how many wait" asks
check_eq "another name typed: 1" "$(at_terminal logn flush login; echo $?)" 1
check "  it asks for the name" says 'Type login to go on'
check "  and nothing is done" says 'nothing was changed'
check "  the line is as it was" ctl poll "$t2"
check "reject asks" exits 2 '59 people wait\. .*Places are kept.*--yes' reject login
check_eq "the right name typed: 0" "$(at_terminal login reject login; echo $?)" 0
check_eq "  it rejects" "$(state)" reject
check "  places are kept" ctl poll "$t2"
check "passthrough asks, with how many go in" exits 2 '59 people wait\. All of them go in at once.*no undo.*--yes' passthrough login
check "  also as a key" exits 2 '59 people wait\. All.*--yes' queue set login state=passthrough
printf 'budgets:\n  - {name: night, rate_per_s: 5}\nqueues:\n  - name: login\n    state: passthrough\n' >"$DIR/pass.yaml"
check "  also in a file" eval '! ctl apply "$DIR/pass.yaml" && complains "59 people wait\. All.*--yes"'
check "    of which nothing is done before" exits 1 'no budget night' budget show night
check_eq "  another name typed: 1" "$(at_terminal logn passthrough login; echo $?)" 1
check_eq "  it still rejects" "$(state)" reject
check "pause" runs_well pause login
check "  from and to, and who waits" says '^login: paused \(was reject\); 59 people wait$'
check_eq "flush, the name typed: 0" "$(at_terminal login flush login; echo $?)" 0
flushed() { exits 1 'this ticket is over: ' poll "$t2" >/dev/null; }
wait_for 10 "  nobody is left in the line" flushed

# ---- steering, and who did it ----
check "release: nobody waits" runs_well release login 5
check "  says so" says '^login: released 0 of 5: nobody waits$'
check "rate" runs_well rate login 0.25
check "  from and to" says '^queue login: release_per_s: .* -> 0.25$'
check_eq "  it is fixed" "$(kept login release_per_s)" 0.25
check "rate by the limits again" runs_well rate login limits
check_eq "  it is so" "$(kept login release_per_s)" 0
check "rate: not a number" exits 2 'is not a number' rate login soon
for n in 0 0.0; do
    check "rate $n: what it could mean" exits 2 'segqctl pause login.*segqctl rate login limits' rate login $n
done
check_eq "  changes nothing" "$(kept login release_per_s)" 0
check "rate below 0" exits 2 "'-5': no number here can be below 0" rate login -5
check "tiers" runs_well tiers login load 50:200 70:20
check_eq "  one limit more" "$(kept login 'limits | map(select(.metric == "load")) | tojson')" \
    '[{"metric":"load","tiers":[{"below":50,"rate_per_s":200},{"below":70,"rate_per_s":20}]}]'
check "tiers of the same metric again" runs_well tiers login load 60:100
check_eq "  take the old ones' place" "$(kept login 'limits[-1].tiers | tojson')" '[{"below":60,"rate_per_s":100}]'
check "tiers of a second metric" runs_well tiers login cpu 50:200
check "  the first is not forgotten" says '^load still limits it, too: below 60: 100/s, from 60 on nobody$'
check "tiers: no such metric" exits 1 'no metric cup.*there are: .*cpu' tiers login cup 50:200
check_eq "  changes nothing" "$(kept login 'limits | map(.metric) | sort | tojson')" '["cpu","load"]'
check "tiers none" runs_well tiers login load none
check_eq "  it limits no more" "$(kept login 'limits | map(.metric) | tojson')" '["cpu"]'
check "tiers none of one that has none" exits 1 "'load' does not limit login" tiers login load none
check "tiers: what is none" exits 2 'is no tier' tiers login load 50
check "tiers: no such queue" exits 1 '^segqctl: no queue nosuch' tiers nosuch load 50:1
check "max" runs_well max login 70 both
check_eq "  at most so many inside" "$(kept login max_active)/$(kept login mode)" 70/both
check "max: the mode back" runs_well max login 0 rate
check "message" env SEGQ_OPERATOR=anna "$BIN/segqctl" --dir "$C" message login Back in ten minutes
said() { [ "$(curl -s "$R/v1/queues/login" | jq -r .message)" = "Back in ten minutes" ]; }
wait_for 5 "  clients are told" said
check "message: taken away" runs_well message login
check_eq "  it is gone" "$(kept login message)" ""
changed() { ctl audit 10 && says 'anna \(127\.0\.0\.1\) login: message "" -> "Back in ten minutes"'; }
check "audit says who changed what" changed
check "audit: how many" exits 2 'is not a number' audit x
happened() { ctl events && says 'event=drain|event=release_by_hand queue=login n=7'; }
check "events" happened

# ---- definitions in files ----
check "a budget, for files" runs_well budget add shared rate_per_s=100
check "budget show: the one that was meant" exits 1 "; did you mean shared\?$" budget show shraed
check "a new queue, which has a part of it" runs_well queue add filed state=paused idle.game=1m budget=shared
ctl export && cp "$DIR/out" "$DIR/all.yaml"
check "export has it" grep -qx '  - name: "filed"' "$DIR/all.yaml"
check "  and the budget" grep -qx '  - name: "shared"' "$DIR/all.yaml"
check "diff with it: nothing" runs_well diff "$DIR/all.yaml"
check "  and it says so" says '^nothing would change$'
printf 'queues:\n  - name: filed\n    idle: { game: 60s, mobile: 4m }\n  - name: newer\n    state: paused\n' >"$DIR/some.yaml"
ctl diff "$DIR/some.yaml"
check_eq "diff with another one: 1" $? 1
check_eq "  what would change: 60s is 1m" "$(cat "$DIR/out")" "queue filed: idle.mobile: 2m -> 4m
queue newer: is new
queue newer: state: paused"
check "apply --dry-run" runs_well apply "$DIR/some.yaml" --dry-run
check_eq "  changes nothing" "$(kept filed idle.mobile)" 2m
sed 's/paused/pausd/' "$DIR/some.yaml" >"$DIR/bad.yaml"
check "apply of what is wrong: file, line, key" exits 2 'bad.yaml:5: state: pausd' apply "$DIR/bad.yaml"
check_eq "  changes nothing before it, either" "$(kept filed idle.mobile)" 2m
printf 'queues:\n  - name: filed\n    rollout: 5\n  - name: filed\n    rollout: 6\n' >"$DIR/bad.yaml"
printf 'queues:\n  - name: filed\n    rate: 5\n    rolout: 6\n' >"$DIR/keys.yaml"
check "apply of keys that are none" exits 2 \
    'keys.yaml:3: rate, rolout: unknown keys; did you mean release_per_s, rollout\? allowed: ' apply "$DIR/keys.yaml"
check "apply of one that is there twice" exits 2 "bad.yaml:4: queue 'filed' is there twice" apply "$DIR/bad.yaml"
check_eq "  changes it not even once" "$(kept filed rollout)" 100
printf 'nodes: []\n' >"$DIR/bad.yaml"
check "apply of another kind" exits 2 "bad.yaml:1: 'nodes' is not" apply "$DIR/bad.yaml"
check "apply" runs_well apply "$DIR/some.yaml"
check_eq "  changes what it says" "$(kept filed idle.mobile)" 4m
check_eq "  and makes what is new" "$(kept newer state)" paused
check "apply again, with -f" runs_well apply -f "$DIR/some.yaml"
check "  has nothing to do" says '^nothing to change$'
check_eq "diff of what comes on standard input: nothing" \
    "$("$BIN/segqctl" --dir "$C" diff -f - <"$DIR/some.yaml" 2>&1)" "nothing would change"
check "apply of two files" exits 2 'usage: segqctl apply FILE, or -f FILE' apply a -f b
check "-f of another command" exits 2 'status does not take --file' status -f x
edit() { # what the editor does: a sed expression, then a command
    printf 'sed -i "%s" "$1"\n%s\n' "$1" "${2:-}" >"$DIR/editor"
    TMPDIR=$DIR EDITOR="sh $DIR/editor" ctl edit queue filed
}
check "edit" edit 's/^rollout: .*/rollout: 7/'
check_eq "  changes it" "$(kept filed rollout)" 7
check "  and leaves no file" eval '! ls "$DIR"/segqctl-* 2>/dev/null'
edit 's/^rollout: .*/rollout: 700/'
check_eq "edit to what is wrong: 2" $? 2
check "  says where" complains 'segqctl-.*: rollout: 700'
check "  and keeps the text" eval 'grep -qx "rollout: 700" "$DIR"/segqctl-*'
rm -f "$DIR"/segqctl-*
check "Ctrl-C is the editor's" edit 's/^rollout: .*/rollout: 8/' 'kill -INT "$PPID"'
check_eq "  what it wrote counts" "$(kept filed rollout)" 8
edit 's/^rollout: .*/rollout: 9/' "'$BIN/segqctl' --dir '$C' queue set filed idle.game=7m >/dev/null"
check_eq "edit of what somebody else has changed meanwhile: 1" $? 1
check "  says so" complains 'was changed meanwhile, it is at version'
check_eq "  and undoes nothing of it" "$(kept filed idle.game)/$(kept filed rollout)" 7m/8
for q in filed newer; do ctl queue delete $q final --yes; done
check "a budget without members goes" runs_well budget delete shared

# ---- nodes ----
check "drain" runs_well drain segment.0
draining() { ctl status && says '^segment\.0 +up, draining +0 '; }
wait_for 30 "  it is empty" draining
check "drain of an empty one" runs_well drain segment.0
check "  says so" says '^ok: it is empty and can be stopped$'
check "undrain" runs_well undrain segment.0
used() { ctl status && says '^segment\.0 +up '; }
wait_for 5 "  it may be used again" used
check "forget: one that is up" exits 1 'segment.0 is up: drain it' forget segment.0
check "forget: no such node" exits 1 'no node segment.9' forget segment.9
kill -STOP "$(pid_of segment.1)" # everything is there since the drain of the other one
down() { ctl status && says '^segment\.1 +down for [0-9]+ s +[1-9]'; }
wait_for 20 "a node is down" down
check "drain of one that is down" runs_well drain segment.1
check "  says so" says 'cannot move now: the node is down'
check "forget asks when segments are there" exits 2 '^segqctl: forget segment.1: .*by polling.*--yes' forget segment.1
check_eq "  its name typed: 0" "$(at_terminal segment.1 forget segment.1; echo $?)" 0
forgotten() { ctl status && ! says '^segment\.1 '; }
wait_for 60 "  it is forgotten" forgotten
kill -CONT "$(pid_of segment.1)"
anew() { ctl status && says '^segment\.1 +up '; }
wait_for 20 "  and a new one when it is back" anew
check "drain: no such node" exits 1 'no node segment.9' drain segment.9

# ---- where the cluster is, and what may go wrong ----
token=$C/secrets/admin.token
alone() { "$BIN/segqctl" "$@" >"$DIR/out" 2>"$DIR/err"; }
check "--admin and --token-file" alone --admin "$A" --token-file "$token" queue list
check "--router" alone --router "$R2" join login
check "the next router is asked" alone --router http://127.0.0.1:1 --router "$R" join login
check "default folder ./run" bash -c 'mkdir -p "$1/at" && ln -sfn "$2" "$1/at/run" && cd "$1/at" && "$3" queue list >/dev/null' \
    - "$DIR" "$C" "$BIN/segqctl"
code_of() { alone "$@"; echo $?; }
check_eq "nobody there: 1" "$(code_of --admin http://127.0.0.1:1 --token-file "$token" status)" 1
check "  and it says where" complains 'http://127\.0\.0\.1:1: '
echo wrong >"$DIR/wrong"
check_eq "a wrong token: 1" "$(code_of --admin "$A" --token-file "$DIR/wrong" status)" 1
check "  and it says so" complains 'invalid admin token: '
printf 'two words\n' >"$DIR/wrong"
check_eq "a file that is no token: 2" "$(code_of --admin "$A" --token-file "$DIR/wrong" status)" 2
check_eq "no such folder: 2" "$(code_of --dir "$DIR/nosuch" status)" 2
check_eq "no token: 2" "$(code_of --admin "$A" status)" 2
check "  and it says so" complains 'no admin token is given'
check_eq "no address: 2" "$(BIN=$(realpath "$BIN"); cd "$DIR" && code_of --token-file "$token" status)" 2
check "  and it says so" complains 'no address of queuemng is given'
from_env() { SEGQ_ADMIN=$A SEGQ_TOKEN_FILE=$token SEGQ_ROUTER="http://127.0.0.1:1 $R" alone "$@"; }
check "the environment says where: a manager" from_env queue list
check "  a router" from_env join login
check "  a folder" eval 'SEGQ_DIR=$C alone queue list'
check_eq "  options go first" "$(from_env --admin http://127.0.0.1:1 --token-file "$token" queue list; echo $?)" 1
check_eq "not a URL: 2" "$(code_of --admin ftp://x --token-file "$token" status)" 2
check_eq "no command: 2" "$(code_of)" 2
check "unknown command" exits 2 "no command 'dance'" dance
for words in "stauts" "queue shwo x" "qeue list" "puase login"; do
    # shellcheck disable=SC2086
    check "$words: the one that was meant" exits 2 "did you mean '(status|queue show|queue list|pause)'\?" $words
done
check "queue without a verb" exits 2 'list, show, set, add, delete, restore' queue
check "too many words" exits 2 'usage: segqctl pause QUEUE' pause login now
check_eq "an unknown option: 2" "$(code_of --token s3cret status)" 2
for word in --bogus -x -xy; do
    check "  by its name: $word" exits 2 "^segqctl: no option '$word'" rate login "$word" 5
done
check "an option without its value" exits 2 '^segqctl: --timeout wants a value$' status --timeout
check_eq "-h: 0" "$(code_of -h)" 0
for words in "help rate" "rate --help" "help queue set"; do
    # shellcheck disable=SC2086
    check_eq "$words: 0" "$(code_of $words)" 0
    check_eq "  that command alone" "$(sed '/^$/,$d' "$DIR/out" | wc -l)" 1
done
check_eq "help of a first word" "$(code_of help queue; grep -c '^  queue ' "$DIR/out")" "0
6"
check "help of nothing that is" exits 2 "no command 'dance'" help dance
ctl -h
missing=
for word in status watch 'queue list' 'queue show' 'queue set' 'queue add' 'queue delete' 'queue restore' forget pause \
    resume open close flush release rate tiers max message audit events drain undrain join poll leave passthrough reject draw why move-ticket claim 'context list' 'context use' export diff apply edit --dry-run --dir --admin --token-file \
    --router --client --subject --claim --key --kid --lane --replaces --ttl -o --color --context --all --yes --timeout; do
    says "^ +$word " || missing="$missing $word"
done
check_eq "-h shows every command and option" "$missing" ""

# ---- forms ----
yaml() { python3 -c 'import sys, yaml, json; json.dump(yaml.safe_load(sys.stdin), sys.stdout)' <"$DIR/out" | jq -r "$1"; }
for words in "status" "queue list" "queue show login" "audit" "events" "endpoint list" "task list" "key list"; do
    # shellcheck disable=SC2086
    check "-o yaml $words" runs_well -o yaml $words
    check_eq "  is YAML" "$(yaml type)" object
    # shellcheck disable=SC2086
    check "-o json $words" runs_well $words -o json
    check_eq "  is JSON" "$(jq -r type "$DIR/out")" object
done
ctl -o json status nosuch
check_eq "status of a queue that is none: 1, in JSON, too" $? 1
check "  it says so" complains "there is no queue 'nosuch'"
check "YAML says the same as JSON" same_definition
check "a form that is none" exits 2 "-o takes table, json or yaml, not 'xml'" -o xml status
check "one that a command has not" exits 2 "diff prints text" -o yaml diff x
colours() { grep -c "$(printf '\033')\[" "$DIR/out"; }
check_eq "no colours into a file" "$(ctl status; colours)" 0
check "colours, if they are wanted" test "$(ctl --color always status; colours)" -gt 3
at_terminal "" status
check "colours at a terminal" test "$(colours)" -gt 3
NO_COLOR=1 at_terminal "" status
check_eq "  not if NO_COLOR says so" "$(colours)" 0
at_terminal "" -o json status
check_eq "  nor in JSON" "$(colours)" 0

# ---- a change that is only looked at ----
ctl_code() { ctl "$@"; echo $?; }
rate_was=$(kept login release_per_s)
check_eq "--dry-run of a set: 1, as diff" "$(ctl_code queue set login release_per_s=4321 --dry-run)" 1
check "  from and to" says "^queue login: release_per_s: $rate_was -> 4321$"
check_eq "  changes nothing" "$(kept login release_per_s)" "$rate_was"
check_eq "  of what is so already: 0" "$(ctl_code queue set login "release_per_s=$rate_was" --dry-run)" 0
check_eq "--dry-run of an add" "$(ctl_code queue add brandnew release_per_s=3 --dry-run)" 1
check "  adds nothing" exits 1 "brandnew" queue show brandnew
check "  of one that is there" exits 1 "already a queue 'login'" queue add login --dry-run
check "  a wrong key is one" exits 2 "release_pers: unknown key" queue set login release_pers=3 --dry-run
check "a command without it says so" exits 2 "does not take --dry-run" pause login --dry-run
would() { [ "$(ctl_code "${@:2}" --dry-run)" = 1 ] && says "$1"; } # PATTERN command...
check "--dry-run of a rate" would "^queue login: release_per_s: $rate_was -> 77$" rate login 77
check "  of slots" would '^queue login: max_active: .* -> 55$' max login 55
check "  of a message" would '^queue login: message: .* -> not this one$' message login not this one
check "  of tiers" would '^queue login: limits: .*"below":12' tiers login load 12:34
check "  of a delete, with what it takes" would '^queue delete login: .* restored' queue delete login --yes
check "  of a passthrough" would '^passthrough login: ' passthrough login --yes
check "  of a flush" would '^flush login: .* no undo' flush login --yes
check "  of a key" would '^key tenant7: rate_per_s: 5$' key set images tenant7 rate_per_s=5
ctl budget add shared rate_per_s=5
ctl endpoint add unused url=http://127.0.0.1:9/
check "  of a budget" would '^budget shared: is deleted$' budget delete shared
ctl queue add member budget=shared
check "    not while a queue has it" exits 1 'shared has 1 member: it would not be deleted' budget delete shared --dry-run
would_json() { [ "$(ctl_code "${@:2}" --dry-run -o json)" = 1 ] && jq -e "$1" "$DIR/out" >/dev/null; } # FILTER command...
check "  as JSON" would_json ".changes == [{key: \"release_per_s\", from: $rate_was, to: 77}]" rate login 77
check "    of an add" would_json '.new and .kind == "queue"' queue add brandnew release_per_s=3
check "    of a flush" would_json '.name == "login" and (.detail | test("no undo"))' flush login --yes
check "    of a delete" would_json '.name == "unused" and .deleted' endpoint delete unused
check_eq "    of no change: 0, and none in it" "$(ctl_code -o yaml queue set login "release_per_s=$rate_was" --dry-run) $(yaml '.changes | length')" "0 0"
check "  of one that is not there" exits 1 'no pool nosuch' pool delete nosuch final --dry-run
check "    which is not asked about, either" exits 1 'no pool nosuch' pool delete nosuch final
check_eq "  all of that changed nothing" "$(kept login release_per_s) $(kept login message | grep -c 'not this')" "$rate_was 0"
check "    nor is there a pin" exits 1 'key tenant7 of queue images is not pinned' key show images tenant7

# ---- contexts: clusters by name ----
export SEGQ_CONFIG=$DIR/config/of/mine.yaml
of_mine() { (cd / && "$BIN/segqctl" "$@" >"$DIR/out" 2>"$DIR/err" </dev/null); }
check "no contexts" of_mine context list
check "  says how to make one" says "context add"
check "one is added" of_mine context add here dir="$C"
check_eq "  in a file of its owner alone" "$(stat -c %a "$SEGQ_CONFIG")" 600
check "  and in use: its cluster answers" of_mine queue show login
check "another one, with addresses" of_mine context add there admin="$A" token_file="$token" operator=otto
check "  is used by name" of_mine --context there queue set login message=from-otto
check "  its operator is in the log" of_mine audit 1 -o json
check_eq "    by name" "$(jq -r '.entries[0].who' "$DIR/out")" otto
check "  and for good" of_mine context use there
of_mine context list
check "  which the list shows" says '^\*  +there '
of_mine --admin http://127.0.0.1:1 --token-file "$token" --timeout 1 status
check "options go before it: the address that was given is asked" complains '127.0.0.1:1'
check_eq "the environment goes before it" "$(SEGQ_DIR=$DIR/nothere of_mine status; grep -c nothere "$DIR/err")" 1
of_mine context add here dir=/
check "a name twice" complains "there is a context 'here' already"
of_mine context use her
check "a name that is none" complains 'did you mean here'
of_mine context add x admin=gopher://x
check "an address that is none" complains "'gopher://x' is not http"
of_mine context set here token_file=/nope/x
check "a file that is not there" complains "there is no '/nope/x'"
of_mine context set here confirm=true
typed() { # WORDS command...: its exit, when the words are typed at a terminal where it asks
    PYTHONPATH=$here python3 -c 'import os, sys; from terminal import Terminal; os.chdir("/")
t = Terminal(24, 80, sys.argv[2:]); t.until(rb"to go on: "); t.type(sys.argv[1] + "\n"); sys.exit(t.end())' "$@"
    echo $?
}
check_eq "where one is to be careful: the queue's name is not enough" \
    "$(typed login "$BIN/segqctl" --context here flush login)" 1
check_eq "  nor to let everybody in" "$(typed login "$BIN/segqctl" --context here passthrough login)" 1
check_eq "  with the context's it is" "$(typed "here login" "$BIN/segqctl" --context here flush login)" 0
for n in 1 2 3 4 5 6 7 8; do (cd / && exec "$BIN/segqctl" context add at$n dir="$C" >/dev/null) & adding="${adding-} $!"; done
wait $adding
check_eq "contexts that are added at the same time are all there" \
    "$(of_mine --json context list; jq '.contexts | length' "$DIR/out")" 10
of_mine context delete there
of_mine status
check "one that was in use is gone: none is" complains 'no cluster is given'
printf 'contexts:\n  - name: a\n    amdin: x\n' >"$SEGQ_CONFIG"
of_mine status
check "a file with a mistake: file, line, key" complains 'mine.yaml:3: contexts\[0\].amdin: unknown key; did you mean admin'
export SEGQ_CONFIG=$DIR/contexts.yaml

# A server that takes the connection and says nothing is given up in time.
helper python3 -c "import socket, time
s = socket.socket(); s.bind(('127.0.0.1', $((PORT + 6)))); s.listen(8); time.sleep(600)"
listening() { (exec 3<>"/dev/tcp/127.0.0.1/$((PORT + 6))") 2>/dev/null; }
wait_for 5 "a silent server" listening
t0=$(now_ms)
check_eq "silence: 1" "$(code_of --timeout 1 --admin "http://127.0.0.1:$((PORT + 6))" --token-file "$token" status)" 1
in_time "  within its time" $(($(now_ms) - t0)) 3000
check "  and it says so" complains 'within 1 s'

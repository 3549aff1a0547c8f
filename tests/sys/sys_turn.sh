#!/bin/bash
# A queue with `turn_notice`: people who ask to be told may close the page; when they are let in an endpoint
# is called, once each, while segment nodes, task nodes and routers are killed (kill -9); they have longer to
# come; what they left is sealed on the disk and in no log, and gone once they have been told.
. "$(dirname "$0")/lib.sh"

up --routers 2 --seg-nodes 1 --task-nodes 1
T=$((PORT + 90))
N=$DIR/seen
touch "$N"
helper "$here/target.py" $T "$N"
wait_for 10 "the receiver listens" has_status 200 "http://127.0.0.1:$T/echo"
answers() { admin PUT "/v1/admin/$1" "$2" | jq -r '.detail // ""'; } # PATH JSON
detail() { check_eq "$1" "$(answers "$2" "$3")" "$4"; }              # "claim" PATH JSON DETAIL

# ---- the definition
line() { echo "{\"release_per_s\":50,\"state\":\"$1\",\"claim\":\"1s\",\"grace\":\"1s\",\"away\":\"0\",\"idle\":{\"game\":\"1s\"},\"direct_entry\":false,\"poll_max\":\"1s\",\"turn_notice\":{\"queue\":\"hook\",\"claim_window\":\"60s\"}}"; }
detail "an endpoint has to be there" queues/shop "$(line paused)" \
    "queue shop: turn_notice.queue: the tasks of queue hook are not calls: pool * has no endpoint"
detail "it is" endpoints/hook "{\"url\":\"http://127.0.0.1:$T/told\",\"allow\":[\"127.0.0.0/8\"]}" ""
detail "  with short waits" pools/hook '{"endpoint":"hook","retry":{"min":"200ms","max":"500ms"},"max_attempts":60}' ""
detail "a window beyond the pass's life is refused" queues/shop \
    '{"release_per_s":1,"turn_notice":{"queue":"hook","claim_window":"6m"}}' \
    "queue shop: turn_notice: claim_window is longer than pass_ttl: the pass would expire before it is collected"
detail "a queue tells" queues/shop "$(line paused)" ""
detail "  and another does not" queues/plain '{"release_per_s":1,"state":"paused"}' ""

grep '^segqctl ' "$root/docs/turn.md" | sed "s|^segqctl|'$BIN/segqctl' --dir '$C'|" >"$DIR/typed"
check "docs/turn.md, typed" bash -eu "$DIR/typed"
check_eq "  the queue tells its endpoint" "$(admin GET /v1/admin/queues/shop | jq -c .turn_notice)" \
    '{"queue":"mailer","soon":"2m","claim_window":"4m","push_key":"","push_contact":"mailto:ops@shop.example","field":"email"}'
detail "as before" queues/shop "$(line paused)" ""

# ---- who asks to be told
join() { http -X POST -d '{"client":"game"}' "$R/v1/queues/$1/tickets" | field token; }
taken_in() { [ -n "$(join plain)" ] && [ -n "$(join shop)" ]; }
wait_for 15 "queues are open" taken_in
contact() { status_of -X "$1" ${3:+-d "$3"} "$R/v1/tickets/$2/contact"; }
said() { http -X "$1" ${3:+-d "$3"} "$R/v1/tickets/$2/contact" | jq -r '.code + ": " + .detail'; }
check_eq "a queue that tells nobody says so" "$(said PUT "$(join plain)" '{"contact":"x"}')" \
    "not_eligible: this queue tells nobody of their turn: poll the ticket"
K=$(join shop)
check_eq "a contact is a text" "$(said PUT "$K" '{"contact":7}')" "bad_request: contact must be a text or an object, of at most 2048 bytes as JSON"
check_eq "  of 2048 bytes at most" "$(contact PUT "$K" "{\"contact\":\"$(head -c 2047 /dev/zero | tr '\0' x)\"}")" 400
check_eq "  and of as many" "$(contact PUT "$K" "{\"contact\":\"$(head -c 2046 /dev/zero | tr '\0' x)\"}") $(contact DELETE "$K")" "204 204"
check_eq "  and not missing" "$(said PUT "$K" '{}')" "bad_request: contact is missing"
n=24
for ((i = 0; i < n; i++)); do
    K=$(join shop)
    [ "$(contact PUT "$K" "{\"contact\":\"+49 170 SECRETNUMBER $i\"}")" = 204 ] && echo "$K" >>"$DIR/asked"
done
check_eq "all of them may" "$(grep -c . "$DIR/asked")" $n
OFF=$(join shop)
check_eq "one asks" "$(contact PUT "$OFF" '{"contact":"nobody@example.org"}')" 204
check_eq "  and takes it back" "$(contact DELETE "$OFF")" 204
AGAIN=$(sed -n 1p "$DIR/asked")
check_eq "one says it again, in other words" "$(contact PUT "$AGAIN" '{"contact":"\"ÿ\" <a@example.org>"}')" 204

# ---- they close the page
# Two of this queue: OFF keeps the time of the most patient, a minute, and is over at the end.
silent_gone() { [ "$(metric 70 segq_segment_expired_total)" -ge 2 ]; }
wait_for 20 "who does not poll is over, but for those who are to be told" silent_gone
restart() { # NAME: kill -9
    local pid
    pid=$(pid_of "$1")
    kill -KILL "$pid"
    wait_for 20 "$1 is killed, and comes back" restarted "$1" "$pid"
}
restart segment.0
waits() { [ "$(http "$R/v1/tickets/$AGAIN" | field state)" = waiting ]; }
wait_for 20 "who is to be told waits on" waits
all_wait() { [ "$(metric 70 segq_segment_contacts)" = $n ] && [ "$(metric 70 segq_segment_waiting)" -ge $n ]; }
wait_for 20 "  all of them" all_wait

# ---- their turn, amid kills
all_calls() { jq -c 'select(.path == "/told/turns")' "$N"; }
bodies() { all_calls | jq -r '.body | @base64d'; }
told() { bodies | jq -r .data.token | sort -u | wc -l; }
detail "the receiver is broken" endpoints/hook "{\"url\":\"http://127.0.0.1:$T/status/503\",\"allow\":[\"127.0.0.0/8\"],\"breaker\":{\"open\":\"1s\"}}" ""
detail "the line moves" queues/shop "$(line open)" ""
restart segment.0
restart task.0
detail "the receiver is well" endpoints/hook "{\"url\":\"http://127.0.0.1:$T/told\",\"allow\":[\"127.0.0.0/8\"],\"breaker\":{\"open\":\"1s\"}}" ""
restart segment.0
restart router.1
all_told() { [ "$(told)" = $n ]; }
wait_for 60 "all are told" all_told
check_eq "  who asked, and nobody else" "$(bodies | jq -r .data.token | sort -u | comm -12 - <(sort "$DIR/asked") | wc -l)" $n
once() { all_calls | jq -r '.headers["segq-task"] + " " + (.body | @base64d | fromjson | .data.ticket)' | sort -u | cut -d' ' -f2 | sort | uniq -d | wc -l; }
check_eq "  as one call each" "$(once)" 0
check_eq "  with the words that count" "$(bodies | jq -c "select(.data.token == \"$AGAIN\") | [.type, .data.queue, .data.contact]" | sort -u)" \
    '["turn.now","shop","\"ÿ\" <a@example.org>"]'
span() { bodies | jq -r '.timestamp, .data.until' | date -f - +%s | paste - - | awk '{ print $2 - $1 }' | sort -u; }
check_eq "  and until when" "$(span)" 60
none_due() { [ "$(metric 70 segq_segment_contacts_due)" = 0 ]; }
wait_for 20 "none is due any more" none_due
claimed() { [ "$(http "$R/v1/tickets/$AGAIN" | field state)" = admitted ]; }
wait_for 20 "they are let in, long after others' time" claimed
check_eq "then it is too late for a contact" "$(said PUT "$AGAIN" '{"contact":"x"}')" "conflict: the ticket was let in already"
off_is_over() { [ "$(contact PUT "$OFF" '{"contact":"x"}') $(contact DELETE "$OFF")" = "410 204" ]; }
wait_for 10 "a ticket that is over has none" off_is_over

# ---- nobody reads along
check_eq "no journal, and no log, has an address" "$(grep -rlaE 'SECRETNUMBER|example\.org' "$C" --include='*' 2>/dev/null | grep -v '/task' | wc -l)" 0

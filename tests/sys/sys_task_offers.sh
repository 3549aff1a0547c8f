#!/bin/bash
# Rides that are offered to three drivers' queues at once: the first take has one, and it stands in no other
# queue; a no brings it back to where it stood. Three drivers share 60 rides while the task node is killed
# (kill -9): each attempt is one driver's, each ride is done, none is left anywhere.
. "$(dirname "$0")/lib.sh"

up --routers 2 --seg-nodes 1 --task-nodes 1 --task-store "${STORE:-journal}" --set 'queuemng.pools=[{match: "ride/*", partitions: 1}, {match: "spread/*", partitions: 4}]'
auth="Authorization: Bearer $(task_token)"
submit() { http -H "$auth" -d "$2" "$R/v1/queues/$1/tasks"; }
take() { http -H "$auth" -d '{"n":1,"lease":"5s"}' "$R/v1/queues/$1/tasks/take" | jq -c '.tasks[0] // empty'; }
say() { http -H "$auth" -d "{\"lease_id\":\"$(jq -r .lease_id <<<"$1")\"${3:-}}" "$R/v1/tasks/$(jq -r .task <<<"$1")/$2" | jq -r .state; } # TAKEN VERB MORE
look() { http "$R/v1/tasks/$1" | jq -c "$2"; }
wait_for 15 "queues take tasks" eval 'submit ride/a "{\"payload\":0,\"ttl\":\"1ms\"}" | jq -e .task >/dev/null && submit spread/a "{\"payload\":0,\"ttl\":\"1ms\"}" | jq -e .task >/dev/null'

# ---- one ride
first=$(submit ride/b '{"payload":301}' | jq -r .task)
X=$(submit ride/a '{"payload":302,"offer_to":["ride/b","ride/c"]}' | jq -r .task)
submit ride/b '{"payload":303}' >/dev/null
check_eq "it tells of its queues" "$(look "$X" '[.queue, .offer_to, .position]')" '["ride/a",["ride/b","ride/c"],1]'
k=$(take ride/c)
check_eq "the first driver who takes it has it" "$(jq -r .task <<<"$k")" "$X"
check_eq "  and nobody else" "$(take ride/a)" ""
check_eq "  it is in that driver's queue" "$(look "$X" '[.state, .queue]')" '["running","ride/c"]'
check_eq "a no" "$(say "$k" nack ',"delay":0')" retrying
wait_for 5 "  brings it back" eval '[ "$(look "$X" .state)" = \"waiting\" ]'
for _ in 1 2; do
    k=$(take ride/b)
    order="${order:-} $(jq -r .task <<<"$k")"
    say "$k" ack >/dev/null
done
check_eq "  to where it stood" "$order" " $first $X"
check_eq "  and done it is nowhere" "$(take ride/a)$(take ride/c)" ""
bad() { check_eq "$1" "$(submit "$2" "$3" | jq -r '"\(.status) \(.detail)"')" "$4"; }
bad "not over several partitions" spread/a '{"offer_to":["spread/b"]}' \
    "400 offer_to: a task is in one partition, and the queues of this pool are in several; their pool needs partitions: 1"
bad "nor over two pools" ride/a '{"offer_to":["spread/b"]}' "400 offer_to: its queues must be of the same pool as the task's own"
bad "nor twice in one" ride/a '{"offer_to":["ride/b","ride/b"]}' \
    "400 offer_to names different queues of a pool whose order is not strict; or a number is out of its range"
say "$(take ride/b)" ack >/dev/null # the last one

# ---- three drivers, and kills
for i in $(seq 60); do echo "{\"payload\":$i,\"offer_to\":[\"ride/b\",\"ride/c\"]}"; done | paste -sd, | sed 's/.*/[&]/' |
    http -H "$auth" -d @- "$R/v1/queues/ride/a/tasks/batch" | jq -r '.[].task' >"$DIR/rides"
check_eq "60 rides" "$(sort -u "$DIR/rides" | wc -l)" 60
driver() { # QUEUE: until all rides are done
    local k
    while [ "$(sort -u "$DIR/done" | wc -l)" -lt 60 ]; do
        k=$(take "$1")
        [ -n "$k" ] || continue
        jq -r '"\(.task) \(.attempt)"' <<<"$k" >>"$DIR/attempts"
        if [ "$(jq -r '.attempt + .payload % 3' <<<"$k")" = 1 ]; then
            say "$k" nack ',"delay":0' >/dev/null
        elif [ "$(say "$k" ack)" = succeeded ]; then
            jq -r .task <<<"$k" >>"$DIR/done"
        fi
    done
}
touch "$DIR/done" "$DIR/attempts"
for q in a b c; do
    driver ride/$q &
    drivers="${drivers:-} $!"
    helpers+=($!)
done
for n in 10 30; do
    wait_for 20 "$n rides are done" eval '[ "$(sort -u "$DIR/done" | wc -l)" -ge '$n' ]'
    pid=$(pid_of task.0)
    kill -KILL "$pid"
    wait_for 20 "the task node is killed, and comes back" restarted task.0 "$pid"
done
wait_for 40 "all are done" eval '[ "$(sort -u "$DIR/done" | wc -l)" -ge 60 ]'
for p in $drivers; do wait "$p"; done
check_eq "each attempt was one driver's" "$(sort "$DIR/attempts" | uniq -d | wc -l)" 0
check_eq "each ride that was done was offered" "$(sort -u "$DIR/done" | comm -3 - <(sort -u "$DIR/rides") | wc -l)" 0
check_eq "none is left anywhere" "$(take ride/a)$(take ride/b)$(take ride/c)" ""
finish

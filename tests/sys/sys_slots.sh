#!/bin/bash
# mode slots: exactly max_active inside, also when a thousand give their passes back at
# once, when segment nodes and the manager are killed meanwhile, and when max_active is
# changed; and what people behind position_cap are told.
. "$(dirname "$0")/lib.sh"

up --routers 1 --seg-nodes 2 --capacity 400 --set mode=slots --set max_active=1000 \
    --set idle.game=30m --set claim=20m --set pass_ttl=30m --set position_cap=50
coproc CROWD { python3 "$(dirname "$0")/slots.py" "$R" login; }
crowd_pid=$CROWD_PID
helpers+=("$crowd_pid")
# crowd WORD N...: its answer
crowd() {
    local answer
    echo "$*" >&"${CROWD[1]}"
    read -r answer <&"${CROWD[0]}" || give_up "the crowd has ended"
    echo "$answer"
}
PATCH=/v1/admin/queues/login
patch() { admin PATCH "$PATCH" "$1"; }

check_eq "2200 join" "$(crowd join 2200)" 2200
check_eq "1000 get in, and no more" "$(crowd fill 1000 300)" 1000
check_eq "a thousand leave at once" "$(crowd leave 1000)" 1000
check_eq "the next thousand get in, and no more" "$(crowd fill 1000 300)" 1000

# ---- what they are told -----------------------------------------------------------------

late=$(join_queue)
check_eq "who is behind the cap is told the cap" "$(field position <<<"$late")" 50
check_eq "and that it is one" "$(field position_capped <<<"$late")" true
check_eq "the page says so" "$(http "${LOOKS[@]}" "$R/q/login" | grep -c '>50+<')" 1

# ---- whoever dies -----------------------------------------------------------------------

check_eq "150 leave at once" "$(crowd leave 150)" 150
for p in segment.0 queuemng segment.1; do kill -KILL "$(pid_of "$p")"; done
check_eq "whoever is killed: again a thousand, and no more" "$(crowd fill 1000 300)" 1000
inside() { [ "$(queue_field active)" = "$1" ]; }
wait_for 30 "the cluster counts the same" inside 1000

# ---- another max_active -----------------------------------------------------------------

check_eq "max_active 0 is refused" "$(patch '{"max_active": 0}' | field status)" 400
check_eq "lowered to 900" "$(patch '{"max_active": 900}' | field max_active)" 900
check_eq "60 leave" "$(crowd leave 60)" 60
wait_for 30 "940 are inside" inside 940
check_eq "nobody is thrown out, and nobody gets in" "$(crowd fill 941 3)" 940
check_eq "50 leave" "$(crowd leave 50)" 50
check_eq "as many get in as make 900" "$(crowd fill 900 300)" 900
check_eq "raised to 910" "$(patch '{"max_active": 910}' | field max_active)" 910
check_eq "ten more get in" "$(crowd fill 910 300)" 910
wait_for 30 "limited by slots" eval '[ "$(queue_field limited_by)" = slots ]'

# ---- a flush forgets the line, not who is inside ------------------------------------------

wait_for 30 "910 are inside" inside 910
check_eq "everybody who waits is sent away" "$(admin POST $PATCH/flush | field state)" open
wait_for 30 "nobody waits" waiting_is 0
for i in 1 2 3 4 5; do
    joins() { join_queue >"$DIR/new.$i" && [ -n "$(token_in <"$DIR/new.$i")" ]; }
    wait_for 30 "somebody new joins" joins
done
check_eq "raised to 912" "$(patch '{"max_active": 912}' | field max_active)" 912
n_new() { for i in 1 2 3 4 5; do poll "$(token_in <"$DIR/new.$i")" | field state; done | grep -c admitted; }
two_are_in() { [ "$(n_new)" = 2 ]; }
wait_for 30 "two more get in" two_are_in
wait_for 30 "limited by those from before the flush" eval '[ "$(queue_field limited_by)" = flushed ]'
check_eq "and no more" "$(n_new)" 2

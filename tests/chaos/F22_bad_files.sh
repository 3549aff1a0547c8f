#!/bin/bash
# F22: journal files are torn, flipped, zeroed, swapped, doubled, missing, or somebody else's
# between a kill and the restart. A torn tail is cut off, kept aside and logged. Damage in the
# middle is refused, naming file and offset: never a crash, never a wrong order. With the right
# files everybody is where they were.
. "$(dirname "$0")/lib.sh"
. "$chaos/procs.sh"

machines "m0 s0 s1 r0 r1"
cluster_up --capacity 100 --release-per-s 10 --set queuemng.skip_after=120s --set queuemng.lost_after=10m
observe --first 250
wait_for 60 "people are answered" answered poll 200 300
J=$C/state/journal/s0.0
size_of() { stat -c %s "$1"; }
logs() { ls "$1"/log-* | grep -v torn; }
newest() { logs "$1" | tail -1; }
oldest() { logs "$1" | head -1; }
zeros() { head -c "$1" /dev/zero; }
noise() { head -c "$1" /dev/urandom; }

down() { # s0 and its supervisor's hands are off
    local old
    stop s0
    old=$(pid_of s0.0)
    kill -KILL "$old"
    wait_for 40 "s0 is killed" is_gone "$old"
}
back() { # registrations before
    cont s0
    wait_for 90 "s0 registers again" registered s0.0 $(($1 + 1))
}

# ---- what may be: a torn tail ---------------------------------------------------------

phase torn
for what in noise zeros; do
    n=$(registrations s0.0)
    down
    $what 100 >>"$(newest "$J")"
    back "$n"
done
check "the torn tail is kept aside" test "$(ls "$J" | grep -c torn)" -ge 1
check "and the log says so" grep -q event=torn_tail "$C/logs/s0.0.log"
hold 5 # what was written is synced within a second

# ---- what must not be: each on a copy, by a process that is nobody's child ---------------

phase damaged
n=$(registrations s0.0)
down
swap() { mv "$1" "$1.aside"; mv "$2" "$1"; mv "$1.aside" "$2"; }
put() { dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null; } # bytes into the file, there
flip() { head -c $(($2 + 1)) "$1" | tail -c 1 | tr '\000-\377' '\001-\377\000' | put "$1" "$2"; }
refused() { # claim text
    timeout -k 1 100 "$BIN/segment" -c "$C/config/segment.yaml" --set node=s0.0 --set journal_dir="$DIR/copy" \
        --set listen=127.0.0.1:7299 --set admin=127.0.0.1:7399 --set managers=127.0.0.1:7999 >"$DIR/out" 2>&1
    check_eq "$1: it does not start" $? 1
    check "and says what it is: $(tail -1 "$DIR/out" | sed 's/.*journal //' | cut -c1-150)" grep -qE "$2" "$DIR/out"
    "$BIN/segment" --check-journal "$DIR/copy/s0.0" >"$DIR/out" 2>&1
    check_eq "--check-journal finds it, too" $? 1
}
copy() { rm -rf "$DIR/copy"; mkdir "$DIR/copy"; cp -a "$J" "$DIR/copy/s0.0"; K=$DIR/copy/s0.0; }
check "there are three logs to choose from" test "$(logs "$J" | wc -l)" -ge 3
copy
log=$(oldest "$K") at=$(($(size_of "$(oldest "$K")") / 3))
flip "$log" $at
check "a byte is another one" bash -c "! cmp -s '$log' '$(oldest "$J")'"
refused "a byte at $at of an old log is flipped" 'at offset [0-9]+'
copy
log=$(newest "$K")
flip "$log" 200
refused "one at 200 of the newest log" 'at offset [0-9]+'
copy
zeros 512 | put "$(oldest "$K")" $at
refused "a block of zeros" 'at offset [0-9]+'
copy
truncate -s $at "$(oldest "$K")"
refused "an old log is cut short" 'at offset [0-9]+'
copy
swap "$(oldest "$K")" "$(newest "$K")"
refused "two logs are swapped" 'another file under a wrong name'
copy
cp "$(oldest "$K")" "$(newest "$K")"
refused "a log is there twice" 'another file under a wrong name'
copy
cp "$(newest "$C/state/journal/s1.0")" "$(oldest "$K")"
refused "another node's log" 'belongs to node|another file'
copy
rm "$(logs "$K" | sed -n 2p)"
refused "a log is missing" 'the file is missing'

# ---- the process itself, amid the crowd ---------------------------------------------------

cp -a "$J" "$DIR/good"
flip "$(oldest "$J")" $at
nobody_tries() { local p; p=$(pid_of s0.0); [ "${p:-0}" -le 0 ] || is_gone "$p"; }
tries() { grep -c 'at offset [0-9]' "$C/logs/s0.0.log"; }
was=$(tries)
refused_again() { [ "$(tries)" -gt "$was" ]; }
cont s0
wait_for 60 "with a flipped byte it is not started" refused_again
wait_for 60 "people wait for it" answered poll 503 5
stop s0
wait_for 40 "no try is under way" nobody_tries
rm -rf "$J"
mv "$DIR/good" "$J"
back "$n"
wait_for 60 "with the right files all is well" ready r0 r1
settle "everybody hears what is ahead of them"

phase healed
wait_for 60 "people are answered" answered poll 200 300
wait_for 60 "people join" answered join 201 10
observe_end --rate 10 --apart-s 1 --stale torn --stale damaged --stale settling \
    --served torn:100 --served damaged:50 --served healed:300

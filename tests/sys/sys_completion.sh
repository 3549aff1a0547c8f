#!/bin/bash
# What segqctl says of itself: completion for three shells, the manual page.
. "$(dirname "$0")/lib.sh"

up --set away=0 --seg-nodes 2 --set state=paused
ctl() { "$BIN/segqctl" --dir "$C" "$@" >"$DIR/out" 2>"$DIR/err" </dev/null; }

# ---- bash runs what it was given, and asks the cluster ----
ctl queue add login2 state=paused
completes() { # a line up to the cursor: what may stand there, in one line
    bash -c 'source <("$1" completion bash); COMP_LINE=$2 COMP_POINT=${#2}
        compopt() { :; }
        _segqctl; echo "${COMPREPLY[*]}"' - "$BIN/segqctl" "$BIN/segqctl --dir $C $1" 2>&1
}
check_eq "a command" "$(completes "que")" "queue"
check_eq "  one that asks gives way to a harmless one" "$(completes "pa")" "pause"
check_eq "    until it is meant" "$(completes "pas")" "passthrough"
check_eq "  its second word" "$(completes "queue s")" "show set"
check_eq "  all of them" "$(completes "budget ")" "list show add set delete"
check_eq "  a queue's name" "$(completes "queue show lo")" "login login2"
check_eq "  also of a command of one word" "$(completes "pause login2")" "login2"
check_eq "  a node's name" "$(completes "drain seg" | tr " " "\n" | sort | paste -sd " ")" "segment.0 segment.1"
check_eq "  a key" "$(completes "queue set login release_")" "release_per_s="
check_eq "  a key in a map" "$(completes "queue set login idle.")" "idle.game= idle.mobile= idle.browser="
check_eq "  behind two names" "$(completes "key set images tenant7 we")" "weight="
check_eq "  an option" "$(completes "queue show --dr")" "--dry-run"
check_eq "  each of several queues" "$(completes "claim login lo")" "login login2"
check_eq "  behind the last word: nothing" "$(completes "queue show login ")" ""
check_eq "  no command: nothing" "$(completes "dance ")" ""
check_eq "  nobody there: nothing, soon" "$(completes "--admin http://127.0.0.1:1 queue show lo")" ""

# ---- zsh: the shell's own words, and what is handed to its completion ----
in_zsh() { # the words before the last one; the last one, up to the cursor
    zsh -f -c 'compdef() { :; }; compadd() { print -r -- "${@[-1]}"; [[ $1 != -S ]] || print no-blank; }
        _files() { print files; }
        source <("$1" completion zsh)
        words=("$@[1,-1]"); CURRENT=$#words; PREFIX=$words[-1]; _segqctl' - "$BIN/segqctl" --dir "$C" "$@" 2>&1 |
        paste -sd ' '
}
check_eq "zsh: a command" "$(in_zsh que)" "queue"
check_eq "  a queue's name" "$(in_zsh queue show lo)" "login login2"
check_eq "  a key, and its value at once" "$(in_zsh queue set login release_)" "release_per_s= no-blank"
check_eq "  nothing of ours: files" "$(in_zsh apply '')" "files"

# ---- fish ----
in_fish() { # a line up to the cursor
    HOME=$DIR XDG_CONFIG_HOME=$DIR/fish XDG_DATA_HOME=$DIR/fish fish -c "source ($BIN/segqctl completion fish | psub)
        complete -C '$BIN/segqctl --dir $C $1'" 2>&1 | cut -f 1 | paste -sd ' '
}
check_eq "fish: a command" "$(in_fish que)" "queue"
check_eq "  a queue's name" "$(in_fish 'queue show lo')" "login login2"
check_eq "  a key" "$(in_fish 'queue set login release_')" "release_per_s="
touch "$DIR/shop.yaml"
check_eq "  nothing of ours: files" "$(cd "$DIR" && in_fish 'apply sho')" "shop.yaml"
usage() { ctl "$@"; [ $? = 2 ] && grep -q "usage: segqctl $1" "$DIR/err"; }
check "completion for what is no shell" usage completion tcsh

# ---- help of one command has its options and its keys ----
check "help of a command" ctl help queue set
check_eq "  options that only some take" "$(grep -c '^  --dry-run ' "$DIR/out")" 1
check_eq "  keys, those of a map below it" "$(grep -cE '^  release_per_s .*number|^    game .*time' "$DIR/out")" 2
check_eq "  nothing about files of processes" "$(grep -c HUP "$DIR/out")" 0
check "help of several" ctl help queue
check_eq "  is a line for each" "$(grep -c '^  queue ' "$DIR/out")" "$(wc -l <"$DIR/out" | awk '{ print $1 - 1 }')"

# ---- the manual page has what -h has, and roff takes it without a word ----
check "man" ctl man
page=$(nroff -man -Tutf8 -ww "$DIR/out" 2>"$DIR/roff" | sed $'s/.\b//g; s/\e\\[[0-9;]*m//g; s/\u2010/-/g')
check_eq "  roff says nothing" "$(head -3 "$DIR/roff")" ""
missing="" n=0
while read -r words; do
    n=$((n + 1))
    grep -qF -- "$words" <<<"$page" || missing="$missing <$words>"
done < <("$BIN/segqctl" -h | sed -nE 's/^  (-., )?((--[a-z-]+)|([a-z-]+( [a-z-]+)?))( .*)?$/\2/p')
check_eq "  each command and option is in it" "$missing" ""
check "    and they are many" test $n -gt 100
check "  quotes and dots at the beginning are text" grep -qF "limits='[..]'" <<<"$page"
check_eq "  as the build has made it" "$(cmp "$DIR/out" "$BIN/../deploy/segqctl.1" 2>&1)" ""
check "man of something" usage man login

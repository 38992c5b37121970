#!/bin/sh
# Files that are replaced by a changed copy of themselves (upgraded, grown, rows made again) under kills, full disks, second processes and bad
# files: rewrite.sh LATHE DATA, the folder of stored files. SPDX-License-Identifier: BSD-3-Clause
set -u
lathe=$1 data=$2
. "$(dirname "$0")/lib.sh"

sed -n '/^metadata:/,/^YAML/p' "$(dirname "$0")/equal_files.sh" | grep -v '^YAML' >"$work/c.yaml"
c="$work/c.yaml"
if ! "$lathe" generate --config "$c" --output "$work/small.h5" --total-samples 9 >"$work/out" 2>"$work/err" && grep -q "built without" "$work/err"; then
    echo "this lathe was $(grep -o 'built without [A-Za-z0-9]*' "$work/err")"
    exit 77
fi
engine=$("$lathe" info "$work/small.h5" --json | sed -n 's/.*"engine_version": "\([^"]*\)".*/\1/p')
literal=$(printf '%s' "$engine" | sed 's/\./[.]/g') # a dot would also match inside of compressed chunks
version() { LC_ALL=C sed "s/$literal/$1/" "$2" >"$3"; } # the same bytes under another engine; versions have one length
[ ${#engine} -eq 5 ] || fail "the engine is '$engine'; this test writes versions of five letters"
alone() { [ "$(ls "$1")" = f.h5 ] || fail "$last: left $(ls "$1")"; }
mkdir "$work/d"
f="$work/d/f.h5"

# A stored file of engine 0.2.0: recognised, refused where columns would mix, rewritten
cp "$data/engine-0.2.0.h5" "$f"
run 0 info "$f"; says out "of an older engine than this one"; says out "lathe upgrade"
run 0 upgrade "$f" --dry-run; says out "would be rewritten"; cmp -s "$data/engine-0.2.0.h5" "$f" || fail "$last: the file was changed"
run 2 merge --out "$work/m.h5" "$f"; says err "lathe upgrade"
run 0 upgrade "$f" --device cpu; says out "6 rows rewritten, engine 0.2.0 to $engine"; alone "$work/d"
run 0 info "$f" --verbose; grep -q "causality_pred_error_ratio_lag1  *causality_pred_error_diff_lag1" "$work/out" || fail "$last: columns 42 and 43: $(grep -o 'causality_pred[^ ]* *[^ ]*' "$work/out" | head -n 2)"
run 0 validate "$f" --check-metadata; says out "0 warnings"
cp "$f" "$work/upgraded.h5"
run 0 upgrade "$f" --json; is_json "$work/out"; says out '"older": false'; cmp -s "$work/upgraded.h5" "$f" || fail "$last: a file of this engine was changed"

# Newer, foreign, truncated, unfinished ones, and one whose rows do not come out
version 9.9.9 "$work/small.h5" "$f"
run 2 upgrade "$f"; says err "a newer engine wrote it, 9.9.9"
run 2 generate --config "$c" --output "$f" --total-samples 9 --resume; says err "engine version is 9.9.9"
echo "not a dataset" >"$f"; run 2 upgrade "$f"; says err "not an HDF5 file"
head -c 20000 "$work/small.h5" >"$f"; run 2 upgrade "$f"; run 2 generate --config "$c" --output "$f" --total-samples 12 --resume
run 2 upgrade "$work/none.h5"
version 0.2.0 "$work/small.h5" "$work/old.h5"
run 0 info "$work/old.h5" --json; says out '"engine_age": -1'
LC_ALL=C sed 's/"seed":3/"seed":4/' "$data/engine-0.2.0.h5" >"$f"; cp "$f" "$work/other.h5"
run 2 upgrade "$f" --device cpu; says err "does not come out as stored"; cmp "$work/other.h5" "$f" || fail "$last: the file was changed"
rm -f "$work/d/"*

# An upgrade that recomputes from stored states gives back the bytes it came from; its mode stays
cp "$work/old.h5" "$f"; chmod 600 "$f"
run 0 upgrade "$f" --quiet; cmp "$work/small.h5" "$f" || fail "$last: not the bytes of a new file"
case $(ls -l "$f") in -rw-------*) ;; *) fail "$last: $(ls -l "$f")" ;; esac

# Growing: the bytes of a file made in one go, in steps and at once; notes for people may differ
run 0 generate --config "$c" --output "$work/whole.h5" --quiet
cp "$work/small.h5" "$f"
for n in 13 22 40; do
    run 0 generate --config "$c" --output "$f" --total-samples $n --resume --quiet; says out "done before"; alone "$work/d"
done
cmp "$work/whole.h5" "$f" || fail "$last: not the bytes of a file made in one go"
sed 's/^metadata: {name: equal}/metadata: {name: equal, author: somebody, description: grown}/' "$c" >"$work/n.yaml"
run 0 generate --config "$work/n.yaml" --output "$work/noted.h5" --quiet
cp "$work/small.h5" "$f"
run 0 generate --config "$work/n.yaml" --output "$f" --resume --quiet; cmp "$work/noted.h5" "$f" || fail "$last: not the bytes of a file made in one go"
run 0 generate --config "$c" --output "$f" --resume --quiet; cmp "$work/noted.h5" "$f" || fail "$last: a finished file was changed"
run 0 generate --config "$c" --output "$work/s.h5" --shard 1/3 --total-samples 9 --quiet
run 0 generate --config "$c" --output "$work/s.h5" --shard 1/3 --resume --quiet
run 0 generate --config "$c" --output "$work/s1.h5" --shard 1/3 --quiet
cmp "$work/s.h5" "$work/s1.h5" || fail "a shard that grew: not the bytes of one made in one go"
run 2 generate --config "$c" --output "$f" --total-samples 12 --resume; says err "total_samples"
sed 's/num_timesteps: 30/num_timesteps: 31/' "$c" >"$work/t.yaml"
run 2 generate --config "$work/t.yaml" --output "$f" --total-samples 50 --resume; says err "another configuration"

# Rows made again
cp "$work/whole.h5" "$f"
run 0 generate --config "$c" --output "$f" --rows 4:7 --quiet; says out "samples           3 (6 realizations), 37 done before"; alone "$work/d"
cmp "$work/whole.h5" "$f" || fail "$last: rows made again are others"
for bad in 7:4 3 a:b 39:41 -1:2 4:4; do run 2 generate --config "$c" --output "$f" --rows $bad; done
run 2 generate --config "$c" --output "$work/none.h5" --rows 1:2; says err "is not there"

# Killed and interrupted: the old file is there as it was, and the same command goes on
sed 's/num_timesteps: 30/num_timesteps: 300/; s/store_trajectories: true/store_trajectories: false/' "$c" >"$work/l.yaml"
run 0 generate --config "$work/l.yaml" --output "$work/l9.h5" --total-samples 9 --quiet
run 0 generate --config "$work/l.yaml" --output "$work/l40.h5" --quiet
version 0.2.0 "$work/l40.h5" "$work/l40old.h5"
kills=0
# killed OLD WANTED ARGUMENTS…
killed() {
    old=$1 want=$2
    shift 2
    cp "$old" "$f"
    for round in 1 2 3 4 5 6; do
        signal=KILL
        [ $((round % 3)) -eq 0 ] && signal=INT
        "$lathe" "$@" >"$work/out" 2>&1 &
        pid=$!
        sleep 0.$((1 + round))
        kill -$signal $pid 2>/dev/null && kills=$((kills + 1)); wait $pid 2>/dev/null
        last="$* killed"
        cmp -s "$old" "$f" || cmp -s "$want" "$f" || fail "$last: the file is neither the old nor the new one"
        cmp -s "$want" "$f" && break
    done
    run 0 "$@"
    cmp "$want" "$f" || fail "$last after kills: not the bytes of an undisturbed run"
    alone "$work/d"
}
killed "$work/l9.h5" "$work/l40.h5" generate --config "$work/l.yaml" --output "$f" --resume --quiet
killed "$work/l40old.h5" "$work/l40.h5" upgrade "$f"
killed "$work/l40.h5" "$work/l40.h5" generate --config "$work/l.yaml" --output "$f" --rows 3:30 --quiet
echo "$kills runs were killed or interrupted"

# Two processes: one does the work, the other is refused or finds it done
for request in "upgrade $f" "generate --config $work/l.yaml --output $f --resume --quiet"; do
    case $request in upgrade*) cp "$work/l40old.h5" "$f" ;; *) cp "$work/l9.h5" "$f" ;; esac
    # shellcheck disable=SC2086
    "$lathe" $request >"$work/first" 2>&1 &
    pid=$!
    sleep 0.15
    # shellcheck disable=SC2086
    "$lathe" $request >"$work/out" 2>"$work/err" && second=0 || second=$?
    wait $pid && first=0 || first=$?
    last="two of $request"
    case "$first $second" in "0 0" | "0 2" | "2 0") ;; *) fail "$last: status $first and $second"; cat "$work/first" "$work/err" ;; esac
    cmp "$work/l40.h5" "$f" || fail "$last: not the bytes of one process"
    alone "$work/d"
done

# No room: status 1, the old file as it was; with room again the same command goes on
for blocks in 8 100 300 600; do
    for request in "upgrade $f" "generate --config $work/l.yaml --output $f --resume --quiet"; do
        case $request in upgrade*) old="$work/l40old.h5" ;; *) old="$work/l9.h5" ;; esac
        cp "$old" "$f"
        # shellcheck disable=SC2086
        (ulimit -f $blocks; exec "$lathe" $request) >"$work/out" 2>"$work/err" && got=0 || got=$?
        last="$request in $blocks blocks"
        [ "$got" -eq 1 ] || { fail "$last: status $got, expected 1"; cat "$work/err"; }
        cmp "$old" "$f" || fail "$last: the old file was changed"
        # shellcheck disable=SC2086
        run 0 $request
        cmp "$work/l40.h5" "$f" || fail "$last, then with room: not the bytes of an undisturbed run"
        alone "$work/d"
    done
done
finish

#!/bin/sh
# Signals and limits that end a run: no temporary file stays, a sentence says why: signals.sh LATHE. SPDX-License-Identifier: BSD-3-Clause
set -u
lathe=$1
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null 2>&1 || { echo "python3 makes the inputs of this test"; exit 77; }
cat >"$work/make.py" <<'PYTHON'
import struct, sys
def write(path, n, m):
    head = "{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d), }" % (n, m)
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    values = [(i * 7919 % 1009) / 400 for i in range(n * m)]
    open(path, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<%dd" % (n * m), *values))
write(sys.argv[1] + "/x.npy", 3000, 11)
write(sys.argv[1] + "/w.npy", 3, 11)
write(sys.argv[1] + "/small.npy", 20, 11)
write(sys.argv[1] + "/wide.npy", 3000, 13)
write(sys.argv[1] + "/wide-w.npy", 3, 13)
PYTHON
python3 "$work/make.py" "$work" || fail "the inputs could not be made"
LATHE_THREADS=1
export LATHE_THREADS
K=$work/K.npy
tmp=$K.lathe-0.tmp
long="gram --x $work/x.npy --weights $work/w.npy --re-embed --method states --device cpu --out $K" # seconds of work
short="gram --x $work/small.npy --weights $work/w.npy --re-embed --device cpu --quiet --out $K"

# begin [COMMAND…]: starts the long run and stops it as soon as its temporary file has its size; $pid is the process. (Between creating
# and locking it a writer has an empty file, which another may remove: it then makes a new one.)
begin() {
    rm -f "$K"
    # shellcheck disable=SC2086
    "$@" "$lathe" $long >"$work/out" 2>"$work/err" &
    pid=$!
    last="lathe $long"
    for _ in $(seq 2000); do [ -s "$tmp" ] && break; sleep 0.01; done
    kill -STOP $pid
    [ -s "$tmp" ] || fail "no temporary file was seen"
}
ends() { # ends STATUS: lets it go on, and waits
    kill -CONT $pid
    wait $pid && got=0 || got=$?
    [ "$got" -eq "$1" ] || { fail "$last: status $got, expected $1"; cat "$work/err"; }
    [ -z "$(find "$work" -name '*.tmp')" ] || { fail "$last: a temporary file stayed"; rm -f "$work"/*.tmp; }
    [ "$1" -eq 0 ] || [ ! -e "$K" ] || fail "$last: half a matrix was put in place"
}

# One signal asks; a second one does not wait, and removes the file too.
begin env; kill -INT $pid; ends 130; says err "lathe gram: interrupted"
begin env; kill -TERM $pid; ends 130; says err "lathe gram: interrupted by SIGTERM"
begin env; kill -HUP $pid; ends 130; says err "lathe gram: interrupted by SIGHUP"
begin env; kill -INT $pid; kill -TERM $pid; ends 130; says err "lathe: interrupted"
for signal in USR1 USR2 ALRM; do begin env; kill -$signal $pid; ends 130; says err "lathe gram: interrupted by SIG$signal"; done
begin nohup; kill -HUP $pid; ends 0
# SIGQUIT does not ask. (Shells ignore it for what runs in the background: python3 undoes that.)
begin python3 -c 'import os, signal, sys; signal.signal(signal.SIGQUIT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])'
kill -QUIT $pid; ends 131

# A file that is cut short under the run, as a disk that fails: not a crash.
begin env; : >"$tmp"; ends 1; says err "cannot be read or written where it is mapped"

# Nothing can be done about kill -9: the next run does it.
begin env; kill -9 $pid; wait $pid 2>/dev/null
[ -e "$tmp" ] || fail "kill -9: no temporary file, so nothing is tested"
# shellcheck disable=SC2086
run 0 $short
[ -z "$(find "$work" -name '*.tmp')" ] || fail "a killed run's temporary file outlived the next run"
# But not while somebody writes it.
begin env
# shellcheck disable=SC2086
run 0 $short
[ -e "$tmp" ] || fail "the file of a run that lives was taken for a leftover"
rm -f "$K"; kill -TERM $pid; last="lathe $long"; ends 130

# Limits: status 1, with what was reached.
limited() { # limited OPTION VALUE ARGUMENTS…
    (ulimit -S "$1" "$2"; shift 2; exec "$lathe" "$@") >"$work/out" 2>"$work/err" && got=0 || got=$?
    shift 2
    last="lathe $* under a limit"
    [ "$got" -eq 1 ] || { fail "$last: status $got, expected 1"; cat "$work/err"; }
    [ -z "$(find "$work" -name '*.tmp')" ] || fail "$last: a temporary file stayed"
}
rm -f "$K"
# shellcheck disable=SC2086
{
limited -t 1 gram --x "$work/wide.npy" --weights "$work/wide-w.npy" --re-embed --method states --device cpu --out $K; says err "lathe gram: the limit of processor time (ulimit -t) was reached"
limited -f 100 $long; says err "K.npy: cannot reserve 72000128 bytes: File too large"
}
limited -f 1 solve example:A1 --quiet --report "$work/r.html"; says err "r.html: cannot write "; says err " bytes: File too large"
limited -f 1 solve example:A1 --quiet --profile "$work/p.json"; says err "p.json: json: cannot write: File too large"
[ ! -e "$K" ] && [ ! -e "$work/r.html" ] && [ ! -e "$work/p.json" ] || fail "a limit left a file"

# Nobody reads the output: said once, and nothing goes on.
{ sleep 0.5; "$lathe" explain --quiet 2>"$work/err" && got=0 || got=$?; echo "$got" >"$work/status"; } | true
last="lathe explain into a closed pipe"
[ "$(cat "$work/status")" = 1 ] || fail "$last: status $(cat "$work/status"), expected 1"
says err "lathe: standard output was closed"
{ sleep 0.5; "$lathe" solve example:A1 2>"$work/err" && got=0 || got=$?; echo "$got" >"$work/status"; } | true
last="lathe solve into a closed pipe"
[ "$(cat "$work/status")" = 1 ] || fail "$last: status $(cat "$work/status"), expected 1"
grep -q "standard output" "$work/err" || fail "$last: no sentence"

# Commands that cannot resume a dataset give it its name when it is whole, and leave nothing when a signal ends them.
sed -n '/^metadata:/,/^YAML/p' "$(dirname "$0")/generate.sh" | grep -v '^YAML' >"$work/c.yaml"
if "$lathe" generate --config "$work/c.yaml" --output "$work/a.h5" --total-samples 40 --quiet >"$work/out" 2>"$work/err"; then
    mkdir "$work/d"
    for i in 0 1; do run 0 generate --config "$work/c.yaml" --output "$work/s$i.h5" --total-samples 40 --shard $i/2 --quiet; done
    for request in "merge --out $work/d/m.h5 $work/s0.h5 $work/s1.h5" "extract-features $work/a.h5 --output $work/d/m.h5 --quiet"; do
        rm -f "$work/d/"*
        # shellcheck disable=SC2086
        run 0 $request
        cp "$work/d/m.h5" "$work/whole.h5"
        for signal in TERM HUP INT KILL TERM HUP INT KILL; do
            rm -f "$work/d/"*
            # shellcheck disable=SC2086
            "$lathe" $request >"$work/out" 2>"$work/err" &
            pid=$!
            for _ in $(seq 500); do [ -e "$work/d/m.h5.lathe-next" ] || [ -e "$work/d/m.h5" ] && break; sleep 0.004; done
            kill -$signal $pid 2>/dev/null
            wait $pid 2>/dev/null
            last="$request and SIG$signal"
            [ ! -e "$work/d/m.h5" ] || cmp "$work/d/m.h5" "$work/whole.h5" || fail "$last: a dataset that is not whole has its name"
            [ $signal = KILL ] || [ -z "$(ls "$work/d" | grep -v '^m.h5$')" ] || fail "$last: left $(ls "$work/d")"
            rm -f "$work/d/m.h5"
            # shellcheck disable=SC2086
            run 0 $request
            [ "$(ls "$work/d")" = m.h5 ] || fail "$last: the next run left $(ls "$work/d")"
            cmp "$work/d/m.h5" "$work/whole.h5" || fail "$last: the next run made another file"
        done
    done
fi
finish

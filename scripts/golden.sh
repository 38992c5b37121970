#!/bin/sh
# Records what a build of lathe prints and writes, so that a change of the source can be shown to change no bit of it.
# SPDX-License-Identifier: BSD-3-Clause
#
#   scripts/golden.sh record DIR [--build BUILD] [--small] [--batch N] [--cache DIR] [--jobs N] [--only PATTERN]
#       runs the cases of tests/golden/cases.txt and writes DIR/NAME.txt for each; PATTERN is a shell pattern of names, the texts of
#       other cases stay; --cache keeps the caches of the cases, so that a second recording finds what the first has compiled and timed
#   scripts/golden.sh compare DIR_A DIR_B [--settings]
#       exit status 1 and the first differences of every case if the recordings differ; --settings: made with other batch sizes or threads
#   scripts/golden.sh check DIR [--build BUILD] [--jobs N] [--only PATTERN]
#       records the cases of DIR again and compares
#   scripts/golden.sh accept [--build BUILD]
#       writes tests/golden/text anew: the texts that the test golden_small expects
#
# BUILD is a build folder, by default build/ of this tree. Recordings hold last bits: compare only what one machine recorded.
set -eu
LC_ALL=C
export LC_ALL
root=$(cd "$(dirname "$0")/.." && pwd)
golden=$root/tests/golden

stop() { echo "golden: $*" >&2; exit 2; }
usage() { sed -n 's/^#   \(.*\)/\1/p' "$0"; }

# ---- one case: a process of its own, started by record ------------------------------------------------------------------------

mask() { sed -E -e "s#\b$GOLDEN_VERSION\b#VERSION#g" -e "s#($GOLDEN_WORK|$GOLDEN_CACHE)(/[A-Za-z0-9_.]*)?#WORK#g" -e "s|$root|ROOT|g" -e "s|$GOLDEN_BUILD|BUILD|g" -f "$golden/mask.sed"; }

# call SHOWN PROGRAM ARGUMENTS...: runs it and prints the call, both streams and the status; the last streams stay in the folder $streams.
call() {
    shown=$1
    program=$2
    shift 2
    status=0
    "$program" "$@" >"$streams/out" 2>"$streams/err" </dev/null || status=$?
    echo "\$ $shown $*"
    cat "$streams/out"
    sed 's/^/! /' "$streams/err"
    echo "= $status"
}
lathe() { call lathe "$GOLDEN_BUILD/bin/lathe" ${1+"$@"}; }
lathe_quietly() { "$GOLDEN_BUILD/bin/lathe" "$@" </dev/null; }
program() { name=$1; shift; call "$name" "$GOLDEN_BUILD/bin/$name" ${1+"$@"}; }
with() { (export "$1"; shift; "$@"); }

record_file() {
    echo "# file $1"
    case $1 in
        *.h5) "$GOLDEN_DIGEST" "$1" ;;
        *.html) sed 's/></>\n</g' "$1" ;;
        *.json | *.txt | *.csv | *.lt | *.yaml) cat "$1" ;;
        *) sha256sum <"$1" ;;
    esac
}

run_case() {
    command=$(awk -v name="$1" '$2 == name && !/^#/ { sub(/^[^ ]+ +[^ ]+ +/, ""); print }' "$golden/cases.txt")
    inputs=$golden/inputs configs=$root/examples/configs problems=$root/examples/problems literature=$root/tests/optimize/literature batch=$GOLDEN_BATCH
    streams=$GOLDEN_WORK/$1.streams folder=$GOLDEN_WORK/$1 LATHE_CACHE=$GOLDEN_CACHE/$1.cache
    export LATHE_CACHE
    mkdir "$streams" "$folder"
    mkdir -p -m 700 "$LATHE_CACHE"
    (
        set +eu
        cd "$folder" || exit
        eval "$command" 2>&1
        find . -type f | sort | while read -r file; do record_file "$file" 2>&1; done
    ) | mask >"$GOLDEN_DIR/$1.txt"
    rm -rf "$streams" "$folder"
}

# ---- commands -----------------------------------------------------------------------------------------------------------------

names() { awk -v sets="$1" '!/^#/ && NF && index(sets, $1) { print $2 }' "$golden/cases.txt"; }

# The program that prints HDF5 files belongs to the tests; a build of another commit may not have it, then that of this tree serves.
find_digest() {
    for GOLDEN_DIGEST in "$GOLDEN_BUILD/bin/h5_digest" "$root/build/bin/h5_digest"; do
        [ -x "$GOLDEN_DIGEST" ] && return
    done
    stop "no h5_digest in $GOLDEN_BUILD/bin: build with the tests, and with HDF5"
}

record() {
    GOLDEN_DIR=$1
    started=$(date +%s)
    GOLDEN_BUILD=$(cd "$build" 2>/dev/null && pwd) || stop "no build folder $build"
    [ -x "$GOLDEN_BUILD/bin/lathe" ] || stop "no bin/lathe in $GOLDEN_BUILD"
    GOLDEN_VERSION=$("$GOLDEN_BUILD/bin/lathe" --version | awk '{ gsub(/\./, "\\."); print $2 }')
    find_digest
    mkdir -p "$GOLDEN_DIR"
    GOLDEN_DIR=$(cd "$GOLDEN_DIR" && pwd)
    [ -e "$GOLDEN_DIR/sets" ] || [ -z "$(ls "$GOLDEN_DIR")" ] || stop "$GOLDEN_DIR holds something else than a recording"
    [ "$only" != '*' ] || rm -f "$GOLDEN_DIR"/*.txt
    GOLDEN_WORK=$(mktemp -d)
    temporary="$temporary $GOLDEN_WORK"
    GOLDEN_BATCH=$batch
    GOLDEN_CACHE=${cache:-$GOLDEN_WORK}
    mkdir -p "$GOLDEN_CACHE"
    unset LATHE_ISA LATHE_BF16 LT_OOM_AT 2>/dev/null || :
    export GOLDEN_DIR GOLDEN_BUILD GOLDEN_VERSION GOLDEN_DIGEST GOLDEN_WORK GOLDEN_BATCH GOLDEN_CACHE
    echo "$sets" >"$GOLDEN_DIR/sets"
    names "$sets" | while read -r name; do
        case $name in $only) echo "$name" ;; esac
    done | xargs -P "$jobs" -n 1 sh "$0" case
    echo "golden: $(ls "$GOLDEN_DIR" | grep -c '\.txt$') cases in $GOLDEN_DIR, $(($(date +%s) - started)) s"
}

# One case of two recordings: prints where they part.
compare_case() {
    if [ -n "$settings" ]; then
        for side in a b; do
            eval "from=\$$side"
            sed -E -f "$golden/mask_settings.sed" "$from/$1" >"$scratch/$side"
        done
        diff -U 2 -F '^[$#] ' "$scratch/a" "$scratch/b"
    else
        diff -U 2 -F '^[$#] ' "$a/$1" "$b/$1"
    fi
}

# Lines of a difference at most 200 columns wide: of a long pair, the part around where it parts.
narrow() {
    awk 'function cut(line) { return length(line) <= 200 ? line : from > 60 ? substr(line, 1, 1) "..." substr(line, from - 60, 190) : substr(line, 1, 195) "..." }
         function flush() { if (held != "") { from = 0; print cut(held); held = "" } }
         /^-/ { flush(); held = $0; next }
         /^\+/ && held != "" { for (from = 2; from < length($0) && substr($0, from, 1) == substr(held, from, 1);) from++
                               print cut(held); print cut($0); held = ""; next }
         { flush(); from = 0; print cut($0) }
         END { flush() }'
}

compare() {
    a=$1 b=$2 differ=0 same=0
    [ -d "$a" ] && [ -d "$b" ] || stop "compare needs two folders, got '$a' and '$b'"
    scratch=$(mktemp -d)
    temporary="$temporary $scratch"
    for case in $( (cd "$a" && ls; cd "$b" && ls) 2>/dev/null | grep '\.txt$' | sort -u); do
        case ${case%.txt} in $only) ;; *) continue ;; esac
        if [ ! -e "$a/$case" ] || [ ! -e "$b/$case" ]; then
            differ=$((differ + 1))
            echo "golden: ${case%.txt} is in one recording only"
        elif compare_case "$case" >"$scratch/diff"; then
            same=$((same + 1))
        else
            differ=$((differ + 1))
            echo "golden: ${case%.txt} differs in $(sed 1,2d "$scratch/diff" | grep -c '^[+-]') lines (- $a, + $b):"
            sed -n '3,20p' "$scratch/diff" | narrow
        fi
    done
    echo "golden: $same cases agree, $differ differ"
    [ "$differ" -eq 0 ] && [ "$same" -gt 0 ]
}

accept() {
    sets=t
    again=$(mktemp -d)
    temporary="$temporary $again"
    record "$again"
    mkdir -p "$golden/text"
    rm -f "$golden"/text/*.txt
    cp "$again"/*.txt "$golden/text"
}

check() {
    [ -f "$1/sets" ] || stop "$1 is no recording"
    sets=$(cat "$1/sets")
    again=$(mktemp -d)
    temporary="$temporary $again"
    record "$again"
    compare "$1" "$again"
}

# ---- arguments ----------------------------------------------------------------------------------------------------------------

[ $# -gt 0 ] || { usage; exit 2; }
action=$1
shift
[ "$action" = case ] && { run_case "$1"; exit; }

temporary=
trap 'rm -rf $temporary' EXIT
trap 'exit 130' INT TERM
build=$root/build sets=st- batch=2 jobs=2 only='*' cache= settings= dirs=
while [ $# -gt 0 ]; do
    case $1 in
        --build) build=${2?--build needs a folder}; shift ;;
        --batch) batch=${2?--batch needs a number}; shift ;;
        --cache) cache=${2?--cache needs a folder}; shift ;;
        --jobs) jobs=${2?--jobs needs a number}; shift ;;
        --only) only=${2?--only needs a pattern}; shift ;;
        --small) sets=st ;;
        --settings) settings=yes ;;
        -*) stop "unknown option '$1'" ;;
        *) [ -z "$dirs" ] && first=$1 || second=$1; dirs=x$dirs ;;
    esac
    shift
done
case $action:$dirs in
    record:x) record "$first" ;;
    compare:xx) compare "$first" "$second" ;;
    check:x) check "$first" ;;
    accept:) accept ;;
    *) usage; exit 2 ;;
esac

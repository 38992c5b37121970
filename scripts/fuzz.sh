#!/bin/sh
# Every fuzz target under libFuzzer, all layers instrumented, with address and undefined-behaviour sanitizers:
#
#   fuzz.sh [--log FILE] [--programs FOLDER] SECONDS [TARGET...]
#
# Builds build-fuzz (or takes the programs of FOLDER as they are), runs each target for so many seconds from tests/fuzz/corpus and its own
# seeds, and ends with a table: executions, edges covered, findings. Inputs that break a promise lie in build-fuzz/findings; exit status 1
# then. What is found on the way is kept in build-fuzz/corpus, so that the next run goes on. With --log one line for each target is added to
# FILE and its sums are written anew (bench/results/fuzz.txt). SPDX-License-Identifier: BSD-3-Clause
set -eu
cd "$(dirname "$0")/.."
have() { command -v "$1" >/dev/null 2>&1; }
log=
programs=
while :; do
    case ${1-} in
    --log) log=$2; shift 2 ;;
    --programs) programs=$2; shift 2 ;;
    *) break ;;
    esac
done
seconds=${1:-60}
[ $# -eq 0 ] || shift

build() {
    if ! have clang || [ ! -f "$(clang -print-file-name=libclang_rt.fuzzer-x86_64.a 2>/dev/null || true)" ] && [ ! -f "$(clang -print-runtime-dir 2>/dev/null)/libclang_rt.fuzzer-$(uname -m).a" ]; then
        as_root=
        [ "$(id -u)" -eq 0 ] || as_root="sudo -n"
        if ! have apt-get || ! $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends clang >&2; then
            echo "lathe: libFuzzer is missing. Run this line, then make fuzz again:" >&2
            echo "    sudo apt-get install -y --no-install-recommends clang" >&2
            exit 1
        fi
    fi
    [ -f build-fuzz/CMakeCache.txt ] || cmake --preset fuzz
    cmake --build build-fuzz --target fuzz_all
}
if [ -z "$programs" ]; then
    build
    programs=build-fuzz/bin
fi

# The file that is kept: what ran, one line each, and behind it what it comes to.
keep() { # target executions seconds edges findings
    [ -n "$log" ] || return 0
    if [ ! -f "$log" ]; then
        printf '%s\n' '# Executions of the fuzz targets; scripts/fuzz.sh --log wrote every line. address,undefined; max_len 4096; a finding is an input that breaks a promise.' \
            '# date commit machine target executions seconds edges findings' >"$log"
    fi
    { grep -v '^sum ' "$log"; printf '%s %s %s %s %s %s %s %s\n' "$(date -u +%Y-%m-%dT%H:%MZ)" "$(git rev-parse --short HEAD)" \
        "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1 | tr -s ' ' '_'):$(nproc)" "$@"; } >"$log.new"
    awk '!/^#/ { n[$4] += $5; s[$4] += $6; if ($7 > e[$4]) e[$4] = $7; f[$4] += $8; N += $5; S += $6; F += $8 }
         END { for (t in n) printf "sum %-16s %12d executions %8d s %6d edges %3d findings\n", t, n[t], s[t], e[t], f[t] | "sort"; close("sort")
               printf "sum %-16s %12d executions %8d s %6s       %3d findings\n", "all", N, S, "", F }' "$log.new" >"$log.sums"
    cat "$log.new" "$log.sums" >"$log"
    rm -f "$log.new" "$log.sums"
}

# Short stacks and a small quarantine: twice the executions. A finding is replayed without these.
export ASAN_OPTIONS="${ASAN_OPTIONS:-malloc_context_size=3:quarantine_size_mb=16:allocator_release_to_os_interval_ms=-1:use_madv_dontdump=0}"
targets=${*:-$(cd "$programs" && for p in fuzz_*; do [ -x "$p" ] && echo "${p#fuzz_}"; done)}
mkdir -p build-fuzz/findings build-fuzz/logs
found=0
for t in $targets; do
    own=build-fuzz/corpus/$t
    mkdir -p "$own"
    [ ! -x "$programs/test_fuzz_$t" ] || "$programs/test_fuzz_$t" --seeds "$own"
    kept=tests/fuzz/corpus/$t
    [ -d "$kept" ] || kept=
    status=0
    began=$(date +%s)
    # A minute for one input is a hang; 2 GB for one is a finding too.
    "$programs/fuzz_$t" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2048 -max_len=4096 -print_final_stats=1 -verbosity=1 \
        -artifact_prefix=build-fuzz/findings/"$t"- "$own" $kept >build-fuzz/logs/"$t" 2>&1 || status=$?
    finding=0 # libFuzzer ends at the first; one that an earlier run met counts again, since the target got no further
    [ $status -eq 0 ] || { finding=1; found=1; echo "$t: a finding (build-fuzz/logs/$t)"; }
    # A run that ends with a finding prints no statistics in some versions: the last progress line counts then.
    n=$(sed -n 's/^stat::number_of_executed_units: *//p' build-fuzz/logs/"$t" | tail -n 1)
    [ -n "$n" ] || n=$(sed -n 's/^#\([0-9]*\)[[:space:]].*/\1/p' build-fuzz/logs/"$t" | tail -n 1)
    edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' build-fuzz/logs/"$t" | tail -n 1)
    echo "$t ${n:-0} $(($(date +%s) - began)) ${edges:-0} $finding" >build-fuzz/logs/"$t".counts
    keep $(cat build-fuzz/logs/"$t".counts)
done

printf '%-16s %14s %8s %8s %8s %s\n' target executions seconds edges inputs findings
total=0
for t in $targets; do
    read -r t n s edges found_here <build-fuzz/logs/"$t".counts
    total=$((total + n))
    printf '%-16s %14s %8s %8s %8s %s\n' "$t" "$n" "$s" "$edges" "$(ls build-fuzz/corpus/"$t" | wc -l)" "$found_here"
done
printf '%-16s %14s\n' all "$total"
exit $found

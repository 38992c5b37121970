#!/bin/sh
# Every fuzz target under libFuzzer, all layers instrumented, with address and undefined-behaviour sanitizers: fuzz.sh SECONDS [TARGET...].
# Builds build-fuzz, runs each target for so many seconds from tests/fuzz/corpus and its own seeds, and ends with a table: executions,
# coverage, findings. Inputs that break a promise lie in build-fuzz/findings; exit status 1 then. What is found on the way is kept in
# build-fuzz/corpus, so that the next run goes on. SPDX-License-Identifier: BSD-3-Clause
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-60}
[ $# -eq 0 ] || shift
have() { command -v "$1" >/dev/null 2>&1; }

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

targets=${*:-$(cd build-fuzz/bin && ls -d fuzz_* | sed 's/^fuzz_//')}
mkdir -p build-fuzz/findings build-fuzz/logs
found=0
for t in $targets; do
    own=build-fuzz/corpus/$t
    mkdir -p "$own"
    build-fuzz/bin/test_fuzz_"$t" --seeds "$own"
    kept=tests/fuzz/corpus/$t
    [ -d "$kept" ] || kept=
    status=0
    # A minute for one input is a hang; 2 GB for one is a finding too.
    build-fuzz/bin/fuzz_"$t" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2048 -max_len=4096 -print_final_stats=1 -verbosity=1 \
        -artifact_prefix=build-fuzz/findings/"$t"- "$own" $kept >build-fuzz/logs/"$t" 2>&1 || status=$?
    [ $status -eq 0 ] || { found=1; echo "$t: a finding (build-fuzz/logs/$t)"; }
done

printf '%-12s %14s %10s %8s %s\n' target executions coverage inputs findings
total=0
for t in $targets; do
    log=build-fuzz/logs/$t
    n=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -n 1)
    coverage=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
    total=$((total + ${n:-0}))
    printf '%-12s %14s %10s %8s %s\n' "$t" "${n:-?}" "${coverage:-?}" "$(ls build-fuzz/corpus/"$t" | wc -l)" "$(ls build-fuzz/findings | grep -c "^$t-" || true)"
done
printf '%-12s %14s\n' all "$total"
exit $found

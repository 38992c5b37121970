#!/bin/bash -eu
# The build that OSS-Fuzz runs in its container: $CC, $CFLAGS, $LIB_FUZZING_ENGINE, $SRC and $OUT are its own. Leaves in $OUT one program
# per target and its corpus as a zip. The libraries that readers need go along, since the runners have none. To try it without OSS-Fuzz:
#   CC=clang CFLAGS="-g -O1 -fsanitize=address,undefined,fuzzer-no-link" LIB_FUZZING_ENGINE=-fsanitize=fuzzer OUT=/tmp/fuzz-out bash tests/fuzz/oss-fuzz-build.sh [TARGET...]
# With targets (csv npy) only these are built.
# SPDX-License-Identifier: BSD-3-Clause
source=$(cd "$(dirname "$0")/../.." && pwd)
work=${WORK:-$(mktemp -d)}/lathe
mkdir -p "$OUT"
# The engine's and the sanitizers' flags come from the environment, so lathe's own switches stay off; -Werror is ours, not theirs.
cmake -G Ninja -S "$source" -B "$work" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DLT_HARDEN=OFF -DLT_WERROR=OFF -DLT_LIBFUZZER=ON \
    -DLT_FUZZ_ENGINE="${LIB_FUZZING_ENGINE:--fsanitize=fuzzer}" -DCMAKE_C_FLAGS="${CFLAGS:-}" -DCMAKE_BUILD_RPATH='$ORIGIN/lib'
targets=fuzz_all
[ $# -eq 0 ] || targets=$(printf 'fuzz_%s test_fuzz_%s ' $(for t in "$@"; do echo "$t" "$t"; done))
# shellcheck disable=SC2086 -- a list of words
cmake --build "$work" --target $targets
mkdir -p "$OUT/lib"
for program in "$work"/bin/fuzz_*; do
    name=${program##*/}
    cp "$program" "$OUT/"
    ldd "$program" | awk '/=> \// && !/lib(c|m|dl|pthread|rt)\.so/ { print $3 }' | while read -r library; do cp -n "$library" "$OUT/lib/"; done
    seeds=$(mktemp -d)
    "$work/bin/test_$name" --seeds "$seeds"
    [ ! -d "$source/tests/fuzz/corpus/${name#fuzz_}" ] || cp "$source/tests/fuzz/corpus/${name#fuzz_}"/* "$seeds/"
    (cd "$seeds" && python3 -m zipfile -c "$OUT/${name}_seed_corpus.zip" ./*)
    rm -rf "$seeds"
done

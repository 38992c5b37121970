#!/bin/sh
# The build with every outside library switched off: configures, builds library, command and some
# tests in a folder of its own, and runs them.
# plain_build.sh CMAKE SOURCE-ROOT FOLDER C-COMPILER "SWITCH…" "TEST…". SPDX-License-Identifier: BSD-3-Clause
set -eu
cmake=$1 root=$2 folder=$3 cc=$4 switches=$5 tests=$6
generator=
! command -v ninja >/dev/null 2>&1 || generator=-GNinja
[ ! -f "$folder/CMakeCache.txt" ] || generator=
off=
for s in $switches; do off="$off -D$s=OFF"; done
"$cmake" -S "$root" -B "$folder" $generator -DCMAKE_C_COMPILER="$cc" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O1 \
    $off >"$folder.log" 2>&1 || { cat "$folder.log"; exit 1; }
! grep -E ': yes;' "$folder.log" || { echo "a feature is still on"; exit 1; }
targets="lathe lathe_command"
pattern=
for t in $tests; do targets="$targets test_$t"; pattern="$pattern|^$t\$"; done
"$cmake" --build "$folder" --parallel 2 --target $targets >"$folder.log" 2>&1 || { tail -n 60 "$folder.log"; exit 1; }
cd "$folder"
"$(dirname "$cmake")/ctest" --output-on-failure -R "${pattern#|}" | tail -n 40
"$folder/bin/lathe" --version

#!/bin/sh
# scripts/install-deps.sh on machines that lack things, played with a PATH of our own: nothing is
# installed. deps.sh SOURCE-ROOT. SPDX-License-Identifier: BSD-3-Clause
set -eu
script=$1/scripts/install-deps.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
for tool in sh env printf cc c++ as ld cmake ninja pkg-config; do
    real=$(command -v $tool) || { echo "no $tool here: the test needs it"; exit 77; }
    case $real in /*) ln -s "$real" "$work/bin/$tool" ;; esac
done

play() { printf '#!/bin/sh\n%s\n' "$2" >"$work/bin/$1"; chmod +x "$work/bin/$1"; } # play TOOL SCRIPT
# expect STATUS TEXT: runs the script; its output must hold TEXT ("" = be empty).
expect() {
    PATH=$work/bin sh "$script" >"$work/out" 2>&1 && got=0 || got=$?
    [ "$got" -eq "$1" ] || { echo "$case: status $got, expected $1"; cat "$work/out"; exit 1; }
    if [ -n "$2" ]; then grep -qF -- "$2" "$work/out" || { echo "$case: lacks '$2'"; cat "$work/out"; exit 1; }
    else [ ! -s "$work/out" ] || { echo "$case: not silent"; cat "$work/out"; exit 1; }; fi
}

play id 'echo 1000'
play apt-get 'echo "apt-get $*"; exit 100'
case="everything there"
PATH=$work/bin sh "$script" >"$work/out" 2>&1 || { echo "some package is missing here: the rest cannot be told apart"; exit 77; }
expect 0 ""

rm "$work/bin/ninja"
case="a user without sudo"
expect 1 "sudo apt-get update && sudo apt-get install -y --no-install-recommends ninja-build"
expect 1 "make DEPS=0"
rm "$work/bin/cmake"
expect 1 "install -y --no-install-recommends cmake ninja-build"

case="sudo that asks for a password"
play sudo 'exit 1'
expect 1 "Run this line"

case="sudo without a password"
play sudo '[ "$1" = -n ] && shift; [ "$1" = true ] && exit 0; echo "as root: $*"; exec "$@"'
play apt-get 'echo "apt-get $* ($DEBIAN_FRONTEND)"'
expect 0 "apt-get install -y -qq --no-install-recommends cmake ninja-build (noninteractive)"
expect 0 "as root: env"

case="root without a network, the compiler's tools missing"
play id 'echo 0'
play apt-get 'exit 100'
expect 1 "without cmake there is no build"

case="root without a network, only an extra missing"
ln -s "$(command -v cmake)" "$work/bin/cmake"
expect 0 "going on without"

case="no apt-get at all"
rm "$work/bin/apt-get"
expect 0 "missing here (named as in Debian): ninja-build"
rm "$work/bin/cmake"
expect 1 "missing here"
echo "all cases as expected"

#!/bin/sh
# Every header compiles alone as C17, each public one as C++17 too.
# headers.sh SOURCE-ROOT C-COMPILER [C++-COMPILER]. SPDX-License-Identifier: BSD-3-Clause
set -eu
cd "$1"
cc=$2
cxx=${3:-}
flags="-fsyntax-only -Iinclude -Wall -Wextra -Wshadow -Werror -D_GNU_SOURCE"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
n=0
bodies=0
absent=0
failed=0
# Did the last compilation only miss the header of a library that is not installed, or not where compilers look?
misses_library() {
    missing=$(sed -n "s/.*fatal error: '\{0,1\}\([^:' ]*\)'\{0,1\}:\{0,1\} \(No such file\|file not found\).*/\1/p" "$log" | head -n 1)
    [ -n "$missing" ] && [ ! -e "include/$missing" ] && grep -rqF "#include <$missing>" src
}
check() { # check LABEL COMMAND…: feeds one include line to the compiler
    label=$1
    shift
    n=$((n + 1))
    if printf '#include "%s"\n' "$header" | "$@" - 2>"$log"; then return; fi
    if misses_library; then absent=$((absent + 1)); return; fi
    echo "$label does not compile alone: $header"
    head -n 5 "$log"
    failed=1
}
for header in $(find include -name '*.h' | LC_ALL=C sort); do
    header=${header#include/}
    check C17 "$cc" -std=c17 -xc $flags -Wstrict-prototypes
    [ -z "$cxx" ] || check C++17 "$cxx" -std=c++17 -xc++ $flags -Wpedantic
done
for header in $(cd src && find . -name '*.h' | LC_ALL=C sort); do
    header=${header#./}
    # A header without a guard is a body that its includer gives types to, often several times.
    grep -q '^#ifndef' "src/$header" || { bodies=$((bodies + 1)); continue; }
    # Vector headers need their instruction set, which the build gives to the files that include them.
    case $header in *avx512*) isa="-mavx512f -mavx512dq -mavx512bw -mavx512vl -mfma" ;; *avx2*) isa="-mavx2 -mfma" ;; *) isa= ;; esac
    check C17 "$cc" -std=c17 -xc $flags -Isrc $isa
done
echo "$n compilations, $bodies bodies without a guard left out, $absent waiting for a library that is not installed"
[ -n "$cxx" ] || echo "no C++ compiler: public headers were not tried as C++17"
exit $failed

#!/bin/sh
# Installs the build into a staging folder and builds an outside program against it, once with
# pkg-config, once with find_package, shared and static. Also tries a folder with a space in its name.
# install.sh CMAKE BUILD-FOLDER PROGRAM-FOLDER C-COMPILER. SPDX-License-Identifier: BSD-3-Clause
set -eu
cmake=$1 build=$2 program=$3 cc=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
stage="$work/a stage"
"$cmake" --install "$build" --prefix "$stage" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }

for file in bin/lathe include/lathe/lathe.h share/man/man1/lathe.1 share/bash-completion/completions/lathe \
            share/zsh/site-functions/_lathe share/fish/vendor_completions.d/lathe.fish share/doc/lathe/LICENSE share/lathe/lathe.spdx.json; do
    [ -e "$stage/$file" ] || { echo "not installed: $file"; exit 1; }
done
for file in "$stage"/bin/*; do # benchmarks and tests are installed only by component
    case ${file##*/} in lathe | lathe-ampl) ;; *) echo "installed, though nobody asked: $file"; exit 1 ;; esac
done
# The bill of materials names what the command says it is built with, and nothing more.
if command -v python3 >/dev/null 2>&1; then
    "$stage/bin/lathe" doctor --json >"$work/doctor.json" 2>/dev/null || true
    python3 - "$stage/share/lathe/lathe.spdx.json" "$work/doctor.json" <<'EOF' || exit 1
import json, sys
spdx, doctor = json.load(open(sys.argv[1])), open(sys.argv[2]).read()
names = {p["name"] for p in spdx["packages"]}
ids = {p["SPDXID"] for p in spdx["packages"]} | {"SPDXRef-DOCUMENT"}
assert spdx["spdxVersion"] == "SPDX-2.3" and "lathe" in names, names
assert all(r["spdxElementId"] in ids and r["relatedSpdxElement"] in ids for r in spdx["relationships"]), "a relation to nothing"
assert all(p["licenseDeclared"] for p in spdx["packages"]), "a package without a licence"
missing = [n for n in names if n.islower() and n != "lathe" and n not in doctor]
assert not missing, "doctor does not know %s" % missing
EOF
fi
"$stage/bin/lathe" --version >"$work/version"
version=$(cut -d ' ' -f 2 "$work/version")

expect() { # expect LABEL PROGRAM: it must run and print the version the command has
    got=$("$2") || { echo "$1: the program failed"; exit 1; }
    [ "$got" = "lathe $version" ] || { echo "$1: printed '$got', expected 'lathe $version'"; exit 1; }
    echo "$1: $got"
}

"$cmake" -S "$program" -B "$work/build" -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$stage" >"$work/log" 2>&1 \
    && "$cmake" --build "$work/build" >>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
expect "find_package, shared" "$work/build/outside"
expect "find_package, static" "$work/build/outside_static"

command -v pkg-config >/dev/null 2>&1 || { echo "no pkg-config: that way was not tried"; exit 0; }
pc=$(find "$stage" -name lathe.pc)
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
[ "$(pkg-config --modversion lathe)" = "$version" ] || { echo "lathe.pc has version $(pkg-config --modversion lathe), expected $version"; exit 1; }
LD_LIBRARY_PATH="$(dirname "$(dirname "$pc")")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export LD_LIBRARY_PATH
eval "\"$cc\" \"$program/outside.c\" -o \"$work/outside\" $(pkg-config --cflags --libs lathe)"
expect "pkg-config, shared" "$work/outside"
if command -v c++ >/dev/null 2>&1; then
    eval "c++ -std=c++17 -x c++ \"$program/outside.c\" -o \"$work/outside_cxx\" $(pkg-config --cflags --libs lathe)"
    expect "pkg-config, C++17" "$work/outside_cxx"
fi
rm "$stage"/lib*/liblathe.so "$stage"/lib*/*/liblathe.so 2>/dev/null || true # leaves the linker the static one
eval "\"$cc\" \"$program/outside.c\" -o \"$work/outside_static\" $(pkg-config --cflags --libs --static lathe)"
expect "pkg-config, static" "$work/outside_static"

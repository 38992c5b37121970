#!/bin/sh
# Reference counts and memory of the Python extension, under a debug build of Python (Debian: python3-dbg) and under AddressSanitizer:
#
#   scripts/python-debug.sh BUILD [asan]
#
# Builds python/src against the headers of python3-dbg, beside the library in BUILD, and runs tests/python/references.py with it. With asan,
# BUILD is a build folder with LT_SANITIZE=address,undefined, and the extension in it runs in the debug Python with libasan loaded first.
# NumPy comes from the environment of the tests, of the same version of Python. Exits 77 with the reason where something is missing.
# SPDX-License-Identifier: BSD-3-Clause
set -u
build=$1 kind=${2:-debug} root=$(cd "$(dirname "$0")/.." && pwd)
skip() { echo "skipped: $1"; exit 77; }
debug=${LATHE_DEBUG_PYTHON:-python3-dbg}
command -v "$debug" >/dev/null 2>&1 || skip "no debug build of Python ($debug; Debian: apt-get install python3-dbg libpython3-dev)"
"$debug" -c 'import sys; sys.exit(not hasattr(sys, "gettotalrefcount"))' || skip "$debug is no debug build"
python=${LATHE_TEST_PYTHON:-$(sh "$root/scripts/test-python.sh" 2>/dev/null)}
site=$("$python" -c 'import numpy, os; print(os.path.dirname(os.path.dirname(numpy.__file__)))' 2>/dev/null) || skip "NumPy is not installed for $python"
PYTHONPATH=$site "$debug" -c 'import numpy' 2>/dev/null || skip "NumPy of $python does not load in $debug (another version of Python?)"
[ -f "$build/python/lathe/_core.abi3.so" ] || skip "the extension was not built in $build"

package=$(cd "$build/python" && pwd)
if [ "$kind" = debug ]; then
    # The same sources with the interpreter's checks compiled in.
    include=$("$debug" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')
    [ -f "$include/Python.h" ] || skip "no headers in $include (Debian: python3-dbg)"
    package=$(cd "$build" && pwd)/python-debug
    rm -rf "$package"
    mkdir -p "$package"
    cp -rs "$root/python/lathe" "$package/lathe"
    library=$(cd "$build" && pwd)/lib
    [ -f "$library/liblathe.so" ] || library=$(cd "$build" && pwd)
    library=$(dirname "$(find "$library" -name liblathe.so | head -n 1)")
    ${CC:-cc} -std=gnu17 -g -O1 -fPIC -shared -w -DPy_LIMITED_API=0x030A0000 -I"$include" -I"$root/include" -I"$build/include" "$root"/python/src/*.c \
        -L"$library" -llathe -Wl,-rpath,"$library" -o "$package/lathe/_core.abi3.so" || exit 1
    export PYTHONMALLOC=debug
else
    asan=$(${CC:-cc} -print-file-name=libasan.so) ubsan=$(${CC:-cc} -print-file-name=libubsan.so)
    [ -f "$asan" ] || skip "no libasan"
    # Python keeps memory to its end on purpose, so leaks are counted by the test itself.
    export LD_PRELOAD="$asan $ubsan" ASAN_OPTIONS=detect_leaks=0:abort_on_error=1:verify_asan_link_order=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 PYTHONMALLOC=malloc
fi
cd "$(mktemp -d)" || exit 1
PYTHONPATH=$package:$site PYTHONDONTWRITEBYTECODE=1 LATHE_CACHE=$PWD/cache exec "$debug" -X dev -X faulthandler -W ignore "$root/tests/python/references.py"

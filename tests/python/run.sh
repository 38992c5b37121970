#!/bin/sh
# Runs one test file with the package of a build folder: run.sh BUILD/python test_NAME.py. SPDX-License-Identifier: BSD-3-Clause
set -u
package=$1 file=$2
python=${LATHE_TEST_PYTHON:-python3}
[ -f "$package/lathe/_core.abi3.so" ] || { echo "skipped: the Python extension was not built (headers of Python 3.10 or later: python3-dev)"; exit 77; }
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || { echo "skipped: $python is no Python 3.10 or later"; exit 77; }
"$python" -c 'import numpy' 2>/dev/null || { echo "skipped: NumPy is not installed for $python (scripts/test-python.sh)"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
if grep -q __asan_init "$package/lathe/_core.abi3.so"; then # the sanitizer's library has to be there before Python
    LD_PRELOAD="$(${CC:-cc} -print-file-name=libasan.so) $(${CC:-cc} -print-file-name=libubsan.so)"
    ASAN_OPTIONS=detect_leaks=0:${ASAN_OPTIONS:-} # Python keeps memory to its end on purpose; test_leaks.py counts
    export LD_PRELOAD ASAN_OPTIONS
fi
PYTHONPATH=$package:$(dirname "$file") PYTHONDONTWRITEBYTECODE=1 LATHE_CACHE=$folder/cache "$python" -X faulthandler "$file"

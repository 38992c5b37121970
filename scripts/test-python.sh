#!/bin/sh
# Prints the Python that tests with NumPy and h5py use: $LATHE_TEST_PYTHON, the system's where it has both, else one in an
# environment of its own outside the clone, made once and used again. Where none can be had it prints python3, says why on standard
# error, and those tests are skipped. SPDX-License-Identifier: BSD-3-Clause
set -u
packages="numpy h5py"
has_all() { "$1" -c 'import numpy, h5py' >/dev/null 2>&1; }
found() { printf '%s\n' "$1"; exit 0; }

[ -z "${LATHE_TEST_PYTHON:-}" ] || found "$LATHE_TEST_PYTHON"
command -v python3 >/dev/null 2>&1 || { echo "lathe: no python3: tests that need it are skipped" >&2; found python3; }
! has_all python3 || found python3

version=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
folder=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/lathe-tests/python-$version
! has_all "$folder/bin/python" || found "$folder/bin/python"
echo "lathe: preparing $packages for the tests in $folder" >&2
mkdir -p "${folder%/*}"
# Built beside and renamed, so that two runs at once, or a stopped one, leave no half of an environment.
fresh=$(mktemp -d "${folder%/*}/new.XXXXXX")
log=$fresh.log
trap 'rm -rf "$fresh" "$log"' EXIT
if python3 -m venv --clear "$fresh" >"$log" 2>&1 && "$fresh/bin/python" -m pip install --quiet --disable-pip-version-check $packages >>"$log" 2>&1 &&
   has_all "$fresh/bin/python"; then
    rm -rf "$folder"
    mv -T "$fresh" "$folder" 2>/dev/null || true
    ! has_all "$folder/bin/python" || found "$folder/bin/python"
fi
echo "lathe: $packages could not be installed ($(tail -n 1 "$log")): tests that need them are skipped" >&2
found python3

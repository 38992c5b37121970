#!/bin/sh
# Prints the Python that tests use: $LATHE_TEST_PYTHON, or one in an environment of its own outside the clone, made once, used again and
# completed when something is missing. NumPy and h5py are needed; without them tests in Python are skipped. SciPy, scikit-learn, pandas, Pyomo, PyArrow, Zarr, xarray,
# mypy, JAX, PennyLane, Qiskit and PyTorch are wanted: what cannot be had is named on standard error, and the tests that need it say that they are skipped.
# PyTorch takes a download of 0.5 GB; LATHE_TEST_TORCH=0 leaves it out. SPDX-License-Identifier: BSD-3-Clause
set -u
needed="numpy h5py"
wanted="scipy scikit-learn pandas jax pyomo pyarrow zarr xarray mypy pennylane qiskit"
torch_needs="filelock typing_extensions sympy networkx jinja2 fsspec"
here=$(dirname "$0")
found() { printf '%s\n' "$1"; exit 0; }
has() { "$1" -c "import $2" >/dev/null 2>&1; }
has_needed() { has "$1" "numpy, h5py"; }
install() { "$1" -m pip install --quiet --disable-pip-version-check --retries 1 --timeout 30 --prefer-binary $2 >>"$log" 2>&1; }
reason() { grep -v '^$' "$log" | tail -n 1 | cut -c 1-200; }

[ -z "${LATHE_TEST_PYTHON:-}" ] || found "$LATHE_TEST_PYTHON"
command -v python3 >/dev/null 2>&1 || { echo "lathe: no python3: tests that need it are skipped" >&2; found python3; }

version=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
folder=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/lathe-tests/python-$version
mkdir -p "${folder%/*}"
log=$(mktemp "${folder%/*}/log.XXXXXX")
trap 'rm -rf "$log" "${fresh:-$log}"' EXIT

if ! has_needed "$folder/bin/python"; then
    echo "lathe: preparing $needed for the tests in $folder" >&2
    # Built beside and renamed, so that two runs at once, or a stopped one, leave no half of an environment.
    fresh=$(mktemp -d "${folder%/*}/new.XXXXXX")
    if python3 -m venv --clear "$fresh" >"$log" 2>&1 && install "$fresh/bin/python" "$needed" && has_needed "$fresh/bin/python"; then
        rm -rf "$folder"
        mv -T "$fresh" "$folder" 2>/dev/null || true
    fi
    if ! has_needed "$folder/bin/python"; then
        ! has_needed python3 || { echo "lathe: no environment for tests ($(reason)): python3 as it is" >&2; found python3; }
        echo "lathe: $needed could not be installed ($(reason)): tests that need them are skipped" >&2
        found python3
    fi
fi

python=$folder/bin/python
missing=$("$python" - $wanted <<'EOF'
import importlib.util, sys
modules = {"scikit-learn": "sklearn"}
print(*[name for name in sys.argv[1:] if not importlib.util.find_spec(modules.get(name, name))])
EOF
)
for package in $missing; do
    echo "lathe: installing $package for the tests" >&2
    install "$python" "$package" || echo "lathe: $package could not be installed ($(reason)): tests that need it are skipped" >&2
done

works=$folder/torch-works # importing it takes seconds: once is enough
if [ "${LATHE_TEST_TORCH:-1}" != 0 ] && [ ! -f "$works" ] && ! { has "$python" torch && : >"$works"; }; then
    echo "lathe: installing PyTorch for the tests, about 0.5 GB" >&2
    # The registry's wheel is built for CUDA and asks for 4 GB of NVIDIA's libraries, which tests on the CPU do not call.
    install "$python" "--no-deps torch" && install "$python" "$torch_needs" &&
        { has "$python" torch || "$python" "$here/torch-without-cuda.py" >>"$log" 2>&1; } && has "$python" torch && : >"$works" ||
        echo "lathe: PyTorch could not be installed ($(reason)): tests that need it are skipped" >&2
fi
found "$python"

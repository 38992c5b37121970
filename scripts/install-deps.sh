#!/bin/sh
# Makes sure the packages of the build are there, on Debian and Ubuntu: installs what is missing as
# root or through sudo without a password; otherwise prints the one line to run and stops with 1.
# With everything in place it does nothing, needs no network and takes a moment.
# SPDX-License-Identifier: BSD-3-Clause
set -eu

have() { command -v "$1" >/dev/null 2>&1; }
have_hdf5() { have_header hdf5.h || have_header hdf5/serial/hdf5.h; } # Debian's folder needs a path
# Opened at run time: the library itself, since the header may be another BLAS's.
have_library() { case $(cc -print-file-name="$1" 2>/dev/null) in /*) ;; *) return 1 ;; esac; }
have_header() { printf '#include <%s>\n' "$1" | cc -E - >/dev/null 2>&1; }

# Without the needed ones there is no build; without the wanted ones lathe falls back to its own,
# slower code. The tests ask the system, not the package manager: a compiler from elsewhere counts.
needed=
wanted=
have cc && have c++ && have_header stdio.h || needed="$needed build-essential"
have cmake                                 || needed="$needed cmake"
have ninja                                 || wanted="$wanted ninja-build"
have pkg-config                            || wanted="$wanted pkg-config"
have_library libopenblas.so.0              || wanted="$wanted libopenblas0"
have_header dnnl.h                         || wanted="$wanted libdnnl-dev"
have_header fftw3.h                        || wanted="$wanted libfftw3-dev"
have_header zlib.h                         || wanted="$wanted zlib1g-dev"
have_header libsvm/svm.h                   || wanted="$wanted libsvm-dev"
have_header yaml.h                         || wanted="$wanted libyaml-dev"
have_hdf5                                  || wanted="$wanted libhdf5-dev"
have_header png.h                          || wanted="$wanted libpng-dev"

# Ranks are for those who want them: MPI is looked for by the build, never installed by itself (libopenmpi-dev openmpi-bin, libmpich-dev mpich).
missing=$(echo $needed $wanted)
[ -n "$missing" ] || exit 0

if ! have apt-get; then
    echo "lathe: missing here (named as in Debian): $missing" >&2
    [ -z "$needed" ] && { echo "lathe: going on without; see 'lathe doctor' for what that costs" >&2; exit 0; }
    exit 1
fi

as_root=
if [ "$(id -u)" -ne 0 ]; then
    if have sudo && sudo -n true 2>/dev/null; then
        as_root="sudo -n"
    else
        echo "lathe: some packages are missing. Run this line, then the same make again:" >&2
        echo "    sudo apt-get update && sudo apt-get install -y --no-install-recommends $missing" >&2
        [ -n "$needed" ] || echo "or build with what is there, on slower code of our own: make DEPS=0" >&2
        exit 1
    fi
fi

echo "lathe: installing $missing" >&2
# sudo drops the environment, so the setting goes behind it.
apt="$as_root env DEBIAN_FRONTEND=noninteractive apt-get"
$apt update -qq >&2 || echo "lathe: apt-get update failed; trying with the lists there are" >&2
if $apt install -y -qq --no-install-recommends $missing >&2; then
    exit 0
fi
if [ -n "$needed" ]; then
    echo "lathe: could not install $missing; without$needed there is no build" >&2
    exit 1
fi
echo "lathe: could not install $missing; going on without, see 'lathe doctor' for what that costs" >&2

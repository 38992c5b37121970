#!/bin/sh
# Configures a build folder: configure.sh FOLDER [cmake arguments]. Takes Ninja when it is there.
# SPDX-License-Identifier: BSD-3-Clause
set -eu
folder=$1
shift
if [ ! -f "$folder/CMakeCache.txt" ] && command -v ninja >/dev/null 2>&1; then
    set -- -G Ninja "$@"
fi
exec cmake -S . -B "$folder" "$@"

#!/bin/sh
# Commands killed at random moments for so many minutes, with another seed each time: torture.sh BUILD MINUTES.
# SPDX-License-Identifier: BSD-3-Clause
set -eu
seed=${SEED:-$(date +%s)}
exec python3 "$(dirname "$0")/../tests/torture/torture.py" "$1/bin/lathe" --minutes "$2" --seed "$seed"

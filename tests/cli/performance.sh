#!/bin/sh
# Whether the tables of docs/performance.md and README.md are those of bench/results: performance.sh SOURCE. SPDX-License-Identifier: BSD-3-Clause
command -v python3 >/dev/null 2>&1 || { echo "python3 makes the tables"; exit 77; }
exec python3 "$1/scripts/performance.py" --check

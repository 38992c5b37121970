#!/bin/sh
# Whether the worked examples of the guides are true: guides.sh LATHE SOURCE. SPDX-License-Identifier: BSD-3-Clause
command -v python3 >/dev/null 2>&1 || { echo "python3 runs the guides"; exit 77; }
exec python3 "$(dirname "$0")/guides.py" "$@"

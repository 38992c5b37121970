#!/bin/sh
# Whether the source uses the words of docs/words.md: words.sh SOURCE. SPDX-License-Identifier: BSD-3-Clause
command -v python3 >/dev/null 2>&1 || { echo "python3 reads the words"; exit 77; }
exec python3 "$(dirname "$0")/words.py" "$@"

#!/bin/sh
# Whether the pages are true, as far as a program can see: documents.sh LATHE SOURCE FIRST_EXAMPLE. SPDX-License-Identifier: BSD-3-Clause
command -v python3 >/dev/null 2>&1 || { echo "python3 reads the pages"; exit 77; }
exec python3 "$(dirname "$0")/documents.py" "$@"

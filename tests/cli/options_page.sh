#!/bin/sh
# Whether docs/options.md is that of the command: options_page.sh LATHE SOURCE. SPDX-License-Identifier: BSD-3-Clause
command -v python3 >/dev/null 2>&1 || { echo "python3 makes the page"; exit 77; }
exec python3 "$2/scripts/options.py" "$1" --check

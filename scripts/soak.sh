#!/bin/sh
# Everything lathe does in one process for so many minutes; memory, descriptors, threads and speed stay flat: soak.sh BUILD MINUTES.
# SPDX-License-Identifier: BSD-3-Clause
set -eu
exec "$1/bin/test_soak" "$(echo "$2 * 60" | bc 2>/dev/null || expr "$2" \* 60)"

#!/bin/sh
# Sums up line coverage of src/ and cli/ after the tests ran: coverage.sh BUILD-FOLDER.
# SPDX-License-Identifier: BSD-3-Clause
set -eu
build=$1
cd "$build"
# gcov prints "File 'x'" then "Lines executed:P% of N" for each source.
find src cli -name '*.gcda' -exec gcov -n -s "$OLDPWD" -r {} + 2>/dev/null | awk '
    /^File / { file = $2; gsub(/\x27/, "", file) }
    /^Lines executed:/ && file ~ /^(src|cli)\// && file ~ /\.c$/ {
        split($0, part, /[:% ]+/); percent = part[3]; lines = part[5]
        if (!(file in n)) { n[file] = lines; hit[file] = lines * percent / 100 }
    }
    END {
        for (f in n) { printf "%6.1f %%  %5d lines  %s\n", 100 * hit[f] / n[f], n[f], f | "sort -k5"; total += n[f]; good += hit[f] }
        close("sort -k5")
        if (!total) { print "no coverage data" > "/dev/stderr"; exit 1 }
        printf "%6.1f %%  %5d lines  all\n", 100 * good / total, total
    }'

#!/bin/sh
# Sums up line and branch coverage of src/ and cli/ after the tests ran: coverage.sh BUILD-FOLDER. Files first, then rooms, then all.
# SPDX-License-Identifier: BSD-3-Clause
set -eu
build=$1
cd "$build"
# gcov -b prints "File 'x'", "Lines executed:P% of N", "Branches executed:…", "Taken at least once:P% of N" for each source.
find src cli -name '*.gcda' -exec gcov -b -n -s "$OLDPWD" -r {} + 2>/dev/null | awk '
    /^(Calls executed|No calls)/ { ours = 0 } # the last of a file: the sum of all may follow
    /^File / { file = $2; gsub(/\x27/, "", file); sub(/^(\.\.\/)+/, "", file); ours = file ~ /^(src|cli)\// && file ~ /\.c$/ && !(file in lines) }
    /^Lines executed:/ && ours { split($0, part, /[:% ]+/); lines[file] = part[5]; hit[file] = part[5] * part[3] / 100 }
    /^Taken at least once:/ && ours { split($0, part, /[:% ]+/); branches[file] = part[7]; taken[file] = part[7] * part[5] / 100 }
    function show(name, l, h, b, t) {
        printf "%6.1f %% of %6d lines  %6.1f %% of %6d branches  %s\n", l ? 100 * h / l : 100, l, b ? 100 * t / b : 100, b, name
    }
    END {
        for (f in lines) {
            n = split(f, p, "/")
            room = p[1] "/" p[2]
            if (p[2] == "operators" || p[2] == "optimize") if (n > 3) room = room "/" p[3]
            rl[room] += lines[f]; rh[room] += hit[f]; rb[room] += branches[f]; rt[room] += taken[f]
            al += lines[f]; ah += hit[f]; ab += branches[f]; at += taken[f]
            printf "%6.1f %% of %6d lines  %6.1f %% of %6d branches  %s\n", 100 * hit[f] / lines[f], lines[f], branches[f] ? 100 * taken[f] / branches[f] : 100, branches[f], f | "sort -k11"
        }
        close("sort -k11")
        if (!al) { print "no coverage data" > "/dev/stderr"; exit 1 }
        print ""
        for (r in rl) printf "%6.1f %% of %6d lines  %6.1f %% of %6d branches  %s\n", 100 * rh[r] / rl[r], rl[r], rb[r] ? 100 * rt[r] / rb[r] : 100, rb[r], r | "sort -k11"
        close("sort -k11")
        show("all", al, ah, ab, at)
    }'

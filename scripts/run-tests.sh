#!/bin/sh
# All tests of a build folder, then what was skipped and why: run-tests.sh BUILD JOBS [CTEST-ARGUMENT...].
# SPDX-License-Identifier: BSD-3-Clause
set -u
build=$1 jobs=$2
shift 2
LATHE_TEST_PYTHON=$(sh "$(dirname "$0")/test-python.sh")
export LATHE_TEST_PYTHON
# One more at a time than there are cores: many tests wait, for ranks, signals, workers or the disk.
ctest --test-dir "$build" --output-on-failure --parallel $((jobs + 1)) --output-junit Testing/Temporary/LastTest.xml "$@"
status=$?
log=$build/Testing/Temporary/LastTest.log
[ -f "$log" ] || exit $status
# A test that skips prints its reason last. The log calls it passed.
skipped=$(sed -n 's/.*<testcase name="\([^"]*\)".*status="notrun".*/\1/p' "$build/Testing/Temporary/LastTest.xml" | tr '\n' ' ')
awk -v names=" $skipped" '
/^[0-9]+\/[0-9]+ Testing: / { name = $3; reason = "" }
/^-+$/ { next }
/^<end of output>/ { inside = 0 }
inside && NF { if ($0 !~ /^[0-9]+ cases, /) reason = $0 }
/^Output:$/ { inside = 1 }
/^Test Passed\./ { if (index(names, " " name " ")) why[++skipped] = "  " name ": " reason; else passed++ }
/^Test (Failed|timed out)/ || /^Test Timeout/ { failed++ }
END {
    if (skipped) print "\nSkipped here:"
    for (i = 1; i <= skipped; i++) print why[i]
    printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
}' "$log"
exit $status

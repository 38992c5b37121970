#!/bin/sh
# Who may include whom: reads the include lines of src/ and of what stands outside it.
# layers.sh SOURCE-ROOT. SPDX-License-Identifier: BSD-3-Clause
set -eu
cd "$1"

# The first word of an include is the layer ("graph/ir.h"); see[x] lists the layers below x.
(cd src && find . -name '*.[ch]' | LC_ALL=C sort | xargs awk '
BEGIN { see["base"] = ""; see["trace"] = "base"; see["device"] = see["report"] = "base trace"
        see["kernels"] = see["cluster"] = see["device"] " device"
        see["tune"] = see["kernels"] " kernels"; see["graph"] = see["tune"] " tune"
        see["optimize"] = see["operators"] = see["qkernel"] = see["graph"] " cluster report graph" }
match($0, /^#include "[a-z]+\//) {
    to = substr($0, 11, RLENGTH - 11); split(FILENAME, p, "/"); from = p[2]
    if (to != from && to != "lathe" && index(" " see[from] " ", " " to " ") == 0) {
        printf "src%s:%d: %s may not include %s/\n", substr(FILENAME, 2), FNR, from, to; bad = 1 } }
END { exit bad }')

# Outside src/ only public headers and headers of the same program, named from the root: cli/ sees cli/, bench/ sees both.
find cli python examples bench -name '*.[ch]' 2>/dev/null | grep -v '^bench/layers/' | LC_ALL=C sort | xargs awk '
BEGIN { see["cli"] = "cli"; see["bench"] = "cli bench" }
match($0, /^#include "[^"\/]*\//) {
    to = substr($0, 11, RLENGTH - 11); split(FILENAME, p, "/")
    if (to != "lathe" && index(" " see[p[1]] " ", " " to " ") == 0) { printf "%s:%d: only public headers here, not %s/\n", FILENAME, FNR, to; bad = 1 } }
END { exit bad }'

# A public header may not lead into src/.
find include -name '*.h' | LC_ALL=C sort | xargs awk '
/^#include "/ && !/^#include "lathe\// { printf "%s:%d: not a public header: %s\n", FILENAME, FNR, $2; bad = 1 }
END { exit bad }'

# lathe.h is all of them.
for header in include/lathe/*.h; do
    name=${header#include/}
    [ "$name" = lathe/lathe.h ] || grep -qF "#include \"$name\"" include/lathe/lathe.h || { echo "include/lathe/lathe.h does not include $name"; exit 1; }
done

# Only one file reads the environment, only one touches the heap.
bad=$(grep -rnE '\b(secure_)?getenv *\(' src cli --include='*.c' | grep -v '^src/base/config.c:' || true)
[ -z "$bad" ] || { echo "only src/base/config.c reads the environment:"; echo "$bad"; exit 1; }
bad=$(grep -rnE '(^|[^_a-z])(malloc|calloc|realloc|free|strdup|aligned_alloc|posix_memalign) *\(' src --include='*.c' \
      | grep -vE '^src/base/alloc.c:|/\*|^[^:]*:[0-9]+: *\*' || true)
[ -z "$bad" ] || {
    echo "heap memory in src/ goes through base/alloc.h (a comment on the line says where libc itself allocated):"
    echo "$bad"
    exit 1
}

# Only the plugin calls MPI.
bad=$(grep -rnE '\bMPI_[A-Z][a-z]|#include <mpi.h>' src cli python bench examples --include='*.[ch]' | grep -v '^src/cluster/mpi/' || true)
[ -z "$bad" ] || { echo "only src/cluster/mpi calls MPI:"; echo "$bad"; exit 1; }

# Rooms: no folder of sources grows beyond what one can look over, and each says who lives there.
find src cli bench -type d ! -path 'bench/results*' | LC_ALL=C sort | while read -r room; do
    n=$(find "$room" -maxdepth 1 -type f | wc -l)
    [ "$n" -le 30 ] || { echo "$room has $n files: find rooms for them"; exit 1; }
    case $room in src/*) [ "$n" -eq 0 ] || [ -f "$room/README.md" ] || { echo "$room has no README.md"; exit 1; } ;; esac
done

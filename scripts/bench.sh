#!/bin/sh
# All benchmarks with their JSON kept under bench/results/: bench.sh BUILD-FOLDER [--quick].
# PyTorch's rows join where it is installed. SPDX-License-Identifier: BSD-3-Clause
set -eu
build=$1
bench=$build/bin/lathe-bench
shift
out=bench/results
mkdir -p "$out"
peer=
if python3 bench/peers/torch_graph.py "$@" >"$out/torch_graph.json.new"; then
    mv "$out/torch_graph.json.new" "$out/torch_graph.json"
    peer="--peer $out/torch_graph.json"
else
    rm -f "$out/torch_graph.json.new"
fi
cmake --build "$build" --target layer_benchmarks >/dev/null
for name in trace device fused; do "$build/bin/bench_$name"; done
for name in roofline transfers fused qsvm; do
    "$bench" $name "$@"
    "$bench" $name "$@" --json >"$out/$name.json"
done
"$bench" graph "$@" $peer
"$bench" graph "$@" $peer --json >"$out/graph.json"
echo "JSON in $out/"

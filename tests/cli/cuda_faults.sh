#!/bin/sh
# Drivers and compilers that do not fit, and full devices, as a user meets them: cuda_faults.sh LATHE BUILD. What is wrong is made
# up by tests/device/fake_cuda.c and fake_nvrtc.c, built in several ways. SPDX-License-Identifier: BSD-3-Clause
set -u
lathe=$1
build=$2
. "$(dirname "$0")/lib.sh"
export LATHE_CUDA

# refused FOLDER TEXT: with that driver --device cuda ends with the reason, doctor says it, and auto computes on the CPU.
refused() {
    LATHE_CUDA=$build/$1
    run 1 solve example:A1 --device cuda; says err "device 'cuda' cannot run: "; says err "$2"; says err "devices here: cpu, null"; silent out
    run 0 doctor; says out "missing  cuda"; says out "$2"
    bench 0 fused --quick; says err "lathe-bench: device cpu: "
}
refused fake-old "the CUDA driver supports CUDA 11.2, expected 12.4 or later: update the NVIDIA driver"
refused fake-idle "the CUDA driver does not start: a fault made up by the test (FAKE_ERROR_100)"
refused fake-empty "the NVIDIA driver is here, but no GPU"
refused fake-bare "the NVIDIA driver (libcuda.so.1) lacks the function cuInit: its version does not fit; install the NVIDIA driver"

# A GPU that is too old is found, and refused when opened; auto passes it over.
LATHE_CUDA=$build/fake-small
run 1 solve example:A1 --device cuda; says err "cuda:0 has compute capability 7.0, expected 8.0 or later"
run 0 devices; says out "cpu: "; says err "compute capability 7.0"
run 0 doctor; says out "missing  cuda"; says out "compute capability 7.0"
bench 0 fused --quick; says err "lathe-bench: device cpu: "

# So it does with one whose kernels no compiler here compiles.
LATHE_CUDA=$build/fake-early
run 0 doctor; says out "no nvrtc"; says out "missing  NVRTC"; says out "NVRTC is 12.3, expected 12.4 or later"
bench 1 fused --quick --device cuda; says err "NVRTC is 12.3, expected 12.4 or later"
bench 0 fused --quick; says err "lathe-bench: device cpu: "
run 0 solve example:D1v --set max_iterations=1; says out "but no GPU can be used here"

# An ordinal that is not there; a device without memory: sizes, and what would help.
LATHE_CUDA=$build/fake-cuda
run 2 solve example:A1 --device cuda:9; says err "device 'cuda:9': ordinal 9 is out of range, there is 1; devices here: cpu, null, cuda:0"
run 0 devices; says out "cuda:0: fake GPU"
if "$lathe" doctor | grep -q '^ok       NVRTC'; then # it compiles kernels first
    run 1 solve example:A1 --device cuda; says err "does not fit on cuda:0"; says err "0 of 0 bytes are free"; says err "the CPU may hold it"
fi

# Only those libraries are opened that are called: of all that are here, a Gram matrix needs none (decision 433).
if "$lathe" doctor | grep -q '^ok       NVRTC'; then
    LATHE_CUDA=$build/fake-math
    { printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }"; head -c 32 /dev/zero; } >"$work/x.npy"
    LD_DEBUG=files "$lathe" gram --x "$work/x.npy" --map 'angle' --device cuda --out "$work/K.npy" --quiet >"$work/out" 2>"$work/opened" || fail "gram on a made-up GPU: status $?"
    grep -q 'libcuda\.so' "$work/opened" || fail "the loader does not say what it opens"
    ! grep -oE 'lib(cudnn|cufft|cusolver|cublasLt)\.so[.0-9]*' "$work/opened" || fail "a Gram matrix opens libraries that it does not call"
    LATHE_CUDA=$build/fake-cuda
fi

# A dataset whose operators do not fit is refused before its file is begun, and so is its plan.
cat > "$work/large.yaml" <<EOF
metadata: {name: large}
parameter_space:
  architecture: {num_layers: {type: choice, choices: [4]}, base_channels: {type: choice, choices: [64]}, kernel_size: {type: choice, choices: [3]},
    activation: {type: choice, choices: [gelu]}}
  stochastic: {noise_type: {type: choice, choices: [gaussian]}, noise_scale: {type: continuous, bounds: [0.001, 0.1], log_scale: true}}
  operator: {normalization: {type: choice, choices: [instance]}, grid_size: {type: choice, choices: [64]}}
sampling: {total_samples: 4}
simulation: {device: cuda, num_realizations: 2, num_timesteps: 5, input_generation: {method: structured}}
dataset: {output_path: $work/new/large.h5}
EOF
if "$lathe" doctor | grep -q '^ok       hdf5' && "$lathe" doctor | grep -q '^ok       yaml'; then
    for plan in "" --dry-run; do
        run 1 generate --config "$work/large.yaml" --device cuda $plan; silent out
        says err "generate: 2 realizations of a cnn operator (base_channels 64, grid 64, 5 steps, float16) do not fit on cuda:0: fewer realizations (--num-realizations)"
        says err "bytes for activations, of 0 allowed"
        [ ! -e "$work/new" ] || fail "$last: left $(ls "$work/new")"
    done

    # Two GPUs share a dataset; lists are checked against what is here, and against what needs one process.
    LATHE_CUDA=$build/fake-two
    over() { printf 'simulation: {parallelism: {devices: %s}}\n' "$1" >"$work/over.yaml"; }
    large="generate --config $work/large.yaml --merge $work/over.yaml --device"
    over '[0, 3]'; run 2 $large cuda; says err "simulation.parallelism.devices names GPU 3: there are 2 GPUs, numbers 0 to 1"
    over '[0, 1]'; run 2 $large cuda --watchdog off
    says err "simulation.parallelism.devices names 2 GPUs, which need a worker process each: engine.watchdog is off"
    over '[1]'; run 1 $large cuda; says err "rollouts run on cuda:1, fake GPU"; says err "do not fit on cuda:1"
    over auto; run 1 $large cuda:1; says err "do not fit on cuda:1"
    if "$lathe" doctor | grep -q '^ok       NVRTC'; then
        for list in auto '[0, 1]'; do
            over "$list"; run 1 $large cuda; says err "rollouts run on cuda:0, cuda:1, each fake GPU"; says err "do not fit on cuda:0"
        done
        over auto; run 1 $large cuda --watchdog off; says err "1 of 2 GPUs is used, since several need a worker process each: engine.watchdog is off"
        over auto; run 1 $large cuda --profile "$work/trace.json"; says err "engine.watchdog is off for the sake of --profile"
        LATHE_CUDA=$build/fake-unlike
        over auto; run 1 $large cuda; says err "rollouts run on cuda:0, fake GPU"; says err "cuda:1 does not share the rows: it is a stranger, cuda:0 a fake GPU"
        over '[1, 0]'; run 2 $large cuda; says err "simulation.parallelism.devices names cuda:1: it is a stranger, cuda:0 a fake GPU"
    fi
    [ ! -e "$work/new" ] || fail "$last: left $(ls "$work/new")"

    # Two with memory, whose kernels only count: the whole way of the rows, if not what is in them.
    LATHE_CUDA=$build/fake-pair
    if "$lathe" doctor | grep -q '^ok       NVRTC'; then
        small="generate --config $work/large.yaml --merge $work/over.yaml --output $work/pair.h5 --device cuda"
        printf 'parameter_space: {architecture: {num_layers: {type: choice, choices: [2]}, base_channels: {type: choice, choices: [16]}}}\n' >"$work/over.yaml"
        run 0 $small --total-samples 40; says err "rollouts run on cuda:0, cuda:1, each fake GPU"; says out "rollouts ran in 2 worker processes"
        run 0 info "$work/pair.h5"; says out "0 failed, 0 pending"
        run 0 $small --total-samples 40 --resume --device cuda:1; says out "samples           0 (0 realizations), 40 done before"
    fi
    LATHE_CUDA=$build/fake-cuda
    over '[1]'; run 2 $large cuda; says err "simulation.parallelism.devices names GPU 1: there is 1 GPU, number 0"
fi
finish

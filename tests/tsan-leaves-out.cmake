# Tests that `make tsan` does not run, by their names, and why. ctest lists them as disabled (decision 421).
set(LT_TSAN_LEAVES_OUT
    # The interpreter, NumPy and PyTorch are not instrumented: of what threads do there nothing would be seen, or what is right reported.
    "python_.*" "operator_torch" "cli_dataset_python" "solve_pyomo"
    # One thread: readers under mutation, the language, kernels of a device compiled as C++ by the test itself, without the sanitizer.
    "fuzz_.*" "language.*" "nl" "qasm" "crafted" "cli_crafted" "yaml" "dataset_config.*" "key_tables"
    ".*_on_host" "fused_(kernels|ends|step|cases)" "feature_kernels" "linalg_text" "conv_f32" "cuda_compile" "gram_compile" "rollout_compile" "fused_compile"
    # Minutes of one thread's computing; what they share with others runs in the tests of the solver's parts.
    "solve_(sparse|bounds|networks|examples)" "literature" "collections" "convex" "qp_hard"
    # No program of ours runs, or it runs for its text or its time alone.
    "layers" "words" "headers_alone" "api_versions" "install_.*" "options_page" "performance_pages" "op_files" "cuda_headers" "cli_(manual|documents|guides|usage|page|bench_generate)"
    "feature_cost" "trial" "graph_trial" "golden_small"
    # They refuse memory, limit address space, kill, or count what stays allocated: the sanitizer maps terabytes and has memory of its own.
    "base_oom_env" "graph_oom" "commands_oom" "cli_limits" "solve_memory" "torture" "soak" "base_faulty_disk" "faulty_store"
    # A cluster of one machine, whose daemons wait for each other longer than they are given.
    "cluster_slurm")
list(JOIN LT_TSAN_LEAVES_OUT "|" LT_TSAN_LEAVES_OUT)
set(LT_TSAN_LEAVES_OUT "^(${LT_TSAN_LEAVES_OUT})$")

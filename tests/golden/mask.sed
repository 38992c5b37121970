# What differs between two runs of one build, and between two commits that compute the same: times, rates, dates, commits, free memory,
# sizes that follow from times, places in the source. Applied with sed -E to every text that scripts/golden.sh records; the script itself
# replaces paths and the version. A rule that is too wide hides faults: name the field or the words around the number.

# ---- everywhere -----------------------------------------------------------------------------------------------------------------
# dates, places in the source, commits
s/20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-9:]+(Z|[+-][0-9:]+)/DATE/g
s/^(\.Dd ).*/\1DATE/
s/\(src\/[a-z0-9_/]+\.[ch]:[0-9]+\)/(PLACE)/g
s/(commit )[0-9a-f]{7,40}(-dirty)?/\1COMMIT/g
s/^(lathe VERSION )\([0-9a-f]{7,40}(-dirty)?\)/\1(COMMIT)/
# times with a unit, columns of them with their share, rates, what follows from two times
s/ *\b[0-9][0-9.]*(e[-+]?[0-9]+)? (ns|us|ms|s)\b/ TIME/g
s/ TIME +[0-9.]+ %/ TIME SHARE/
s/\b[0-9][0-9.]*(e[-+]?[0-9]+)? +(samples per second|per second|million pairs per second|Mpairs\/s|[GT]FLOP\/s|[GM]i?B\/s)/RATE \2/g
s/(kernels: )[0-9.]+ (times as fast)/\1RATE \2/
s/(rollouts used )[0-9.]+ %/\1SHARE/
# memory that is free on the machine, and budgets that are shares of it
s/\b[0-9.]+ [KMGT]iB free/MEMORY free/g
s/(a budget of )[0-9.]+ [KMGT]?i?B/\1MEMORY/g
# the size of a dataset file: it depends on how often a run has committed, which goes by the clock
s/^(file +)[0-9.]+ ([KMG]i)?B, from/\1SIZE, from/
s/(became a file of )[0-9.]+ [kKMG]i?B/\1SIZE/

# ---- JSON -----------------------------------------------------------------------------------------------------------------------
s/("([a-z_]*_)?(time|seconds|ns|ms)(_[a-z_]*)?": )[-+.0-9e]+/\1TIME/
s/("[a-z_]*(gflops|tflops|per_second|per_s)": )[-+.0-9e]+/\1RATE/
s/("(commits|file_bytes|memory_free_bytes)": )[0-9]+/\1SIZE/
s/("commit": )"[^"]*"/\1"COMMIT"/
/^ *"(seconds|shares)": \{/,/\}/ s/(": )[-+.0-9e]+/\1TIME/

# ---- HDF5 files, as h5_digest prints them ---------------------------------------------------------------------------------------
s/^(\/status\/seconds float32 \[[0-9]+\]).*/\1 TIME/
s/^(\/features\/[a-z_/]*\/extraction_time float64 \[[0-9]+\]).*/\1 TIME/

# ---- pages ----------------------------------------------------------------------------------------------------------------------
# bars: the number each of them shows stands beside it
s/(class="bar" style=")[^"]*"/\1BAR"/

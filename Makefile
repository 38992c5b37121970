# The front door: everything a user or CI runs, as one word each. SPDX-License-Identifier: BSD-3-Clause
#
#   make            what is installed: the library, the commands, manual page and completion
#   make demo       the command alone, a demo run with it, demo-report.html
#   make test       everything built, the whole test suite run
#   make install    into PREFIX (DESTDIR honoured)
#   make python     a wheel of the Python package in dist/; pip install . builds and installs the same
#   make bench      timings against this machine's limits
#   make everything built: tests, examples and lathe-bench too, nothing run
#   make clean      build folders and the report removed
#
# For contributors, some of them an hour long:
#
#   make asan, make tsan, make coverage   the suite under that preset
#   make test-cuda                        the tests that need a GPU
#   make sanitize-cuda                    those tests under compute-sanitizer; the log is sanitizer-cuda.txt in the build folder
#   make fuzz [SECONDS=60 LOG=FILE]       every reader under libFuzzer, SECONDS each
#   make faults [PART=gram] [CALLS=200]   every call site of every command fails once; with CALLS only that many calls of each kind
#   make torture [MINUTES=5]              commands killed at random moments
#   make soak [MINUTES=60]                everything in one process, again and again
#   make mutants [SAMPLE=50 SEED=1 LAYERS=base]   how many small faults in src the tests find
#   python3 scripts/cuda-sitting.py build RESULTS   what is to be found out on a machine with a GPU, a command each (--list)
#
# DEPS=0 skips the check for missing packages; CMAKE_ARGS is handed to CMake (CMAKE_ARGS=-DLT_ONEDNN=OFF).
# Paths here are relative, so a clone may live in any folder, one with spaces in its name too.

BUILD      ?= build
PREFIX     ?= /usr/local
JOBS       ?= $(shell nproc 2>/dev/null || echo 2)
DEPS       ?= 1
CMAKE_ARGS ?=

.DEFAULT_GOAL := all
.PHONY: all everything deps configure demo test test-cuda sanitize-cuda install bench python asan tsan coverage fuzz faults torture soak mutants clean
.NOTPARALLEL:

# Without tests, examples and benchmarks (decision 440).
all: configure
	@cmake --build "$(BUILD)" --parallel $(JOBS) --target lathe_product

everything: configure
	@cmake --build "$(BUILD)" --parallel $(JOBS)

deps:
ifneq ($(DEPS),0)
	@sh scripts/install-deps.sh
endif

# Configuring again costs a second; it is skipped when the folder is there and nothing new was asked.
configure: deps
	@if [ ! -f "$(BUILD)/CMakeCache.txt" ] || [ -n '$(CMAKE_ARGS)' ]; then sh scripts/configure.sh "$(BUILD)" $(CMAKE_ARGS); fi

demo: configure
	@cmake --build "$(BUILD)" --parallel $(JOBS) --target lathe_command
	@"$(BUILD)/bin/lathe" demo --report demo-report.html

test: everything
	@sh scripts/run-tests.sh "$(BUILD)" $(JOBS)

# Skips, with the reason, where there is no GPU.
test-cuda: everything
	@sh scripts/run-tests.sh "$(BUILD)" $(JOBS) --label-regex cuda

sanitize-cuda: test-cuda
	@python3 scripts/sanitize-cuda.py "$(BUILD)" "$(BUILD)/sanitizer-cuda.txt"

install: all
	@cmake --install "$(BUILD)" --prefix "$(PREFIX)"

bench: everything
	@sh scripts/bench.sh "$(BUILD)"

python: deps
	@sh scripts/make-wheel.sh dist

asan tsan coverage: deps
	@cmake --preset $@
	@cmake --build --preset $@ --parallel $(JOBS)
	@ctest --preset $@
	@if [ $@ = coverage ]; then sh scripts/coverage.sh build-coverage; fi

SECONDS ?= 60
fuzz: deps
	@sh scripts/fuzz.sh $(if $(LOG),--log "$(LOG)") $(SECONDS)

faults: everything
	@$(if $(CALLS),"$(BUILD)/bin/test_faults" all $(CALLS) $(PART),sh scripts/faults.sh "$(BUILD)" $(JOBS) "$(PART)")

torture: everything
	@sh scripts/torture.sh "$(BUILD)" $(or $(MINUTES),5)

soak: everything
	@sh scripts/soak.sh "$(BUILD)" $(or $(MINUTES),60)

mutants: everything
	@python3 scripts/mutate.py --build "$(BUILD)" --sample $(or $(SAMPLE),50) --seed $(or $(SEED),1) --log bench/results/mutants.txt $(LAYERS)

clean:
	@rm -rf "$(BUILD)" build-dev build-release build-asan build-tsan build-coverage build-fuzz dist demo-report.html

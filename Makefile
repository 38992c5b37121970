# The front door: everything a user or CI runs, as one word each. SPDX-License-Identifier: BSD-3-Clause
#
#   make            build the library and the command        make install   into PREFIX (DESTDIR honoured)
#   make demo       build, run a demo, leave demo-report.html make bench     timings against this machine's limits
#   make test       build and run the whole test suite       make clean     remove build folders and the report
#   make test-cuda  the tests that need a GPU                make asan, make tsan, make coverage   the suite under that preset
#   make fuzz [SECONDS=60 LOG=bench/results/fuzz.txt]   every reader under libFuzzer, so long each    make faults [PART=gram]   every call site of every command fails once (an hour); CALLS=200: so many calls of each kind
#   make torture [MINUTES=5]    commands killed at random moments             make soak [MINUTES=60]    everything in one process, again and again
#   make mutants [SAMPLE=50 SEED=1 LAYERS=base]   how many small faults in src the tests find
#   make python     a wheel of the Python package in dist/   pip install .   the same, installed
#   make sanitize-cuda  those tests under compute-sanitizer, memcheck and racecheck; the log is sanitizer-cuda.txt in the build folder
#   python3 scripts/cuda-sitting.py build RESULTS   all that is to be found out on a machine with a GPU, in order of risk, a command each (--list)
#
# DEPS=0 skips the check for missing packages; CMAKE_ARGS is handed to CMake (CMAKE_ARGS=-DLT_ONEDNN=OFF).
# Paths here are relative, so a clone may live in any folder, one with spaces in its name too.

BUILD      ?= build
PREFIX     ?= /usr/local
JOBS       ?= $(shell nproc 2>/dev/null || echo 2)
DEPS       ?= 1
CMAKE_ARGS ?=

.DEFAULT_GOAL := all
.PHONY: all deps configure demo test test-cuda sanitize-cuda install bench python asan tsan coverage fuzz faults torture soak mutants clean
.NOTPARALLEL:

all: configure
	@cmake --build "$(BUILD)" --parallel $(JOBS)

deps:
ifneq ($(DEPS),0)
	@sh scripts/install-deps.sh
endif

# Configuring again costs a second; it is skipped when the folder is there and nothing new was asked.
configure: deps
	@if [ ! -f "$(BUILD)/CMakeCache.txt" ] || [ -n '$(CMAKE_ARGS)' ]; then sh scripts/configure.sh "$(BUILD)" $(CMAKE_ARGS); fi

# The command alone, without the tests: half the work on a first build.
demo: configure
	@cmake --build "$(BUILD)" --parallel $(JOBS) --target lathe_command
	@"$(BUILD)/bin/lathe" demo --report demo-report.html

test: all
	@sh scripts/run-tests.sh "$(BUILD)" $(JOBS)

# Skips, with the reason, where there is no GPU.
test-cuda: all
	@sh scripts/run-tests.sh "$(BUILD)" $(JOBS) --label-regex cuda

sanitize-cuda: test-cuda
	@python3 scripts/sanitize-cuda.py "$(BUILD)" "$(BUILD)/sanitizer-cuda.txt"

install: all
	@cmake --install "$(BUILD)" --prefix "$(PREFIX)"

bench: all
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

faults: all
	@$(if $(CALLS),"$(BUILD)/bin/test_faults" all $(CALLS) $(PART),sh scripts/faults.sh "$(BUILD)" $(JOBS) "$(PART)")

torture: all
	@sh scripts/torture.sh "$(BUILD)" $(or $(MINUTES),5)

soak: all
	@sh scripts/soak.sh "$(BUILD)" $(or $(MINUTES),60)

mutants: all
	@python3 scripts/mutate.py --build "$(BUILD)" --sample $(or $(SAMPLE),50) --seed $(or $(SEED),1) --log bench/results/mutants.txt $(LAYERS)

clean:
	@rm -rf "$(BUILD)" build-dev build-release build-asan build-tsan build-coverage build-fuzz dist demo-report.html

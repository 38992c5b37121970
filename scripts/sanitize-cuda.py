#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every case of every cuda-labelled test under compute-sanitizer, memcheck and racecheck, side by side.

    sanitize-cuda.py BUILD LOG [--jobs N] [--seconds S] [--only EXPRESSION] [--tools A,B]

Writes a line per case to LOG and the beginning of what was said about those which are not clean. Run `make test-cuda` before:
kernels are compiled then and only loaded here. Exit status 1 when a case is not clean or did not finish, 2 when it cannot begin."""
import argparse, concurrent.futures, json, os, re, shutil, subprocess, sys

# Calls that tests make fail on purpose (no memory, no such symbol) are not errors of memory.
# Kernels of libraries are theirs to judge; racecheck takes longer for them than for all of ours, and has died of one of cuDNN's.
# Ours have names of C; theirs are mangled, or say what they are.
LIBRARIES = ["_Z", "cudnn", "cublas", "cutlass", "xmma", "fft", "winograd", "gemm", "nhwc", "implicit_convolve"] + [
    f"{generation}_" for generation in ("maxwell", "volta", "turing", "ampere", "hopper", "sm50", "sm70", "sm75", "sm80", "sm86", "sm89", "sm90")]
TOOLS = {"memcheck": ["--report-api-errors", "no"], "racecheck": [o for name in LIBRARIES for o in ("--kernel-name-exclude", "kns=" + name)]}
# Cases that know of it take fewer and smaller rounds of the same kernels: racecheck makes a launch a hundred times as long.
BRIEF = {"racecheck": {"LT_TEST_BRIEF": "1"}}
ON_PURPOSE = {("memcheck", "a_stray_write_loses_the_device_with_a_clear_text")}
SKIPPED, FOUND = 77, 99  # exit statuses: of a test without a GPU, of the sanitizer with errors
NO_KERNEL = "terminated before first instrumented API call"
SUMMARY = re.compile(r"(?:ERROR SUMMARY|RACECHECK SUMMARY): (.*)")


def first_line(command):
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout.strip().splitlines()[0]
    except (OSError, IndexError):
        return "unknown"


def cases_of(build, only):
    listed = json.loads(subprocess.run(["ctest", "--test-dir", build, "-L", "cuda", "--show-only=json-v1"],
                                       capture_output=True, text=True, check=True).stdout)["tests"]
    for test in listed:
        program, *part = test["command"]
        env = next((p["value"] for p in test["properties"] if p["name"] == "ENVIRONMENT"), [])
        names = subprocess.run([program, "--list"], capture_output=True, text=True)
        if names.returncode == SKIPPED:  # it looks for a GPU first
            raise LookupError(f"{test['name']}: {names.stdout.strip()}")
        names.check_returncode()
        for name in names.stdout.split():
            if (not part or part[0] in name) and (not only or re.search(only, f"{test['name']} {name}")):
                yield test["name"], program, name, dict(e.split("=", 1) for e in env)


def run(tool, case, seconds):
    test, program, name, env = case
    command = ["compute-sanitizer", "--tool", tool, "--error-exitcode", str(FOUND), *TOOLS[tool], program, name]
    # timeout(1) also ends what the sanitizer has started; a limit of subprocess.run would leave that running.
    done = subprocess.run(["timeout", "-k", "5", str(seconds), *command], capture_output=True, text=True, errors="replace",
                          env={**os.environ, **env, **BRIEF.get(tool, {})})
    text = done.stdout + done.stderr
    if done.returncode in (124, 137):
        return tool, test, name, False, f"did not finish in {seconds} s", ""
    if NO_KERNEL in text:
        return tool, test, name, True, "starts nothing on the device", ""
    summary = SUMMARY.search(text)
    verdict = summary.group(1) if summary else "no summary"
    clean = bool(re.match(r"0 (errors|hazards)", verdict)) and done.returncode in (0, SKIPPED)
    if done.returncode not in (0, SKIPPED, FOUND):
        verdict += f"; exit status {done.returncode}"
    return tool, test, name, clean, verdict + ("; skipped" if done.returncode == SKIPPED else ""), "" if clean else text


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("build")
    ap.add_argument("log")
    ap.add_argument("--jobs", type=int, default=os.cpu_count())
    ap.add_argument("--seconds", type=int, default=300, help="for one case")
    ap.add_argument("--only", help="an expression that 'TEST CASE' matches")
    ap.add_argument("--tools", default=",".join(TOOLS))
    a = ap.parse_args()
    if not shutil.which("compute-sanitizer"):
        print("sanitize-cuda: compute-sanitizer is not on the PATH; it comes with the CUDA toolkit", file=sys.stderr)
        return 2
    try:
        cases = list(cases_of(a.build, a.only))
    except LookupError as e:
        print(f"sanitize-cuda: no test can run here: {e}", file=sys.stderr)
        return 2
    bad = 0
    with open(a.log, "w") as log, concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        def say(line):
            print(line, flush=True)
            log.write(line + "\n")
            log.flush()
        say(first_line(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]))
        say(first_line(["sh", "-c", "compute-sanitizer --version | tail -1"]))
        for tool, name in sorted(ON_PURPOSE):
            say(f"not run: {tool} {name}, which faults on purpose")
        waiting = [pool.submit(run, tool, case, a.seconds) for tool in a.tools.split(",") for case in cases if (tool, case[2]) not in ON_PURPOSE]
        for done in concurrent.futures.as_completed(waiting):
            tool, test, name, clean, verdict, text = done.result()
            bad += not clean
            say(f"{'ok ' if clean else 'BAD'} {tool} {test}: {name}: {verdict}")
            if text:
                log.write(text[:6000] + "\n")
        say(f"{len(waiting)} runs of {len(cases)} cases, {bad} not clean")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

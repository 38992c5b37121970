"""The command ``spinlock``: Spinlock's subcommands, flags and exit codes, done by the command ``lathe``.

0 success, 1 error (its sentence on standard error), 130 interrupted.
"""
from __future__ import annotations

import argparse
import subprocess
import sys

VERSION = "Spinlock v1.0.0"
#: The subcommands, by the same names in both.
SUBCOMMANDS = ("generate", "info", "validate", "visualize-dataset", "visualize-ic-types", "extract-features", "visualize-features", "replay")


#: Flags of which Spinlock takes several values, each a word of its own; the command takes them joined by commas.
SEVERAL = ("--aggregates", "--operator-indices", "--ic-types", "--tiers")


def joined(arguments) -> list:
    """['--aggregates', 'mean,entropy', '--fps', '9'] of '--aggregates mean entropy --fps 9'."""
    made, flag = [], None
    for word in arguments:
        if word.startswith("-"):
            flag = word if word in SEVERAL else None
        elif flag and made[-1] != flag:
            made[-1] += "," + word
            continue
        made.append(word)
    return made


def usage() -> str:
    return "usage: spinlock SUBCOMMAND [options]\n\nSubcommands:\n" + "\n".join(f"  {name}" for name in (*SUBCOMMANDS, "cloud-generate", "inspect")) + \
        "\n\n  spinlock SUBCOMMAND --help   options and an example"


def fail(sentence) -> int:
    print(f"spinlock: {sentence}", file=sys.stderr)
    return 1


def run(arguments) -> int:
    """The command lathe with these arguments."""
    from lathe.__main__ import command
    child = subprocess.Popen([command(), *arguments])
    while True:
        try:
            code = child.wait()
            break
        except KeyboardInterrupt:  # the command got it as well, and ends
            continue
    return 130 if code in (130, -2) else int(code != 0)


def cloud_generate(arguments) -> int:
    """On this machine: lathe runs no other."""
    parser = argparse.ArgumentParser("spinlock cloud-generate", description=cloud_generate.__doc__)
    parser.add_argument("--config", required=True)
    parser.add_argument("--provider", default="local", choices=("local", "lambda_labs", "runpod"))
    parser.add_argument("--storage-backend", default="local", choices=("local", "s3", "lambda_labs"))
    parser.add_argument("--monitor", action="store_true", help="show progress")
    parser.add_argument("--job-id")
    given = parser.parse_args(arguments)
    for name, value in (("--provider", given.provider), ("--storage-backend", given.storage_backend)):
        if value != "local":
            return fail(f"cloud-generate {name} {value}: lathe generates on this machine only (local)")
    if given.job_id:
        return fail(f"cloud-generate --job-id {given.job_id}: there are no jobs of other machines")
    return run(["generate", "--config", given.config, *(["--verbose"] if given.monitor else [])])


def main(arguments=None) -> int:
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if arguments in (["--version"], ["-V"]):
        print(VERSION)
        return 0
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage())
        return 0 if arguments else 1
    name, rest = arguments[0], arguments[1:]
    if name == "cloud-generate":
        try:
            return cloud_generate(rest)
        except SystemExit as end:  # argparse has said why
            return int(bool(end.code))
    if name == "inspect":  # 'inspect F' is 'info --dataset F'
        return run(["info", *(["--dataset"] if rest and not rest[0].startswith("-") else []), *rest])
    if name not in SUBCOMMANDS:
        return fail(f"there is no subcommand '{name}'; there are {', '.join(SUBCOMMANDS)}")
    return run([name, *joined(rest)])


if __name__ == "__main__":
    sys.exit(main())

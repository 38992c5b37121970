"""Scripts under `python -m lathe.compat`, each in a fork of one process that has read PyTorch: a script costs its own time only.
run_scripts.py SCRIPT... prints a line of JSON for each: its path, exit status and what it printed. SPDX-License-Identifier: BSD-3-Clause"""
import json
import os
import runpy
import signal
import sys
import tempfile
import traceback

import lathe.capture.torch  # noqa: F401
import lathe.compat  # noqa: F401
import torch.fx.experimental.proxy_tensor  # noqa: F401

SECONDS = 300


def run(script):
    """What `python -m lathe.compat SCRIPT` does, in this process, which ends with it."""
    status = 1
    signal.alarm(SECONDS)
    sys.argv = ["lathe.compat", script]
    try:
        runpy.run_module("lathe.compat", run_name="__main__", alter_sys=True)
        status = 0
    except SystemExit as end:
        status = 0 if end.code is None else end.code if isinstance(end.code, int) else 1
    except BaseException:  # whatever a script raises is for its reader
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def forked(script):
    with tempfile.TemporaryFile("w+") as printed:
        child = os.fork()
        if child == 0:
            os.dup2(printed.fileno(), 1)
            os.dup2(printed.fileno(), 2)
            run(script)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        printed.seek(0)
        return {"script": script, "status": status, "printed": printed.read()}


for _script in sys.argv[1:]:
    print(json.dumps(forked(_script)), flush=True)

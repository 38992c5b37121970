"""Calls in a process of their own, ended after a time: solvers in C cannot be interrupted otherwise. SPDX-License-Identifier: BSD-3-Clause"""
import multiprocessing
import time


def child(pipe, call):
    began = time.perf_counter()
    try:
        answer = (call(), None)
    except Exception as error:
        answer = (None, f"{type(error).__name__}: {error}"[:120])
    pipe.send((*answer, time.perf_counter() - began))
    pipe.close()


def run(call, limit):
    """What call() returns, the failure's text, and its seconds; the process is ended after limit seconds."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=child, args=(theirs, call))
    process.start()
    theirs.close()
    try:
        answer = ours.recv() if ours.poll(limit) else (None, f"stopped after {limit:g} s", limit)
    except EOFError:
        answer = (None, "the process died", limit)
    if process.is_alive():
        process.kill()
    process.join()
    ours.close()
    return answer

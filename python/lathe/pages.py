"""HTML for notebooks: the plots of the command's reports."""
from __future__ import annotations

import html

import numpy as np

from . import _core


def framed(report, height) -> str:
    """A whole page inside a cell, its styles kept to itself."""
    return f'<iframe srcdoc="{html.escape(report.html(), quote=True)}" style="width:100%;height:{height}px;border:0"></iframe>'


def solution_page(s) -> str:
    r = _core.Report("Solution")
    facts = {"f": f"{s.f:.10g}", "termination": f"{s.termination_code}: {s.message}", "iterations": str(s.iters), "evaluations": str(s.fn_evals),
             "stationarity": f"{s.stat_value:.3g}", "seconds": f"{s.time_total:.3g}", "device": s.device, "how": s.how}
    if hasattr(s.point, "tv"):
        facts["violation"] = f"{s.point.tv:.3g}"
    r.facts(facts)
    if len(s.history) > 1:
        r.plot("Objective", "iteration", False, {"f": np.ascontiguousarray(s.history[:, 4])})
        series = {"stationarity": np.ascontiguousarray(s.history[:, 8])}
        if hasattr(s.point, "tv"):
            series["violation"] = np.maximum(s.history[:, 5], s.history[:, 6])
        r.plot("Stationarity and violation", "iteration", True, series)
    return framed(r, 620)


def kernel_page(k) -> str:
    r = _core.Report("Quantum kernel")
    layers, qubits = k.weights.shape[:2]
    r.facts({"qubits": str(qubits), "layers": str(layers), **{name: str(value) for name, value in k.options.items()}})
    info = k.info
    if info["n"]:
        r.facts({"last matrix": f"{info['n']} x {info['m']}", "method": info["method"], "kernel": info["kernel"], "precision": info["precision"],
                 "seconds": f"{info['seconds']['total']:.3g}", "plan": info["plan"]})
    r.heatmap("Weights", k.weights.reshape(layers, -1), True)
    return framed(r, 420)


def dataset_page(d) -> str:
    r = _core.Report(d.path)
    info = d.info
    r.facts({name: str(info[name]) for name in ("rows", "parameters", "realizations", "steps", "grid", "precision", "device", "creation_date", "engine_version")})
    return framed(r, 360)

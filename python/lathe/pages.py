"""HTML for notebooks: the plots of the command's reports."""
from __future__ import annotations

import html

import numpy as np

from . import _core


def framed(report, height) -> str:
    """A whole page inside a cell, its styles kept to itself."""
    # Where the notebook lets pages run scripts, the cell is as high as the page; elsewhere it scrolls.
    return (f'<iframe srcdoc="{html.escape(report.html(), quote=True)}" style="width:100%;height:{height}px;border:0" '
            'onload="this.style.height=this.contentDocument.documentElement.scrollHeight+\'px\'"></iframe>')


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
    shape = None if k.weights is None else k.weights.shape
    if k.map is not None or k.circuit is not None:
        facts = {"map": k.map} if k.map is not None else {"circuit": "in OpenQASM"}
        facts |= {"weights": " x ".join(map(str, shape))} if shape else {}
    else:
        facts = {"qubits": str(shape[1]), "layers": str(shape[0])}
    r.facts(facts | {name: str(value) for name, value in k.options.items()})
    info = k.info if k.is_ready() else {"n": 0}
    if info["n"]:
        r.facts({"last matrix": f"{info['n']} x {info['m']}", "method": info["method"], "kernel": info["kernel"], "precision": info["precision"],
                 "seconds": f"{info['seconds']['total']:.3g}"}
                | dict(line.partition(": ")[::2] for line in info["plan"].splitlines()))
    if shape:
        r.heatmap("Weights", k.weights.reshape(shape[0], -1), True)
    return framed(r, 420)


#: Operators of a dataset that its page draws; the others take longer to read than a cell may take to show.
MOST_DRAWN = 2000


def dataset_page(d) -> str:
    from .data.columns import STATUS
    r = _core.Report(d.path)
    info = d.info
    counts = dict(zip(STATUS, info["status"]))
    r.facts({name: str(info[name]) for name in ("rows", "parameters", "realizations", "steps", "grid", "precision", "device", "creation_date", "engine_version")}
            | {"status": ", ".join(f"{n} {word}" for word, n in counts.items() if n), "features": ", ".join(d.families()) or "none"})
    n = min(len(d), MOST_DRAWN)
    if n > 1 and "summary" in d.families():
        growth = growth_rates(d.features(rows=slice(0, n)))
        if growth is not None:
            r.plot("Growth rate of the energy" + (f", first {n} operators" if n < len(d) else ""), "operator", False, {"mean over realizations": growth})
    first = d.item("/inputs/fields")
    if n and first and len(first["shape"]) == 4:
        r.heatmap("Initial field of operator 0, first channel", np.asarray(d["/inputs/fields"][0][0], dtype=float), True)
    return framed(r, 620)


def growth_rates(features):
    """The column by operator, or None where the file has none or nothing finite."""
    name = next((name for name in features.dtype.names if name.startswith("energy_growth_rate")), None)
    values = None if name is None else np.ascontiguousarray(features[name], dtype=float)
    return values if values is not None and np.isfinite(values).any() else None


def statistics_page(statistics) -> str:
    r = _core.Report("Statistics")
    for name, of in statistics.items():
        r.heading(name)
        r.facts({"columns": str(len(of["columns"])), "values of the first": str(of["count"][0]) if of["count"] else "0"})
        series = {field: np.array([np.nan if v is None else v for v in of[field]]) for field in ("mean", "median", "std", "robust")}
        r.plot("By column", "column", False, {field: values for field, values in series.items() if np.isfinite(values).any()})
    return framed(r, 620)

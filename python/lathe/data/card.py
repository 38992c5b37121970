"""A dataset described in Markdown, from what the file says of itself."""
from __future__ import annotations

import json
import os

from . import columns

UNKNOWN_DATE = "1970-01-01T00:00:00+00:00"  #: what files without a date have in its place


class Card(str):
    """Markdown; notebooks show it set."""

    def _repr_markdown_(self):
        return str(self)


def table(head, rows) -> str:
    cells = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(c).replace("|", "\\|").replace("\n", " ") for c in row) + " |" for row in cells)


def parsed(text) -> dict:
    try:
        made = json.loads(text)
    except ValueError:
        return {}
    return made if isinstance(made, dict) else {}


def card(dataset) -> Card:
    info, config = dataset.info, parsed(dataset.info["config"])
    about = config.get("metadata") or {}
    parts = [f"# {about.get('name') or os.path.basename(dataset.path)}", about.get("description") or "", facts(dataset, info, about)]
    parts += ["## Parameters", parameter_table(dataset), "## Arrays", array_table(dataset), "## Rows", row_table(dataset, info)]
    if metrics := parsed(info["sampling_metrics"]):
        parts += ["## Sampling", table(("measure", "value"), metrics.items())]
    parts += ["## Reading it", f"    import lathe\n    d = lathe.Dataset({os.path.basename(dataset.path)!r})\n    d.features(), d.to_pandas(), d.torch()"]
    if config:
        parts += ["## Configuration", "```json\n" + json.dumps(config, indent=1) + "\n```"]
    return Card("\n\n".join(p for p in parts if p) + "\n")


def facts(dataset, info, about) -> str:
    date = info["creation_date"]
    rows = {"operators": info["rows"], "realizations of each": info["realizations"], "steps": info["steps"], "grid": f"{info['grid']} x {info['grid']}",
            "states stored": "yes" if info["has_outputs"] else "no; lathe.replay computes them again" if info["engine_version"] else "no",
            "precision": info["precision"], "device": info["device"], "seed": info["seed"] if info["engine_version"] else "", "made by": f"lathe {info['engine_version']}" if info["engine_version"] else "",
            "created": "" if date == UNKNOWN_DATE else date, "author": about.get("author"), "purpose": about.get("purpose"), "file": f"{info['file_bytes']:,} bytes"}
    if info["shard_count"] > 1:
        rows["shard"] = f"{info['shard_index']} of {info['shard_count']}"
    return table(("", ""), [(name, value) for name, value in rows.items() if value not in ("", None)])


def parameter_table(dataset) -> str:
    known = columns.specs(dataset)
    if not known:
        return table(("column", "parameter"), enumerate(columns.column_names(dataset, "/parameters/params")))
    return table(("column", "parameter", "type", "values"), [(i, name, spec["type"], values_of(spec)) for i, (name, spec) in enumerate(known)])


def values_of(spec) -> str:
    if "choices" in spec:
        weights = spec.get("weights")
        return ", ".join(f"{c} ({w:g})" for c, w in zip(spec["choices"], weights)) if weights else ", ".join(map(str, spec["choices"]))
    if "bounds" in spec:
        return f"{spec['bounds'][0]} to {spec['bounds'][1]}" + (", logarithmic" if spec.get("log_scale") else "")
    return "false, true"


def array_table(dataset) -> str:
    return table(("array", "shape", "type", "compression"), [(f"`{i['path']}`", " x ".join(map(str, i["shape"])), i["dtype"], i["compression"] or "none")
                                                             for i in dataset.items() if not i["group"]])


def row_table(dataset, info) -> str:
    rows = [(word, n) for word, n in zip(columns.STATUS, info["status"]) if n]
    for path, word in (("/metadata/ic_types", "initial condition"), ("/metadata/evolution_policies", "policy"), ("/metadata/noise_regimes", "noise")):
        labels = dataset.texts(path) if path in dataset else []
        rows += [(f"{word}: {label}", labels.count(label)) for label in sorted(set(labels))]
    return table(("", "operators"), rows)

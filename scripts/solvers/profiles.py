"""Performance profiles (Dolan and More), data profiles (More and Wild), and the page about them. SPDX-License-Identifier: BSD-3-Clause"""
import numpy as np

FEASIBLE = 1e-6
SOLVERS = ("lathe", "SLSQP", "trust-constr", "Ipopt")
HELD_OUT = "heldout"
GROUPS = {"hs": "Hock and Schittkowski", "literature": "the others of tests/optimize/literature", "nonsmooth": "nonsmooth, fixed sizes",
          "scalable": "nonsmooth, n = 50, 200, 1000", "smooth": "smooth, n = 100, 400"}


def solved(run, tolerance):
    return bool(run) and run["error"] is not None and run["error"] <= tolerance and run["violation"] <= FEASIBLE


def shares(problems, tolerance, cost):
    """For each solver its costs where it solved, infinite elsewhere."""
    return {s: np.array([row["runs"][s][cost] if solved(row["runs"].get(s), tolerance) else np.inf for row in problems]) for s in SOLVERS
            if any(s in row["runs"] for row in problems)}


def draw(problems, root):
    try:
        import matplotlib
        matplotlib.use("Agg")
        matplotlib.rcParams.update({"svg.hashsalt": "lathe", "svg.fonttype": "none"})
        import matplotlib.pyplot as plt
    except ImportError:
        print("no Matplotlib: no pictures")
        return False
    for tolerance in (1e-4, 1e-6):
        figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
        times, calls = shares(problems, tolerance, "seconds"), shares(problems, tolerance, "evaluations")
        least = np.min(list(times.values()), axis=0)
        groups = np.array([row["n"] + 1 for row in problems])
        for s in times:
            with np.errstate(invalid="ignore"):
                ratio = np.where(np.isfinite(least), times[s] / least, np.inf)
            for axis, values in ((left, ratio), (right, calls[s] / groups)):
                ordered = np.sort(values[np.isfinite(values)])
                axis.step(np.concatenate([[ordered[0]], ordered]) if len(ordered) else [], np.arange(len(ordered) + 1 if len(ordered) else 0) / len(problems), where="post", label=s)
        left.set(xscale="log", xlabel="time, as a multiple of the fastest", ylabel="share of problems", ylim=(0, 1), title=f"performance profile, {tolerance:g}")
        right.set(xscale="log", xlabel="evaluations with gradients / (n + 1)", ylim=(0, 1), title=f"data profile, {tolerance:g}")
        left.legend(loc="lower right")
        figure.tight_layout()
        figure.savefig(root / f"docs/pictures/solvers-1e{round(np.log10(tolerance))}.svg", metadata={"Date": None})
        plt.close(figure)
    return True


def table(problems, tolerance):
    present = [s for s in SOLVERS if any(s in row["runs"] for row in problems)]
    lines = ["| problems | number | " + " | ".join(present) + " |", "| --- " * (len(present) + 2) + "|"]
    for group, title in [*GROUPS.items(), (None, "**all**")]:
        rows = [row for row in problems if (row["group"] == group if group else row["group"] != HELD_OUT)]
        if rows:
            lines.append(f"| {title} | {len(rows)} | " + " | ".join(str(sum(solved(row["runs"].get(s), tolerance) for row in rows)) for s in present) + " |")
    held = [row for row in problems if row["group"] == HELD_OUT]
    if held:
        lines.append(f"| held out: tests/optimize/heldout | {len(held)} | " + " | ".join(str(sum(solved(row["runs"].get(s), tolerance) for row in held)) for s in present) + " |")
    return "\n".join(lines)


def medians(problems):
    lines = ["| solver | solves, median | with the first call |", "| --- | --- | --- |"]
    for s in SOLVERS:
        runs = [row["runs"][s] for row in problems if solved(row["runs"].get(s), 1e-4)]
        if runs:
            lines.append(f"| {s} | {1e3 * np.median([r['seconds'] for r in runs]):.3g} ms | {1e3 * np.median([r['seconds_first'] for r in runs]):.3g} ms |")
    return "\n".join(lines)


def stopped(problems, limit):
    """How many runs of each peer the limit ended."""
    present = [s for s in SOLVERS[1:] if any(s in row["runs"] for row in problems)]
    return ", ".join(f"{s} {sum(row['runs'][s]['seconds'] >= limit for row in problems if s in row['runs'])}" for s in present)


def unsolved(problems):
    names = [row["name"] for row in problems if not solved(row["runs"]["lathe"], 1e-4)]
    return ", ".join(f"`{name}`" for name in names) or "none"


def write(result, root):
    later = f" (lathe's rows again at {result['lathe_commit']})" if "lathe_commit" in result else ""
    problems = result["problems"]
    developed = [row for row in problems if row["group"] != HELD_OUT]
    held = result.get("held_out", {"limit_seconds": result["limit_seconds"], "commit": result["commit"]})
    pictures = draw(developed, root)
    figures = "\n\n".join(f"![profiles at {t}](pictures/solvers-{t}.svg)" for t in ("1e-4", "1e-6")) if pictures else "(no pictures: Matplotlib was missing)"
    (root / "docs/compare-solvers.md").write_text(f"""# Beside other solvers

Written by `scripts/compare-solvers.py`, which runs every solver at its defaults, from the published starts, on all problem files of `tests/optimize/literature` (without the
options in them), `tests/optimize/collections` and `tests/optimize/heldout`. Values and gradients come from lathe's compiled graphs for all of them, so problems are written once. Commit {result['commit']}{later};
{result['machine']}; numbers in `bench/results/solvers.json`.

Solved means: f at most 1e-4 (1e-6) above the published optimum, relative to max(1, |f|), and no constraint violated by more than {FEASIBLE:g}. A lower feasible f counts as
solved. Ipopt has a limited-memory Hessian, since nobody is given second derivatives; SLSQP is left out, and counts as not solving, where n exceeds 400; peers are stopped after
{result['limit_seconds']:g} s of wall time, which ended so many of their runs: {stopped(developed, result['limit_seconds'])} (held-out problems:
{held['limit_seconds']:g} s, at commit {held['commit']}, while other work ran: {stopped([row for row in problems if row["group"] == HELD_OUT], held['limit_seconds'])}). With more time, or a quieter machine, they
would solve more; lathe had no limit. The peers are not made for kinks. PyGRANSO is not among them: [performance.md](performance.md) has it.

Read the rows with care: the files of `tests/optimize/literature` are tests that lathe has to pass, so it was developed on them. The collections were written without running lathe
on them, but problems that none of the peers reproduced were left out (their README lists them), among them Dixon and Price, which lathe fails, and HS 13, 55, 70, 84, 101 to 103 and 116,
of which lathe solved two. The held-out ones were written afterwards, and nothing was chosen on them: when they were lathe solved 49 of 55 to 1e-4 and 49 to 1e-6. Of HS 16 and 33 it finds other local minima or saddles from
the printed starts: SLSQP ends at the same.

## Solved to 1e-4

{table(problems, 1e-4)}

## Solved to 1e-6

{table(problems, 1e-6)}

## Profiles

Left, of all problems, the share solved within a multiple of the fastest solver's time (Dolan and More 2002), first call left out; right, the share solved within a number of
evaluations (More and Wild 2009).

{figures}

## Time

Over what each solved to 1e-4. The first call of the peers includes reading and compiling the problem; that of lathe a whole process besides: its start, the file, the output.
The peers' own time is mostly Python's.

{medians(developed)}

## What lathe does not solve to 1e-4

{unsolved(problems)}
""")

"""The option pages, from the library's own rows."""
from __future__ import annotations

import textwrap

#: Groups of options on the first page; the others are on the advanced one.
COMMON = ("Start", "Stopping", "Hessian", "Functions", "Printing")


def page(title: str, common: bool) -> str:
    from lathe import _core
    lines, group = [title, "", "Set them by name: ``opts = pygransoStruct(); opts.maxit = 500; pygranso(var_spec, combined_fn, opts)``."], None
    for row in _core.option_rows("solve"):
        if (row["group"] in COMMON) != common:
            continue
        if row["group"] != group:
            group = row["group"]
            lines += ["", group]
        default = "" if row["default"] in (None, "") else f" Default {row['default']}."
        lines += textwrap.wrap(f"{row['alias'] or row['name']}: {row['help']}.{default}", 110, initial_indent="    ", subsequent_indent="        ")
    if common:
        lines += ["    halt_log_fn: called at the start and after every step with (iter, x, penaltyfn_parts, d, get_BFGS_state_fn, H_regularized,",
                  "        ls_evals, alpha, n_gradients, stat_vec, stat_val, fallback_level); true stops the run with code 3.",
                  "    capture: verify, always or never: whether combined_fn may become a graph. Default verify."]
    else:
        lines += ["    QPsolver: osqp or gurobi are accepted and not used: the quadratic programs are solved by lathe's own solver."]
    return "\n".join(lines)

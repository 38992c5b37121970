/* lathe solve: nonsmooth, constrained optimization of a problem file. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/solve/solve.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct solve_cli {
    cli_common   common;
    lt_text_list set;
    const char  *x0, *out, *checkpoint, *resume, *report, *eval, *sweep, *devices;
    int64_t      starts;
    bool         check, check_gradients, dump_graph, list, show;
} solve_cli;

static const lt_option rows[] = {
    LT_OPTION_LIST(solve_cli, set, "set", "NAME=VALUE", "an option of the solver; wins over the file ('lathe explain' lists them)"),
    LT_OPTION_PATH(solve_cli, x0, "x0", NULL, "F",
                   "start here: packed variables (.npy), or the result of another run with its mu, H and multipliers (.json of --json, .npz of "
                   "--out)"),
    LT_OPTION_PATH(solve_cli, out, "out", NULL, "FILE", "write the result: x.npy packed, or sol.npz by name, with mu, multipliers and H"),
    LT_OPTION_INT(solve_cli, starts, "starts", "1", LT_AT_LEAST(1), "N", "run from this many seeded random starts, best first"),
    LT_OPTION_STRING(solve_cli, sweep, "sweep", NULL, "NAME=A:B:N", "solve for N values of 'data NAME' from A to B, a row for each; --out FILE.npz keeps them"),
    LT_OPTION_STRING(solve_cli, devices, "devices", NULL, "LIST",
                     "several GPUs of one kind that share the runs of --starts or --sweep, as cuda:0,cuda:1; instead of --device"),
    LT_OPTION_PATH(solve_cli, checkpoint, "checkpoint", NULL, "F", "save the run here as it goes"),
    LT_OPTION_PATH(solve_cli, resume, "resume", NULL, "F", "go on from a saved run, bit for bit"),
    LT_OPTION_PATH(solve_cli, report, "report", NULL, "FILE.html", "write a page about the run"),
    LT_OPTION_BOOL(solve_cli, check, "check", "false", "read the problem, say what it is, and stop"),
    LT_OPTION_PATH(solve_cli, eval, "eval", NULL, "x.npy", "print values and gradients at this point, and stop"),
    LT_OPTION_BOOL(solve_cli, check_gradients, "check-gradients", "false", "compare gradients with differences at the start, and stop"),
    LT_OPTION_BOOL(solve_cli, dump_graph, "dump-graph", "false", "print the graph as written and as compiled, and stop"),
    LT_OPTION_BOOL(solve_cli, list, "list", "false", "name the built-in examples"),
    LT_OPTION_BOOL(solve_cli, show, "show", "false", "print the problem's text, and stop"),
};
static const lt_option_group groups[] = CLI_GROUPS(rows);
static const lt_option_table table = {
    .program = "lathe solve", .summary = "Minimise a function subject to constraints, all possibly nonsmooth and nonconvex",
    .operands = "FILE.lt|FILE.nl|example:NAME", .max_operands = 1, .groups = groups, .n_groups = CLI_LEN(groups),
    .example = "lathe solve example:A1 --set stationarity_tol=1e-6 --report a1.html",
};

/* ---- Examples ---------------------------------------------------------------------------- */

static lt_status list_examples(cli_context *c)
{
    lt_example e = { .size = sizeof e };
    if (c->json) {
        lt_json_key(c->json, "examples");
        lt_json_array_begin(c->json);
    }
    for (int i = 0; lt_example_get(i, &e); i++) {
        if (!c->json) { printf("%-8s %s\n", e.name, e.title); continue; }
        lt_json_object_begin(c->json);
        lt_json_field_string(c->json, "name", e.name);
        lt_json_field_string(c->json, "title", e.title);
        lt_json_object_end(c->json);
    }
    if (c->json) lt_json_array_end(c->json);
    return LT_OK;
}

static lt_status show_text(cli_context *c, const char *path)
{
    lt_example e = { .size = sizeof e };
    if (strncmp(path, "example:", 8)) return cli_fail(LT_ERR_ARGUMENT, "--show prints built-in examples; '%s' is a file of yours", path);
    CLI_TRY(lt_example_find(path + 8, &e));
    if (c->json) lt_json_field_string(c->json, "text", e.text);
    else fputs(e.text, stdout);
    return LT_OK;
}

/* ---- Reading ------------------------------------------------------------------------------- */

static lt_status read_model(solve_job *j, const char *path)
{
    if (strncmp(path, "example:", 8)) CLI_TRY(cli_check_input(path));
    lt_status s = lt_model_read(path, &j->model);
    const char *messages = j->model ? lt_model_messages(j->model) : "";
    if (*messages && !j->c->silent && (s || !j->c->common.quiet)) fprintf(stderr, "%s%s", messages, messages[strlen(messages) - 1] == '\n' ? "" : "\n");
    if (s == LT_ERR_FORMAT && j->model && lt_model_error_count(j->model) > 0)
        return cli_fail(s, "%s: %d error%s", path, lt_model_error_count(j->model), lt_model_error_count(j->model) == 1 ? "" : "s");
    if (s) return s;
    j->view = lt_model_get(j->model);
    j->sign = j->view.maximize ? -1 : 1;
    return LT_OK;
}

/* n numbers from an array file. */
static lt_status read_point(const char *path, int64_t n, lt_array *out)
{
    lt_status s = cli_blame_input(lt_npy_read(path, out));
    if (!s && lt_array_widen(out)) s = cli_fail(LT_ERR_ARGUMENT, "%s: %s", path, lt_error_text());
    else if (!s && lt_shape_count(&out->shape) != n)
        s = cli_fail(LT_ERR_ARGUMENT, "%s holds %s, the problem has %lld variables", path, lt_shape_str(&out->shape).s, (long long)n);
    if (s) lt_array_free(out);
    return s;
}

/* --device names one, which wins over everything; auto leaves the choice to the file, to --set, else to the solver. */
static void set_device(solve_job *j)
{
    if (!j->c->device) return;
    if (cli_on_cpu(j->c->device)) j->opt.device_name = "cpu";
    else j->opt.device = j->c->device;
}

/* One NAME=VALUE; its failure in `why`. */
static lt_status set_one(solve_job *j, const char *item, char *why, size_t bytes)
{
    char name[64];
    const char *equals = strchr(item, '=');
    lt_status s = LT_ERR_ARGUMENT;
    if (!equals || equals == item || (size_t)(equals - item) >= sizeof name) snprintf(why, bytes, "--set '%s': expected NAME=VALUE", item);
    else {
        snprintf(name, sizeof name, "%.*s", (int)(equals - item), item);
        s = lt_solve_options_set(&j->opt, name, equals + 1);
        if (s) snprintf(why, bytes, "--set %s: %s", item, lt_error_text());
    }
    cli_drop_sources(why);
    return s;
}

/* All of --set, so that every mistake is reported at once. */
static lt_status set_all(solve_job *j, const solve_cli *o)
{
    char why[LT_TEXT_LIST_MAX][512];
    int wrong = 0;
    lt_status s, first = LT_OK;
    for (int i = 0; i < o->set.n; i++) {
        why[wrong][0] = 0;
        if (!(s = set_one(j, o->set.item[i], why[wrong], sizeof why[0]))) continue;
        if (!wrong++) first = s;
    }
    if (wrong < 2) return wrong ? cli_fail(first, "%s", why[0]) : LT_OK;
    for (int i = 0; i < wrong && !j->c->silent; i++) fprintf(stderr, "lathe solve: %s\n", why[i]);
    return cli_fail(first, "%d of the values of --set are wrong", wrong);
}

/* Whether `text` speaks of the option: its name as a whole word. */
static bool mentions(const char *text, const char *name, size_t n)
{
    for (const char *at = text; (at = strstr(at, name)); at += n)
        if ((at == text || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[n]) && at[n] != '_') return true;
    return false;
}

/* Options that do not go together: where one of them was set. */
static lt_status blame_option(const solve_job *j, const solve_cli *o, lt_status s)
{
    if (!s) return s;
    for (int i = o->set.n - 1; i >= 0; i--) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(o->set.item[i], "="), o->set.item[i]);
        if (mentions(lt_error_text(), name, strlen(name))) return cli_fail(s, "--set %s: %s", o->set.item[i], lt_error_text());
    }
    for (int i = j->view.n_options - 1; i >= 0; i--) {
        const lt_model_option *option = &j->view.options[i];
        if (mentions(lt_error_text(), option->name, strlen(option->name))) return cli_fail(s, "%s:%d:%d: %s", j->view.name, option->line, option->column, lt_error_text());
    }
    return s;
}

static bool is_result(const char *path)
{
    const char *dot = path ? strrchr(path, '.') : NULL;
    return dot && (!strcmp(dot, ".json") || !strcmp(dot, ".npz"));
}

static bool is_set(const solve_cli *o, const char *name)
{
    for (int i = 0; i < o->set.n; i++)
        if (!strncmp(o->set.item[i], name, strlen(name)) && o->set.item[i][strlen(name)] == '=') return true;
    return false;
}

static lt_status set_options(solve_job *j, const solve_cli *o)
{
    CLI_TRY(cli_check_input(o->x0));
    CLI_TRY(cli_check_input(o->resume));
    j->opt = lt_solve_defaults();
    j->opt.seed = o->common.seed;
    j->opt.device_name = "auto";
    CLI_TRY(lt_solve_options_from_model(&j->opt, j->model));
    CLI_TRY(set_all(j, o));
    j->opt.x0_file = o->x0 ? o->x0 : j->opt.x0_file;
    if (is_result(o->x0) && !is_set(o, "mu0")) j->opt.mu0 = lt_solve_defaults().mu0; /* the file's mu0 is for starts that know of none */
    j->opt.checkpoint = o->checkpoint ? o->checkpoint : j->opt.checkpoint;
    j->opt.resume = o->resume ? o->resume : j->opt.resume;
    j->opt.print_to = o->common.quiet || o->common.json ? NULL : stdout;
    if (!isatty(STDOUT_FILENO)) j->opt.print_color = false; /* colours are for people */
    j->opt.interrupt = cli_interrupt_flag();
    set_device(j);
    if (o->devices) j->opt.device_name = o->devices, j->opt.device = NULL;
    return blame_option(j, o, lt_solve_options_check(&j->opt));
}

/* ---- Other questions than "solve it" ------------------------------------------------------- */

static void put_values(solve_job *j, const char *name, const double *v, int64_t count, int64_t each)
{
    lt_shape s = each > 1 ? lt_shape2(count, each) : lt_shape1(count);
    if (j->c->json) {
        lt_json_key(j->c->json, name);
        solve_json_tensor(j->c->json, &s, v);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        printf("%s[%lld] =", name, (long long)i);
        for (int64_t k = 0; k < each; k++) printf(" %s", cli_number(v[i * each + k]).s);
        printf("\n");
    }
}

static lt_status evaluate_at(solve_job *j, const char *path)
{
    lt_array x = { 0 };
    const int64_t n = j->view.n, p = j->view.p, q = j->view.q;
    double f = 0, *memory = calloc((size_t)(n + p + q + (p + q) * n) + 1, sizeof *memory);
    if (!memory) return cli_fail(LT_ERR_MEMORY, "out of memory for the gradients");
    double *grad = memory, *ci = grad + n, *ce = ci + p, *grad_ci = ce + q, *grad_ce = grad_ci + p * n;
    lt_status s = read_point(path, n, &x);
    if (!s) s = lt_problem_evaluate_with(j->problem, &j->opt, x.data, &(lt_outputs){ .f = &f, .grad_f = grad, .ci = p ? ci : NULL, .grad_ci = p ? grad_ci : NULL,
                                                                       .ce = q ? ce : NULL, .grad_ce = q ? grad_ce : NULL });
    if (!s) {
        f *= j->sign;
        for (int64_t i = 0; i < n; i++) grad[i] *= j->sign;
        if (j->c->json) lt_json_field_double(j->c->json, "f", f); else printf("f = %s\n", cli_number(f).s);
        put_values(j, "grad_f", grad, n, 1);
        put_values(j, "ci", ci, p, 1);
        put_values(j, "grad_ci", grad_ci, p, n);
        put_values(j, "ce", ce, q, 1);
        put_values(j, "grad_ce", grad_ce, q, n);
    }
    lt_array_free(&x);
    free(memory);
    return s;
}

enum { MAX_DIRECTIONS = 200 }; /* up to this many variables each has its own direction, beyond that they are drawn */

static lt_status check_gradients(solve_job *j)
{
    lt_check_result r = { .size = sizeof r };
    lt_array start = { 0 };
    if (j->opt.device) return cli_fail(LT_ERR_ARGUMENT, "--check-gradients runs on the CPU: leave --device out");
    if (is_result(j->opt.x0_file)) return cli_fail(LT_ERR_ARGUMENT, "--check-gradients: x0 '%s': expected packed variables, a .npy file", j->opt.x0_file);
    if (j->opt.x0_file) CLI_TRY(read_point(j->opt.x0_file, j->view.n, &start));
    lt_status s = lt_problem_check(j->problem, start.data, 0, MAX_DIRECTIONS, &r);
    lt_array_free(&start);
    CLI_TRY(s);
    j->c->json_complete = true; /* which gradient is wrong is what was asked for */
    if (j->c->json) {
        lt_json_field_bool(j->c->json, "passed", r.passed);
        lt_json_field_double(j->c->json, "worst", r.worst);
        lt_json_field_int(j->c->json, "checked", r.n_checked);
        lt_json_field_int(j->c->json, "worst_function", r.worst_function);
        lt_json_field_int(j->c->json, "worst_direction", r.worst_direction);
        lt_json_field_double(j->c->json, "gradient", r.gradient);
        lt_json_field_double(j->c->json, "difference", r.difference);
    } else {
        char function[32] = "f";
        if (r.worst_function >= 0) snprintf(function, sizeof function, "constraint %lld", (long long)r.worst_function);
        printf("%lld derivatives checked, the worst differs by %.2g: %s along %s %lld has gradient %.10g, difference %.10g\n", (long long)r.n_checked,
               r.worst, function, j->view.n <= MAX_DIRECTIONS ? "variable" : "random direction", (long long)r.worst_direction, cli_plain(r.gradient), cli_plain(r.difference));
    }
    return r.passed ? LT_OK : cli_fail(LT_ERR_MISMATCH, "gradients and differences disagree (at a kink they may)");
}

static lt_status dump_graph(solve_job *j)
{
    lt_program *p;
    lt_node out[4] = { j->view.f };
    int n = 1;
    printf("as written:\n");
    CLI_TRY(lt_graph_dump(j->view.graph, stdout));
    CLI_TRY(lt_grad(j->view.graph, j->view.f, &j->view.x, 1, &out[n++]));
    if (!lt_is_none(j->view.ci)) out[n++] = j->view.ci;
    if (!lt_is_none(j->view.ce)) out[n++] = j->view.ce;
    CLI_TRY(lt_program_create(j->view.graph, out, n, &(lt_compile_options){ .size = sizeof(lt_compile_options), .device = j->c->device }, &p));
    printf("\ncompiled, with the gradient of f:\n");
    lt_status s = lt_program_dump(p, stdout);
    lt_program_destroy(p);
    return s;
}

/* ---- Solving -------------------------------------------------------------------------------- */

/* Codes that leave the user with something other than a result. */
static lt_status judge(const lt_solution *s)
{
    if (s->interrupted) return cli_stopped();
    if (s->termination_code <= LT_TERMINATION_BRACKET_FEASIBLE) return LT_OK; /* decision 32 */
    return cli_fail(s->termination_code == LT_TERMINATION_FUNCTION_FAILED ? LT_ERR_NUMERIC : LT_ERR_MISMATCH, "code %d: %s%s%s", s->termination_code,
                    lt_termination_text(s->termination_code), s->error ? ": " : "", s->error ? s->error : "");
}

/* What the point is, in front of its f. */
static const char *verdict(const solve_job *j, const lt_solution *s)
{
    const bool reached = s->termination_code <= LT_TERMINATION_TARGET || s->termination_code == LT_TERMINATION_BRACKET_FEASIBLE;
    if (!solve_result(s)->feasible_to_tol) return "infeasible:";
    return !reached ? "best found:" : j->view.maximize ? "maximum:" : "minimum:";
}

static lt_status deliver(solve_job *j, const lt_solution *s, const lt_runs *runs, const solve_cli *o)
{
    const lt_solution_point *p = solve_result(s);
    if (j->c->json) solve_json(j, s);
    else {
        if (o->common.quiet || j->view.maximize) printf("%s f = %.15g\n", verdict(j, s), cli_plain(j->sign * p->f));
        solve_print_variables(j, p->x);
        if (!o->common.quiet) solve_print_certificate(j, s), solve_print_device(s);
    }
    if (o->out) CLI_TRY(solve_write(j, s, o->out));
    if (o->report) CLI_TRY(solve_report(j, s, runs, o->report));
    return judge(s);
}

/* The statement of the file that holds this constraint: the library counts constraints, users have lines and names. NULL: the failure is about none. */
static const lt_model_constraint *constraint_at(const solve_job *j, const lt_error_place *p)
{
    for (int i = 0; i < j->view.n_constraints; i++) {
        const lt_model_constraint *k = &j->view.constraints[i];
        if (p->kind == (k->equality ? LT_PLACE_EQUALITY : LT_PLACE_INEQUALITY) && p->index >= k->first && p->index < k->first + k->count) return k;
    }
    return NULL;
}

/* A run that cannot begin was asked for wrongly: its files, its options, or its start. */
static lt_status blame_start(const solve_job *j, lt_status s)
{
    if (s != LT_ERR_NUMERIC && s != LT_ERR_MISMATCH) return cli_blame_input(s);
    const lt_error_place place = lt_error_get_place();
    const lt_model_constraint *k = constraint_at(j, &place);
    if (place.kind == LT_PLACE_OBJECTIVE)
        return cli_fail(LT_ERR_ARGUMENT, "%s:%d: %s", j->view.name, j->view.objective_line, lt_error_text());
    if (!k) return cli_fail(LT_ERR_ARGUMENT, "%s", lt_error_text());
    return cli_fail(LT_ERR_ARGUMENT, "%s:%d: %s%s%s%s", j->view.name, k->line, k->name ? "'" : "", k->name ? k->name : "", k->name ? "': " : "", lt_error_text());
}

static lt_status solve_once(solve_job *j, const solve_cli *o)
{
    lt_solution *s;
    CLI_TRY(blame_start(j, lt_solve(j->problem, &j->opt, &s)));
    j->c->json_complete = true; /* a run that ends badly has results, too */
    lt_status status = deliver(j, s, NULL, o);
    lt_solution_destroy(s);
    return status;
}

static lt_status solve_many(solve_job *j, const solve_cli *o)
{
    lt_runs *runs;
    j->opt.print_to = NULL; /* the runs go on side by side */
    CLI_TRY(blame_start(j, lt_solve_starts(j->c->cluster, j->problem, &j->opt, o->starts, j->opt.threads, &runs)));
    lt_status status = LT_OK;
    if (cli_first_rank(j->c)) {
        status = solve_show_starts(j, runs);
        j->c->json_complete = true;
        if (!status) status = deliver(j, lt_runs_best(runs), runs, o);
        if (!status && solve_was_interrupted(runs)) status = cli_stopped();
    }
    lt_runs_destroy(runs);
    return status;
}

/* What would fail after the run fails before it. */
static lt_status check_requests(const solve_cli *o)
{
    if ((o->starts > 1 || o->sweep) && (o->checkpoint || o->resume))
        return cli_fail(LT_ERR_ARGUMENT, "--%s is of a single run: leave --%s out", o->checkpoint ? "checkpoint" : "resume", o->sweep ? "sweep" : "starts");
    if (o->devices && o->starts == 1 && !o->sweep)
        return cli_fail(LT_ERR_ARGUMENT, "--devices %s: several devices share the runs of --starts or --sweep; one run takes --device", o->devices);
    if (o->devices && strcmp(o->common.device, "auto")) return cli_fail(LT_ERR_ARGUMENT, "--devices and --device both say where to compute; give one of them");
    if (o->starts > 1 && o->sweep) return cli_fail(LT_ERR_ARGUMENT, "--starts and --sweep: give one of them");
    const char *dot = o->out ? strrchr(o->out, '.') : NULL;
    if (o->out && (!dot || (strcmp(dot, ".npy") && strcmp(dot, ".npz"))))
        return cli_fail(LT_ERR_ARGUMENT, "--out %s: expected a name that ends in .npy (packed x) or .npz (variables by name)", o->out);
    return LT_OK;
}

static lt_status answer(solve_job *j, const solve_cli *o, const char *path)
{
    CLI_TRY(check_requests(o));
    CLI_TRY(read_model(j, path));
    CLI_TRY(set_options(j, o));
    if (o->check) return j->c->json ? solve_json_check(j) : lt_model_describe(j->model, stdout);
    if (o->dump_graph) return j->c->json ? cli_fail(LT_ERR_ARGUMENT, "--dump-graph prints text: leave --json out") : dump_graph(j);
    CLI_TRY(lt_problem_from_model(j->model, &j->problem));
    if (o->eval) return evaluate_at(j, o->eval);
    if (o->check_gradients) return check_gradients(j);
    if (o->sweep) return solve_sweep(j, path, o->sweep, o->out, o->report);
    if (o->starts == 1 && cli_several_ranks(j->c))
        return cli_fail(LT_ERR_UNSUPPORTED, "one run of solve does not share its work between ranks: give --starts or --sweep, run it without the launcher, or set LATHE_MPI=off");
    return o->starts > 1 ? solve_many(j, o) : solve_once(j, o);
}

static lt_status run(cli_context *c)
{
    const solve_cli *o = c->options;
    if (o->list && c->n_operands) return cli_fail(LT_ERR_ARGUMENT, "--list names the examples: leave '%s' out, or --list", c->operand[0]);
    if (o->list) return list_examples(c);
    if (c->n_operands != 1) return cli_fail(LT_ERR_ARGUMENT, "which problem? Give a FILE.lt or example:NAME; --list names the examples");
    if (o->show) return show_text(c, c->operand[0]);
    solve_job j = { .c = c };
    lt_status s = answer(&j, o, c->operand[0]);
    lt_problem_destroy(j.problem);
    lt_model_destroy(j.model);
    return s;
}

const cli_command cli_solve = {
    .name = "solve", .options = &table, .options_bytes = sizeof(solve_cli), .need = CLI_NEED_CHOSEN, .reports_device = true, .stops = true, .ranks = true, .run = run,
    .description = "Reads a problem in lathe's own text format (docs/problem-language.md) and minimises its objective subject to its constraints by "
                   "BFGS-SQP with an exact penalty function: no smoothness and no convexity is needed, only values and gradients almost everywhere.\n"
                   "Prints a table of the iterations, then the variables. Options of the solver are set in the file (option NAME = VALUE) or with "
                   "--set. --starts and --sweep make many runs, side by side, and over ranks under mpirun (docs/scaling.md). Values and gradients are "
                   "computed on the device given; auto takes a GPU, where there is one, when an evaluation is "
                   "estimated to take the CPU more than 200 us, and says what it took. Ctrl-C stops after the evaluation at hand, saves the checkpoint if "
                   "there is one, and exits with 130.",
};

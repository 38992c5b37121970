/* lathe gram: Gram matrices of quantum feature maps. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/gram/gram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The names of the Python pipeline are understood too: its GPU backends were two, its CPU one had any other name. */
static const char *const backend_names[] = { "device", "auto", "cpu", "cuda", "cuda_states", "torch", "numpy", "lightning.qubit", "lightning.gpu", NULL };
static const char *const backend_devices[] = { NULL, "auto", "cpu", "cuda", "cuda", "cuda", "cpu", "cpu", "cuda" };
_Static_assert(CLI_LEN(backend_names) == CLI_LEN(backend_devices) + 1, "one device per backend");

static const lt_option rows[] = {
    LT_OPTION_PATH(gram_cli, x, "x", NULL, "X.npy", "features: rows by qubits"),
    LT_OPTION_PATH(gram_cli, weights, "weights", NULL, "W.npy", "layers by qubits, or layers by qubits by 3 with --entangler strong; of a map or circuit, in its shape"),
    LT_OPTION_STRING(gram_cli, map, "map", NULL, "MAP", "a named map instead of layers, as 'zz(reps=2, entanglement=linear)'"),
    LT_OPTION_PATH(gram_cli, circuit, "circuit", NULL, "F.qasm", "a circuit in OpenQASM 3 or 2 instead"),
    LT_OPTION_PATH(gram_cli, circuit_out, "circuit-out", NULL, "F.qasm", "write the map or circuit as OpenQASM 3"),
    LT_OPTION_BOOL(gram_cli, plan, "plan", "false", "say how it would be computed and what that costs, and compute nothing"),
    LT_OPTION_PATH(gram_cli, y, "y", NULL, "Y.npy", "columns of K; otherwise the rows of X again"),
    LT_OPTION_PATH(gram_cli, out, "out", NULL, "K.npy", "where K goes; may be larger than memory"),
    LT_OPTION_PATH(gram_cli, states_out, "states-out", NULL, "S.npy", "where the states of X go: rows by 2^qubits complex numbers"),
    LT_OPTION_PATH(gram_cli, report, "report", NULL, "FILE.html", "write a page about K and the run"),
    LT_OPTION_INT(gram_cli, landmarks, "landmarks", "0", LT_AT_LEAST(0), "M",
                  "write Z, rows by M, with K ~ Z Z' instead of K, from M rows that --seed draws (Nystrom); 0 = K itself"),
    LT_OPTION_REAL(gram_cli, memory, "memory", "0", LT_RANGE_CLOSED(0, 1e9), "GIB",
                   "compute K tile by tile in its file, in this much memory (of each rank); 0 = as it comes, or half of what is free under mpirun"),
    LT_OPTION_BOOL(gram_cli, resume, "resume", "false", "keep the finished tiles of a run that was ended, with any number of ranks; without one, begin"),
    LT_OPTION_BOOL(gram_cli, requeue, "requeue", "false", "at SIGTERM finish the tiles at hand, say \"resume me\" and end with status 0: for batch systems"),
    LT_OPTION_PATH(gram_cli, read, "read", NULL, "K.npy", "read rows of a finished matrix, without the rest; without --rows, compare it with its checksums"),
    LT_OPTION_STRING(gram_cli, rows, "rows", NULL, "A:B", "with --read: rows A to B - 1, whole ones also of a packed file, to --out"),
    LT_OPTION_PATH(gram_cli, kernel_cache, "kernel-cache", NULL, "FOLDER", "take K from here if this matrix was computed before, else keep it here"),
    LT_OPTION_ENUM(gram_cli, backend, "gram-backend", "device", backend_names, "where to compute, by its name here or in the Python pipeline; device: as --device says"),
    LT_OPTION_STRING(gram_cli, devices, "devices", NULL, "LIST", "several GPUs that share the work, as cuda:0,cuda:1; instead of --device"),
};
static const lt_option_group groups[] = {
    { .title = "Files", .rows = rows, .n_rows = CLI_LEN(rows) },
    { .title = "Kernel of a map or circuit", LT_OPTIONS_OF(gram_cli, similarity, lt_similarity_options_table) },
    { .title = "Kernel", LT_OPTIONS_OF(gram_cli, gram, lt_gram_options_table) },
    { .title = "Common options", .rows = cli_common_rows, .n_rows = CLI_N_COMMON_ROWS },
};
static const lt_option_table table = {
    .program = "lathe gram", .summary = "Compute Gram matrices of quantum feature maps",
    .groups = groups, .n_groups = CLI_LEN(groups),
    .example = "lathe gram --x X.npy --weights W.npy --re-embed --out K.npy --report K.html",
};

/* ---- input ---- */

/* A matrix of real numbers, as f64 or f32. */
static lt_status read_rows(const char *path, const char *option, lt_array *a)
{
    CLI_TRY(cli_blame_input(lt_npy_read(path, a)));
    if (a->dtype != LT_F64 && a->dtype != LT_F32)
        return cli_fail(LT_ERR_ARGUMENT, "--%s %s holds %s, expected float64 or float32", option, path, lt_dtype_name(a->dtype));
    if (a->shape.rank < 2 || a->shape.rank > 3 || lt_shape_count(&a->shape) < 1)
        return cli_fail(LT_ERR_ARGUMENT, "--%s %s has shape %s, expected a matrix with at least one row and column", option, path,
                        lt_shape_str(&a->shape).s);
    return LT_OK;
}

static lt_status read_features(const char *path, const char *option, lt_array *a, lt_rows *out)
{
    CLI_TRY(read_rows(path, option, a));
    if (a->shape.rank != 2)
        return cli_fail(LT_ERR_ARGUMENT, "--%s %s has shape %s, expected rows by qubits", option, path, lt_shape_str(&a->shape).s);
    *out = (lt_rows){ a->data, a->dtype, a->shape.dim[0], a->shape.dim[1], 0 };
    return LT_OK;
}

/* Weights in double, whatever the file holds. */
static lt_status read_weights(gram_job *j)
{
    bool strong = j->o->gram.entangler == LT_ENTANGLER_STRONG;
    lt_array *a = &j->w;
    CLI_TRY(read_rows(j->o->weights, "weights", a));
    if (a->shape.rank != 2 + strong || (strong && a->shape.dim[2] != 3))
        return cli_fail(LT_ERR_ARGUMENT, "--weights %s has shape %s, expected %s", j->o->weights, lt_shape_str(&a->shape).s,
                        strong ? "[layers, qubits, 3] with --entangler strong" : "[layers, qubits]");
    int64_t n = lt_shape_count(&a->shape);
    j->weights = malloc((size_t)n * sizeof *j->weights);
    if (!j->weights) return cli_fail(LT_ERR_MEMORY, "no memory for the weights");
    for (int64_t i = 0; i < n; i++) j->weights[i] = a->dtype == LT_F64 ? ((double *)a->data)[i] : (double)((float *)a->data)[i];
    return LT_OK;
}

static lt_status read_all(gram_job *j)
{
    if (!j->o->x) return cli_fail(LT_ERR_ARGUMENT, "which rows? Give --x X.npy");
    if (!j->o->weights && !gram_has_circuit(j->o)) return cli_fail(LT_ERR_ARGUMENT, "which circuit? Give --weights W.npy: layers by qubits; or --map, or --circuit F.qasm");
    if (!j->o->out && !j->o->states_out && !j->o->report && !j->o->circuit_out && !j->o->plan && !j->c->json)
        return cli_fail(LT_ERR_ARGUMENT, "nothing to write: give --out K.npy, --states-out S.npy or --report FILE.html");
    CLI_TRY(read_features(j->o->x, "x", &j->x, &j->X));
    if (j->o->y) CLI_TRY(read_features(j->o->y, "y", &j->y, &j->Y));
    j->qubits = j->X.columns;
    if (gram_has_circuit(j->o)) return gram_read_circuit(j);
    CLI_TRY(gram_refuse_circuit_options(j));
    return read_weights(j);
}

/* ---- output ---- */

/* Made before anything is computed: a place that cannot be written to is found at once. */
static lt_status open_outputs(gram_job *j)
{
    const lt_gram_options *opt = &j->o->gram;
    lt_dtype type = opt->return_dtype == LT_GRAM_FLOAT32 ? LT_F32 : LT_F64;
    j->n = j->X.n;
    j->m = j->o->y ? j->Y.n : j->X.n;
    if (j->o->landmarks > j->X.n) return cli_fail(LT_ERR_ARGUMENT, "--landmarks %lld: X has %lld rows to draw them from", (long long)j->o->landmarks, (long long)j->X.n);
    if (j->o->landmarks) j->m = j->o->landmarks;
    lt_shape shape = opt->packed ? lt_shape1(j->n * (j->n + 1) / 2) : lt_shape2(j->n, j->m);
    j->wants_K = j->o->out || j->o->report || (!j->o->states_out && !j->o->circuit_out);
    if (j->o->out) {
        CLI_TRY(lt_npy_map_create(j->o->out, type, &shape, &j->map));
        j->K = lt_npy_map_data(j->map);
    } else if (j->wants_K) {
        size_t bytes = (size_t)lt_shape_count(&shape) * lt_dtype_size(type);
        j->K = j->own_K = aligned_alloc(64, (bytes + 63) / 64 * 64); /* whole lines are written faster */
        if (!j->K) return cli_fail(LT_ERR_MEMORY, "no memory for K, %s: give --out, which keeps it in a file", lt_shape_str(&shape).s);
    }
    if (!j->o->states_out) return LT_OK;
    if (j->qubits > 30) return cli_fail(LT_ERR_ARGUMENT, "--states-out: %lld qubits are too many for state vectors (at most 30)", (long long)j->qubits);
    shape = lt_shape2(j->n, (int64_t)1 << j->qubits);
    return lt_npy_map_create(j->o->states_out, opt->dtype == LT_GRAM_FLOAT64 ? LT_C128 : LT_C64, &shape, &j->states_map);
}

static bool show_progress(void *ctx, const lt_gram_progress *p)
{
    gram_job *j = ctx;
    bool states = p->states_total > 0;
    if (states && p->pairs_done > 0) return !cli_interrupted(); /* between pairs: their bar stays */
    if (j->bar && states != j->bar_of_states) { /* the states are done */
        lt_progress_destroy(j->bar);
        j->bar = NULL;
    }
    j->bar_of_states = states;
    if (states) {
        if (!j->bar) (void)lt_progress_create("states", "state", p->states_total, j->c->common.quiet || j->c->json, &j->bar); /* goes on without a bar */
        lt_progress_set(j->bar, p->states_done);
        return !cli_interrupted();
    }
    if (!j->bar) (void)lt_progress_create("gram", "pair", p->pairs_total, j->c->common.quiet || j->c->json, &j->bar);
    lt_progress_set(j->bar, p->pairs_done);
    return !cli_interrupted();
}

/* "cuda:0,cuda:1": each opened once. */
static lt_status open_devices(gram_job *j)
{
    const char *backend = backend_devices[j->o->backend];
    const bool named = strcmp(j->c->common.device, "auto") != 0;
    if (!!backend + !!j->o->devices + named > 1)
        return cli_fail(LT_ERR_ARGUMENT, "--%s and --%s both say where to compute; give one of them", backend ? "gram-backend" : "devices",
                        backend && j->o->devices ? "devices" : "device");
    if (backend) {
        CLI_TRY(lt_device_open(backend, &j->device[0]));
        j->n_devices = 1;
    }
    for (const char *at = j->o->devices; at; at = strchr(at, ',')) {
        char name[32];
        at += *at == ',';
        size_t length = strcspn(at, ",");
        if (length == 0 || length >= sizeof name)
            return cli_fail(LT_ERR_ARGUMENT, "--devices %s: expected names with commas between them, as cuda:0,cuda:1", j->o->devices);
        if (j->n_devices == GRAM_MAX_DEVICES) return cli_fail(LT_ERR_ARGUMENT, "--devices: more than %d", GRAM_MAX_DEVICES);
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        CLI_TRY(lt_device_open(name, &j->device[j->n_devices]));
        j->n_devices++;
    }
    return LT_OK;
}

/* Nothing was computed, so there is no method, kernel or time to report. */
static void report_cached(gram_job *j)
{
    j->info = (lt_gram_info){ .size = sizeof(lt_gram_info), .method = j->o->gram.method, .backend = "kernel cache", .precision = j->o->gram.dtype, .n = j->n, .m = j->m,
                              .error_bound = lt_gram_float_bound(j->o->gram.dtype), .n_qubits = j->qubits, .n_layers = j->circuit ? 0 : j->w.shape.dim[0] };
    snprintf(j->info.note, sizeof j->info.note, "K was computed by an earlier call and taken from the kernel cache");
}

static lt_status open_gram(gram_job *j)
{
    lt_gram_options opt = j->o->gram;
    lt_weights w = { j->weights, j->w.shape.dim[0], j->w.shape.dim[1] };
    opt.progress = show_progress;
    opt.progress_ctx = j;
    CLI_TRY(open_devices(j));
    if (j->circuit) return gram_open_circuit(j, &opt);
    return j->n_devices ? lt_gram_create_on(j->device, j->n_devices, &opt, &w, &j->gram) : lt_gram_create(j->c->device, &opt, &w, &j->gram);
}

static lt_status compute(gram_job *j)
{
    if (j->wants_K) CLI_TRY(gram_cache_load(j));
    CLI_TRY(open_gram(j));
    lt_status s = j->o->landmarks ? gram_make_landmarks(j) : j->wants_K && !j->from_cache ? lt_gram_fill(j->gram, &j->X, j->o->y ? &j->Y : NULL, j->K) : LT_OK;
    lt_progress_destroy(j->bar);
    j->bar = NULL;
    if (s == LT_ERR_CANCELLED && cli_interrupted()) return cli_stopped();
    CLI_TRY(s);
    j->info = lt_gram_get_info(j->gram);
    if (j->from_cache) report_cached(j);
    if (j->cached && !j->from_cache) CLI_TRY(gram_cache_store(j));
    if (j->states_map) CLI_TRY(lt_gram_states(j->gram, &j->X, lt_npy_map_data(j->states_map)));
    return LT_OK;
}

static lt_status commit(lt_npy_map **map)
{
    lt_npy_map *m = *map;
    *map = NULL; /* gone, even on failure */
    return m ? lt_npy_map_commit(m) : LT_OK;
}

static void put_json(lt_json *j, const gram_job *job)
{
    const lt_gram_info *i = &job->info;
    lt_json_field_string(j, "method", lt_gram_method_name(i->method));
    lt_json_field_string(j, "backend", i->backend);
    lt_json_field_string(j, "kernel", i->kernel);
    lt_json_field_string(j, "precision", lt_gram_float_name(i->precision));
    lt_json_field_double(j, "error_bound", i->error_bound);
    lt_json_field_int(j, "n", i->n);
    lt_json_field_int(j, "m", i->m);
    lt_json_field_int(j, "qubits", i->n_qubits);
    lt_json_field_int(j, "layers", i->n_layers);
    lt_json_field_int(j, "threads", i->threads);
    lt_json_key(j, "seconds");
    lt_json_object_begin(j);
    lt_json_field_double(j, "states", i->states_seconds);
    lt_json_field_double(j, "product", i->product_seconds);
    lt_json_field_double(j, "transfer", i->transfer_seconds);
    lt_json_field_double(j, "device", i->device_seconds);
    lt_json_field_double(j, "post", i->post_seconds);
    lt_json_field_double(j, "total", i->total_seconds);
    lt_json_object_end(j);
    lt_json_field_double(j, "mpairs_per_s", i->mpairs_per_s);
    lt_json_field_double(j, "tflops", i->tflops);
    lt_json_field_int(j, "pairs", i->pairs);
    lt_json_field_int(j, "tiles", i->tiles);
    lt_json_field_int(j, "states_built", i->states_built);
    lt_json_field_int(j, "peak_bytes", i->peak_bytes);
    lt_json_field_int(j, "repaired", i->repaired);
    lt_json_field_int(j, "devices", i->devices);
    lt_json_field_bool(j, "from_cache", job->from_cache);
    lt_json_field_string(j, "plan", i->plan);
    lt_json_field_string(j, "note", i->note);
    if (!job->o->gram.profile_memory) return;
    lt_gram_profile p = lt_gram_get_profile(job->gram);
    lt_json_key(j, "profile");
    lt_json_object_begin(j);
    lt_gram_profile_json(&p, j);
    lt_json_object_end(j);
}

static lt_status print_summary(const gram_job *j)
{
    const lt_gram_info *i = &j->info;
    if (!j->wants_K && j->o->states_out) printf("states of %lld rows, %lld amplitudes each\n", (long long)j->n, 1LL << j->qubits);
    if (!j->wants_K && j->o->circuit_out) printf("circuit of %lld gates in %s\n", (long long)lt_circuit_describe(j->circuit).n_gates, cli_shown(j->o->circuit_out).s);
    if (j->from_cache) printf("K %lld x %lld from %s\n", (long long)j->n, (long long)j->m, j->cached);
    if (!j->wants_K || j->from_cache) return LT_OK;
    char layers[48] = "";
    if (!j->circuit) snprintf(layers, sizeof layers, ", %lld layer%s", (long long)i->n_layers, i->n_layers == 1 ? "" : "s");
    printf("K %lld x %lld, %lld qubit%s%s: %s by %s on %s, %s\n", (long long)i->n, (long long)i->m, (long long)i->n_qubits, i->n_qubits == 1 ? "" : "s", layers,
           lt_gram_method_name(i->method), i->kernel, i->backend, lt_gram_float_name(i->precision));
    printf("%s (states %s, product %s): %.4g million pairs per second, %s held\n", cli_seconds(i->total_seconds).s,
           cli_seconds(i->states_seconds).s, cli_seconds(i->product_seconds).s, i->mpairs_per_s, cli_bytes((double)i->peak_bytes).s);
    if (i->repaired) printf("%lld entries were not finite and were replaced.\n", (long long)i->repaired);
    if (!j->c->common.quiet) {
        printf("%s\n", i->plan);
        if (i->note[0]) printf("Note: %s.\n", i->note);
    }
    if (!j->o->gram.profile_memory) return LT_OK;
    lt_gram_profile p = lt_gram_get_profile(j->gram);
    return lt_gram_profile_print(&p, stdout);
}

static lt_status run_job(gram_job *j)
{
    CLI_TRY(cli_check_ending("out", j->o->out, false));
    CLI_TRY(cli_check_ending("states-out", j->o->states_out, false));
    if (j->o->read) return gram_read(j);
    if (j->o->rows) return cli_fail(LT_ERR_ARGUMENT, "--rows are of a finished matrix: give --read K.npy");
    if (gram_by_tiles(j)) CLI_TRY(gram_check_tiles(j));
    CLI_TRY(gram_check_landmarks(j));
    CLI_TRY(read_all(j));
    if (j->o->plan) return gram_print_plan(j);
    if (gram_by_tiles(j)) {
        CLI_TRY(open_gram(j));
        return gram_make_tiles(j);
    }
    CLI_TRY(open_outputs(j));
    CLI_TRY(compute(j));
    if (j->o->report) CLI_TRY(gram_report(j));
    CLI_TRY(commit(&j->map));
    if (j->o->out) gram_drop_table(j->o->out);
    CLI_TRY(commit(&j->states_map));
    if (j->o->circuit_out) CLI_TRY(lt_circuit_write(j->circuit, j->o->circuit_out));
    if (j->o->landmarks) gram_put_landmarks(j);
    else if (j->c->json) put_json(j->c->json, j);
    else CLI_TRY(print_summary(j));
    return LT_OK;
}

static lt_status run(cli_context *c)
{
    gram_job j = { .c = c, .o = c->options };
    lt_status s = run_job(&j);
    lt_progress_destroy(j.bar);
    lt_gram_destroy(j.gram);
    lt_circuit_destroy(j.circuit);
    for (int i = 0; i < j.n_devices; i++) lt_device_close(j.device[i]);
    lt_npy_map_destroy(j.map);
    lt_npy_map_destroy(j.states_map);
    lt_array_free(&j.x);
    lt_array_free(&j.y);
    lt_array_free(&j.w);
    free(j.weights);
    free(j.own_K);
    free(j.cached);
    return s;
}

const cli_command cli_gram = {
    .name = "gram", .options = &table, .options_bytes = sizeof(gram_cli), .need = CLI_NEED_DEVICE, .reports_device = true, .stops = true, .ranks = true, .run = run,
    .description = "Computes K_ij = |<psi(x_i)|psi(y_j)>|^2 where psi(x) is the state a circuit of one qubit per feature makes of a row. "
                   "Where re-embedding is off, or there is one layer, the weights cancel and K has a closed form; two re-embedded layers "
                   "have one too. Method auto uses them, states computes state vectors in any case; all agree to rounding.\n"
                   "--map takes a named map (z, zz, pauli, iqp, angle, basic, strong, qaoa, amplitude, demo), --circuit a circuit in OpenQASM, whose inputs named "
                   "w... are weights and all others features; --device auto takes the CPU for both, --device cuda a GPU. --plan says what their compiler made of them.\n"
                   "K is written beside its place and renamed when it is whole; a matrix larger than memory is computed in its file. "
                   "--states-out alone computes no K.\n"
                   "mpirun -n N lathe gram ... shares tiles of K between N ranks that see one file system (docs/scaling.md); --memory does the same in one "
                   "process. K grows as K.npy.part "
                   "beside a table of checksums, K.npy.part.tiles, and both get their names when it is whole; --resume goes on after a kill, with any number "
                   "of ranks. The file is the same, byte for byte.\n"
                   "--read K.npy --rows A:B --out R.npy reads rows of a finished matrix, packed or not, without the rest; --read alone compares it with its checksums.\n"
                   "--landmarks M is for more rows than K has room for: Z has M columns, K ~ Z Z', and the error is measured on entries drawn by lot.\n"
                   "--kernel-cache keeps matrices in FOLDER/kernel_DIGEST.npy, where DIGEST stands for the values of X, Y and the weights, the circuit, "
                   "precisions and normalisation; switches that leave K as it is are no part of it. Without the option nothing is looked for.",
};

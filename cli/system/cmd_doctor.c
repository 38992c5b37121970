/* lathe doctor: what is built in, what is missing and how to get it. SPDX-License-Identifier: BSD-3-Clause */
#include "cli/frame/cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct doctor_options { cli_common common; } doctor_options;

static const lt_option_group groups[] = CLI_COMMON_GROUP;
static const lt_option_table table = {
    .program = "lathe doctor", .summary = "Say what is built in, what is missing and how to get it",
    .groups = groups, .n_groups = CLI_LEN(groups), .example = "lathe doctor",
};

typedef enum verdict { GOOD, NOTE, MISSING, BAD } verdict;
static const char *const verdict_name[] = { "ok", "note", "missing", "bad" };

typedef struct finding {
    verdict verdict;
    char    about[24], text[400], remedy[240]; /* remedy "" = nothing to do */
} finding;

typedef struct findings { int n; finding row[48]; } findings;

static finding *add(findings *f, verdict v, const char *about)
{
    finding *row = &f->row[f->n < CLI_LEN(f->row) ? f->n++ : f->n - 1];
    *row = (finding){ .verdict = v };
    snprintf(row->about, sizeof row->about, "%s", about);
    return row;
}
#define SAY(field, ...) snprintf(field, sizeof field, __VA_ARGS__)

/* NULL also for a value that cannot be, which has a row of its own. */
static const char *variable(const char *name)
{
    int n;
    const lt_env_row *rows = lt_env_rows(&n);
    for (int i = 0; i < n; i++)
        if (!strcmp(rows[i].name, name)) return lt_env_check(&rows[i]) ? NULL : lt_env_value(&rows[i]);
    return NULL;
}

/* It is looked for at run time: here is where it is known. */
static void check_openblas(finding *row, const lt_feature *feature)
{
    const char *(*config)(void) = NULL;
    *(void **)&config = lt_openblas_function("openblas_get_config");
    if (config) {
        SAY(row->text, "%s (%s): %s", feature->purpose, feature->configure, config());
        return;
    }
    row->verdict = MISSING;
    SAY(row->text, "%s: %.200s", feature->purpose, lt_error_text());
    SAY(row->remedy, "apt-get install %s, or set LATHE_OPENBLAS to the library's file", feature->package);
}

static void check_build(findings *f)
{
    finding *row = add(f, !strcmp(lt_build_type(), "Debug") ? NOTE : GOOD, "library");
    SAY(row->text, "lathe %s, commit %s, %s, %s", lt_version(), cli_commit(), lt_build_compiler(), lt_build_type());
    if (row->verdict == NOTE) SAY(row->remedy, "a Debug build is slow; for speed: make");
    lt_feature feature = { .size = sizeof feature };
    for (int i = 0; lt_feature_get(i, &feature); i++) {
        row = add(f, feature.built_in ? GOOD : MISSING, feature.name);
        SAY(row->text, "%s (%s)", feature.purpose, feature.configure);
        if (feature.built_in && !strcmp(feature.name, "openblas")) check_openblas(row, &feature);
        if (feature.built_in) continue;
        if (strstr(feature.configure, "=OFF")) SAY(row->remedy, "switched off when this was built; with %s, make clean && make takes it in", feature.package);
        else SAY(row->remedy, "apt-get install %s, then: make clean && make", feature.package);
    }
}

static void check_cpu(findings *f)
{
    lt_device_info cpu = { .size = sizeof cpu };
    finding *row = add(f, GOOD, "cpu");
    if (lt_device_list(0, &cpu)) {
        row->verdict = BAD;
        SAY(row->text, "%s", lt_error_text());
        return;
    }
    SAY(row->text, "%s; %s", cpu.name, cpu.features);
    row = add(f, GOOD, "instruction set");
    bool avx2 = strstr(cpu.features, "avx2"), avx512 = strstr(cpu.features, "avx512");
    const char *lowered = variable("LATHE_ISA");
    SAY(row->text, "%s%s%s", avx512 ? "avx512" : avx2 ? "avx2" : "plain", lowered ? ", limited by LATHE_ISA to " : "", lowered ? lowered : "");
    row = add(f, GOOD, "threads");
    const char *threads = variable("LATHE_THREADS");
    SAY(row->text, threads ? "%s by LATHE_THREADS, of %d cores" : "%.0s%d, all cores of this process", threads ? threads : "", cpu.cores);
    row = add(f, GOOD, "memory");
    SAY(row->text, "%s, %s free", cli_bytes((double)cpu.memory_total_bytes).s, cli_bytes((double)cpu.memory_free_bytes).s);
}

static void check_cuda(findings *f)
{
    lt_device *dev;
    lt_device_info info = { .size = sizeof info };
    if (lt_device_open("cuda", &dev)) {
        finding *row = add(f, MISSING, "cuda");
        SAY(row->text, "%s", lt_error_text());
        SAY(row->remedy, "only for NVIDIA GPUs; everything runs on the CPU without");
        return;
    }
    finding *row = add(f, GOOD, "cuda");
    if (lt_device_describe(dev, &info)) SAY(row->text, "%s", lt_error_text());
    else SAY(row->text, "%s, %s, driver %s, %s free", info.name, info.features, info.driver, cli_bytes((double)info.memory_free_bytes).s);
    lt_device_close(dev);
}

static void check_libraries(findings *f)
{
    lt_device_library_info l = { .size = sizeof l };
    for (int i = 0; lt_device_library(i, &l); i++) {
        finding *row = add(f, l.usable ? GOOD : MISSING, l.name);
        SAY(row->text, l.usable ? "%s; %s" : "%.0s%s", l.usable ? l.version : "", l.usable ? l.purpose : l.reason);
    }
}

/* The same rule as base/config.c states in its table: LATHE_CACHE, else XDG, else the user's own folder. */
static bool cache_folder(char *out, size_t bytes)
{
    const char *own = variable("LATHE_CACHE"), *xdg = variable("XDG_CACHE_HOME"), *user = variable("HOME");
    if (own) snprintf(out, bytes, "%s", own);
    else if (xdg) snprintf(out, bytes, "%s/lathe", xdg);
    else if (user) snprintf(out, bytes, "%s/.cache/lathe", user);
    return own || xdg || user;
}

static void check_cache(findings *f)
{
    char folder[200];
    struct stat st;
    finding *row = add(f, GOOD, "cache");
    if (!cache_folder(folder, sizeof folder)) {
        row->verdict = BAD;
        SAY(row->text, "no folder: LATHE_CACHE, XDG_CACHE_HOME and HOME are all unset");
        SAY(row->remedy, "set LATHE_CACHE to a folder of yours");
    } else if (stat(folder, &st)) {
        SAY(row->text, "%s, made on first use", folder);
    } else if (!S_ISDIR(st.st_mode) || access(folder, W_OK | X_OK)) {
        row->verdict = BAD;
        SAY(row->text, "%s is not a folder this user can write to", folder);
        SAY(row->remedy, "set LATHE_CACHE to a folder of yours");
    } else if (st.st_uid != geteuid()) {
        row->verdict = NOTE;
        SAY(row->text, "%s belongs to user %u and is not used: every kernel is compiled again", folder, (unsigned)st.st_uid);
        SAY(row->remedy, "set LATHE_CACHE to a folder of yours");
    } else if (st.st_mode & 022) {
        row->verdict = NOTE;
        SAY(row->text, "%s has mode %03o, which lets others write to it, and is not used: every kernel is compiled again", folder, (unsigned)(st.st_mode & 0777));
        SAY(row->remedy, "chmod 700 it");
    } else if (st.st_mode & 077) {
        row->verdict = NOTE;
        SAY(row->text, "%s has mode %03o", folder, (unsigned)(st.st_mode & 0777));
        SAY(row->remedy, "others may read it; chmod 700 it");
    } else {
        SAY(row->text, "%s", folder);
    }
}

/* Runs go on without a tuning file that is refused, and say nothing: here is where one looks. */
static void check_tuning(findings *f, const char *device)
{
    lt_device *dev;
    lt_tuner *tuner;
    if (lt_device_open(device, &dev)) return; /* reported above */
    if (!lt_tuner_open(dev, LT_TUNE_ESTIMATE, NULL, &tuner)) {
        if (lt_tuner_refusal(tuner)[0]) {
            finding *row = add(f, NOTE, "tuning");
            SAY(row->text, "%s", lt_tuner_refusal(tuner));
            SAY(row->remedy, "not used; lathe tune --device %s makes another", device);
        }
        lt_tuner_destroy(tuner);
    }
    lt_device_close(dev);
}

static void check_environment(findings *f)
{
    int n;
    const lt_env_row *rows = lt_env_rows(&n);
    for (int i = 0; i < n; i++) {
        const char *value = lt_env_value(&rows[i]);
        if (!value || !strcmp(rows[i].name, "HOME")) continue;
        const bool wrong = lt_env_check(&rows[i]) != LT_OK;
        finding *row = add(f, wrong ? BAD : NOTE, rows[i].name);
        SAY(row->text, "set to %.160s (%s)", value, rows[i].help);
        if (wrong) SAY(row->remedy, "expected %s; until then no other command runs", rows[i].metavar);
    }
}

static void put_json(lt_json *j, const findings *f)
{
    lt_json_key(j, "findings");
    lt_json_array_begin(j);
    for (int i = 0; i < f->n; i++) {
        lt_json_object_begin(j);
        lt_json_field_string(j, "about", f->row[i].about);
        lt_json_field_string(j, "verdict", verdict_name[f->row[i].verdict]);
        lt_json_field_string(j, "text", f->row[i].text);
        lt_json_key(j, "remedy");
        lt_json_string(j, f->row[i].remedy[0] ? f->row[i].remedy : NULL);
        lt_json_object_end(j);
    }
    lt_json_array_end(j);
}

static lt_status run(cli_context *c)
{
    findings f = { 0 };
    check_build(&f);
    check_cpu(&f);
    check_cuda(&f);
    check_libraries(&f);
    check_cache(&f);
    check_tuning(&f, "cpu");
    check_tuning(&f, "cuda");
    check_environment(&f);
    int bad = 0;
    for (int i = 0; i < f.n; i++) {
        bad += f.row[i].verdict == BAD;
        cli_drop_sources(f.row[i].text);
        if (c->json) continue;
        printf("%-8s %-16s %s\n", verdict_name[f.row[i].verdict], f.row[i].about, f.row[i].text);
        if (f.row[i].remedy[0]) printf("%-8s %-16s -> %s\n", "", "", f.row[i].remedy);
    }
    if (c->json) put_json(c->json, &f);
    c->json_complete = true; /* what is bad is what was asked for */
    if (bad) return cli_fail(LT_ERR_DEVICE, "%d finding%s marked bad", bad, bad == 1 ? " is" : "s are");
    return LT_OK;
}

const cli_command cli_doctor = {
    .name = "doctor", .options = &table, .any_environment = true, .options_bytes = sizeof(doctor_options), .run = run,
    .description = "Checks the build, the devices, the cache folder and the environment, one line each: ok, note, missing or bad, "
                   "with what to do about it.\n"
                   "A missing library costs speed, not function; a bad finding ends with status 1.",
};

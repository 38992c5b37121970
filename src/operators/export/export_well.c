/* A dataset in the HDF5 layout of The Well (https://polymathic-ai.org/the_well, docs/data_format.md there). SPDX-License-Identifier: BSD-3-Clause

   A trajectory is one realization of one operator. What becomes what (docs/guide-datasets.md, decision 262):
     t0_fields/channel_0, _1, _2 [trajectories, steps, y, x]   the states; no channel is part of a vector, so t1_fields and t2_fields are empty
     scalars/operator, realization, NAME [trajectories]        number of the row, of the realization, each parameter by its value
     dimensions/time, y, x                                     0, 1, 2, ...: steps and pixels
     boundary_conditions/y_..., x_...                          WALL (zeros around) or PERIODIC, as engine.padding
   Rows that are not done have no states worth training on, and smaller grids would be a part of a larger one: both are left out and counted. */
#include "operators/export/export.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/status.h"
#include "operators/config/config.h"
#include "operators/file/hdf5.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { AXES = 2, CHANNELS = LT_FIELD_CHANNELS, MAX_SCALARS = 512 };

typedef struct well {
    lt_dataset        *d;
    lt_export          e;                /* reads the states in boxes */
    lt_dataset_config *config;           /* NULL: parameters are numbers of the unit interval */
    lt_export_array    states;
    int64_t           *first;            /* [rows] trajectory of the row's first realization; -1: left out */
    int64_t            trajectories, left_out, realizations, steps, grid;
    lt_atomic_file     file;
    hid_t              out, field[CHANNELS];
    float             *plane;            /* the planes of one channel of a box */
    lt_status          failed;
} well;

/* ---- Rows ----------------------------------------------------------------------------------------------------------- */

static lt_status choose_rows(well *w)
{
    int64_t rows = w->d->info.rows;
    uint8_t *code = lt_malloc((size_t)rows);
    int64_t *grid = lt_malloc((size_t)rows * sizeof *grid);
    w->first = lt_malloc((size_t)rows * sizeof *w->first);
    lt_status s = code && grid && w->first ? lt_dataset_read_codes(w->d, code) : LT_ERR_MEMORY;
    bool sizes = lt_dataset_shape(w->d, "/metadata/grid_sizes").rank == 1;
    if (!s && sizes) s = lt_dataset_read_ints(w->d, "/metadata/grid_sizes", 0, rows, grid, rows);
    for (int64_t r = 0; r < rows && !s; r++) {
        bool good = code[r] == LT_RUN_DONE && (!sizes || grid[r] == w->grid);
        w->first[r] = good ? w->trajectories : -1;
        *(good ? &w->trajectories : &w->left_out) += w->realizations;
    }
    lt_free(code);
    lt_free(grid);
    if (!s && !w->trajectories) s = LT_FAIL(LT_ERR_ARGUMENT, "%s: none of its %" PRId64 " rows is done", w->d->path, rows);
    return s;
}

/* ---- Small things ------------------------------------------------------------------------------------------------------ */

static void note(well *w, int result)
{
    if (result < 0 && !w->failed) w->failed = lt_hdf5_fail(LT_ERR_IO, w->file.path, "cannot write");
}

static hid_t make_group(well *w, const char *path)
{
    hid_t g = w->failed ? -1 : H5Gcreate2(w->out, path, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (!w->failed && g < 0) note(w, -1);
    return g;
}

/* Closing writes what the library has kept back. */
static void close_group(well *w, hid_t g)
{
    if (g >= 0) note(w, H5Gclose(g));
}

static hid_t truth_type(void) /* h5py's booleans */
{
    int8_t no = 0, yes = 1;
    hid_t t = H5Tenum_create(H5T_STD_I8LE);
    return t >= 0 && H5Tenum_insert(t, "FALSE", &no) >= 0 && H5Tenum_insert(t, "TRUE", &yes) >= 0 ? t : -1;
}

/* data NULL: not written yet. Returns the open array. */
static hid_t make_array(well *w, hid_t at, const char *name, hid_t stored, hid_t given, int rank, const int64_t *dim, const void *data)
{
    hsize_t extent[4];
    for (int k = 0; k < rank; k++) extent[k] = (hsize_t)dim[k];
    if (w->failed) return -1;
    hid_t create = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(rank, extent, NULL), a = -1;
    if (create >= 0 && space >= 0 && H5Pset_obj_track_times(create, false) >= 0 && H5Pset_fill_time(create, H5D_FILL_TIME_NEVER) >= 0)
        a = H5Dcreate2(at, name, stored, space, H5P_DEFAULT, create, H5P_DEFAULT);
    if (a < 0 || (data && H5Dwrite(a, given, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0)) note(w, -1);
    if (create >= 0) H5Pclose(create);
    if (space >= 0) H5Sclose(space);
    return a;
}

static void close_array(well *w, hid_t a)
{
    if (a >= 0) note(w, H5Dclose(a));
}

static void put_varying(well *w, hid_t at, bool by_sample, int by_time)
{
    note(w, at < 0 ? -1 : lt_hdf5_put_bool(at, "sample_varying", by_sample));
    if (by_time >= 0) note(w, at < 0 ? -1 : lt_hdf5_put_bool(at, "time_varying", by_time));
}

static void put_both(well *w, hid_t at, const char *name)
{
    const int8_t yes[AXES] = { 1, 1 };
    hsize_t n = AXES;
    hid_t type = truth_type(), space = H5Screate_simple(1, &n, NULL), a = at < 0 || type < 0 || space < 0 ? -1 : H5Acreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    note(w, a < 0 ? -1 : H5Awrite(a, type, yes));
    if (a >= 0) note(w, H5Aclose(a));
    if (space >= 0) H5Sclose(space);
    if (type >= 0) H5Tclose(type);
}

/* ---- What stands around the fields ------------------------------------------------------------------------------------- */

static void put_root(well *w)
{
    const lt_yaml_node *about = w->config ? lt_yaml_member(lt_yaml_member(w->config->document, "metadata"), "name") : NULL;
    note(w, lt_hdf5_put_text(w->out, "dataset_name", about && about->text ? about->text : "lathe"));
    note(w, lt_hdf5_put_text(w->out, "grid_type", "cartesian"));
    note(w, lt_hdf5_put_int(w->out, "n_spatial_dims", AXES));
    note(w, lt_hdf5_put_int(w->out, "n_trajectories", w->trajectories));
    note(w, lt_hdf5_put_texts(w->out, "simulation_parameters", 0, NULL)); /* those of all trajectories alike: there is none */
    if (w->d->info.config[0]) note(w, lt_hdf5_put_text(w->out, "lathe_config", w->d->info.config));
    if (w->d->info.engine_version[0]) note(w, lt_hdf5_put_text(w->out, "lathe_engine_version", w->d->info.engine_version));
}

static void put_axis(well *w, hid_t at, const char *name, int64_t n, int by_time)
{
    float *x = lt_malloc((size_t)n * sizeof *x);
    if (!x) {
        w->failed = LT_ERR_MEMORY;
        return;
    }
    for (int64_t i = 0; i < n; i++) x[i] = (float)i;
    hid_t a = make_array(w, at, name, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, 1, &n, x);
    put_varying(w, a, false, by_time);
    close_array(w, a);
    lt_free(x);
}

static void put_dimensions(well *w)
{
    hid_t g = make_group(w, "/dimensions");
    if (g < 0) return;
    note(w, lt_hdf5_put_texts(g, "spatial_dims", AXES, (const char *[]){ "y", "x" }));
    put_axis(w, g, "time", w->steps, -1);
    put_axis(w, g, "y", w->grid, false);
    put_axis(w, g, "x", w->grid, false);
    close_group(w, g);
}

static void put_boundary(well *w, const char *axis, bool periodic)
{
    char path[64];
    snprintf(path, sizeof path, "/boundary_conditions/%s_%s", axis, periodic ? "periodic" : "wall");
    hid_t g = make_group(w, path), type = truth_type();
    int8_t *mask = lt_calloc((size_t)w->grid, 1);
    if (!mask) w->failed = LT_ERR_MEMORY;
    if (g >= 0 && mask) {
        note(w, lt_hdf5_put_texts(g, "associated_dims", 1, &axis));
        note(w, lt_hdf5_put_texts(g, "associated_fields", 0, NULL));
        note(w, lt_hdf5_put_text(g, "bc_type", periodic ? "PERIODIC" : "WALL"));
        put_varying(w, g, false, false);
        mask[0] = mask[w->grid - 1] = 1;
        close_array(w, make_array(w, g, "mask", type, type, 1, &w->grid, mask));
        if (!periodic) close_array(w, make_array(w, g, "values", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, 1, &(int64_t){ 2 }, (float[2]){ 0, 0 }));
    }
    if (type >= 0) H5Tclose(type);
    close_group(w, g);
    lt_free(mask);
}

static void put_boundaries(well *w)
{
    bool periodic = w->config && w->config->circular_padding;
    close_group(w, make_group(w, "/boundary_conditions"));
    put_boundary(w, "y", periodic);
    put_boundary(w, "x", periodic);
}

/* ---- Scalars ---------------------------------------------------------------------------------------------------------------- */

/* One value for each trajectory. */
static void put_scalar(well *w, hid_t g, const char *name, const float *values, const lt_param *p)
{
    hid_t a = make_array(w, g, name, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, 1, &w->trajectories, values);
    put_varying(w, a, true, false);
    if (a >= 0 && p && p->kind == LT_PARAM_CHOICE && p->n_choices && isnan(p->choices[0].number)) { /* the number of the choice in this list */
        const char **texts = lt_malloc((size_t)p->n_choices * sizeof *texts);
        if (!texts) w->failed = LT_ERR_MEMORY;
        for (int i = 0; i < p->n_choices && texts; i++) texts[i] = p->choices[i].text;
        if (texts) note(w, lt_hdf5_put_texts(a, "choices", p->n_choices, texts));
        lt_free(texts);
    }
    close_array(w, a);
}

static float value_of(const lt_param *p, float unit)
{
    if (!p) return unit;
    lt_param_value v = lt_param_map(p, unit > 0 ? unit < 1 ? (double)unit : 1 : 0);
    bool named = p->kind == LT_PARAM_CHOICE && p->n_choices && isnan(p->choices[0].number);
    return (float)(named ? v.choice : v.number);
}

static void fill(const well *w, const float *of_row, int64_t stride, const lt_param *p, float *out)
{
    for (int64_t r = 0; r < w->d->info.rows; r++)
        for (int64_t m = 0; m < w->realizations && w->first[r] >= 0; m++) out[w->first[r] + m] = value_of(p, of_row[r * stride]);
}

static void put_numbers_of_rows(well *w, hid_t g, const int64_t *number, float *out)
{
    for (int64_t r = 0; r < w->d->info.rows; r++)
        for (int64_t m = 0; m < w->realizations && w->first[r] >= 0; m++) out[w->first[r] + m] = (float)number[r];
    put_scalar(w, g, "operator", out, NULL);
    for (int64_t i = 0; i < w->trajectories; i++) out[i] = (float)(i % w->realizations);
    put_scalar(w, g, "realization", out, NULL);
}

typedef struct scalars { int64_t n; const char *name[MAX_SCALARS]; float *unit, *out; int64_t *number; } scalars;

static lt_status read_scalars(well *w, scalars *x)
{
    int64_t rows = w->d->info.rows, columns = w->d->info.parameters, n;
    const char *const *names;
    x->unit = lt_malloc((size_t)LT_MAX(rows * columns, (int64_t)1) * sizeof *x->unit);
    x->out = lt_malloc((size_t)w->trajectories * sizeof *x->out);
    x->number = lt_malloc((size_t)rows * sizeof *x->number);
    if (!x->unit || !x->out || !x->number) return LT_ERR_MEMORY;
    for (int64_t r = 0; r < rows; r++) x->number[r] = r;
    if (lt_dataset_shape(w->d, "/status/row").rank == 1) LT_TRY(lt_dataset_read_ints(w->d, "/status/row", 0, rows, x->number, rows));
    if (columns) LT_TRY(lt_dataset_read(w->d, "/parameters/params", 0, rows, x->unit, rows * columns));
    LT_TRY(lt_dataset_texts(w->d, "/parameters@dimension_names", &n, &names));
    x->name[x->n++] = "operator";
    x->name[x->n++] = "realization";
    for (int64_t i = 0; i < columns && x->n < MAX_SCALARS && (w->config || n == columns); i++) x->name[x->n++] = w->config ? w->config->space.param[i].name : names[i];
    return LT_OK;
}

/* Names that are no name of an array: two alike, or with a slash. */
static bool is_name(const scalars *x, int64_t i)
{
    if (!x->name[i][0] || strchr(x->name[i], '/') || !strcmp(x->name[i], ".")) return false;
    for (int64_t k = 0; k < i; k++)
        if (!strcmp(x->name[k], x->name[i])) return false;
    return true;
}

static void put_scalars(well *w, scalars *x)
{
    hid_t g = make_group(w, "/scalars");
    int64_t kept = 2, columns = w->d->info.parameters;
    if (g < 0) return;
    put_numbers_of_rows(w, g, x->number, x->out);
    for (int64_t i = 2; i < x->n; i++) {
        if (!is_name(x, i)) continue;
        const lt_param *p = w->config ? &w->config->space.param[i - 2] : NULL;
        fill(w, x->unit + (i - 2), columns, p, x->out);
        put_scalar(w, g, x->name[i], x->out, p);
        x->name[kept++] = x->name[i];
    }
    note(w, lt_hdf5_put_texts(g, "field_names", (int)kept, x->name));
    close_group(w, g);
}

/* ---- Fields ------------------------------------------------------------------------------------------------------------------ */

static void make_fields(well *w)
{
    static const char *const names[CHANNELS] = { "channel_0", "channel_1", "channel_2" };
    const int64_t dim[] = { w->trajectories, w->steps, w->grid, w->grid };
    hid_t g = make_group(w, "/t0_fields");
    if (g < 0) return;
    note(w, lt_hdf5_put_texts(g, "field_names", CHANNELS, names));
    for (int c = 0; c < CHANNELS; c++) {
        w->field[c] = make_array(w, g, names[c], H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, 4, dim, NULL);
        put_both(w, w->field[c], "dim_varying");
        put_varying(w, w->field[c], true, true);
    }
    close_group(w, g);
    for (int i = 1; i < 3; i++) {
        g = make_group(w, i == 1 ? "/t1_fields" : "/t2_fields");
        if (g >= 0) note(w, lt_hdf5_put_texts(g, "field_names", 0, NULL));
        close_group(w, g);
    }
}

/* Steps of one trajectory and channel. */
static lt_status write_planes(well *w, int channel, int64_t trajectory, int64_t step, int64_t n)
{
    hsize_t start[] = { (hsize_t)trajectory, (hsize_t)step, 0, 0 }, count[] = { 1, (hsize_t)n, (hsize_t)w->grid, (hsize_t)w->grid };
    LT_TRY(lt_hdf5_lock());
    hid_t to = H5Dget_space(w->field[channel]), from = H5Screate_simple(4, count, NULL);
    int r = to < 0 || from < 0 || H5Sselect_hyperslab(to, H5S_SELECT_SET, start, NULL, count, NULL) < 0 ? -1
                                                                                                         : H5Dwrite(w->field[channel], H5T_NATIVE_FLOAT, from, to, H5P_DEFAULT, w->plane);
    lt_status s = r < 0 ? lt_hdf5_fail(LT_ERR_IO, w->file.path, "cannot write") : LT_OK;
    if (to >= 0) H5Sclose(to);
    if (from >= 0) H5Sclose(from);
    lt_hdf5_unlock();
    return s;
}

/* Boxes are [rows, realizations, steps, 3, grid, grid], without steps where there is one. */
static lt_status put_box(void *ctx, const lt_export_array *a, const int64_t *start, const int64_t *count, const void *values)
{
    well *w = ctx;
    bool many = a->item->rank == 6;
    int64_t steps = many ? count[2] : 1, step = many ? start[2] : 0, plane = w->grid * w->grid;
    const float *x = values;
    for (int64_t r = 0; r < count[0]; r++)
        for (int64_t m = 0; m < count[1]; m++, x += steps * CHANNELS * plane)
            for (int c = 0; c < CHANNELS && w->first[start[0] + r] >= 0; c++) {
                for (int64_t t = 0; t < steps; t++) memcpy(w->plane + t * plane, x + (t * CHANNELS + c) * plane, (size_t)plane * sizeof *x);
                LT_TRY(write_planes(w, c, w->first[start[0] + r] + start[1] + m, step, steps));
            }
    return LT_OK;
}

/* ---- The file ------------------------------------------------------------------------------------------------------------------ */

static void put_frame(well *w, scalars *x)
{
    put_root(w);
    put_dimensions(w);
    put_boundaries(w);
    put_scalars(w, x);
    make_fields(w);
}

static lt_status open_file(well *w, scalars *x)
{
    LT_TRY(lt_hdf5_lock());
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    /* we hold a lock on it ourselves */
    if (access >= 0 && H5Pset_file_locking(access, false, true) >= 0) w->out = H5Fcreate(w->file.temporary, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    if (access >= 0) H5Pclose(access);
    if (w->out < 0) note(w, -1);
    else put_frame(w, x);
    H5Eclear2(H5E_DEFAULT);
    lt_hdf5_unlock();
    return w->failed;
}

/* What the library has kept back may fail now. */
static lt_status close_file(well *w, lt_status s)
{
    lt_status locked = lt_hdf5_lock();
    if (locked) return s ? s : locked;
    for (int c = 0; c < CHANNELS; c++) close_array(w, w->field[c]);
    if (!s) s = w->failed;
    if (w->out >= 0 && H5Fclose(w->out) < 0 && !s) s = lt_hdf5_fail(LT_ERR_IO, w->file.path, "cannot write");
    H5Eclear2(H5E_DEFAULT);
    lt_hdf5_unlock();
    return s;
}

static lt_status write_file(well *w, scalars *x)
{
    LT_TRY(lt_atomic_open(w->e.o.the_well, &w->file));
    lt_status s = open_file(w, x);
    if (!s) s = lt_export_boxes(&w->e, &w->states, put_box, w);
    s = close_file(w, s);
    if (s) lt_atomic_cancel(&w->file);
    else s = lt_atomic_commit(&w->file);
    return s;
}

/* Boxes whose channels and pixels are whole; single precision. */
static lt_status find_states(well *w)
{
    const lt_file_item *it = lt_dataset_find(w->d, "/outputs/fields");
    if (!it) return LT_FAIL(LT_ERR_ARGUMENT, "%s: no stored states, which The Well consists of; generate with dataset.storage.store_trajectories: true", w->d->path);
    if (it->element == LT_ELEMENT_F64) return LT_FAIL(LT_ERR_ARGUMENT, "%s: /outputs/fields is float64, expected float32 or float16", w->d->path);
    int axes = it->rank == 6 ? 3 : 2;
    w->states = (lt_export_array){ .item = it, .name = it->path + 1, .value_bytes = sizeof(float) };
    lt_export_choose_box(&w->states);
    for (int k = axes; k < it->rank; k++) w->states.box[k] = it->dim[k];
    w->realizations = it->dim[1];
    w->steps = it->rank == 6 ? it->dim[2] : 1;
    w->grid = it->dim[it->rank - 1];
    w->e.bytes_total = (uint64_t)w->d->info.rows * (uint64_t)(w->realizations * w->steps * CHANNELS * w->grid * w->grid) * sizeof(float);
    w->plane = lt_malloc((size_t)((it->rank == 6 ? w->states.box[2] : 1) * w->grid * w->grid) * sizeof *w->plane);
    return w->plane ? LT_OK : LT_ERR_MEMORY;
}

/* A configuration that is not ours leaves parameters as they are stored. */
static lt_status find_config(well *w)
{
    const lt_dataset_info *i = &w->d->info;
    lt_status s = i->config[0] ? lt_dataset_config_parse(i->config, strlen(i->config), w->d->path, NULL, &w->config) : LT_OK;
    if (w->config && w->config->space.n == i->parameters) return LT_OK;
    lt_dataset_config_destroy(w->config);
    w->config = NULL;
    return s == LT_ERR_MEMORY ? s : LT_OK;
}

lt_status lt_export_the_well(lt_dataset *d, const lt_export_options *o, lt_export_info *info)
{
    well w = { .d = d, .e = { .d = d, .o = *o }, .out = -1, .field = { -1, -1, -1 } };
    scalars x = { 0 };
    lt_status s = find_states(&w);
    if (!s) s = find_config(&w);
    if (!s) s = choose_rows(&w);
    if (!s) s = read_scalars(&w, &x);
    if (!s) s = write_file(&w, &x);
    info->trajectories = w.trajectories;
    info->trajectories_left_out = w.left_out;
    info->bytes += w.e.bytes;
    lt_export_close(&w.e);
    lt_free(x.unit);
    lt_free(x.out);
    lt_free(x.number);
    lt_free(w.plane);
    lt_free(w.first);
    lt_dataset_config_destroy(w.config);
    return s;
}

/* Stands in for the files that need the HDF5 library in a build without it.
   SPDX-License-Identifier: BSD-3-Clause */
#include "base/sized.h"
#include "base/status.h"
#include "lathe/dataset.h"
#include "operators/file/dataset_file.h"
#include "operators/export/export.h"
#include "operators/file/store_internal.h"

static lt_status unsupported(const char *path)
{
    return LT_FAIL(LT_ERR_UNSUPPORTED, "%s: lathe was built without HDF5 (Debian package libhdf5-dev), so it neither writes nor reads datasets", path);
}

lt_status lt_store_skeleton(const lt_store_claim *c, const lt_store_plan *p, const lt_store_labels *l, const lt_store_texts *t)
{
    (void)p, (void)l, (void)t;
    return unsupported(c->path);
}

lt_status lt_store_attach(lt_store *s) { return unsupported(s->path); }

lt_status lt_dataset_open(const char *path, lt_dataset **out)
{
    if (!out) return LT_FAIL(LT_ERR_ARGUMENT, "dataset: out is NULL");
    *out = NULL;
    return unsupported(path);
}

/* No dataset is ever open, so the others are not reached. */
void lt_dataset_close(lt_dataset *d) { (void)d; }
bool lt_dataset_rest(lt_dataset *d) { (void)d; return false; }
bool lt_dataset_wake(lt_dataset *d) { (void)d; return false; }

void lt_dataset_get_info_into(const lt_dataset *d, lt_dataset_info *out)
{
    (void)d;
    LT_GIVE(out, &(lt_dataset_info){ .size = sizeof(lt_dataset_info), .config = "", .engine_config = "", .engine_version = "", .precision = "",
                                           .creation_date = "", .sampling_metrics = "", .device = "" });
}

bool lt_dataset_is_at(const lt_dataset *d, const char *path)
{
    (void)d, (void)path;
    return false;
}

lt_status lt_dataset_walk(lt_dataset *d, lt_status (*item)(void *ctx, const lt_dataset_item *item), void *ctx)
{
    (void)d, (void)item, (void)ctx;
    return unsupported("walk");
}

const lt_file_item *lt_dataset_find(const lt_dataset *d, const char *path)
{
    (void)d, (void)path;
    return NULL;
}

lt_shape lt_dataset_shape(lt_dataset *d, const char *path)
{
    (void)d, (void)path;
    return lt_shape0();
}

lt_status lt_dataset_read(lt_dataset *d, const char *path, int64_t first, int64_t n, float *out, int64_t n_values)
{
    (void)d, (void)first, (void)n, (void)out, (void)n_values;
    return unsupported(path);
}

lt_status lt_dataset_read_step(lt_dataset *d, int64_t first, int64_t n, int64_t t, float *out, int64_t n_values)
{
    (void)d, (void)first, (void)n, (void)t, (void)out, (void)n_values;
    return unsupported("states");
}

lt_status lt_dataset_read_ints(lt_dataset *d, const char *path, int64_t first, int64_t n, int64_t *out, int64_t n_values)
{
    (void)d, (void)first, (void)n, (void)out, (void)n_values;
    return unsupported(path);
}

lt_status lt_dataset_texts(lt_dataset *d, const char *path, int64_t *n, const char *const **out)
{
    (void)d;
    *n = 0;
    *out = NULL;
    return unsupported(path);
}

lt_status lt_dataset_read_codes(lt_dataset *d, uint8_t *code)
{
    (void)d, (void)code;
    return unsupported("codes");
}

lt_status lt_dataset_ask_box(lt_dataset *d, const lt_dataset_box *b)
{
    (void)d, (void)b;
    return unsupported("a box");
}

lt_status lt_dataset_take_box(lt_dataset *d, const lt_dataset_box *b, void *out)
{
    (void)d, (void)b, (void)out;
    return unsupported("a box");
}

lt_status lt_export_the_well(lt_dataset *d, const lt_export_options *o, lt_export_info *info)
{
    (void)d, (void)info;
    return unsupported(o->the_well);
}

const char *lt_element_name(int element)
{
    (void)element;
    return "other";
}

size_t lt_element_bytes(int element)
{
    (void)element;
    return 0;
}

lt_shape lt_dataset_item_shape(const lt_file_item *item) { return lt_shape_of(item->rank, item->dim); }

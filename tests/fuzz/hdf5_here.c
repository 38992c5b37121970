/* A described file in the place of the HDF5 library (decision 420). SPDX-License-Identifier: BSD-3-Clause */
#include "hdf5_here.h"

#include "fuzz.h"

#include <stdbool.h>
#include <string.h>

#define H5_USE_110_API 1
#include <hdf5.h>

enum { MOST_OBJECTS = 128, MOST_ATTRIBUTES = 96, MOST_VALUES = 4096, MOST_TEXTS = 64, MOST_HANDLES = 64, MOST_RANK = H5S_MAX_RANK, MOST_FILTERS = 4, RECORD = 8 };
enum { MOST_READ = 1 << 19 }; /* bytes that one execution may read: the jail's deadline */

/* ---- The description ------------------------------------------------------------------------------------ */

typedef struct element { H5T_class_t class; size_t bytes; bool is_variable, is_committed, is_half; int standard; /* in standard[], or -1 */ } element;
typedef struct texts { int n; char *text[MOST_TEXTS]; } texts;

typedef struct object {
    char         path[320];
    int          link, what;
    char         target[64]; /* of a soft link */
    element      type;
    int          rank, chunk_rank, layout, n_filters, n_external;
    hsize_t      dim[MOST_RANK], chunk[MOST_RANK];
    struct { H5Z_filter_t id; unsigned value[4]; } filter[MOST_FILTERS];
    hsize_t      stored;
    haddr_t      data;
    hssize_t     points;     /* what its space says it has; -1: the product of its extents */
    int          times;      /* it is listed */
    int          n_values, odd_at;
    double       odd;        /* in the place odd_at of its values, or everywhere where that is negative */
    bool         has_odd;
    const double *values;
    const texts  *texts;
} object;

typedef struct attribute { int object; char name[64]; element type, base; hssize_t points; int64_t value; texts texts; int changed; size_t changed_at; char with[4]; } attribute;
typedef struct description { int n_objects, n_attributes; object object[MOST_OBJECTS]; attribute attribute[MOST_ATTRIBUTES]; } description;

static description good, now;

typedef enum handle_kind { FREE, IN_FILE, OF_TYPE, OF_SPACE, OF_LIST, OF_ATTRIBUTE } handle_kind;
typedef struct handle { handle_kind kind; object *object; attribute *attribute; const element *type; int rank; hsize_t start[MOST_RANK], count[MOST_RANK]; hssize_t points; } handle;

static struct { bool on; handle handle[MOST_HANDLES]; int n_open, fail_call, n_calls; size_t bytes_read; int fd; } here;

enum { FIRST_HANDLE = 1 << 20 }; /* the library's own are far larger or smaller */

static hid_t new_handle(handle h)
{
    for (int i = 0; i < MOST_HANDLES; i++) {
        if (here.handle[i].kind != FREE) continue;
        here.handle[i] = h;
        here.n_open++;
        return FIRST_HANDLE + i;
    }
    LT_FUZZ_REQUIRE(!"so many are open");
    return -1;
}

static handle *get(hid_t id, handle_kind kind)
{
    LT_FUZZ_REQUIRE(id >= FIRST_HANDLE && id < FIRST_HANDLE + MOST_HANDLES && here.handle[id - FIRST_HANDLE].kind == kind);
    return &here.handle[id - FIRST_HANDLE];
}

static herr_t drop(hid_t id, handle_kind kind)
{
    if (id < 0) return -1; /* as the library: nothing to close */
    get(id, kind)->kind = FREE;
    here.n_open--;
    return 0;
}

static object *find(const char *path)
{
    for (int i = 0; i < now.n_objects; i++)
        if (!strcmp(now.object[i].path, path)) return &now.object[i];
    return NULL;
}

static attribute *find_attribute(const object *o, const char *name)
{
    for (int i = 0; i < now.n_attributes; i++)
        if (&now.object[now.attribute[i].object] == o && !strcmp(now.attribute[i].name, name)) return &now.attribute[i];
    return NULL;
}

/* ---- Calls: the library's while nothing is described, else ours; one of them may fail ------------------------- */

static bool fails(void) { return ++here.n_calls == here.fail_call; }

#define CALL_(result, name, parameters, arguments, failing)                                                                        \
    result __real_##name parameters;                                                                                               \
    result __wrap_##name parameters;                                                                                               \
    static result here_##name parameters;                                                                                          \
    result __wrap_##name parameters { return !here.on ? __real_##name arguments : failing ? (result)-1 : here_##name arguments; } \
    static result here_##name parameters
#define CALL(result, name, parameters, arguments) CALL_(result, name, parameters, arguments, fails())
#define FIRM(result, name, parameters, arguments) CALL_(result, name, parameters, arguments, false) /* closes, or cannot fail */

/* ---- Files, lists, errors ------------------------------------------------------------------------------------------ */

CALL(hid_t, H5Fopen, (const char *path, unsigned flags, hid_t access), (path, flags, access))
{
    (void)path, (void)flags, (void)access;
    return new_handle((handle){ .kind = IN_FILE });
}
FIRM(herr_t, H5Fclose, (hid_t file), (file)) { return drop(file, IN_FILE); }
FIRM(ssize_t, H5Fget_obj_count, (hid_t file, unsigned types), (file, types)) { return (void)file, (void)types, 0; }
CALL(herr_t, H5Fget_vfd_handle, (hid_t file, hid_t access, void **out), (file, access, out)) { return (void)file, (void)access, *out = &here.fd, 0; }
CALL(herr_t, H5PLset_loading_state, (unsigned mask), (mask)) { return (void)mask, 0; }

CALL(hid_t, H5Pcreate, (hid_t class), (class)) { return (void)class, new_handle((handle){ .kind = OF_LIST }); }
FIRM(herr_t, H5Pclose, (hid_t list), (list)) { return drop(list, OF_LIST); }
CALL(herr_t, H5Pset_fapl_sec2, (hid_t list), (list)) { return get(list, OF_LIST), 0; }
CALL(herr_t, H5Pset_buffer, (hid_t list, size_t n, void *a, void *b), (list, n, a, b)) { return (void)n, (void)a, (void)b, get(list, OF_LIST), 0; }

FIRM(herr_t, H5Eclear2, (hid_t stack), (stack)) { return (void)stack, 0; }
FIRM(herr_t, H5Ewalk2, (hid_t stack, H5E_direction_t way, H5E_walk2_t take, void *ctx), (stack, way, take, ctx))
{
    static const char *const why[] = { NULL, "", "unable to open file: errno = 2, error message = 'No such file or directory', flags = 0", "memory allocation failed for \033[2J", "bad header" };
    const char *text = why[here.n_calls % (sizeof why / sizeof *why)];
    (void)stack, (void)way;
    if (text) take(0, &(H5E_error2_t){ .maj_num = H5E_DATASET, .min_num = H5E_CANTINIT, .desc = text }, ctx);
    return 0;
}

/* ---- Objects and links ------------------------------------------------------------------------------------------------ */

static hid_t open_object(hid_t file, const char *path, bool array)
{
    object *o = (get(file, IN_FILE), find(path));
    return !o || (array && o->what != H5O_TYPE_DATASET) ? -1 : new_handle((handle){ .kind = IN_FILE, .object = o });
}

CALL(hid_t, H5Oopen, (hid_t file, const char *path, hid_t access), (file, path, access)) { return (void)access, open_object(file, path, false); }
FIRM(herr_t, H5Oclose, (hid_t of), (of)) { return drop(of, IN_FILE); }
CALL(hid_t, H5Dopen2, (hid_t file, const char *path, hid_t access), (file, path, access)) { return (void)access, open_object(file, path, true); }
FIRM(herr_t, H5Dclose, (hid_t array), (array)) { return drop(array, IN_FILE); }

CALL(herr_t, H5Oget_info_by_name, (hid_t file, const char *path, H5O_info_t *out, hid_t access), (file, path, out, access))
{
    const object *o = (get(file, IN_FILE), find(path));
    (void)access;
    if (!o) return -1;
    *out = (H5O_info_t){ .type = (H5O_type_t)o->what, .addr = (haddr_t)(o - now.object) * 512 };
    return 0;
}

CALL(herr_t, H5Lvisit, (hid_t root, H5_index_t index, H5_iter_order_t order, H5L_iterate_t take, void *ctx), (root, index, order, take, ctx))
{
    (void)index, (void)order;
    get(root, IN_FILE);
    for (int i = 1; i < now.n_objects; i++) {
        const object *o = &now.object[i];
        H5L_info_t link = { .type = (H5L_type_t)o->link };
        if (o->link != H5L_TYPE_HARD) link.u.val_size = strlen(o->target) + 1;
        for (int k = 0; k < o->times; k++) {
            herr_t r = take(root, o->path + 1, &link, ctx);
            if (r) return r;
        }
    }
    return 0;
}

CALL(herr_t, H5Lget_val, (hid_t file, const char *path, void *out, size_t capacity, hid_t access), (file, path, out, capacity, access))
{
    const object *o = (get(file, IN_FILE), find(path));
    (void)access;
    if (!o) return -1;
    memcpy(out, o->target, strlen(o->target) + 1 < capacity ? strlen(o->target) + 1 : capacity);
    return 0;
}

/* ---- How arrays are stored ------------------------------------------------------------------------------------------------ */

static object *array_of(hid_t array) { return LT_FUZZ_REQUIRE(get(array, IN_FILE)->object), get(array, IN_FILE)->object; }
static object *listed(hid_t list) { return LT_FUZZ_REQUIRE(get(list, OF_LIST)->object), get(list, OF_LIST)->object; }

CALL(hid_t, H5Dget_create_plist, (hid_t array), (array)) { return new_handle((handle){ .kind = OF_LIST, .object = array_of(array) }); }
CALL(H5D_layout_t, H5Pget_layout, (hid_t list), (list)) { return (H5D_layout_t)listed(list)->layout; }
CALL(int, H5Pget_external_count, (hid_t list), (list)) { return listed(list)->n_external; }
CALL(int, H5Pget_nfilters, (hid_t list), (list)) { return listed(list)->n_filters; }
FIRM(hsize_t, H5Dget_storage_size, (hid_t array), (array)) { return array_of(array)->stored; }
FIRM(haddr_t, H5Dget_offset, (hid_t array), (array)) { return array_of(array)->data; }

CALL(int, H5Pget_chunk, (hid_t list, int most, hsize_t *out), (list, most, out))
{
    const object *o = listed(list);
    for (int k = 0; k < o->chunk_rank && k < most; k++) out[k] = o->chunk[k];
    return o->chunk_rank;
}

CALL(H5Z_filter_t, H5Pget_filter2, (hid_t list, unsigned i, unsigned *flags, size_t *n, unsigned *values, size_t name_bytes, char *name, unsigned *info),
     (list, i, flags, n, values, name_bytes, name, info))
{
    const object *o = listed(list);
    (void)name_bytes, (void)name;
    for (size_t k = 0; k < *n && k < 4; k++) values[k] = o->filter[i % MOST_FILTERS].value[k];
    *flags = *info = 0;
    *n = 4;
    return o->filter[i % MOST_FILTERS].id;
}

/* ---- Spaces ---------------------------------------------------------------------------------------------------------------------- */

static hssize_t product(int rank, const hsize_t *dim)
{
    uint64_t n = 1;
    for (int k = 0; k < rank; k++) n *= dim[k];
    return (hssize_t)n;
}

CALL(hid_t, H5Dget_space, (hid_t array), (array))
{
    object *o = array_of(array);
    handle h = { .kind = OF_SPACE, .object = o, .rank = o->rank, .points = o->points >= 0 ? o->points : product(o->rank, o->dim) };
    memcpy(h.count, o->dim, sizeof h.count);
    return new_handle(h);
}
CALL(hid_t, H5Screate_simple, (int rank, const hsize_t *dim, const hsize_t *most), (rank, dim, most))
{
    handle h = { .kind = OF_SPACE, .rank = rank, .points = product(rank, dim) };
    LT_FUZZ_REQUIRE(rank > 0 && rank <= MOST_RANK && !most);
    memcpy(h.count, dim, (size_t)rank * sizeof *dim);
    return new_handle(h);
}
FIRM(herr_t, H5Sclose, (hid_t space), (space)) { return drop(space, OF_SPACE); }
CALL(H5S_class_t, H5Sget_simple_extent_type, (hid_t space), (space)) { return get(space, OF_SPACE)->rank ? H5S_SIMPLE : H5S_SCALAR; }
CALL(int, H5Sget_simple_extent_ndims, (hid_t space), (space)) { return get(space, OF_SPACE)->rank; }
CALL(hssize_t, H5Sget_simple_extent_npoints, (hid_t space), (space)) { return get(space, OF_SPACE)->points; }

CALL(int, H5Sget_simple_extent_dims, (hid_t space, hsize_t *dim, hsize_t *most), (space, dim, most))
{
    const handle *h = get(space, OF_SPACE);
    LT_FUZZ_REQUIRE(!most);
    memcpy(dim, h->count, (size_t)h->rank * sizeof *dim);
    return h->rank;
}

CALL(herr_t, H5Sselect_hyperslab, (hid_t space, H5S_seloper_t how, const hsize_t *start, const hsize_t *step, const hsize_t *count, const hsize_t *block),
     (space, how, start, step, count, block))
{
    handle *h = get(space, OF_SPACE);
    LT_FUZZ_REQUIRE(how == H5S_SELECT_SET && !step && !block);
    for (int k = 0; k < h->rank; k++) {
        LT_FUZZ_REQUIRE(start[k] <= h->object->dim[k] && count[k] <= h->object->dim[k] - start[k]); /* the reader never asks beyond an array's end */
        h->start[k] = start[k], h->count[k] = count[k];
    }
    h->points = product(h->rank, count);
    return 0;
}

/* ---- Types ------------------------------------------------------------------------------------------------------------------------ */

typedef struct number { hid_t id; H5T_class_t class; size_t bytes; bool is_signed; } number;
enum { NUMBERS = 20 };
static number standard[NUMBERS], native[NUMBERS / 2];

static void name_numbers(void)
{
    const hid_t in_file[NUMBERS] = { H5T_STD_I8LE, H5T_STD_I16LE, H5T_STD_I32LE, H5T_STD_I64LE, H5T_STD_U8LE, H5T_STD_U16LE, H5T_STD_U32LE, H5T_STD_U64LE, H5T_IEEE_F32LE,
        H5T_IEEE_F64LE, H5T_STD_I8BE, H5T_STD_I16BE, H5T_STD_I32BE, H5T_STD_I64BE, H5T_STD_U8BE, H5T_STD_U16BE, H5T_STD_U32BE, H5T_STD_U64BE, H5T_IEEE_F32BE, H5T_IEEE_F64BE };
    const hid_t in_memory[NUMBERS / 2] = { H5T_NATIVE_INT8, H5T_NATIVE_INT16, H5T_NATIVE_INT32, H5T_NATIVE_INT64, H5T_NATIVE_UINT8, H5T_NATIVE_UINT16, H5T_NATIVE_UINT32,
        H5T_NATIVE_UINT64, H5T_NATIVE_FLOAT, H5T_NATIVE_DOUBLE };
    for (int i = 0; i < NUMBERS; i++) {
        int k = i % (NUMBERS / 2);
        standard[i] = (number){ in_file[i], k < 8 ? H5T_INTEGER : H5T_FLOAT, k < 8 ? (size_t)1 << k % 4 : k == 8 ? 4 : 8, k < 4 };
        if (i == k) native[k] = standard[i], native[k].id = in_memory[k];
    }
}

static const element *type_of(hid_t type) { return get(type, OF_TYPE)->type; }

CALL(hid_t, H5Dget_type, (hid_t array), (array)) { return new_handle((handle){ .kind = OF_TYPE, .type = &array_of(array)->type, .object = array_of(array) }); }
CALL(hid_t, H5Tget_super, (hid_t type), (type))
{
    const handle *h = get(type, OF_TYPE);
    return h->attribute && h->type == &h->attribute->type ? new_handle((handle){ .kind = OF_TYPE, .type = &h->attribute->base, .attribute = h->attribute }) : -1;
}
FIRM(herr_t, H5Tclose, (hid_t type), (type)) { return drop(type, OF_TYPE); }
CALL(htri_t, H5Tcommitted, (hid_t type), (type)) { return type_of(type)->is_committed; }
CALL(htri_t, H5Tis_variable_str, (hid_t type), (type)) { return type_of(type)->is_variable; }
CALL(htri_t, H5Tequal, (hid_t type, hid_t other), (type, other)) { return type_of(type)->standard >= 0 && standard[type_of(type)->standard % NUMBERS].id == other; }
CALL(H5T_class_t, H5Tget_class, (hid_t type), (type)) { return type_of(type)->class; }
FIRM(size_t, H5Tget_size, (hid_t type), (type)) { return type_of(type)->bytes; }
FIRM(size_t, H5Tget_ebias, (hid_t type), (type)) { return type_of(type)->is_half ? 15 : 127; }
CALL(herr_t, H5Tget_fields, (hid_t type, size_t *sign, size_t *exponent, size_t *exponent_bits, size_t *mantissa, size_t *mantissa_bits),
     (type, sign, exponent, exponent_bits, mantissa, mantissa_bits))
{
    *sign = 15, *exponent = 10, *exponent_bits = 5, *mantissa = 0, *mantissa_bits = type_of(type)->is_half ? 10 : 9;
    return 0;
}

/* ---- Values ---------------------------------------------------------------------------------------------------------------------------- */

static void put_number(char *out, const number *as, double v)
{
    if (as->class == H5T_FLOAT && as->bytes == 4) memcpy(out, &(float){ (float)v }, 4);
    else if (as->class == H5T_FLOAT) memcpy(out, &v, 8);
    else {
        int64_t n = v >= 9.2e18 ? INT64_MAX : v > -9.2e18 ? (int64_t)v : INT64_MIN; /* little end first, as this machine */
        memcpy(out, &n, as->bytes);
    }
}

/* One text: a copy where they have any length, else so many bytes. */
static void put_text(char *out, const element *type, const char *text)
{
    char *copy = type->is_variable ? strdup(text) : NULL;
    if (type->is_variable) memcpy(out, &copy, sizeof copy);
    else strncpy(out, text, type->bytes); /* filled up with zeros, and without one at its end where it is long */
}

static herr_t read_texts(const handle *as, hssize_t n, const texts *from, char *out)
{
    size_t step = as->type->is_variable ? sizeof(char *) : as->type->bytes;
    for (hssize_t i = 0; i < n; i++) put_text(out + (size_t)i * step, as->type, from && from->n ? from->text[i % from->n] : "");
    return 0;
}

static const number *number_of(hid_t type)
{
    for (int i = 0; i < NUMBERS / 2; i++)
        if (native[i].id == type) return &native[i];
    LT_FUZZ_REQUIRE(!"a type of this machine");
    return NULL;
}

static bool may_read(hssize_t n, size_t each)
{
    if (n < 0 || (uint64_t)n > MOST_READ / each || here.bytes_read + (size_t)n * each > MOST_READ) return false;
    here.bytes_read += (size_t)n * each;
    return true;
}

CALL(herr_t, H5Dread, (hid_t array, hid_t type, hid_t to, hid_t from, hid_t list, void *out), (array, type, to, from, list, out))
{
    const object *o = array_of(array);
    const handle *box = from == H5S_ALL ? NULL : get(from, OF_SPACE);
    const bool is_number = type < FIRST_HANDLE || type >= FIRST_HANDLE + MOST_HANDLES;
    hssize_t n = to == H5S_ALL ? o->points >= 0 ? o->points : product(o->rank, o->dim) : get(to, OF_SPACE)->points;
    uint64_t first = 0;
    (void)list;
    if (!is_number) return may_read(n, o->type.bytes + 8) ? read_texts(get(type, OF_TYPE), n, o->texts, out) : -1;
    LT_FUZZ_REQUIRE(!box || box->points == n);
    const number *as = number_of(type);
    if (!may_read(n, as->bytes)) return -1;
    for (int k = 0; box && k < box->rank; k++) first = first * o->dim[k] + box->start[k];
    for (hssize_t i = 0; i < n; i++) {
        uint64_t at = o->n_values ? (first + (uint64_t)i) % (uint64_t)o->n_values : 0;
        double v = o->has_odd && (o->odd_at < 0 || (uint64_t)o->odd_at == at) ? o->odd : o->n_values ? o->values[at] : 0;
        put_number((char *)out + (size_t)i * as->bytes, as, v);
    }
    return 0;
}

FIRM(herr_t, H5Dvlen_reclaim, (hid_t type, hid_t space, hid_t list, void *data), (type, space, list, data))
{
    (void)list;
    if (space < 0) return -1; /* and keeps what was read, as the library does */
    for (hssize_t i = 0; type_of(type)->is_variable && i < get(space, OF_SPACE)->points; i++) free(((char **)data)[i]);
    return 0;
}

/* ---- Attributes ------------------------------------------------------------------------------------------------------------------------- */

CALL(htri_t, H5Aexists, (hid_t at, const char *name), (at, name)) { return find_attribute(get(at, IN_FILE)->object, name) != NULL; }
CALL(hid_t, H5Aopen, (hid_t at, const char *name, hid_t access), (at, name, access))
{
    attribute *a = find_attribute(get(at, IN_FILE)->object, name);
    return (void)access, a ? new_handle((handle){ .kind = OF_ATTRIBUTE, .attribute = a }) : -1;
}
FIRM(herr_t, H5Aclose, (hid_t a), (a)) { return drop(a, OF_ATTRIBUTE); }
CALL(hid_t, H5Aget_type, (hid_t a), (a))
{
    attribute *of = get(a, OF_ATTRIBUTE)->attribute;
    return new_handle((handle){ .kind = OF_TYPE, .type = &of->type, .attribute = of });
}
CALL(hid_t, H5Aget_space, (hid_t a), (a)) { return new_handle((handle){ .kind = OF_SPACE, .points = get(a, OF_ATTRIBUTE)->attribute->points }); }

/* The texts of an attribute with four bytes of one of them changed. */
static herr_t read_changed(const handle *type, const attribute *a, char *out)
{
    if (a->changed < 0 || a->changed >= a->texts.n) return read_texts(type, a->points, &a->texts, out);
    texts copy = a->texts;
    char *text = copy.text[a->changed] = strdup(copy.text[a->changed]);
    for (size_t i = 0, n = strlen(text); i < sizeof a->with && n; i++) text[(a->changed_at + i) % n] = a->with[i];
    herr_t r = read_texts(type, a->points, &copy, out);
    free(text);
    return r;
}

CALL(herr_t, H5Aread, (hid_t a, hid_t type, void *out), (a, type, out))
{
    const attribute *from = get(a, OF_ATTRIBUTE)->attribute;
    if (type < FIRST_HANDLE || type >= FIRST_HANDLE + MOST_HANDLES) {
        const number *as = number_of(type);
        LT_FUZZ_REQUIRE(from->points == 1); /* where the reader has room for one */
        memcpy(out, &from->value, as->bytes);
        return 0;
    }
    if (!may_read(from->points, from->type.bytes + 8)) return -1;
    if (from->type.class == H5T_STRING) return read_changed(get(type, OF_TYPE), from, out);
    LT_FUZZ_REQUIRE(from->points == 1 && from->base.bytes == 1);
    *(int8_t *)out = (int8_t)from->value;
    return 0;
}

/* ---- Learning ------------------------------------------------------------------------------------------------------------------------------ */

static element describe_type(hid_t type)
{
    element k = { .class = H5Tget_class(type), .bytes = H5Tget_size(type), .standard = -1 };
    k.is_variable = k.class == H5T_STRING && H5Tis_variable_str(type) > 0;
    for (int i = 0; i < NUMBERS; i++)
        if (H5Tequal(type, standard[i].id) > 0) k.standard = i;
    return k;
}

static void take_texts(texts *out, char *const *from, hssize_t n)
{
    for (hssize_t i = 0; i < n && i < MOST_TEXTS; i++) out->text[out->n++] = strdup(from[i] ? from[i] : "");
}

static void describe_values(object *o, hid_t array, hid_t type, hid_t space)
{
    static double values[MOST_OBJECTS][MOST_VALUES];
    static texts lists[MOST_OBJECTS];
    char *raw[MOST_VALUES] = { NULL };
    const int i = (int)(o - good.object);
    const hssize_t n = H5Sget_simple_extent_npoints(space);
    if (n <= 0 || n > MOST_VALUES) return;
    if (o->type.is_variable && H5Dread(array, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, raw) >= 0) take_texts(&lists[i], raw, n), H5Dvlen_reclaim(type, space, H5P_DEFAULT, raw);
    if (o->type.standard >= 0 && H5Dread(array, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values[i]) >= 0) o->n_values = (int)n;
    o->values = values[i];
    o->texts = &lists[i];
}

static void describe_array(object *o, hid_t file)
{
    hid_t array = H5Dopen2(file, o->path, H5P_DEFAULT), type = H5Dget_type(array), space = H5Dget_space(array), list = H5Dget_create_plist(array);
    o->type = describe_type(type);
    o->rank = H5Sget_simple_extent_ndims(space);
    H5Sget_simple_extent_dims(space, o->dim, NULL);
    o->layout = H5Pget_layout(list);
    o->chunk_rank = o->layout == H5D_CHUNKED ? H5Pget_chunk(list, MOST_RANK, o->chunk) : 0;
    o->n_filters = H5Pget_nfilters(list);
    for (int i = 0; i < o->n_filters && i < MOST_FILTERS; i++) {
        unsigned flags, info;
        size_t n = 4;
        o->filter[i].id = H5Pget_filter2(list, (unsigned)i, &flags, &n, o->filter[i].value, 0, NULL, &info);
    }
    o->stored = H5Dget_storage_size(array);
    o->data = H5Dget_offset(array);
    describe_values(o, array, type, space);
    H5Pclose(list), H5Sclose(space), H5Tclose(type), H5Dclose(array);
}

static herr_t describe_attribute(hid_t at, const char *name, const H5A_info_t *info, void *of)
{
    attribute *a = &good.attribute[good.n_attributes++];
    char *raw[MOST_TEXTS] = { NULL };
    (void)info;
    LT_FUZZ_REQUIRE(good.n_attributes < MOST_ATTRIBUTES);
    hid_t open = H5Aopen(at, name, H5P_DEFAULT), type = H5Aget_type(open), space = H5Aget_space(open);
    *a = (attribute){ .object = (int)((object *)of - good.object), .type = describe_type(type), .points = H5Sget_simple_extent_npoints(space), .changed = -1 };
    snprintf(a->name, sizeof a->name, "%s", name);
    a->base = a->type;
    if (a->type.class == H5T_INTEGER) H5Aread(open, H5T_NATIVE_INT64, &a->value);
    if (a->type.is_variable && a->points <= MOST_TEXTS && H5Aread(open, type, raw) >= 0) take_texts(&a->texts, raw, a->points), H5Dvlen_reclaim(type, space, H5P_DEFAULT, raw);
    H5Sclose(space), H5Tclose(type), H5Aclose(open);
    return 0;
}

static object *describe_object(hid_t file, const char *path, int link)
{
    object *o = &good.object[good.n_objects++];
    LT_FUZZ_REQUIRE(good.n_objects < MOST_OBJECTS);
    *o = (object){ .link = link, .points = -1, .times = 1, .what = H5O_TYPE_GROUP };
    snprintf(o->path, sizeof o->path, "%s", path);
    if (link != H5L_TYPE_HARD) return o;
    H5O_info_t info;
    hid_t at = H5Oopen(file, path, H5P_DEFAULT);
    LT_FUZZ_REQUIRE(at >= 0 && H5Oget_info_by_name(file, path, &info, H5P_DEFAULT) >= 0);
    o->what = info.type;
    if (o->what == H5O_TYPE_DATASET) describe_array(o, file);
    H5Aiterate2(at, H5_INDEX_NAME, H5_ITER_INC, NULL, describe_attribute, o);
    H5Oclose(at);
    return o;
}

static herr_t describe_link(hid_t root, const char *name, const H5L_info_t *link, void *ctx)
{
    char path[320];
    (void)ctx;
    snprintf(path, sizeof path, "/%s", name);
    object *o = describe_object(root, path, link->type);
    if (link->type == H5L_TYPE_SOFT) H5Lget_val(root, name, o->target, sizeof o->target, H5P_DEFAULT);
    return 0;
}

static const char *arrays[MOST_OBJECTS], *attributes[MOST_ATTRIBUTES];

void lt_hdf5_here_learn(const char *path)
{
    static char names[MOST_ATTRIBUTES][400];
    name_numbers();
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    LT_FUZZ_REQUIRE(file >= 0);
    describe_object(file, "/", H5L_TYPE_HARD);
    LT_FUZZ_REQUIRE(H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, describe_link, NULL) >= 0);
    H5Fclose(file);
    for (int i = 0, n = 0; i < good.n_objects; i++)
        if (good.object[i].what == H5O_TYPE_DATASET) arrays[n++] = good.object[i].path;
    for (int i = 0; i < good.n_attributes; i++) {
        snprintf(names[i], sizeof names[i], "%s@%s", good.object[good.attribute[i].object].path, good.attribute[i].name);
        attributes[i] = names[i];
    }
}

const char *const *lt_hdf5_here_arrays(void) { return arrays; }
const char *const *lt_hdf5_here_attributes(void) { return attributes; }

/* ---- Changing ----------------------------------------------------------------------------------------------------------------------------------- */

enum field { LINK, WHAT, CLASS, BYTES, VARIABLE, COMMITTED, HALF, STANDARD, RANK, EXTENT, CHUNK_RANK, CHUNK, LAYOUT, FILTERS, FILTER, FILTER_VALUE, EXTERNAL, STORED, OFFSET,
             POINTS, TIMES, VALUE, PATH, TARGET, ATTRIBUTE_TEXT, ATTRIBUTE_INT, ATTRIBUTE_CLASS, ATTRIBUTE_BYTES, ATTRIBUTE_POINTS, ATTRIBUTE_NAME, ATTRIBUTE_FIXED,
             FAILURE, FIELDS };

static void change_attribute(attribute *a, int field, const uint8_t *d, int64_t value)
{
    switch (field) {
    case ATTRIBUTE_TEXT:
        a->changed = d[2] % (a->texts.n ? a->texts.n : 1);
        a->changed_at = d[3];
        memcpy(a->with, d + 4, sizeof a->with);
        break;
    case ATTRIBUTE_INT: a->value = value; break;
    case ATTRIBUTE_CLASS: a->type.class = (H5T_class_t)(value % H5T_NCLASSES); a->type.is_variable = a->type.class == H5T_STRING && d[2] & 1; break;
    case ATTRIBUTE_BYTES: a->type.is_variable ? (void)0 : (void)(a->type.bytes = (size_t)value), a->base.bytes = (size_t)value; break;
    case ATTRIBUTE_POINTS: a->points = value; break;
    case ATTRIBUTE_NAME: a->name[d[2] % 8] = (char)d[4]; break;
    default: a->type.is_variable = false; a->type.bytes = d[2]; break;
    }
}

static void change_object(object *o, int field, const uint8_t *d, int64_t value)
{
    static const double odd[] = { 0, 1, -1, 2, 3, 255, 1e30, -1e300, 1e-320, 0.5, 7, 1e9, 9.3e18, -128, 100, 1e15 };
    const int part = d[2] % MOST_RANK;
    switch (field) {
    case LINK: o->link = d[4] % 5 == 4 ? (int8_t)d[5] : d[4] % 5 == 3 ? H5L_TYPE_EXTERNAL : d[4] % 5 == 2 ? 65 : d[4] % 2; break;
    case WHAT: o->what = d[4] % 4; break;
    case CLASS: o->type.class = (H5T_class_t)(d[4] % (H5T_NCLASSES + 1)); break;
    case BYTES: o->type.bytes = (size_t)value; break;
    case VARIABLE: o->type.is_variable = o->type.class == H5T_STRING && d[4] & 1; break;
    case COMMITTED: o->type.is_committed = d[4] & 1; break;
    case HALF: o->type = (element){ .class = H5T_FLOAT, .bytes = 2, .is_half = d[4] & 1, .standard = -1 }; break;
    case STANDARD: o->type = (element){ .class = standard[d[4] % NUMBERS].class, .bytes = standard[d[4] % NUMBERS].bytes, .standard = d[4] % NUMBERS }; break;
    case RANK: o->rank = d[4] % (MOST_RANK + 1); break;
    case EXTENT: o->dim[part % 8] = (hsize_t)value; break;
    case CHUNK_RANK: o->chunk_rank = d[4] % (MOST_RANK + 1); break;
    case CHUNK: o->chunk[part % 8] = (hsize_t)value; break;
    case LAYOUT: o->layout = d[4] % 5 - 1; break;
    case FILTERS: o->n_filters = d[4] % 40; break;
    case FILTER: o->filter[part % MOST_FILTERS].id = d[4] & 1 ? d[5] % 6 : d[4] & 2 ? 32000 : (int)value; break;
    case FILTER_VALUE: o->filter[part % MOST_FILTERS].value[d[2] >> 5 & 3] = (unsigned)value; break;
    case EXTERNAL: o->n_external = (int8_t)d[4]; break;
    case STORED: o->stored = (hsize_t)value; break;
    case OFFSET: o->data = (haddr_t)value; break;
    case POINTS: o->points = value; break;
    case TIMES: o->times = d[4] % 200; break;
    case VALUE: o->has_odd = true; o->odd = d[4] & 0x80 ? 0.0 / (double)(d[4] & 1) : odd[d[4] % 16]; o->odd_at = d[5] & 1 ? -1 : d[2] | d[6] << 8; break;
    case PATH:
        if (d[4] & 1) memset(o->path + 1, 'a' + d[5] % 26, d[2] + 60), o->path[d[2] + 61] = '\0';
        else o->path[1 + d[2] % 16] = (char)d[5];
        break;
    default: memcpy(o->target, d + 4, 4); o->target[4 + d[2] % 40] = '\0'; break;
    }
}

static void change(const uint8_t *d)
{
    const int field = d[0] % FIELDS;
    int32_t low = (int32_t)((uint32_t)d[4] | (uint32_t)d[5] << 8 | (uint32_t)d[6] << 16 | (uint32_t)d[7] << 24);
    int64_t value = d[3] & 0x80 ? (int64_t)low * ((int64_t)1 << 32) : d[3] & 0x40 ? low : (int8_t)d[4];
    if (field == FAILURE) here.fail_call = 1 + (low & 0x3fff);
    else if (field >= ATTRIBUTE_TEXT) change_attribute(&now.attribute[d[1] % now.n_attributes], field, d, value);
    else change_object(&now.object[1 + d[1] % (now.n_objects - 1)], field, d, value);
}

void lt_hdf5_here_begin(int fd, const uint8_t *records, size_t n_bytes)
{
    memcpy(now.object, good.object, (size_t)good.n_objects * sizeof *good.object);
    memcpy(now.attribute, good.attribute, (size_t)good.n_attributes * sizeof *good.attribute);
    now.n_objects = good.n_objects;
    now.n_attributes = good.n_attributes;
    here.fail_call = here.n_calls = 0;
    here.bytes_read = 0;
    here.fd = fd;
    for (size_t at = 0; at + RECORD <= n_bytes; at += RECORD) change(records + at);
    here.on = true;
}

void lt_hdf5_here_end(void)
{
    here.on = false;
    LT_FUZZ_REQUIRE(here.n_open == 0);
}

/* Fields of cells, genes, networks. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/fields/draw.h"

#include "base/status.h"

#include <string.h>

/* ---- Cells ------------------------------------------------------------------------------------ */
enum { MOST_CELLS = 1000 };
typedef struct point { double x, y; } point;

static double wrap(double v, double n) { return v - n * floor(v / n); }

static point propose(lt_field_job *j, const point *cluster, int n_clusters, double strength)
{
    double g = j->grid;
    if (lt_rng_uniform(&j->rng) >= strength) {
        double x = lt_field_uniform(j, 0, g), y = lt_field_uniform(j, 0, g);
        return (point){ x, y };
    }
    const point *p = &cluster[lt_field_below(j, n_clusters)];
    double radius = lt_field_uniform(j, 0, 0.3 * g * (1 - strength)), angle = lt_field_angle(j);
    return (point){ wrap(p->x + radius * cos(angle), g), wrap(p->y + radius * sin(angle), g) };
}

lt_status lt_paint_cells(lt_field_job *j)
{
    point cell[MOST_CELLS], cluster[MOST_CELLS];
    int want = (int)j->number[0], n = 0, n_clusters = (int)fmax(1, floor(0.1 * want * (1 - j->number[2])));
    for (int i = 0; i < n_clusters; i++) {
        cluster[i].x = lt_field_uniform(j, 0, j->grid);
        cluster[i].y = lt_field_uniform(j, 0, j->grid);
    }
    for (int tries = 0; n < want && tries < 100 * want; tries++) {
        point p = propose(j, cluster, n_clusters, j->number[2]);
        bool free = true;
        for (int i = 0; i < n && free; i++) free = hypot(cell[i].x - p.x, cell[i].y - p.y) >= 2 * j->number[1];
        if (free) cell[n++] = p;
    }
    for (int i = 0; i < n; i++)
        for (int c = 0; c < LT_FIELD_CHANNELS; c++)
            lt_field_add_bump(j, cell[i].x, cell[i].y, j->number[3], lt_rng_uniform(&j->rng), j->out + c * j->pixels);
    lt_field_scale_by_largest(j->out, LT_FIELD_CHANNELS * j->pixels, false);
    return LT_OK;
}

/* ---- Chromatin ---------------------------------------------------------------------------------- */
/* Blocks along the diagonal; each is a product of the same profile in x and y. */
static void add_domains(lt_field_job *j, double *plane)
{
    int g = j->grid;
    double *profile = j->m->filter, start = 0;
    for (int n = 0; n < (int)j->number[0] && start < g; n++) {
        double end = start + lt_field_from_pair(j, 1), strength = lt_field_uniform(j, -1, 1), w = j->number[2];
        for (int c = 0; c < g; c++) profile[c] = lt_field_sigmoid((c - start) / w) * lt_field_sigmoid((end - c) / w);
        for (int r = 0; r < g; r++)
            for (int c = 0; c < g; c++) plane[(int64_t)r * g + c] += strength * profile[r] * profile[c];
        start = end;
    }
}

static void paint_compartments(lt_field_job *j)
{
    int g = j->grid;
    double k = LT_TURN / lt_field_uniform(j, 15, 40), a = lt_field_angle(j), b = lt_field_angle(j);
    for (int c = 0; c < LT_FIELD_CHANNELS; c++) {
        double level[2];
        level[0] = lt_rng_uniform(&j->rng);
        level[1] = lt_rng_uniform(&j->rng);
        for (int r = 0; r < g; r++)
            for (int q = 0; q < g; q++) j->out[c * j->pixels + (int64_t)r * g + q] = level[sin(k * q + a) * sin(k * r + b) > 0];
    }
}

lt_status lt_paint_chromatin(lt_field_job *j)
{
    if ((int)j->number[3] == 1) {
        paint_compartments(j);
        return LT_OK;
    }
    double *plane = j->m->plane[1];
    memset(plane, 0, (size_t)j->pixels * sizeof *plane);
    add_domains(j, plane);
    lt_field_copy_channels(j, plane);
    return LT_OK;
}

/* ---- Genes ----------------------------------------------------------------------------------------- */
typedef enum expression { GRADIENT, SPOTS, STRIPES, RADIAL, UNIFORM, N_EXPRESSIONS } expression;

/* In the mode "reference" (as Spinlock) wavelengths of spots and stripes are fractions of a pixel, so they alias. In the mode "physical"
   they are fractions of the grid. */
static void paint_expression(lt_field_job *j, expression pattern, double *plane)
{
    int g = j->grid, direction = lt_field_below(j, 3);
    double k = LT_TURN / (lt_field_uniform(j, 0.1, 0.3) * (j->physical ? g : 1)), angle = lt_field_angle(j);
    memset(plane, 0, (size_t)j->pixels * sizeof *plane);
    if (pattern == SPOTS)
        for (int i = 0; i < 3; i++) lt_field_add_wave(j, k, i * M_PI / 3, 0, 1.0 / 3, plane);
    else if (pattern == STRIPES) lt_field_add_wave(j, k, angle, 0, 1, plane);
    else
        for (int r = 0; r < g; r++)
            for (int c = 0; c < g; c++) {
                double x = (double)c / g, y = (double)r / g, dx = x - 0.5, dy = y - 0.5;
                plane[(int64_t)r * g + c] = pattern == UNIFORM ? 0.5 : pattern == RADIAL ? exp(-(dx * dx + dy * dy) / 0.1)
                                          : direction == 0 ? x : direction == 1 ? y : (x + y) / 2;
            }
}

lt_status lt_paint_genes(lt_field_job *j)
{
    const lt_field_value *patterns = &j->recipe->value[1], *range = &j->recipe->value[3];
    int n_genes = (int)fmin(j->number[0], LT_FIELD_CHANNELS);
    double s = j->number[2], *shared = j->m->plane[1], *noise = j->m->plane[2];
    LT_TRY(lt_field_grf(j, 0.1, 1, shared));
    lt_field_scale_to(shared, j->pixels, 0, 1);
    for (int c = 0; c < LT_FIELD_CHANNELS; c++) {
        double *out = j->out + c * j->pixels;
        lt_field_normals(j, j->pixels, noise);
        if (c >= n_genes) { /* a noisy copy of the first */
            for (int64_t i = 0; i < j->pixels; i++) out[i] = j->out[i] + 0.1 * noise[i];
            continue;
        }
        int pattern = patterns->n ? (int)patterns->item[c % patterns->n] : lt_field_below(j, N_EXPRESSIONS);
        paint_expression(j, (expression)pattern, out);
        for (int64_t i = 0; i < j->pixels; i++) out[i] = s * shared[i] + (1 - s) * out[i] + 0.1 * noise[i];
        lt_field_scale_to(out, j->pixels, range->item[0], range->item[1]);
    }
    return LT_OK;
}

/* ---- Networks ---------------------------------------------------------------------------------------- */
enum { MOST_NODES = 64 };
typedef struct network { int n; double weight[MOST_NODES][MOST_NODES]; } network;

static void connect(lt_field_job *j, network *w, int a, int b)
{
    w->weight[a][b] = lt_field_uniform(j, -1, 1);
    w->weight[b][a] = lt_field_uniform(j, -1, 1);
}

/* Every new node joins an older one, the likelier the more neighbours that one has. */
static void grow_scale_free(lt_field_job *j, network *w)
{
    int degree[MOST_NODES] = { 1 }, total = 1;
    for (int i = 1; i < w->n; i++) {
        int pick = lt_field_below(j, total), to = 0;
        while (pick >= degree[to]) pick -= degree[to++];
        connect(j, w, i, to);
        degree[to]++;
        degree[i] = 1;
        total += 2;
    }
}

static void make_network(lt_field_job *j, int topology, double probability, network *w)
{
    memset(w->weight, 0, sizeof w->weight);
    if (topology == 0) grow_scale_free(j, w);
    else if (topology == 2)
        for (int i = 1; i < w->n; i++) connect(j, w, 0, i);
    else
        for (int a = 0; a < w->n; a++)
            for (int b = 0; b < w->n; b++)
                if (a != b && lt_rng_uniform(&j->rng) < probability) w->weight[a][b] = lt_field_uniform(j, -1, 1);
}

lt_status lt_paint_regulatory(lt_field_job *j)
{
    network w = { .n = (int)j->number[1] };
    double x[MOST_NODES], next[MOST_NODES], *plane = j->m->plane[1];
    make_network(j, (int)j->number[0], j->number[2], &w);
    for (int i = 0; i < w.n; i++) x[i] = lt_rng_uniform(&j->rng);
    for (int step = 0; step < 5; step++) {
        for (int i = 0; i < w.n; i++) {
            next[i] = 0.1 * lt_field_normal(j);
            for (int k = 0; k < w.n; k++) next[i] += w.weight[i][k] * x[k];
        }
        for (int i = 0; i < w.n; i++) x[i] = tanh(next[i]);
    }
    memset(plane, 0, (size_t)j->pixels * sizeof *plane);
    for (int i = 0; i < w.n; i++) {
        double px = lt_field_uniform(j, 0, j->grid), py = lt_field_uniform(j, 0, j->grid);
        lt_field_add_bump(j, px, py, j->number[3] * j->grid, x[i], plane);
    }
    lt_field_scale_by_largest(plane, j->pixels, true);
    lt_field_copy_channels(j, plane);
    return LT_OK;
}

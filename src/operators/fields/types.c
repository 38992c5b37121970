/* The types of initial fields and their parameters. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/fields/types.h"

#include "base/status.h"

#include <ctype.h>
#include <string.h>

/* ---- Names of variants ------------------------------------------------------------ */
static const char *const structures[] = { "circle", "stripe", "blob", NULL }, *const composites[] = { "waves", "grid", "radial", NULL },
    *const turings[] = { "spots", "stripes", "labyrinth", "mixed", NULL }, *const directions[] = { "random", "x", "y", "diagonal", NULL },
    *const gradients[] = { "exponential", "power_law", "sigmoidal", NULL }, *const fronts[] = { "planar", "circular", "irregular", NULL },
    *const bz_patterns[] = { "spiral", "target", "turbulent", NULL }, *const entropies[] = { "gradient", "patchy", "random", NULL },
    *const compartments[] = { "TAD", "AB", NULL }, *const expressions[] = { "gradient", "spots", "stripes", "radial", "uniform", NULL },
    *const correlations[] = { "local", "long_range", "hierarchical", NULL }, *const topologies[] = { "scale_free", "random", "hub", NULL },
    *const seeds[] = { "point", "line", NULL }, *const dla_fields[] = { "distance_transform", "indicator", NULL },
    *const codes[] = { "repetition", "parity", "random", NULL };

/* ---- Rows -------------------------------------------------------------------------- */
#define ANY LT_RANGE_ANY
#define POSITIVE LT_ABOVE(0)
#define NOT_NEGATIVE LT_AT_LEAST(0)
#define UNIT LT_RANGE_CLOSED(0, 1)
#define NUMBER(name_, default_, ...) { .name = name_, .kind = LT_FIELD_REAL, .range = __VA_ARGS__, .n_defaults = 1, .defaults = { default_ } }
#define COUNT(name_, default_, ...) { .name = name_, .kind = LT_FIELD_INT, .range = __VA_ARGS__, .n_defaults = 1, .defaults = { default_ } }
#define MAYBE(name_, ...) { .name = name_, .kind = LT_FIELD_MAYBE, .range = __VA_ARGS__ }
#define ONE_OF(name_, names_) { .name = name_, .kind = LT_FIELD_NAME, .n_defaults = 1, .names = names_ }
#define PAIR(name_, lo_, hi_, ...) { .name = name_, .kind = LT_FIELD_PAIR, .range = __VA_ARGS__, .n_defaults = 2, .defaults = { lo_, hi_ } }
#define ALL_OF(name_, names_, n_) { .name = name_, .kind = LT_FIELD_NAMES, .n_defaults = n_, .defaults = { 0, 1, 2 }, .names = names_ }
#define FEW LT_RANGE_CLOSED(1, 1000)
#define NONE_OR_FEW LT_RANGE_CLOSED(0, 1000)

#define GRF_PARAMS NUMBER("length_scale", 0.1, POSITIVE), NUMBER("variance", 1, POSITIVE)
#define STRUCTURED_PARAMS COUNT("num_structures", 5, NONE_OR_FEW), ALL_OF("structure_types", structures, 3)

static const lt_field_param grf[] = { GRF_PARAMS };
static const lt_field_param multiscale[] = {
    { .name = "scales", .kind = LT_FIELD_REALS, .range = POSITIVE, .n_defaults = 5, .defaults = { 0.02, 0.05, 0.1, 0.2, 0.4 } },
    NUMBER("variance", 1, POSITIVE) };
static const lt_field_param heavy[] = { NUMBER("alpha", 1.5, ANY), NUMBER("variance", 1, POSITIVE) };
static const lt_field_param structured[] = { STRUCTURED_PARAMS };
static const lt_field_param localized[] = { COUNT("num_blobs", 5, NONE_OR_FEW), NUMBER("min_width", 5, POSITIVE), NUMBER("max_width", 15, POSITIVE) };
static const lt_field_param composite[] = { ONE_OF("pattern", composites), NUMBER("noise_level", 0.1, NOT_NEGATIVE), NUMBER("grf_length_scale", 0.05, POSITIVE) };
static const lt_field_param mixed[] = { GRF_PARAMS, STRUCTURED_PARAMS };
static const lt_field_param quantum[] = { NUMBER("sigma", 10, POSITIVE), PAIR("momentum_range", 0.1, 0.5, ANY), COUNT("num_packets", 1, FEW) };
static const lt_field_param turing[] = { ONE_OF("pattern_type", turings), NUMBER("wavelength", 16, POSITIVE), NUMBER("perturbation_amplitude", 0.1, NOT_NEGATIVE) };
static const lt_field_param thermal[] = {
    ONE_OF("gradient_direction", directions), PAIR("temperature_range", 0, 1, ANY), NUMBER("beta", 1, POSITIVE),
    NUMBER("thermal_noise_amplitude", 0.1, NOT_NEGATIVE), NUMBER("thermal_length_scale", 5, POSITIVE) };
static const lt_field_param morphogen[] = {
    NUMBER("decay_length", 20, POSITIVE), COUNT("num_sources", 1, FEW), NUMBER("noise_level", 0.05, NOT_NEGATIVE), ONE_OF("gradient_type", gradients) };
static const lt_field_param front[] = { ONE_OF("front_shape", fronts), NUMBER("front_width", 3, POSITIVE), COUNT("num_fronts", 1, FEW) };
static const lt_field_param cone[] = {
    NUMBER("cone_radius", 20, POSITIVE), NUMBER("smoothing", 2, POSITIVE), NUMBER("interior_length_scale", 5, POSITIVE), COUNT("num_cones", 1, FEW) };
static const lt_field_param critical[] = { NUMBER("correlation_length", 15, POSITIVE), NUMBER("eta", 0.04, ANY) };
static const lt_field_param boundary[] = { NUMBER("interface_width", 3, POSITIVE), MAYBE("interface_angle", ANY), NUMBER("fluctuation_amplitude", 0.1, NOT_NEGATIVE) };
static const lt_field_param bz[] = {
    ONE_OF("pattern_type", bz_patterns), COUNT("num_spirals", 1, FEW), NUMBER("wavelength", 16, POSITIVE), NUMBER("phase_offset", 0, ANY) };
static const lt_field_param shannon[] = { ONE_OF("entropy_pattern", entropies), PAIR("entropy_range", 0.1, 1, ANY), NUMBER("patch_size", 8, POSITIVE) };
static const lt_field_param interference[] = {
    COUNT("num_sources", 2, FEW), NUMBER("wavelength", 16, POSITIVE), NUMBER("coherence_length", 100, POSITIVE), MAYBE("source_spacing", NOT_NEGATIVE) };
static const lt_field_param cells[] = {
    COUNT("num_cells", 50, NONE_OR_FEW), NUMBER("cell_radius", 3, NOT_NEGATIVE), NUMBER("clustering_strength", 0.5, UNIT), NUMBER("kernel_width", 5, POSITIVE) };
static const lt_field_param chromatin[] = {
    COUNT("num_domains", 5, FEW), PAIR("domain_size_range", 10, 30, POSITIVE), NUMBER("boundary_sharpness", 3, POSITIVE), ONE_OF("compartment_type", compartments) };
static const lt_field_param shock[] = {
    MAYBE("shock_position", ANY), MAYBE("shock_angle", ANY), NUMBER("shock_width", 2, POSITIVE), NUMBER("amplitude_ratio", 2, ANY),
    NUMBER("fluctuation_amplitude", 0.05, NOT_NEGATIVE) };
static const lt_field_param genes[] = {
    COUNT("num_genes", 3, FEW), ALL_OF("expression_patterns", expressions, 0), NUMBER("correlation_strength", 0.3, UNIT), PAIR("expression_range", 0, 1, ANY) };
static const lt_field_param coherent[] = {
    NUMBER("alpha", 1, ANY), NUMBER("sigma", 10, POSITIVE), NUMBER("oscillation_frequency", 0.2, ANY), COUNT("num_modes", 1, FEW) };
static const lt_field_param relativistic[] = { NUMBER("velocity", 0.5, LT_RANGE_OPEN(-1, 1)), NUMBER("sigma", 10, POSITIVE), PAIR("wavenumber_range", 0.1, 0.5, ANY) };
static const lt_field_param information[] = {
    ONE_OF("correlation_pattern", correlations), NUMBER("latent_length_scale", 0.3, POSITIVE), NUMBER("local_noise_scale", 0.5, UNIT),
    COUNT("num_channels_correlated", 2, NONE_OR_FEW) };
static const lt_field_param regulatory[] = {
    ONE_OF("network_topology", topologies), COUNT("network_size", 5, LT_RANGE_CLOSED(1, 64)), NUMBER("connection_probability", 0.3, UNIT), NUMBER("spatial_decay", 0.2, POSITIVE) };
static const lt_field_param dla[] = {
    COUNT("cluster_size", 500, LT_RANGE_CLOSED(0, 100000)), ONE_OF("seed_type", seeds), NUMBER("stickiness", 1, UNIT), ONE_OF("field_type_dla", dla_fields) };
static const lt_field_param code[] = {
    ONE_OF("code_type", codes), NUMBER("code_rate", 0.5, LT_RANGE_OPEN_LO(0, 1)), COUNT("block_size", 8, FEW), NUMBER("error_rate", 0.1, UNIT) };

#define TYPE(name_, tier_, params_) { .name = name_, .tier = tier_, .n_params = (int)LT_LEN(params_), .params = params_ }
const lt_field_type_row lt_field_types[LT_FIELD_TYPE_COUNT] = {
    [LT_FIELD_GRF] = TYPE("gaussian_random_field", 0, grf),
    [LT_FIELD_MULTISCALE] = TYPE("multiscale_grf", 0, multiscale),
    [LT_FIELD_HEAVY_TAILED] = TYPE("heavy_tailed", 0, heavy),
    [LT_FIELD_STRUCTURED] = TYPE("structured", 0, structured),
    [LT_FIELD_LOCALIZED] = TYPE("localized", 0, localized),
    [LT_FIELD_COMPOSITE] = TYPE("composite", 0, composite),
    [LT_FIELD_MIXED] = TYPE("mixed", 0, mixed),
    [LT_FIELD_QUANTUM_PACKET] = TYPE("quantum_wave_packet", 1, quantum),
    [LT_FIELD_TURING] = TYPE("turing_pattern", 1, turing),
    [LT_FIELD_THERMAL] = TYPE("thermal_gradient", 1, thermal),
    [LT_FIELD_MORPHOGEN] = TYPE("morphogen_gradient", 1, morphogen),
    [LT_FIELD_REACTION_FRONT] = TYPE("reaction_front", 1, front),
    [LT_FIELD_LIGHT_CONE] = TYPE("light_cone", 2, cone),
    [LT_FIELD_CRITICAL] = TYPE("critical_fluctuation", 2, critical),
    [LT_FIELD_PHASE_BOUNDARY] = TYPE("phase_boundary", 2, boundary),
    [LT_FIELD_BZ] = TYPE("bz_reaction", 2, bz),
    [LT_FIELD_SHANNON] = TYPE("shannon_entropy", 2, shannon),
    [LT_FIELD_INTERFERENCE] = TYPE("interference_pattern", 3, interference),
    [LT_FIELD_CELLS] = TYPE("cell_population", 3, cells),
    [LT_FIELD_CHROMATIN] = TYPE("chromatin_domain", 3, chromatin),
    [LT_FIELD_SHOCK] = TYPE("shock_front", 3, shock),
    [LT_FIELD_GENES] = TYPE("gene_expression", 3, genes),
    [LT_FIELD_COHERENT] = TYPE("coherent_state", 4, coherent),
    [LT_FIELD_RELATIVISTIC] = TYPE("relativistic_wave_packet", 4, relativistic),
    [LT_FIELD_MUTUAL_INFORMATION] = TYPE("mutual_information", 4, information),
    [LT_FIELD_REGULATORY] = TYPE("regulatory_network", 4, regulatory),
    [LT_FIELD_DLA] = TYPE("dla_cluster", 4, dla),
    [LT_FIELD_CODE] = TYPE("error_correcting_code", 4, code),
};

const char *const lt_field_tier_names[] = { "baseline", "tier1", "tier2", "tier3", "tier4", NULL };
const char *const lt_field_method_names[] = {
    "sampled", "random", "gaussian_random_field", "multiscale_grf", "heavy_tailed", "structured", "localized", "composite", "mixed",
    "quantum_wave_packet", "turing_pattern", "thermal_gradient", "morphogen_gradient", "reaction_front",
    "light_cone", "critical_fluctuation", "phase_boundary", "bz_reaction", "shannon_entropy",
    "interference_pattern", "cell_population", "chromatin_domain", "shock_front", "gene_expression",
    "coherent_state", "relativistic_wave_packet", "mutual_information", "regulatory_network", "dla_cluster", "error_correcting_code", NULL,
};
_Static_assert(LT_LEN(lt_field_method_names) == LT_METHOD_FIRST_TYPE + LT_FIELD_TYPE_COUNT + 1, "one method per type");

/* ---- Aliases ----------------------------------------------------------------------- */
/* Length of the name before _v<digits>, _low, _mid or _high. */
static size_t base_length(const char *alias)
{
    static const char *const suffixes[] = { "_low", "_mid", "_high" };
    size_t n = strlen(alias), digits = n;
    for (size_t i = 0; i < LT_LEN(suffixes); i++) {
        size_t m = strlen(suffixes[i]);
        if (n > m && !strcmp(alias + n - m, suffixes[i])) return n - m;
    }
    while (digits > 0 && isdigit((unsigned char)alias[digits - 1])) digits--;
    return digits < n && digits > 2 && alias[digits - 1] == 'v' && alias[digits - 2] == '_' ? digits - 2 : n;
}

bool lt_field_type_find(const char *alias, lt_field_type *out)
{
    size_t n = base_length(alias);
    for (int t = 0; t < LT_FIELD_TYPE_COUNT; t++)
        if (strlen(lt_field_types[t].name) == n && !memcmp(alias, lt_field_types[t].name, n)) {
            *out = (lt_field_type)t;
            return true;
        }
    *out = LT_FIELD_GRF;
    return n == 6 && !memcmp(alias, "random", 6);
}

void lt_field_recipe_default(lt_field_type type, const char *alias, lt_field_recipe *out)
{
    *out = (lt_field_recipe){ .alias = alias, .type = type };
    for (int i = 0; i < lt_field_types[type].n_params; i++) {
        const lt_field_param *p = &lt_field_types[type].params[i];
        out->value[i].n = p->n_defaults;
        memcpy(out->value[i].item, p->defaults, (size_t)p->n_defaults * sizeof p->defaults[0]);
    }
}

const char *lt_field_type_nearest(const char *name)
{
    char base[64];
    snprintf(base, sizeof base, "%.*s", (int)base_length(name), name);
    return lt_text_nearest(base, lt_field_method_names + LT_METHOD_RANDOM, LT_FIELD_TYPE_COUNT + 1);
}

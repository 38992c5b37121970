/* Programs of other versions: structs that begin with their size, smaller, larger or never begun. Linked as any program links the
   library; public headers only. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "lathe/lathe.h"

/* As an older program has it: the fields before `field`, and behind them what is not the library's to read or write. */
#define OLDER(type, field) offsetof(type, field)

LT_TEST(defaults_have_the_size_of_this_program)
{
#define X(type, defaults) LT_CHECK_EQ_INT((defaults).size, sizeof(type))
    X(lt_gram_options, lt_gram_defaults());
    X(lt_qsvm_options, lt_qsvm_defaults());
    X(lt_generate_options, lt_generate_defaults());
    X(lt_replay_options, lt_replay_defaults());
    X(lt_validate_options, lt_validate_defaults());
    X(lt_extract_options, lt_extract_defaults());
    X(lt_movie_options, lt_movie_defaults());
    X(lt_feature_picture_options, lt_feature_picture_defaults());
    X(lt_dataset_overrides, lt_dataset_overrides_defaults());
    X(lt_field_gallery, lt_field_gallery_defaults());
    X(lt_conv_options, lt_conv_defaults());
    X(lt_compile_options, lt_compile_defaults());
    X(lt_function_options, lt_function_defaults());
    X(lt_operator_spec, lt_operator_defaults(LT_OPERATOR_CNN));
    X(lt_rollout_options, lt_rollout_defaults());
    X(lt_qp_options, lt_qp_defaults());
    X(lt_trace_options, lt_trace_defaults());
    X(lt_tuner_options, lt_tuner_defaults());
    X(lt_plot, lt_plot_defaults());
    X(lt_heatmap, lt_heatmap_defaults());
    X(lt_map_options, lt_map_defaults());
    X(lt_similarity_options, lt_similarity_defaults());
    X(lt_ampl_answer, lt_ampl_answer_defaults());
#undef X
}

LT_TEST(options_of_an_older_program_end_where_they_ended)
{
    const double w[4] = { 0.1, 0.2, 0.3, 0.4 };
    lt_gram *g;
    lt_gram_options opt = lt_gram_defaults();
    opt.size = OLDER(lt_gram_options, streams);
    opt.tile_size = 64;
    opt.streams = -7; /* nonsense, which a program of today would be refused for */
    LT_CHECK_OK(lt_gram_create(NULL, &opt, &(lt_weights){ w, 2, 2 }, &g));
    lt_gram_destroy(g);
    opt.size = sizeof opt;
    LT_CHECK_FAILS(lt_gram_create(NULL, &opt, &(lt_weights){ w, 2, 2 }, &g), LT_ERR_ARGUMENT, "'streams' is '-7'");
    LT_CHECK(lt_error_get_place().kind == LT_PLACE_OPTION && !strcmp(lt_error_get_place().name, "streams"));
}

LT_TEST(options_inside_options_have_sizes_of_their_own)
{
    lt_qsvm_options opt = lt_qsvm_defaults();
    lt_gram_options gram = lt_gram_defaults();
    lt_qsvm *q;
    gram.size = OLDER(lt_gram_options, streams);
    gram.streams = -7;
    opt.gram = &gram;
    LT_CHECK_OK(lt_qsvm_create(NULL, &opt, &q));
    lt_qsvm_destroy(q);
    gram.size = 0;
    LT_CHECK_FAILS(lt_qsvm_create(NULL, &opt, &q), LT_ERR_ARGUMENT, "lt_gram_options: its size is 0");
}

LT_TEST(structs_that_were_never_begun_or_are_newer_are_refused_by_name)
{
    lt_tuner *t;
    lt_tuner_options opt = lt_tuner_defaults();
    opt.size = 0;
    LT_CHECK_FAILS(lt_tuner_create(&opt, &t), LT_ERR_ARGUMENT, "lt_tuner_options: its size is 0");
    lt_error_place p = lt_error_get_place();
    LT_CHECK(p.kind == LT_PLACE_ARGUMENT && !strcmp(p.name, "lt_tuner_options"));
    opt.size = sizeof opt + 8;
    LT_CHECK_FAILS(lt_tuner_create(&opt, &t), LT_ERR_ARGUMENT, "lt_tuner_options");
    LT_CHECK(strstr(lt_error_text(), "newer"));
    lt_device_info info = { .size = sizeof info + 8 };
    LT_CHECK_FAILS(lt_device_list(0, &info), LT_ERR_ARGUMENT, "lt_device_info");
}

LT_TEST(information_ends_where_an_older_program_has_room)
{
    lt_device_info info = { .size = OLDER(lt_device_info, driver) };
    memset((char *)&info + info.size, 0x5a, sizeof info - info.size);
    LT_CHECK_OK(lt_device_list(0, &info));
    LT_CHECK(!strcmp(info.id, "cpu") && info.name[0]);
    for (size_t i = info.size; i < sizeof info; i++) LT_CHECK(((const unsigned char *)&info)[i] == 0x5a);
}

LT_TEST(information_a_newer_program_knows_is_zero)
{
    struct { lt_error_place known; long newer; } place = { .known.size = sizeof place, .newer = 5 };
    lt_error_get_place_into(&place.known);
    LT_CHECK_EQ_INT(place.newer, 0);
}

/* ---- option tables of the library inside those of a program ---- */

typedef struct program { int64_t seed; lt_gram_options gram; } program;
static const lt_option own[] = { LT_OPTION_INT(program, seed, "jitter", "3", LT_RANGE_ANY, "N", "a row of the program's own") };
static const lt_option_group groups[] = {
    { .rows = own, .n_rows = 1 },
    { .title = "Kernel", LT_OPTIONS_OF(program, gram, lt_gram_options_table), .except = "jitter" },
};
static const lt_option_table table = { .program = "p", .groups = groups, .n_groups = 2 };

LT_TEST(tables_hold_options_of_the_library_as_far_as_the_program_knows_them)
{
    program p = { 0 };
    size_t base;
    LT_CHECK_OK(lt_options_defaults(&table, &p));
    LT_CHECK(p.seed == 3 && p.gram.size == sizeof p.gram && p.gram.tile_size == lt_gram_defaults().tile_size);
    LT_CHECK_OK(lt_options_set(&table, "tile-size", "32", &p));
    LT_CHECK_EQ_INT(p.gram.tile_size, 32);
    LT_CHECK(lt_options_find(&table, "jitter", &base) == &own[0]);
    lt_option_group older = groups[1];
    older.size = OLDER(lt_gram_options, streams);
    const lt_option_table shorter = { .program = "p", .groups = &older, .n_groups = 1 };
    LT_CHECK(lt_options_find(&shorter, "tile-size", &base) && !lt_options_find(&shorter, "streams", &base));
    int n = 0;
    while (lt_option_group_row(&groups[1], n)) n++;
    LT_CHECK_EQ_INT(n, lt_gram_options_table()->groups[0].n_rows - 1);
}

/* ---- places ---- */

static lt_status evaluate(void *ctx, const double *x, const lt_outputs *out)
{
    (void)ctx;
    if (out->f) *out->f = x[0];
    if (out->grad_f) *out->grad_f = 1;
    for (int i = 0; out->ci && i < 3; i++) out->ci[i] = i == 2 ? NAN : 0;
    for (int i = 0; out->grad_ci && i < 3; i++) out->grad_ci[i] = 0;
    return LT_OK;
}

LT_TEST(failures_say_where_they_lie)
{
    lt_problem *p;
    lt_solution *s;
    LT_CHECK_OK(lt_problem_from_function(1, 3, 0, evaluate, NULL, &p));
    LT_CHECK_FAILS(lt_solve(p, NULL, &s), LT_ERR_NUMERIC, "inequality constraint 2");
    lt_error_place place = lt_error_get_place();
    LT_CHECK(place.kind == LT_PLACE_INEQUALITY && place.index == 2);
    lt_problem_destroy(p);

    static const char text[] = "var x[2] = 1\nminimize asb(x[0])\n";
    lt_model *m;
    LT_CHECK_FAILS(lt_model_parse("bad.lt", "", text, sizeof text - 1, &m), LT_ERR_FORMAT, "asb");
    place = lt_error_get_place();
    LT_CHECK(place.kind == LT_PLACE_LINE && place.line == 2 && place.column == 10 && !strcmp(place.name, "bad.lt"));
    lt_model_destroy(m);

    const double w[2] = { 0, 0 }, x[4] = { 1, 2, 3, INFINITY };
    double K[4];
    lt_gram *g;
    LT_CHECK_OK(lt_gram_create(NULL, NULL, &(lt_weights){ w, 1, 2 }, &g));
    LT_CHECK_FAILS(lt_gram_fill(g, &(lt_rows){ x, LT_F64, 2, 2, 0 }, NULL, K), LT_ERR_ARGUMENT, "row 1, column 1");
    place = lt_error_get_place();
    LT_CHECK(place.kind == LT_PLACE_ROW && place.index == 1 && place.column == 1 && !strcmp(place.name, "X"));
    lt_gram_destroy(g);

    LT_CHECK_FAILS(lt_device_open("nosuch", &(lt_device *){ NULL }), LT_ERR_ARGUMENT, "nosuch");
    LT_CHECK(lt_error_get_place().kind == LT_PLACE_NONE); /* those before are forgotten */
}

LT_TEST_MAIN()

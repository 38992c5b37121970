/* Fuzz target: any bytes as a problem, read and, when it is good, described. With small limits, so that
   one input takes little time. SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz.h"

#include "base/alloc.h"
#include "lathe/problem.h"
#include "optimize/language/reader.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static const lt_limits limits = { .elements = 4000, .steps = 3000, .nodes = 2000, .copies = 20, .calls = 20 };
    static const char warm_up[] = "data A = ones(2, 2) @ ones(2, 2)\nvar x\nminimize x";
    lt_model *m = NULL;
    static bool warm;
    if (!warm && lt_model_parse_limited("w.lt", NULL, warm_up, sizeof warm_up - 1, &limits, &m)) abort(); /* opens the device */
    warm = true;
    lt_model_destroy(m);
    char *text = malloc(n_bytes + 1); /* exactly as long as it is: an overrun is seen */
    if (!text) return 0;
    if (n_bytes) memcpy(text, data, n_bytes);
    int64_t live = lt_alloc_live();
    lt_status s = lt_model_parse_limited("f.lt", NULL, text, n_bytes, &limits, &m);
    LT_FUZZ_REQUIRE(s == LT_OK || s == LT_ERR_FORMAT);
    LT_FUZZ_REQUIRE(m && (lt_model_error_count(m) > 0) == (s == LT_ERR_FORMAT) && lt_model_error_count(m) <= 20);
    lt_model_view v = lt_model_get(m);
    LT_FUZZ_REQUIRE((v.graph != NULL) == (s == LT_OK));
    if (s == LT_OK) {
        int64_t n = 0;
        LT_FUZZ_REQUIRE(lt_graph_status(v.graph) == LT_OK && !lt_is_none(v.f) && v.n > 0);
        for (int i = 0; i < v.n_constraints; i++) n += v.constraints[i].count;
        LT_FUZZ_REQUIRE(n == v.p + v.q && (v.p > 0) == !lt_is_none(v.ci) && (v.q > 0) == !lt_is_none(v.ce));
        LT_FUZZ_REQUIRE(lt_shape_count(&(lt_shape){ 1, { v.n } }) == v.n);
        FILE *nowhere = fopen("/dev/null", "w");
        if (nowhere) {
            LT_FUZZ_REQUIRE(lt_model_describe(m, nowhere) == LT_OK);
            fclose(nowhere);
        }
    } else {
        const char *messages = lt_model_messages(m);
        LT_FUZZ_REQUIRE(strstr(messages, ": error: ") && messages[strlen(messages) - 1] == '\n');
        /* The graph's own words and places never reach the user (unless they stand in the text). */
        LT_FUZZ_REQUIRE(!strstr(messages, "is none") || memmem(text, n_bytes, "is none", 7));
        LT_FUZZ_REQUIRE(!strstr(messages, ".c:") || memmem(text, n_bytes, "c:", 2)); /* a line cut in front of "c:" shows "...c:" */
    }
    lt_model_destroy(m);
    LT_FUZZ_REQUIRE(lt_alloc_live() == live);
    free(text);
    return 0;
}

size_t lt_fuzz_seed(int index, uint8_t *out, size_t capacity)
{
    static const char *const seeds[] = {
        "var x[2] = [1, 1]\nminimize 8*abs(x[0]^2 - x[1]) + (1 - x[0])^2\nsubject to\n  sqrt(2)*x[0] <= 1\n  cap: 2*x[1] <= 1\n",
        "rng g = mt19937(0)\ndata R = normal(4, 4, rng=g)\nlet A = (R + R')/2\nvar x[4] = normal(4, rng=g)\nminimize -x' @ A @ x\nsubject to\n  x' @ x == 1\noption mu0 = 0.1\n",
        "var M[3, 4] = 0.2\nminimize norm(M, \"nuc\") + 0.05*sum(abs(M), axis=0)[1]\nsubject to\n  -1 <= M[1:, :-1] <= inf\n",
        "fn model(t) = x[0]*exp(-x[1]*t) + x[2]\ndata t = linspace(0, 1, 21)\nvar x[3] = [1, 1, 0]\nminimize max([abs(model(t[i]) - t[i]) for i in 0:21])\n",
        "data n = 9\nvar x[n] = [i/n for i in 0:n]\nmaximize sum([x[i + 1]*x[n - 1 - i] for i in 0:n - 1])\nsubject to\n [sum([x[i + j] for j in 0:3]) for i in 0:n - 3] >= -1\n",
        "\xef\xbb\xbfvar x # \xff\r\nlet y = [[x, 2], [3, +\n 4]]\r\nminimize det(y) + trace(inv(y)) + sum(eigvals_re(y)) + reshape(y, -1)[2]\n",
        "data y = csv(\"data/iris100.csv\", column=4)\nvar w = 1\nminimize sum(log(1 + exp(-y*w))) + where(gt(w, 0), w, -w) + topk(y, 3)[0]\n",
        "var k[2, 1, 3, 3]\nvar b[2]\nlet z = maxpool2d(relu(conv2d(ones(1, 1, 6, 6), k, b, stride=1, padding=[1, 1])), 2)\nminimize cross_entropy(reshape(z, 2, 9), [1, 8])\n",
        "var x = 1\nminimize sum([det([[x, i], [j, 1]]) for i in 0:2 for j in 0:3:2]) + gather([x, 2], [1, 0])[0] + split(pad([x, x], 1), 2)[1, 0]\n",
        "minimize x < 1\nvar x[ = (2 3\nfn f(f) = f(f)\nsubject to\n a: 1 >= 2\n b == \"c\\\"\n",
    };
    if (index >= (int)(sizeof seeds / sizeof *seeds)) return 0;
    size_t n = strlen(seeds[index]);
    if (n > capacity) return 0;
    memcpy(out, seeds[index], n);
    return n;
}

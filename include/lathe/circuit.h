/* Circuits: gates whose angles are expressions of the features x[i] and weights w[j]; named maps; OpenQASM; their states and kernels.
   SPDX-License-Identifier: BSD-3-Clause

       lt_circuit *c;
       lt_map_options map = lt_map_defaults();
       map.n_features = 4;
       lt_circuit_from_map("zz(reps=2, entanglement=linear)", &map, &c);
       lt_gram *g;
       lt_gram_options opt = lt_gram_defaults();
       lt_gram_create_circuit(NULL, &opt, NULL, c, NULL, 0, &g);
       lt_gram_fill(g, &(lt_rows){ x, LT_F64, n, 4, 0 }, NULL, K);
       lt_gram_destroy(g);
       lt_circuit_destroy(c);

   Wire 0 is the most significant bit of a state's index. */
#ifndef LATHE_CIRCUIT_H
#define LATHE_CIRCUIT_H

#include "lathe/gram.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { LT_CIRCUIT_MAX_QUBITS = 4096, LT_CIRCUIT_MAX_GATES = 1000000, LT_CIRCUIT_MAX_CONTROLS = 8, LT_CIRCUIT_MAX_MATRIX_QUBITS = 4 };

typedef struct lt_circuit lt_circuit; /* opaque; built by one thread, then shared by any */

/* ---- Making circuits ------------------------------------------------------------- */
/* Without gates. */
LT_API lt_status lt_circuit_create(int64_t n_qubits, int64_t n_features, int64_t n_weights, lt_circuit **out);
LT_API void      lt_circuit_destroy(lt_circuit *c); /* NULL is allowed */

/* Appends a gate: "RX", "CZ", "MultiRZ", … (docs/circuits.md lists them). Angles are texts: "2*(pi - x[0])*(pi - x[1])". */
LT_API lt_status lt_circuit_gate(lt_circuit *c, const char *name, const int *wires, int n_wires, const char *const *angles, int n_angles);
/* exp(-i angle/2 P), P the product of the letters X, Y, Z, I of word, one for each wire. */
LT_API lt_status lt_circuit_pauli(lt_circuit *c, const char *word, const char *angle, const int *wires, int n_wires);
/* A matrix of 2^n_wires by 2^n_wires complex numbers (real, imaginary), row major; the first wire is the most significant bit. */
LT_API lt_status lt_circuit_unitary(lt_circuit *c, const double *matrix, const int *wires, int n_wires);

typedef struct lt_map_options { /* plain data; start from lt_map_defaults() */
    size_t  size;
    int64_t n_features;         /* columns of X */
    int64_t n_layers;           /* where the text names none: that of the weights; 0 = 1 */
} lt_map_options;
LT_API void lt_map_defaults_into(lt_map_options *out);
static inline lt_map_options lt_map_defaults(void) { lt_map_options sized; sized.size = sizeof sized; lt_map_defaults_into(&sized); return sized; }
/* "zz", "pauli(paulis=[Z, ZZ], alpha=2)", … */
LT_API lt_status lt_circuit_from_map(const char *text, const lt_map_options *opt, lt_circuit **out);

/* OpenQASM 3 or 2, n_bytes of it; name stands in messages ("circuit.qasm"). LT_ERR_FORMAT names line and column. */
LT_API lt_status lt_circuit_from_qasm(const char *text, size_t n_bytes, const char *name, lt_circuit **out);
/* OpenQASM 3; *text is to be released with lt_circuit_text_free. */
LT_API lt_status lt_circuit_to_qasm(const lt_circuit *c, char **text);
LT_API void      lt_circuit_text_free(char *text); /* NULL is allowed */
/* The same of a file, which is replaced whole. */
LT_API lt_status lt_circuit_read(const char *path, lt_circuit **out);
LT_API lt_status lt_circuit_write(const lt_circuit *c, const char *path);

typedef struct lt_circuit_info {
    size_t   size;
    int64_t  n_qubits, n_features, n_weights, n_gates;
    lt_shape weights;           /* as the map lays them out; [n_weights] of other circuits; rank 0 = none */
    int64_t  n_with_features, n_with_weights; /* gates whose angles hold x, or w */
    bool     amplitudes;        /* the state begins as x itself */
} lt_circuit_info;
LT_API void lt_circuit_describe_into(const lt_circuit *c, lt_circuit_info *out);
static inline lt_circuit_info lt_circuit_describe(const lt_circuit *c) { lt_circuit_info sized; sized.size = sizeof sized; lt_circuit_describe_into(c, &sized); return sized; }

/* All amplitudes for each row: out (x->n, 2^n_qubits), complex numbers of LT_GRAM_FLOAT64 or LT_GRAM_FLOAT32. Global phases are kept. */
LT_API lt_status lt_circuit_states(const lt_circuit *c, const double *weights, int64_t n_weights, const lt_rows *x, lt_gram_float type, void *out);

/* ---- Kernels of states --------------------------------------------------------------- */
typedef enum lt_similarity {
    LT_SIMILARITY_FIDELITY,     /* |<phi(x), phi(y)>|^2 */
    LT_SIMILARITY_PROJECTED,    /* exp(-gamma sum_k |rho_k(x) - rho_k(y)|_F^2) of the one-qubit reduced states */
    LT_SIMILARITY_REAL,         /* Re <phi(x), phi(y)> */
    LT_SIMILARITY_COUNT
} lt_similarity;
LT_API const char *lt_similarity_name(lt_similarity s); /* "fidelity"; "?" when out of range */

typedef struct lt_similarity_options { /* plain data; start from lt_similarity_defaults() */
    size_t        size;
    lt_similarity kind;
    double        gamma;        /* of projected; 0 = 1 / (q median), the median over pairs of rows of X of the sum above */
    int64_t       shots;        /* each entry a binomial mean of this many draws; 0 = exact */
    int64_t       seed;         /* of the draws */
    double        depolarizing; /* p: (1 - p) K + p / 2^q, before the draws; fidelity only */
} lt_similarity_options;
LT_API void lt_similarity_defaults_into(lt_similarity_options *out);
static inline lt_similarity_options lt_similarity_defaults(void) { lt_similarity_options sized; sized.size = sizeof sized; lt_similarity_defaults_into(&sized); return sized; }
LT_API const lt_option_table *lt_similarity_options_table(void); /* all but the seed */

/* A Gram handle of any circuit. options.embed_mode, angle_scale, re_embed_between_layers and entangler are not used.
   similarity NULL: fidelity. The circuit and the weights are copied. */
LT_API lt_status lt_gram_create_circuit(lt_device *dev, const lt_gram_options *opt, const lt_similarity_options *similarity, const lt_circuit *c,
                                        const double *weights, int64_t n_weights, lt_gram **out);
/* The same on several devices with memory of their own, which share the rows of K as they finish (lt_gram_create_on). */
LT_API lt_status lt_gram_create_circuit_on(lt_device *const *devices, int n_devices, const lt_gram_options *opt, const lt_similarity_options *similarity,
                                           const lt_circuit *c, const double *weights, int64_t n_weights, lt_gram **out);
/* Other weights for the same circuit; copied. */
LT_API lt_status lt_gram_set_weights(lt_gram *g, const double *weights, int64_t n_weights);

/* sum_ij loss_ij dK_ij by the weights (dw, n_weights; NULL where there are none) and the features (dx, x->n by columns; may be NULL): one backward sweep,
   two states per row in flight. loss: x->n by x->n, need not be symmetric. Fidelity and real kernels, without draws and noise. */
LT_API lt_status lt_gram_gradient(lt_gram *g, const lt_rows *x, const double *loss, double *dw, double *dx);

typedef enum lt_kernel_loss {
    LT_KERNEL_LOSS_ALIGNMENT,         /* -<K, T> / (|K| |T|), T_ij = 1 inside a class and -1/(classes - 1) between two */
    LT_KERNEL_LOSS_CENTRED_ALIGNMENT, /* the same of K and T centred */
    LT_KERNEL_LOSS_SVM_MARGIN,        /* the optimum of the support vector machine's dual: small where the margin is wide; two classes */
    LT_KERNEL_LOSS_COUNT
} lt_kernel_loss;
LT_API const char *lt_kernel_loss_name(lt_kernel_loss k); /* "alignment"; "?" when out of range */
/* How badly K (n by n, symmetric) fits labels, numbers of classes from 0, and its derivatives by K (n by n; may be NULL), which
   lt_gram_gradient takes further. cost: of the machine's errors; not used by alignments. */
LT_API lt_status lt_kernel_loss_evaluate(lt_kernel_loss kind, const double *K, int64_t n, const int32_t *label, double cost, double *value, double *dK);

/* As lt_gram_digest, of a circuit's kernel. */
LT_API lt_status lt_gram_digest_circuit(const lt_gram_options *opt, const lt_similarity_options *similarity, const lt_circuit *c, const double *weights,
                                        const lt_rows *x, const lt_rows *y, char text[LT_GRAM_DIGEST_BYTES]);

/* How the circuit of g was compiled and what it costs for n rows (with m rows of Y; 0: none): gates before and after, operations, bytes, method and why.
   Lines of text, cut off at `bytes`. LT_ERR_UNSUPPORTED on a device with memory of its own, which plans as it fills. */
LT_API lt_status lt_gram_explain(lt_gram *g, int64_t n, int64_t m, char *text, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif

/* Compiled programs from inside. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_GRAPH_PROGRAM_PROGRAM_H
#define LT_GRAPH_PROGRAM_PROGRAM_H

#include "device/stream.h"
#include "graph/lower/lower.h"
#include "graph/lower/planner.h"

typedef enum lt_memory_kind { LT_MEM_ARENA, LT_MEM_CONST, LT_MEM_INPUT, LT_MEM_OUTPUT } lt_memory_kind;

typedef struct lt_memory {       /* memory of one value */
    lt_memory_kind kind;
    int32_t  index;              /* interval in the arena; number of the input or output */
    size_t   offset;             /* in the constants */
    size_t   bytes;
} lt_memory;

typedef struct lt_step {
    lt_kernel *kernel;
    void     **arg;              /* pointers, the scratch pointer last */
    int        n_args;           /* without scratch */
    bool       held, packs;      /* computed once from held inputs; has an operand that is packed once */
    /* For the dump: what it computes. */
    int32_t    op;               /* lt_op of its own, or -1 */
    lt_dtype   type;
    lt_shape   shape;
    int        n_ops;
    uint8_t   *ops;              /* the fused ops in order */
} lt_step;

typedef struct lt_patch {        /* an argument that is the user's pointer plus an offset */
    int32_t step, arg, number;   /* number: input i, or -1 - j for output j */
    size_t  offset;
} lt_patch;

struct lt_program {
    lt_device  *device;
    lt_stream  *stream;
    lt_mode     mode;
    lt_arena    memory;          /* steps, arguments, patches */
    lt_step    *step;
    lt_launch  *launch;          /* the n_live steps that every run makes, in order */
    int         n_steps, n_live;
    int         n_lead;          /* launches that the lead outputs need: the first ones (decision 85) */
    bool        led;             /* they were made, and nothing has been run since */
    int         held_from;       /* inputs from here on are held; n_inputs or more: none */
    int         n_held;          /* intervals of what is computed once: the first ones */
    bool        on_device;       /* queued, never run with host pointers */
    bool        stale;           /* what follows from held inputs must be computed again */
    lt_patch   *patch;
    int         n_patches;
    int         n_inputs, n_outputs;
    const void **input;          /* what the arguments are bound to now */
    void      **output;
    bool       *needs_input;
    bool       *leads;           /* outputs that lead launches write: the lead outputs, and what is fused with them */
    size_t     *input_bytes, *output_bytes;
    void      **input_copy, **output_copy; /* devices with memory of their own: where the data is copied */
    char      **input_name;
    lt_capture *capture;
    void       *arena, *constants;
    lt_interval *interval;       /* the plan, for the dump */
    int         n_intervals;
    lt_program_info info;
};

/* The process-wide CPU device that programs use when none is given; opened on first use. */
lt_status lt_default_device(lt_device **out);

/* Queues one run on st, which belongs to the program's device, and does not wait. inputs and outputs are addresses of
   that device; on a stream that captures, the launches become part of its capture. */
lt_status lt_program_queue(lt_program *p, lt_stream *st, const void *const *inputs, void *const *outputs);
/* Queues what follows from held inputs alone, so that the next runs need not: before a capture, and whenever the
   contents of those inputs changed. For programs of lt_program_create_on_device. */
lt_status lt_program_queue_held(lt_program *p, lt_stream *st, const void *const *inputs, void *const *outputs);
/* Whether all of its work can be part of a captured sequence. */
bool      lt_program_can_capture(const lt_program *p);
/* Gives up the room for data from host memory: from now on the program is only queued. */
void      lt_program_drop_copies(lt_program *p);

/* Points the arguments at inputs and outputs and computes what follows from held inputs, unless that is computed already. */
lt_status lt_program_bind(lt_program *p, const void *const *inputs, void *const *outputs);

/* Programs of the CPU that go through their kernels together (program/abreast.c): those that gain from it read what the programs
   share once for all. p[1] to p[n - 1] are held_by p[0], n <= LT_MOST_ABREAST; the same bits as lt_program_run, one by one. */
lt_status lt_program_run_abreast(lt_program *const *p, int n, const void *const *const *inputs, void *const *const *outputs);
bool      lt_program_gains_abreast(const lt_program *p);

/* Launches [first, last) while a trace is recorded; waits for a device that works by itself (program/trace.c). */
lt_status lt_program_launch_traced(lt_program *p, int first, int last);

/* As lt_program_create, for inputs and outputs in the device's memory: the program is queued on streams and never run with host
   pointers. Held inputs (held_from) are allowed on every device. */
lt_status lt_program_create_on_device(lt_graph *g, const lt_node *outputs, int n_outputs, const lt_compile_options *opt, lt_program **out);

/* Notes the texts that such a program needs, on the device of the options, which is that of a list (device/build_list.h): nothing is
   compiled or allocated there. Other devices need no texts. */
lt_status lt_program_note_texts(lt_graph *g, const lt_node *outputs, int n_outputs, const lt_compile_options *opt);

/* The same of a module (texts.c), whose IR may be changed. */
lt_status lt_program_build_texts(lt_module *m, const lt_compile_options *opt);

/* Compiles a module (compile.c); the module's IR may be changed. */
lt_status lt_program_build(lt_program *p, lt_module *m, const lt_compile_options *opt);

#endif

/* Inside of the OpenQASM reader. SPDX-License-Identifier: BSD-3-Clause

   Statements are carried out while they are read: a gate call appends to the circuit. Bodies of gates and loops are read again each
   time, from where their text begins. Modifiers act on what a call has appended: ctrl adds wires to it, inv turns it round. */
#ifndef LT_QKERNEL_QASM_READER_H
#define LT_QKERNEL_QASM_READER_H

#include "qkernel/circuit/circuit.h"

enum { LT_QASM_MAX_STEPS = 8000000, LT_QASM_MAX_OPERANDS = 64, LT_QASM_MAX_PARAMETERS = 16, LT_QASM_MAX_DEPTH = 100 };

typedef struct lt_qasm_name { const char *text; int length; } lt_qasm_name;

/* Qubits under a name: a register, or an alias of parts of some. first, n: in the reader's list of wires. */
typedef struct lt_qasm_register { lt_qasm_name name; int64_t first, n; bool classical; } lt_qasm_register;

/* A number, an angle or an input under its name. */
typedef struct lt_qasm_symbol {
    lt_qasm_name name;
    int32_t node;         /* of the circuit's expressions; -1: an array */
    lt_expr_op leaf;      /* of arrays: LT_EXPR_X or LT_EXPR_W; LT_EXPR_NUMBER: of values */
    int64_t first, n;     /* of arrays: inputs first..first+n-1, or entries of the reader's list of elements */
} lt_qasm_symbol;

typedef struct lt_qasm_gate {
    lt_qasm_name name;
    lt_script    body;    /* as it stands before the first word of the body */
    lt_qasm_name parameter[LT_QASM_MAX_PARAMETERS], operand[LT_QASM_MAX_OPERANDS];
    int          n_parameters, n_operands;
    bool         library; /* from an include: a program may have its own of this name */
} lt_qasm_gate;

typedef struct lt_qasm_input { lt_qasm_name name; bool weight; int32_t number; } lt_qasm_input; /* number: at the end of a scalar's name; -1 = none */

typedef struct lt_qasm {
    lt_script   s;
    lt_circuit *c;
    int         version;  /* 2 or 3 */
    bool        standard; /* the standard gates were included */
    int         depth;    /* of calls */
    int64_t     n_steps;
    bool        in_library; /* the text of an include is being read */
    lt_qasm_register *registers; int64_t n_registers, register_capacity;
    int32_t          *wire;      int64_t n_wires, wire_capacity;       /* qubits of registers and aliases, one after the other */
    int32_t          *physical;  /* (LT_CIRCUIT_MAX_QUBITS): the qubit of each $0, $1, …; -1: not met yet; NULL: none met */
    int32_t          *element;   int64_t n_elements, element_capacity; /* values of arrays: expressions */
    lt_qasm_symbol   *symbol;    int64_t n_symbols, symbol_capacity;
    int64_t           n_globals, frame; /* symbols seen from inside a gate: the globals and those from frame on */
    lt_qasm_gate     *gate;      int64_t n_gates, gate_capacity;
    int64_t           visible;   /* gates that may be called: those defined before the one at hand */
    lt_qasm_input    *input;     int64_t n_inputs, input_capacity;
    const lt_qasm_gate *inside;  /* the gate whose body is being read; NULL = none */
    const int32_t    *operand;   /* its wires */
} lt_qasm;

/* The gates of an include, as a text of this language; NULL: no such file (library.c). */
const char *lt_qasm_library(const lt_script_word *file);

lt_status lt_qasm_grow(void *list, int64_t n, int64_t *capacity, size_t element);
bool      lt_qasm_same(lt_qasm_name a, const lt_script_word *w);
lt_qasm_name lt_qasm_name_of(const lt_script_word *w);
/* The failure of a lower layer, with the place of this word. */
lt_status lt_qasm_blame(const lt_qasm *r, const lt_script_word *at, lt_status s);

/* Angles and whole numbers (values.c). */
lt_status lt_qasm_angle(lt_qasm *r, int32_t *node);
lt_status lt_qasm_whole(lt_qasm *r, const char *what, int64_t *out);
lt_status lt_qasm_define(lt_qasm *r, lt_qasm_symbol symbol);

/* Statements (statements.c): until the sign '}' or the end. */
lt_status lt_qasm_statements(lt_qasm *r);
/* Qubits, for a call or an alias (wires.c): those of a register, of a part of one, or a physical one. */
typedef struct lt_qasm_operand { int64_t first, n, step; int32_t wire; } lt_qasm_operand; /* wire: the only one; -1: entries first, first + step, … of the list */
lt_status lt_qasm_operand_read(lt_qasm *r, lt_qasm_operand *o);
int32_t   lt_qasm_operand_wire(const lt_qasm *r, const lt_qasm_operand *o, int64_t i);
lt_status lt_qasm_add_wire(lt_qasm *r, int32_t qubit);
/* Physical qubits that were met, in the order of their numbers. */
void      lt_qasm_sort_physical(lt_qasm *r);

/* Gates (calls.c): a definition, behind the word gate; a call, at its first word. */
lt_status lt_qasm_definition(lt_qasm *r);
lt_status lt_qasm_call(lt_qasm *r);

#endif

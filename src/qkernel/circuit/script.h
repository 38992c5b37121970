/* Words of circuit texts: maps, angles and OpenQASM are cut the same way, and every complaint names line and column.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_QKERNEL_CIRCUIT_SCRIPT_H
#define LT_QKERNEL_CIRCUIT_SCRIPT_H

#include "lathe/base.h"

typedef enum lt_script_word_kind { LT_SCRIPT_END, LT_SCRIPT_NAME, LT_SCRIPT_NUMBER, LT_SCRIPT_STRING, LT_SCRIPT_SIGN, LT_SCRIPT_BAD } lt_script_word_kind;

/* Signs of two characters, beside those of one, which are themselves. */
enum { LT_SIGN_POWER = 256 /* ** */, LT_SIGN_ARROW /* -> */, LT_SIGN_EQUAL /* == */, LT_SIGN_DOTS /* ... is three of '.' */ };

typedef struct lt_script_word {
    lt_script_word_kind kind;
    const char  *text;   /* inside the source; of a string without its quotes */
    int          length;
    int          sign;   /* a character or LT_SIGN_* */
    double       value;  /* of a number */
    bool         whole;  /* a number without point and exponent */
    int          line, column;
} lt_script_word;

typedef struct lt_script {
    const char *name;    /* "circuit.qasm", "map"; for messages */
    const char *text;
    size_t      n_bytes, at;
    int         line, column;
    int         depth;   /* of brackets and calls being read: bounded, since readers are recursive */
    lt_script_word     word;    /* the one to be looked at */
} lt_script;

enum { LT_SCRIPT_MAX_DEPTH = 200 };

/* Begins with the first word. */
void lt_script_open(lt_script *s, const char *name, const char *text, size_t n_bytes);
void lt_script_next(lt_script *s);
void lt_script_skip_line(lt_script *s); /* to the first word of the next line */

bool lt_script_word_is(const lt_script_word *w, const char *name);       /* a name, and this one */
bool lt_script_sees(const lt_script *s, int sign);          /* the word at hand is this sign */
bool lt_script_takes(lt_script *s, int sign);               /* the same, and goes on if so */
lt_status lt_script_expect(lt_script *s, int sign, const char *where); /* where: "after the angles" */
lt_status lt_script_deeper(lt_script *s);                   /* counts a level; LT_ERR_FORMAT when there are too many */

/* LT_ERR_FORMAT "name, line 3, column 7: …" about this word. */
lt_status lt_script_fail(const lt_script *s, const lt_script_word *at, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The word as one reads it in a message: its text, or "the end". */
typedef struct lt_script_word_text { char s[48]; } lt_script_word_text;
lt_script_word_text lt_script_word_str(const lt_script_word *w);

#endif

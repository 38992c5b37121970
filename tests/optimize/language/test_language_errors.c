/* Every message of the problem language, with its place; how messages look; that one mistake gives one
   message. SPDX-License-Identifier: BSD-3-Clause */
#include "language_test.h"

#include "lathe/npy.h"
#include "optimize/language/reader.h"

#include <unistd.h>

/* One error each, unless n says otherwise. "MIN" stands for a complete objective and variable. */
static const struct { const char *text, *want; int n; } rows[] = {
    /* words */
    { "var x = 2x\nminimize x", "t.lt:1:9: error: '2x' is not a number; a product needs '*', as in 2*x", 1 },
    { "var x = 1.2.3\nminimize x", "1:9: error: '1.2.3' is not a number", 1 },
    { "var x = 1e999\nminimize x", "1:9: error: the number 1e999 is too large; the largest is 1.797e308", 1 },
    { "var x = 1\nminimize x\xff", "2:11: error: byte 0xff is not UTF-8 text", 1 },
    { "var x = 1\nminimize x + \xc3(", "2:14: error: byte 0xc3 is not UTF-8 text", 1 },
    { "var x = 1\nminimize x \x01", "2:12: error: byte 0x01 is not allowed here", 1 },
    { "var x = csv(\"a\\n\")\nminimize x", "1:15: error: a string knows \\\" and \\\\ only", 1 },
    { "var x = csv(\"a\nminimize 1", "1:13: error: this string is not closed", 1 },
    { "var x = 1\nminimize x \xe2\x89\xa4 2", "2:12: error: '\xe2\x89\xa4' is not a sign of the language; use <=", 1 },
    { "var x = 1\nminimize x; x", "2:11: error: ';' is not a sign of the language; use a new line", 1 },
    { "var \xce\xbb = 1\nminimize 1", "1:5: error: '\xce\xbb' cannot stand here; names are made of a-z, A-Z, digits and _", 1 },
    { "var x = 1\nminimize x $ 2", "2:12: error: '$' is not a sign of the language", 1 },
    { "var x = 1\nminimize x**2", "2:11: error: '**' is not a sign of the language; use ^", 1 },
    /* expressions */
    { "var x = 1\nminimize (x + 1", "2:10: error: this bracket is not closed\nminimize (x + 1\n         ^\nexpected ')'", 1 },
    { "data A = [1, 2\nvar x = 1\nminimize x", "1:10: error: this bracket is not closed", 1 },
    { "var x = 1\nminimize x + * 2", "2:14: error: '*' is not expected here\nminimize x + * 2\n             ^\nexpected a number, a name, '(' or '['", 1 },
    { "var x = 1\nlet y = x +\nminimize x", "2:12: error: the end of the line is not expected here", 1 },
    { "var x = 1\nminimize (x x)", "2:13: error: 'x' is not expected here", 1 },
    { "var x = 1\nminimize [x x]", "2:13: error: 'x' is not expected here", 1 },
    { "var x = 1\nminimize x x", "2:12: error: 'x' is not expected here\nminimize x x\n           ^\nexpected an operator or the end of the line", 1 },
    { "var x = 1\nminimize sum([x for 2 in 0:3])", "2:21: error: a number is not expected here\nminimize sum([x for 2 in 0:3])\n                    ^\nexpected a name for the index", 1 },
    { "var x = 1\nminimize sum([x for i = 0:3])", "2:23: error: '=' is not expected here", 1 },
    { "var x = 1\nminimize sum([x for i in 3])", "2:27: error: ']' is not expected here", 1 },
    { "var x = 1\nminimize x <= 2", "2:12: error: a comparison is a constraint and stands after 'subject to'; masks are lt, le, gt, ge, eq", 1 },
    /* statements */
    { "var 3 = 1\nminimize 1", "1:5: error: a number is not expected here\nvar 3 = 1\n    ^\nexpected the name of the variable", 1 },
    { "var pi = 1\nminimize 1", "1:5: error: 'pi' is a keyword and cannot be a name", 1 },
    { "data A + 1\nvar x = 1\nminimize x", "1:8: error: '+' is not expected here\ndata A + 1\n       ^\nexpected '=' and an expression", 1 },
    { "var x[2\nminimize 1", "1:6: error: this bracket is not closed", 1 },
    { "var x[2 3]\nminimize 1", "1:9: error: a number is not expected here", 1 },
    { "var x = 1\nminimise x", "2:1: error: unknown statement 'minimise'; did you mean 'minimize'?", 1 },
    { "x = 1\nvar y = 1\nminimize y", "1:1: error: this is not a statement", 1 },
    { "var x = 1\nminimize x\nsubject two\n", "3:9: error: 'two' is not expected here", 1 },
    { "fn f x = 1\nvar x = 1\nminimize x", "1:6: error: 'x' is not expected here", 1 },
    { "fn f(1) = 1\nvar x = 1\nminimize x", "1:6: error: a number is not expected here\nfn f(1) = 1\n     ^\nexpected the name of a parameter", 1 },
    { "fn f(a, a) = 1\nvar x = 1\nminimize x", "1:9: error: a second parameter 'a'", 1 },
    { "fn f(a = 1\nvar x = 1\nminimize x", "1:8: error: '=' is not expected here", 1 },
    /* constraints */
    { "var x = 1\nminimize x\nsubject to\n  x < 1", "t.lt:4:3: error: '<' is not a constraint; use '<='\n  x < 1\n  ^~~\n", 1 },
    { "var x = 1\nminimize x\nsubject to\n  x > 1", "4:3: error: '>' is not a constraint; use '>='", 1 },
    { "var x = 1\nminimize x\nsubject to\n  x = 1", "4:3: error: '=' is not a constraint; use '=='", 1 },
    { "var x = 1\nminimize x\nsubject to\n  x != 1", "4:3: error: '!=' is not a constraint; use '<=' or '>=' with a margin on the side you mean", 1 },
    { "var x[2] in [[2, 0], 1] = 1\nminimize sum(x)\n", "1:1: error: x: no number lies in [2, 1] (element 0)", 1 },
    { "var x = 1\nminimize x\nsubject to\n  x in [nan, 1]", "4:9: error: a bound is not a number (element 0)", 1 },
    { "var x = 1\nminimize x\nsubject to\n  x in [inf, inf]", "4:3: error: no number lies in [inf, inf] (element 0)", 1 },
    { "var x = 1\nminimize x\nsubject to\n  x in [x, 1]", "4:9: error: the bounds of 'in' are constants", 1 },
    { "var x = 1\nminimize x\nsubject to\n  x in 0, 1", "4:8: error: a number is not expected here\n  x in 0, 1\n       ^\nexpected '[' and two bounds, as in x in [0, 1]", 1 },
    { "var x = 1\nminimize x\nsubject to\n  x in [0, 1, 2]", "expected ']'", 1 },
    { "var x[3] in [[0, 1], 2]\nminimize sum(x)", "1:1: error: ", 1 },
    { "var x = 1\nminimize x\nsubject to\n  x", "4:4: error: the end of the file is not expected here\n  x\n   ^\nexpected '<=', '>=', '==' or 'in'", 1 },
    { "var x = 1\nminimize x\nsubject to\n  0 <= x <= 1 <= 2", "4:15: error: a chain has three sides at most", 1 },
    { "var x = 1\nminimize x\nsubject to\n  0 <= x >= 1", "4:10: error: a chain is a <= b <= c or a >= b >= c; write two constraints", 1 },
    { "var x = 1\nminimize x\nsubject to\n  0 == x == 1", "4:10: error: a chain is", 1 },
    { "var x = 1\nminimize x\nsubject to\n  3 <= [1, 4]", "4:3: error: a constraint without variables that does not hold: 3 <= 1", 1 },
    { "var x = 1\nminimize x\nsubject to\n  2 == 3", "4:3: error: a constraint without variables that does not hold: 2 == 3", 1 },
    { "var x = 1\nminimize x\nsubject to\n  x <= -inf", "4:3: error: a constraint that cannot hold: one side is -inf", 1 },
    { "var x = 1\nminimize x\nsubject to\n  x == inf", "4:3: error: a constraint that cannot hold: one side is inf", 1 },
    { "var x = 1\nminimize x\nsubject to\n  x <= nan", "4:8: error: a side of a constraint is not a number (element 0)", 1 },
    { "var x = 1\nminimize x\nsubject to\n  a: x <= 1\n  a: x <= 2", "5:3: error: a constraint 'a' exists already, on line 4", 1 },
    { "var x[2] = 1\nminimize x[0]\nsubject to\n  x <= [1, 2, 3]", "4:3: error: difference of [2] and [3]: the shapes do not broadcast", 1 },
    /* names */
    { "var x = 1\nminimize asb(x)", "t.lt:2:10: error: unknown function 'asb'; did you mean 'abs'?\nminimize asb(x)\n         ^~~\n", 1 },
    { "var x = 1\nminimize qqqqqqqq(x)", "2:10: error: unknown function 'qqqqqqqq'", 1 },
    { "var alpha = 1\nminimize alhpa", "2:10: error: unknown name 'alhpa'; did you mean 'alpha'?", 1 },
    { "var x = 1\nminimize qqqqqqqq", "2:10: error: unknown name 'qqqqqqqq'; names are defined before their use", 1 },
    { "var x = 1\nvar x = 2\nminimize x", "2:5: error: 'x' is defined already, on line 1", 1 },
    { "var sum = 1\nminimize 1", "1:5: error: 'sum' is a function of the language and cannot be redefined", 1 },
    { "var x = 1\nminimize x + sum", "2:14: error: 'sum' is a function; call it as sum(", 1 },
    { "fn f(a) = a\nvar x = 1\nminimize x + f", "3:14: error: 'f' is a function; call it as f(", 1 },
    { "var x = 1\nminimize x(0)", "2:10: error: 'x' is not a function; elements are taken with x[", 1 },
    { "fn f(a) = b + a\nvar x = 1\nminimize x", "1:11: error: unknown name 'b'", 1 },
    { "fn f(a) = abz(a)[0]^2 + -a'\nvar x = 1\nminimize x", "1:11: error: unknown function 'abz'; did you mean 'abs'?", 1 },
    { "fn f(a) = a + [1, 2, 3]\nvar x[2] = 1\nminimize sum(f(x))", "1:13: error: sum of [2] and [3]: the shapes do not broadcast (in 'f' called on line 3)", 1 },
    { "fn f(a) = a\nvar x = 1\nminimize f(x, 2)", "3:10: error: 'f' takes 1 argument; 2 are given", 1 },
    { "fn f(a, b) = a\nvar x = 1\nminimize f(x)", "3:10: error: 'f' takes 2 arguments; 1 is given", 1 },
    { "fn f(a) = a\nvar x = 1\nminimize f(a=x)", "3:12: error: 'f' takes its arguments by position", 1 },
    { "fn f(a) = f(a)\nvar x = 1\nminimize f(x)", "1:11: error: 'f' calls itself; functions are expanded and cannot recur (in 'f' called on line 3)", 1 },
    /* arguments */
    { "var x = 1\nminimize sum(x, axsi=0)", "2:17: error: 'sum' has no parameter 'axsi'; did you mean 'axis'?", 1 },
    { "var x = 1\nminimize sum(x, qqqqqq=0)", "2:17: error: 'sum' has no parameter 'qqqqqq'", 1 },
    { "var x[2] = 1\nminimize sum(x, axis=0, axis=0)", "2:25: error: 'axis' is given twice", 1 },
    { "var x = 1\nminimize abs(x, 1)", "2:17: error: 'abs' takes at most 1 argument", 1 },
    { "var x[2] = 1\nminimize sum(x, 0, 0, 0)", "2:23: error: 'sum' takes at most 3 arguments", 1 },
    { "var x = 1\nminimize hypot(x)", "2:10: error: 'hypot' needs 'b'", 1 },
    { "var x = 1\nminimize batchnorm(x, eps=x)", "2:27: error: 'eps' of 'batchnorm' must be a number known when the file is read", 1 },
    { "var x = 1\nminimize conv2d(x, x, stride=[1, 2, 3])", "2:30: error: 'stride' of 'conv2d' must be one or two integers", 1 },
    { "var x = 1\nminimize conv2d(x, x, stride=1.5)", "2:30: error: 'stride' of 'conv2d' must be one or two integers", 1 },
    { "var x = 1\nminimize sum(x, keepdims=2)", "2:26: error: 'keepdims' of 'sum' must be true or false", 1 },
    { "var x = 1\nminimize cast(x, 2)", "2:18: error: 'type' of 'cast' must be a string", 1 },
    { "var x = 1\nminimize normal(2, rng=x)", "2:24: error: 'rng' of 'normal' must be a stream made with 'rng'", 1 },
    { "var x[2] = 1\nminimize sum(x, axis=2)", "2:22: error: sum of [2]: axis 2 is outside -1..0", 1 },
    { "var x = 1\nminimize sum(zeros(1,1,1,1,1,1,1,1,1))", "2:14: error: a tensor has at most 8 axes", 1 },
    { "var x = 1\nminimize abs(\"a\")", "2:14: error: a string cannot be computed with", 1 },
    { "rng g = mt19937(0)\nvar x = 1\nminimize x + g", "3:14: error: 'g' is a stream of random numbers; draw from it with normal(", 1 },
    { "var x[2] = 1\nminimize x[x]", "2:12: error: an index depends on a variable; it must be known when the file is read", 1 },
    { "var x[2] = 1\nminimize x[[0, 1]]", "2:12: error: an index is a tensor [2]; one integer is needed", 1 },
    { "var x[2] = 1\nminimize x[0.5]", "2:12: error: an index is 0.5; an integer is needed", 1 },
    { "var x[2] = 1\nminimize sum([x[i/2] for i in 0:2])", "2:17: error: an index is 0.5; an integer is needed", 1 },
    /* shapes */
    { "var x = 1\nminimize sum([[1, 2], [3]])", "2:14: error: a list of [2] and [1] (element 1): all elements need one shape", 1 },
    { "var x = 1\nminimize sum([zeros(1,1,1,1,1,1,1,1)])", "2:14: error: a list of tensors [1, 1, 1, 1, 1, 1, 1, 1]: 8 axes are the most", 1 },
    { "data A = ones(3, 4)\nvar x = 1\ndata B = ones(3, 2)\nminimize x + sum(A @ B)", "t.lt:4:20: error: matmul of [3, 4] by [3, 2]: inner sizes 4 and 3 differ\n", 1 },
    { "var x = 1\nminimize x @ x", "2:12: error: matmul of [] by []: numbers multiply with '*'", 1 },
    { "var x[2] = 1\nminimize sum(x*[1, 2, 3])", "2:15: error: product of [2] and [3]: the shapes do not broadcast", 1 },
    { "var x[2] = 1\nminimize sum(hypot(x, [1, 2, 3]))", "2:14: error: hypot of [2] and [3]: the shapes do not broadcast", 1 },
    { "var x[2] = 1\nminimize sum([hypot(x, i*[1, 2, 3]) for i in 0:5000])", "2:15: error: hypot of [2] and [3]: the shapes do not broadcast", 1 },
    { "var x[2] = 1\nminimize sum(where(gt(x, 0), ones(2, 1), [1, 2, 3]))", "2:14: error: where of [2, 2] and [3]: the shapes do not broadcast", 1 },
    { "var x[2] = 1\nminimize x[2]", "t.lt:2:12: error: index 2 is outside 0..1: axis 0 of [2] has length 2", 1 },
    { "var x[2] = 1\nminimize x[-3]", "2:12: error: index -3 is outside 0..1: axis 0 of [2] has length 2", 1 },
    { "var x[3] = 1\nminimize sum([x[i + 1] for i in 0:3])", "2:17: error: index 3 is outside 0..2: axis 0 of [3] has length 3", 1 },
    { "var x[2] = 1\nminimize x[0, 0]", "2:11: error: 2 indices for a tensor [2] of 1 axes", 1 },
    { "var x[2] = 1\nminimize sum(x[::0])", "2:16: error: the step of a range is 0", 1 },
    { "var x[2] = 1\nminimize sum([x[0] for i in 0:2:0])", "2:33: error: the step of a range is 0", 1 },
    { "var x = 1\nminimize sum([x for i in 0:9999999999])", "2:21: error: a range of 9999999999 values is too long", 1 },
    { "var x = 1\nminimize sum([x for a in 0:1 for b in 0:1 for c in 0:1 for d in 0:1 for e in 0:1 for f in 0:1 for g in 0:1 for h in 0:1 for i in 0:1])",
      "2:14: error: 9 loops; 8 are the most", 1 },
    { "var M[2, 2] = 1\nminimize sum([det(M*i) for i in 0:5000])", "error: 5000 or more copies of an expression with det, which cannot be built as a whole; 1000 are the most", 1 },
    { "var M[2, 2] = 1\nminimize sum([det(M*i) for i in 0:0])", "2:14: error: an empty range over an expression with det, whose shape is then unknown", 1 },
    { "var x[2] = 1\nminimize max(x[0:0])", "2:10: error: max of [0]: there is nothing to choose from", 1 },
    { "var x[2] = 1\nminimize argmax(x[0:0])", "2:10: error: argmax of [0]: there is nothing to choose from", 1 },
    { "var x = 1\nminimize max()", "2:10: error: 'max' needs an argument", 1 },
    { "var x[2] = 1\nminimize max(x, x, axis=0)", "2:10: error: 'max' of several arguments acts element by element and has no axis", 1 },
    { "var x[2] = 1\nminimize sum(topk(x, 3))", "2:14: error: topk of [2]: k is 3; 1..2 are possible", 1 },
    { "var x[2] = 1\nminimize norm(x, \"nuc\")", "2:10: error: norm(\xe2\x80\xa6, \"nuc\") of [2]: needs a matrix", 1 },
    { "var x[2, 2] = 1\nminimize norm(x, \"nuc\", axis=0)", "2:10: error: norm(\xe2\x80\xa6, \"nuc\") is of a whole matrix and has no axis", 1 },
    { "var x[2] = 1\nminimize norm(x, 3)", "2:10: error: the order of a norm is 1, 2, inf, \"fro\", \"nuc\" or \"spec\"", 1 },
    { "var x[2] = 1\nminimize dot(x, [1, 2, 3])", "2:10: error: dot of [2] and [3]: need two vectors of one length", 1 },
    { "var x[2] = 1\nminimize sum(reshape(x, -2))", "2:14: error: reshape of [2] to [-2]: sizes must be >= 0, one may be -1", 1 },
    { "var x[2] = 1\nminimize sum(reshape(x, 3))", "2:14: error: reshape of [2] to [3]: 2 elements cannot become 3", 1 },
    { "var x = 1\nminimize sum(concat())", "2:14: error: 'concat' needs an argument", 1 },
    { "var x = 1\nminimize sum(concat(x, x))", "2:14: error: concat of a number: put it in a list, as in [x]", 1 },
    { "var x = 1\nminimize sum(stack())", "2:14: error: 'stack' needs an argument", 1 },
    { "var x[3] = 1\nminimize sum(split(x, 2))", "2:14: error: split of [3]: axis 0 of length 3 has no 2 equal parts", 1 },
    { "var x[3] = 1\nminimize sum(squeeze(x, 0))", "2:14: error: squeeze of [3]: axis 0 has length 3, not 1", 1 },
    { "var x[3] = 1\nminimize sum(gather(x, [0, 3]))", "2:24: error: index 3 (element 1) is outside 0..2", 1 },
    { "var x[3] = 1\nminimize sum(pad(x, -1))", "2:14: error: pad of [3] by -1 and -1: must be >= 0 and not too large", 1 },
    { "var x[3] = 1\nminimize sum(cast(x, \"f99\"))", "2:14: error: cast to \"f99\": the types are f16, bf16, f32, f64, i32, i64, u8", 1 },
    { "var x[3] = 1\nminimize det(x)", "2:10: error: det of [3]: needs a square matrix", 1 },
    { "var x[3] = 1\nminimize sum(inv(zeros(2, 3)))", "2:14: error: inv of [2, 3]: needs a square matrix", 1 },
    /* constants */
    { "var x = 1\nminimize len(x)", "2:10: error: len of a number; it has no axes", 1 },
    { "var x = 1\nminimize sum(zeros(-1))", "2:14: error: zeros of sizes [-1]: must be >= 0", 1 },
    { "var x = 1\nminimize sum(zeros(1.5))", "error: a size is 1.5; an integer is needed", 1 },
    { "var x = 1\nminimize sum(full())", "2:14: error: full takes the sizes and then a number, as in full(3, 4, 0.5)", 1 },
    { "var x = 1\nminimize sum(eye(-1))", "2:14: error: eye of size -1: must be >= 0", 1 },
    { "var x = 1\nminimize sum(arange(0, 1, 0))", "2:14: error: arange from 0 to 1 by 0: needs finite numbers and a step that is not 0", 1 },
    { "var x = 1\nminimize sum(linspace(0, 1, -1))", "2:14: error: linspace of -1 points: must be >= 0", 1 },
    { "var x = 1\nminimize normal(seed=0, type=\"f16\")", "2:10: error: type \"f16\": \"f32\" and \"f64\" are possible", 1 },
    { "var x = 1\nminimize normal(2)[0]", "2:10: error: 'normal' needs a stream: rng=g after 'rng g = mt19937(0)', or seed=0", 1 },
    { "var x = 1\nminimize normal(seed=-1)", "2:10: error: a seed is in 0..4294967295", 1 },
    { "var x = 1\nminimize mt19937(0)", "2:10: error: 'mt19937' starts a stream; write 'rng g = mt19937(0)' and draw with rng=g", 1 },
    { "var x = 1\nminimize sum(csv(\"data/iris100.csv\", column=-1))", "2:14: error: column -1: columns count from 0", 1 },
    { "var x = 1\nminimize sum(csv(\"data/iris100.csv\", skip=-1))", "2:14: error: skip -1: must be >= 0", 1 },
    { "var x = 1\nminimize sum(csv(\"data/iris100.csv\", column=5))", "2:18: error: data/iris100.csv has 5 columns; column 5 is outside 0..4", 1 },
    { "var x = 1\nminimize sum(csv(\"data/iris100.csv\", skip=0))", "data/iris100.csv:1: column 0 is 'sepal_length', not a number", 1 },
    { "var x = 1\nminimize sum(csv(\"none.csv\"))", "2:18: error: this text is not in a folder; files cannot be loaded", 1 },
    { "var x = 1\nminimize sum(load(\"none.npy\"))", "2:19: error: this text is not in a folder; files cannot be loaded", 1 },
    { "var x = 1\nminimize sum(zeros(2000000000, 2))", "error: a tensor [2000000000, 2] has too many elements; at most 2147483648 are possible", 1 },
    /* definitions */
    { "var x[1,1,1,1,1,1,1,1,1] = 1\nminimize 1", "1:23: error: a variable has at most 8 axes", 1 },
    { "var x[0] = 1\nminimize 1", "1:7: error: a size is 0; it must be at least 1", 1 },
    { "var x[2.5] = 1\nminimize 1", "1:7: error: a size is 2.5; an integer is needed", 1 },
    { "var x = 1\nvar y = x\nminimize 1", "2:9: error: the start of a variable cannot depend on variables", 1 },
    { "var x = inf\nminimize 1", "1:9: error: the start has the value inf; it must be finite", 1 },
    { "var x[2] = [1, 2, 3]\nminimize 1", "1:12: error: a start [3] does not broadcast to the variable's shape [2]", 1 },
    { "var x[2000000000]\nvar y[2000000000]\nminimize 1", "error: ", 0 },
    { "var x = 1\ndata y = x\nminimize 1", "2:10: error: 'data' is a constant, and this depends on variables; use 'let'", 1 },
    { "rng g = 3\nvar x = 1\nminimize x", "1:9: error: a stream is mt19937(seed) or philox(seed)", 1 },
    { "rng g = mt19937()\nvar x = 1\nminimize x", "1:9: error: 'mt19937' takes one seed", 1 },
    { "rng g = philox(-1)\nvar x = 1\nminimize x", "1:16: error: a seed is -1; 0..4294967295 are possible", 1 },
    { "var x = 1\nminimize x\nmaximize x", "3:1: error: a second objective; the first is on line 2", 1 },
    { "var x[2] = 1\nminimize x", "2:10: error: the objective is a tensor [2]; one number is needed, a sum for instance", 1 },
    { "var x = 1\nminimize nan", "2:10: error: the objective is nan everywhere", 1 },
    { "var x = 1\nminimize x\noption mu0 = 1\noption mu0 = 2", "4:8: error: option 'mu0' is set already, on line 3", 1 },
    { "var x = 1\nminimize x\noption mu0 = [1, 2]", "3:14: error: the value of an option is a number, a word or a string", 1 },
    { "var x = 1\nminimize x\noption muu0 = 1", "t.lt:3:8: error: ", 1 },
    { "var x = 1\nminimize x\noption muu0 = 1", "did you mean 'mu0'?", 1 },
    { "var x = 1\nminimize x\noption mu0 = -1", "t.lt:3:14: error: ", 1 },
    { "var x = 1\nminimize x\noption print_ascii = 0.5", "t.lt:3:22: error: ", 1 },
    { "var x = 1\n", "error: the problem has no 'minimize' or 'maximize'", 1 },
    { "minimize 1\n", "error: the problem has no variables; 'var x[2]' makes two", 1 },
    { "", "t.lt:1:1: error: the problem has no 'minimize' or 'maximize'", 1 },
    { "rng g = philox(0)\nvar x = -g\nminimize 1", "2:10: error: 'g' is a stream of random numbers", 1 },
    { "rng g = philox(0)\nvar x = 1\nminimize x + 2^g", "3:16: error: 'g' is a stream of random numbers", 1 },
    { "rng g = philox(0)\nvar x = 1\nminimize g*x", "3:10: error: 'g' is a stream of random numbers", 1 },
    { "var x[2] = 1\nminimize sum([x[sin] for sin in 0:2])", "2:26: error: 'sin' is a function of the language and cannot be the name of an index", 1 },
    { "var x[2] = 1\nfn f(a) = a\nminimize sum([x[f] for f in 0:2])", "3:24: error: 'f' is a function of this file and cannot be the name of an index", 1 },
    { "var x = 1\nfn f(a, exp) = a\nminimize f(x, 2)", "2:9: error: 'exp' is a function of the language and cannot be the name of a parameter", 1 },
    { "var x = 0/0\nminimize 1", "1:9: error: the start has the value nan; it must be finite", 1 },
    { "var x = 1\nminimize 0*inf", "error: the objective is nan everywhere", 1 },
    /* each mistake, its message */
    { "var x[2] = 1\nminimize sum([aa + bb*i for i in cc:dd:ee])", "2:15: error: unknown name 'aa'", 5 },
    { "var x[2] = 1\nminimize sum([i for i in aa:2 for j in 0:bb])", "2:26: error: unknown name 'aa'", 2 },
    { "var x[2,2] = 1\nminimize x[aa, bb] + x[cc:dd:ee, ff]", "2:12: error: unknown name 'aa'", 6 },
    { "var x[2] = 1\nminimize x[aa, bb]", "2:11: error: 2 indices for a tensor [2] of 1 axes", 3 },
    { "var x[2] = 1\nminimize y[aa:bb]", "2:10: error: unknown name 'y'", 3 },
    /* one mistake, one message */
    { "vr x[2] = 1\nminimize sum(x)\nsubjct to\n  x[0] <= 1\n  2*x[1] >= x[0]", "1:1: error: unknown statement 'vr'; did you mean 'var'?", 2 },
    { "dta A = [1, 2]\nrgn g = philox(0)\nfnn f(a) = a\nvar x = 1\nminimize f(x)*A[0] + normal(rng=g)", "1:1: error: unknown statement 'dta'; did you mean 'data'?", 3 },
    { "data A = foo\nlet B = A + 1\nvar x[2] = A\nminimize sum(x) + B + A\nsubject to\n  B <= x\n", "1:10: error: unknown name 'foo'", 1 },
    { "var x = 1\nminimize y + y*y\nsubject to\n  y <= 1", "2:10: error: unknown name 'y'", 1 },
    { "var x = 1\nminimize asb(x) + asb(x)", "2:10: error: unknown function 'asb'", 1 },
    { "var x = 1\nminimize asb(y) + [1, 2][5]", "2:10: error: unknown function 'asb'", 3 },
    { "var x = (1\nlet y = x + 1\nminimize y + x", "1:9: error: this bracket is not closed", 1 },
    { "data x = [1, 2\n  3 4\n  5]\nvar y = 1\nminimize y", "2:3: error: a number is not expected here", 1 },
    { "var x[2] = 1\nminimize sum(x)\nsubject to\n  sqrt(x[0] >= 2\n  x[3] <= f(1)\n", "4:13: error: '>=' is not expected here", 3 },
    { "minimize x\nvar x = 1", "1:10: error: unknown name 'x'", 1 },
};

static int count_errors(const char *messages)
{
    int n = 0;
    for (const char *s = messages; (s = strstr(s, ": error: ")); s++) n++;
    return n;
}

LT_TEST(every_message_at_its_place)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lt_model *m = NULL;
        lt_status s = lt_model_parse("t.lt", NULL, rows[i].text, strlen(rows[i].text), &m);
        const char *messages = lt_model_messages(m);
        if (s != LT_ERR_FORMAT) LT_TEST_FAIL("'%s' was read: %s", rows[i].text, lt_status_name(s));
        else if (!strstr(messages, rows[i].want)) LT_TEST_FAIL("'%s' gave\n%s\nexpected %s", rows[i].text, messages, rows[i].want);
        else if (rows[i].n && count_errors(messages) != rows[i].n)
            LT_TEST_FAIL("'%s' gave %d errors, expected %d:\n%s", rows[i].text, count_errors(messages), rows[i].n, messages);
        LT_CHECK_EQ_INT(lt_model_error_count(m), count_errors(messages));
        LT_CHECK(!lt_model_get(m).graph);
        lt_model_destroy(m);
    }
}

/* ---- how they look ---- */

LT_TEST(whole_report)
{
    lt_model *m = read_text("var x[2] = [1, 1]\nminimize 8*asb(x[0])\nsubject to\n\tx[0] + yy <= 1\n  x > 1\n");
    static const char want[] =
        "t.lt:2:12: error: unknown function 'asb'; did you mean 'abs'?\n"
        "minimize 8*asb(x[0])\n"
        "           ^~~\n"
        "t.lt:4:9: error: unknown name 'yy'; names are defined before their use\n"
        "\tx[0] + yy <= 1\n"
        "\t       ^~\n"
        "t.lt:5:3: error: '>' is not a constraint; use '>='\n"
        "  x > 1\n"
        "  ^~~\n";
    if (strcmp(lt_model_messages(m), want)) LT_TEST_FAIL("got\n%s\nexpected\n%s", lt_model_messages(m), want);
    lt_model_destroy(m);
}

LT_TEST(columns_count_characters_and_long_lines_are_cut)
{
    lt_model *m = read_text("var x = csv(\"\xc3\xa4\xc3\xb6\") + qq\nminimize x");
    LT_CHECK(strstr(lt_model_messages(m), "t.lt:1:21: error: unknown name 'qq'"));
    LT_CHECK(strstr(lt_model_messages(m), "\n                    ^~\n"));
    lt_model_destroy(m);
    char text[2000] = "var x = 1\nminimize x";
    for (int i = 0; i < 200; i++) strcat(text, " + x");
    strcat(text, " + zzz");
    for (int i = 0; i < 100; i++) strcat(text, " + x");
    m = read_text(text);
    LT_CHECK(strstr(lt_model_messages(m), "t.lt:2:814: error: unknown name 'zzz'"));
    LT_CHECK(strstr(lt_model_messages(m), "\n...") && strstr(lt_model_messages(m), "...\n   "));
    LT_CHECK(strlen(lt_model_messages(m)) < 400);
    lt_model_destroy(m);
}

LT_TEST(at_most_twenty)
{
    char text[2000] = "var x = 1\nminimize x\n";
    for (int i = 0; i < 30; i++) sprintf(text + strlen(text), "data a%d = b%d_unknown\n", i, i);
    lt_model *m = read_text(text);
    LT_CHECK_EQ_INT(lt_model_error_count(m), 20);
    LT_CHECK_EQ_INT(count_errors(lt_model_messages(m)), 20);
    LT_CHECK(strstr(lt_model_messages(m), "t.lt: note: there are more errors; the first 20 are shown\n"));
    lt_model_destroy(m);
    LT_CHECK_FAILS(lt_model_parse("u.lt", NULL, "minimize y", 10, &m), LT_ERR_FORMAT, "1 error; u.lt:1:10: error: unknown name 'y'");
    lt_model_destroy(m);
}

/* ---- limits ---- */

static void check_limited(const char *text, lt_limits limits, const char *want)
{
    lt_model *m = NULL;
    lt_status s = lt_model_parse_limited("t.lt", NULL, text, strlen(text), &limits, &m);
    if (s != LT_ERR_FORMAT || !strstr(lt_model_messages(m), want)) LT_TEST_FAIL("'%s' gave '%s', expected %s", text, lt_model_messages(m), want);
    lt_model_destroy(m);
}

LT_TEST(limits_are_explained)
{
    lt_limits all = LT_LIMITS_DEFAULT, l = all;
    l.elements = 10;
    check_limited("var x[8]\nvar y[8]\nminimize 1", l, "2:5: error: more than 10 variables");
    check_limited("var x = 1\nminimize sum(zeros(11))", l, "error: a tensor [11] has too many elements; at most 10 are possible");
    check_limited("var x[5] = 1\nminimize sum(outer(x, x))", l, "error: a tensor [5, 5] has too many elements");
    l = all, l.steps = 20;
    check_limited("var x = 1\nfn a(t) = t + t\nfn b(t) = a(t) + a(t)\nfn c(t) = b(t) + b(t)\nminimize c(x)", l, "error: this statement takes more than 20 steps to expand");
    l = all, l.nodes = 20;
    check_limited("var x[2] = 1\nminimize x[0] + x[1] + x[0]*2 + sin(x[1])*x[0] + cos(x[0]) + exp(x[1]) + tan(x[0])", l,
                  "error: the problem has more than 20 operations; use whole tensors instead of single elements");
    l = all, l.calls = 2;
    check_limited("var x = 1\nfn a(t) = t\nfn b(t) = a(t)\nfn c(t) = b(t)\nminimize c(x)", l, "error: more than 2 functions within each other");
}

/* ---- files ---- */

static char folder[] = "/tmp/lathe-language-XXXXXX";

static void write_file(const char *name, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    LT_CHECK(f && fputs(text, f) >= 0 && !fclose(f));
}

static void check_in_folder(const char *text, const char *want, double f)
{
    lt_model *m = NULL;
    lt_status s = lt_model_parse("t.lt", folder, text, strlen(text), &m);
    lt_model_view v = lt_model_get(m);
    double got = NAN;
    if (want && (s != LT_ERR_FORMAT || !strstr(lt_model_messages(m), want))) LT_TEST_FAIL("'%s' gave '%s', expected %s", text, lt_model_messages(m), want);
    if (!want && (s || evaluate_node(&v, v.f, v.x0, &got) || fabs(got - f) > 1e-12)) LT_TEST_FAIL("'%s' gave %g, expected %g\n%s", text, got, f, lt_model_messages(m));
    lt_model_destroy(m);
}

LT_TEST(data_files)
{
    LT_CHECK(mkdtemp(folder));
    char path[200];
    double a[6] = { 1, 2, 3, 4, 5, 6 };
    int64_t k[2] = { 7, 8 };
    float c[4] = { 1, 2, 3, 4 };
    snprintf(path, sizeof path, "%s/a.npy", folder);
    LT_CHECK_OK(lt_npy_write(path, LT_F64, &(lt_shape){ 2, { 2, 3 } }, a));
    snprintf(path, sizeof path, "%s/c.npy", folder);
    LT_CHECK_OK(lt_npy_write(path, LT_C64, &(lt_shape){ 1, { 2 } }, c));
    snprintf(path, sizeof path, "%s/b.npz", folder);
    LT_CHECK_OK(lt_npz_write(path, 1, (const char *[]){ "k" }, &(lt_array){ LT_I64, lt_shape1(2), k }));
    write_file("y.csv", "t,y\n0, 1.5\n\n1,\"2.5\"\r\n# note\n2,-3e1\n");
    write_file("one.csv", "1\n2\n3");
    write_file("ragged.csv", "1,2\n3\n");
    write_file("bad.csv", "1,2\n3,x\n");
    write_file("empty.csv", "");
    write_file("bad.npy", "not an array");
    check_in_folder("var x = 1\nminimize load(\"a.npy\")[1, 2]*x", NULL, 6);
    check_in_folder("var x = 1\nminimize load(\"b.npz\", \"k\")[1]*x", NULL, 8);
    check_in_folder("var x = 1\nminimize csv(\"y.csv\", column=1)[2]*x", NULL, -30);
    check_in_folder("var x = 1\nminimize csv(\"y.csv\", skip=1)[1, 0]*x + size(csv(\"y.csv\"))", NULL, 7);
    check_in_folder("var x = 1\nminimize sum(csv(\"one.csv\"))*x", NULL, 6);
    check_in_folder("var x = 1\nminimize size(csv(\"empty.csv\"))*x", "2:19: error: empty.csv is empty: there are no rows of numbers", 0);
    write_file("empty.csv", "a,b\n\n");
    check_in_folder("var x = 1\nminimize size(csv(\"empty.csv\"))*x", "2:19: error: empty.csv has a heading, but no rows of numbers", 0);
    write_file("empty.csv", "1,0x10\n");
    check_in_folder("var x = 1\nminimize size(csv(\"empty.csv\"))*x", "empty.csv:1: column 1 is '0x10', not a number", 0);
    check_in_folder("var x = 1\nminimize load(\"none.npy\")", "2:15: error: ", 0);
    check_in_folder("var x = 1\nminimize load(\"bad.npy\")", "bad.npy", 0);
    check_in_folder("var x = 1\nminimize load(\"\")", "2:15: error: '' is not the name of a file", 0);
    check_in_folder("var x = 1\nminimize load(\"b.npz\")", "2:15: error: a .npz file holds several arrays; name one, as in load(\"F.npz\", \"A\")", 0);
    check_in_folder("var x = 1\nminimize load(\"a.npy\", \"k\")", "2:15: error: only a .npz file holds arrays by name", 0);
    check_in_folder("var x = 1\nminimize load(\"b.npz\", \"q\")", "2:15: error: ", 0);
    check_in_folder("var x = 1\nminimize sum(load(\"c.npy\"))", "error: complex arrays cannot be read; save the real and imaginary parts", 0);
    check_in_folder("var x = 1\nminimize sum(csv(\"none.csv\"))", "2:18: error: ", 0);
    check_in_folder("var x = 1\nminimize sum(csv(\"ragged.csv\"))", "2:18: error: ragged.csv:2: 1 columns, where the first row has 2", 0);
    check_in_folder("var x = 1\nminimize sum(csv(\"bad.csv\"))", "2:18: error: bad.csv:2: column 1 is 'x', not a number", 0);
    static const char *const names[] = { "a.npy", "c.npy", "b.npz", "y.csv", "one.csv", "ragged.csv", "bad.csv", "empty.csv", "bad.npy" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

LT_TEST_MAIN()

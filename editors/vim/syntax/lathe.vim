" Vim syntax file: problems of `lathe solve` (*.lt). SPDX-License-Identifier: BSD-3-Clause
if exists("b:current_syntax")
  finish
endif

syn match   latheComment "#.*$" contains=latheTodo
syn keyword latheTodo contained TODO FIXME NOTE
syn match   latheNumber "\<\d\+\%(\.\d*\)\=\%([eE][-+]\=\d\+\)\=\>"
syn match   latheNumber "\%(\w\)\@<!\.\d\+\%([eE][-+]\=\d\+\)\=\>"
syn region  latheString start=+"+ skip=+\\\\\|\\"+ end=+"+ oneline
syn keyword latheStatement var data let fn rng option minimize maximize subject to
syn keyword latheRepeat for in
syn keyword latheConstant inf nan pi true false
syn keyword latheFunction abs acos amax_abs arange argmax argmin asin atan atan2 avgpool2d batchnorm cast cbrt cholesky
syn keyword latheFunction clamp concat conv2d cos cosh cross_entropy csv cumsum det detach diag dot eigvals_im
syn keyword latheFunction eigvals_re eigvalsh eq erf exp expm1 eye flatten flip floor fold_l1 fold_l2 fold_max
syn keyword latheFunction fold_max_abs full gather ge gelu gt hypot inv le len linear linspace load log log1p
syn keyword latheFunction log_softmax logabsdet logdet logsumexp lower lt max maxpool2d mean min mod mt19937 norm normal
syn keyword latheFunction ones outer pad philox pow prod relu reshape rnn_tanh roll sigmoid sign sin sinh size softmax
syn keyword latheFunction softplus solve split sqrt square squeeze stack sum svdvals tan tanh topk trace transpose
syn keyword latheFunction uniform unsqueeze where zeros
syn match   latheRelation "<=\|>=\|=="
syn match   latheWrong "<\ze[^=]\|>\ze[^=]\|!="
syn match   latheOperator "[-+*/@^']"
syn match   latheLabel "^\s*\h\w*\ze\s*:"

hi def link latheComment Comment
hi def link latheTodo Todo
hi def link latheNumber Number
hi def link latheString String
hi def link latheStatement Statement
hi def link latheRepeat Repeat
hi def link latheConstant Constant
hi def link latheFunction Function
hi def link latheRelation Operator
hi def link latheOperator Operator
hi def link latheWrong Error
hi def link latheLabel Label

let b:current_syntax = "lathe"

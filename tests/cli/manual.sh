#!/bin/sh
# Manual page and completion: manual.sh LATHE. SPDX-License-Identifier: BSD-3-Clause
set -u
lathe=$1
. "$(dirname "$0")/lib.sh"
for form in man bash zsh fish; do
    run 0 --generate $form
    cp "$work/out" "$work/lathe.$form"
    for word in doctor devices profile; do grep -q "$word" "$work/lathe.$form" || fail "$form lacks '$word'"; done
done
if command -v mandoc >/dev/null 2>&1; then
    mandoc -Tlint -W warning "$work/lathe.man" >"$work/lint" || { fail "mandoc has remarks"; cat "$work/lint"; }
    mandoc -Tutf8 "$work/lathe.man" | col -b 2>/dev/null | grep -q "EXIT STATUS" || fail "the manual has no EXIT STATUS"
fi
! command -v zsh >/dev/null 2>&1 || zsh -n "$work/lathe.zsh" || fail "zsh refuses its completion"
! command -v fish >/dev/null 2>&1 || fish -n "$work/lathe.fish" || fail "fish refuses its completion"
command -v bash >/dev/null 2>&1 || { echo "no bash: completion was not tried"; finish; exit; }

bash -n "$work/lathe.bash" || fail "bash refuses its completion"
# complete EXPECTED WORDS…: the last word is the one being typed.
complete() {
    expected=$1
    shift
    got=$(bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _lathe; echo "${COMPREPLY[*]}"' - "$work/lathe.bash" "$@")
    [ "$got" = "$expected" ] || fail "completing '$*': '$got', expected '$expected'"
}
complete "devices" lathe dev
complete "predict" lathe qsvm pre
complete "--model-out" lathe qsvm --model
complete "--model" lathe qsvm predict --mod
complete "--synthetic" lathe qsvm --x a.npy --synt
complete "--mode" lathe tune --mo
complete "measure" lathe tune --mode m
complete "cpu cuda" lathe devices --device c
complete "generate" lathe gen
complete "visualize-dataset visualize-features visualize-ic-types" lathe visual
complete "--shard" lathe generate --sha
complete "per-cell per-operator" lathe visualize-dataset --color-norm-mode per
complete "doctor" lathe help doc
complete "matmul" lathe explain matm
complete "" lathe nosuch x
cd "$work"
complete "lathe.bash" lathe gram --report lathe.b
finish

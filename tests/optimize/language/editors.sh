#!/bin/sh
# The Vim file names the keywords of the language and no others; the language page names every function. The functions in
# the editors' files are those of functions.def: test op_files. SPDX-License-Identifier: BSD-3-Clause
root=$1
vim() { sed -n "s/^syn keyword lathe\\($1\\) //p" "$root/editors/vim/syntax/lathe.vim" | tr ' ' '\n' | sort -u; }
keywords=$(sed -n '/lt_keywords\[\] = {/,/};/p' "$root/src/optimize/language/lexer.c" | grep -oE '"[a-z]+"' | tr -d '"' | sort -u)
functions=$(vim Function)
[ -n "$functions" ] && [ -n "$keywords" ] || { echo "no names found"; exit 1; }
bad=0
if [ "$(vim 'Statement\|Repeat\|Constant')" != "$keywords" ]; then
    echo "editors/vim/syntax/lathe.vim does not name the keywords of lexer.c:"; echo "$keywords"; bad=1
fi
for name in $functions; do
    grep -qE "(^|[^a-z_])$name([^a-z_0-9]|\$)" "$root/docs/problem-language.md" || { echo "docs/problem-language.md lacks $name"; bad=1; }
done
exit $bad

#!/bin/sh
# The syntax files of editors/ and the grammar page name every function and keyword of the language, and no others.
# SPDX-License-Identifier: BSD-3-Clause
root=$1
table=$(sed -n 's/.*"\([a-z_0-9]*\)".*/&/p' "$root/src/optimize/language/functions.c" |
    grep -oE '(EACH2?|WHOLE2?|REDUCE|BUILD|LIFTED|MAKE)\("[a-z_0-9]+"|\.name = "[a-z_0-9]+"' | grep -oE '"[a-z_0-9]+"' | tr -d '"' | sort -u)
keywords=$(sed -n '/lt_keywords\[\] = {/,/};/p' "$root/src/optimize/language/lexer.c" | grep -oE '"[a-z]+"' | tr -d '"' | sort -u)
[ -n "$table" ] && [ -n "$keywords" ] || { echo "no table found"; exit 1; }
bad=0
vim=$(sed -n 's/^syn keyword lathe\(Function\|Statement\|Repeat\|Constant\) //p' "$root/editors/vim/syntax/lathe.vim" | tr ' ' '\n' | sort -u)
expected=$(printf '%s\n%s\n' "$table" "$keywords" | sort -u)
if [ "$vim" != "$expected" ]; then
    echo "editors/vim/syntax/lathe.vim differs:"; printf '%s\n' "$vim" > vim.txt; printf '%s\n' "$expected" | diff - vim.txt; bad=1
fi
for name in $table; do
    grep -q "[(|]$name[|)]" "$root/editors/vscode/syntaxes/lathe.tmLanguage.json" || { echo "vscode grammar lacks $name"; bad=1; }
    grep -qE "(^|[^a-z_])$name([^a-z_0-9]|\$)" "$root/docs/problem-language.md" || { echo "docs/problem-language.md lacks $name"; bad=1; }
done
exit $bad

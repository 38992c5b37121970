" SPDX-License-Identifier: BSD-3-Clause
au BufRead,BufNewFile *.lt setfiletype lathe

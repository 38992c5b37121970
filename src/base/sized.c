/* Structs that begin with their size. SPDX-License-Identifier: BSD-3-Clause */
#include "base/sized.h"

#include "base/status.h"

#include <string.h>

static size_t size_of(const void *s)
{
    size_t n;
    memcpy(&n, s, sizeof n);
    return n;
}

lt_status lt_sized_check(const char *type, const void *s, size_t known)
{
    const size_t n = s ? size_of(s) : known;
    if (n <= sizeof(size_t))
        return lt_place_argument(LT_FAIL(LT_ERR_ARGUMENT, "%s: its size is %zu: begin it with its defaults function, or with { .size = sizeof(%s) }", type, n, type), type);
    if (n > known)
        return lt_place_argument(LT_FAIL(LT_ERR_ARGUMENT, "%s: its size is %zu, lathe %s knows %zu bytes of it: the program was made for a newer library, or did not set the size",
                                         type, n, lt_version(), known), type);
    return LT_OK;
}

lt_status lt_sized_take(const char *type, const void *from, void *to)
{
    const size_t known = size_of(to);
    if (!from) return LT_OK;
    LT_TRY(lt_sized_check(type, from, known));
    memcpy((char *)to + sizeof known, (const char *)from + sizeof known, size_of(from) - sizeof known);
    return LT_OK;
}

void lt_sized_give(void *to, const void *from, size_t known)
{
    if (!to) return;
    const size_t room = size_of(to);
    if (room <= sizeof room) return;
    memcpy((char *)to + sizeof room, (const char *)from + sizeof room, LT_MIN(room, known) - sizeof room);
    if (room > known) memset((char *)to + known, 0, room - known);
}

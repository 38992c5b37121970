/* craft GOOD.h5 BAD.h5 WHERE CHANGE, or craft GOOD.h5 BAD.h5 rows N: a crafted file for the tests of the command.
   SPDX-License-Identifier: BSD-3-Clause */
#include "craft.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int change = 0;
    if (argc != 5) return 2;
    if (!strcmp(argv[3], "rows")) return craft_rows(argv[1], argv[2], atoll(argv[4])) ? 0 : 1;
    while (change < CRAFT_ALL && strcmp(craft_name(change), argv[4])) change++;
    if (change < CRAFT_ALL && craft_file(argv[1], argv[2], argv[3], change)) return 0;
    fprintf(stderr, "craft: cannot make %s %s\n", argv[3], argv[4]);
    return 1;
}

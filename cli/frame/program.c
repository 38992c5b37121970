/* main() of lathe and of lathe-bench: which of them it is follows from the table that is linked in.
   SPDX-License-Identifier: BSD-3-Clause */
#include "cli/frame/cli.h"

int main(int argc, char **argv) { return cli_main(argc, argv); }

# Writes OUT with the commit of SOURCE, "unknown" where there is no history; untouched when unchanged.
# SPDX-License-Identifier: BSD-3-Clause
cmake_minimum_required(VERSION 3.22)
set(commit "")
find_program(GIT git)
if(GIT AND EXISTS "${SOURCE}/.git")
    execute_process(COMMAND "${GIT}" -C "${SOURCE}" describe --always --dirty --abbrev=12 --exclude "*"
        OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT commit)
    set(commit "unknown")
endif()
file(CONFIGURE OUTPUT "${OUT}" CONTENT "/* The commit this was built from. */\n#define CLI_COMMIT \"@commit@\"\n" @ONLY)

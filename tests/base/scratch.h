/* A folder for a test's files, removed when the program ends. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_TEST_SCRATCH_H
#define LT_TEST_SCRATCH_H

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char scratch_folder[200];

static inline int scratch_remove(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static inline void scratch_remove_all(void) { nftw(scratch_folder, scratch_remove, 16, FTW_DEPTH | FTW_PHYS); }

/* The path of a file in the folder; eight answers stay valid at a time. */
static inline const char *scratch(const char *name)
{
    static char paths[8][400];
    static int next;
    if (!scratch_folder[0]) {
        const char *base = getenv("TMPDIR");
        snprintf(scratch_folder, sizeof scratch_folder, "%.150s/lathe-test-XXXXXX", base && *base ? base : "/tmp");
        if (!mkdtemp(scratch_folder)) { perror(scratch_folder); exit(1); }
        atexit(scratch_remove_all);
    }
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", scratch_folder, name);
    return path;
}

static inline int scratch_count(const char *folder) /* entries in a folder */
{
    int n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) n += e->d_name[0] != '.';
    if (d) closedir(d);
    return n;
}

#endif

/* Public functions that return a status, called with zeros alone: each says what is missing or does nothing, and none ends the process.
   test_nulls HEADER... SPDX-License-Identifier: BSD-3-Clause */
#include "lathe/lathe.h"

#include <ctype.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NAME = 64 };

/* Every argument that is a pointer or a number is in one of these registers, or among the zeros on the stack. */
typedef lt_status (*any_function)(intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, double, double, double, double);

static int call(any_function f)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        (void)f(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.0, 0.0, 0.0, 0.0);
        _exit(0);
    }
    int status = 0;
    return child < 0 || waitpid(child, &status, 0) != child ? -1 : status;
}

/* The names after "LT_API lt_status" of a header. */
static int try_header(const char *path, int *n_called)
{
    static const char before[] = "LT_API lt_status ";
    char line[1024], name[NAME];
    int n_bad = 0;
    FILE *f = fopen(path, "r");
    if (!f) return printf("%s: cannot be read\n", path), 1;
    while (fgets(line, sizeof line, f)) {
        const char *at = strncmp(line, before, sizeof before - 1) ? NULL : line + sizeof before - 1;
        size_t n = 0;
        while (at && isspace((unsigned char)*at)) at++;
        while (at && n + 1 < NAME && (isalnum((unsigned char)at[n]) || at[n] == '_')) n++;
        if (!at || !n || at[n] != '(') continue;
        snprintf(name, sizeof name, "%.*s", (int)n, at);
        any_function function;
        *(void **)&function = dlsym(RTLD_DEFAULT, name);
        if (!function) continue; /* of a part that this build leaves out */
        ++*n_called;
        int status = call(function);
        if (status && ++n_bad) printf("%s: %s with NULL ends by %s %d\n", path, name, WIFSIGNALED(status) ? "signal" : "status", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
    fclose(f);
    return n_bad;
}

int main(int argc, char **argv)
{
    int n_bad = 0, n_called = 0;
    (void)signal(SIGPIPE, SIG_IGN);
    (void)lt_version(); /* the library is linked */
    for (int i = 1; i < argc; i++) n_bad += try_header(argv[i], &n_called);
    printf("%d functions called with NULL, %d of them end the process\n", n_called, n_bad);
    return n_bad || n_called < 150;
}

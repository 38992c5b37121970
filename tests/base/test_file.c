/* Files: limits, replacement in one step, locks, and the cache folder's rules.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"
#include "scratch.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/status.h"
#include "lathe/files.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* What a signal handler does before it ends the process. The first case: the first file of a process is listed too. */
LT_TEST(abandoned_files_are_removed_by_their_process_alone)
{
    mkdir(scratch("abandoned"), 0700);
    lt_atomic_file a, b;
    LT_CHECK_OK(lt_atomic_open(scratch("abandoned/a"), &a));
    LT_CHECK_OK(lt_atomic_open(scratch("abandoned/b"), &b));
    LT_CHECK_OK(lt_file_write(scratch("abandoned/c"), "c", 1));
    pid_t child = fork();
    if (child == 0) {
        lt_files_abandon();
        _exit(0);
    }
    LT_CHECK(waitpid(child, NULL, 0) == child);
    LT_CHECK_EQ_INT(scratch_count(scratch("abandoned")), 3);
    child = fork();
    if (child == 0) {
        lt_atomic_file own;
        if (lt_atomic_open(scratch("abandoned/own"), &own)) _exit(1);
        lt_files_abandon();
        _exit(lt_atomic_commit(&own) == LT_ERR_IO ? 0 : 1);
    }
    int status;
    LT_CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    LT_CHECK_EQ_INT(scratch_count(scratch("abandoned")), 3);
    LT_CHECK_OK(lt_atomic_commit(&b));
    lt_files_abandon();
    LT_CHECK_EQ_INT(scratch_count(scratch("abandoned")), 2); /* b and c: a was removed */
    LT_CHECK_FAILS(lt_atomic_commit(&a), LT_ERR_IO, "abandoned/a");
    LT_CHECK_EQ_INT(scratch_count(scratch("abandoned")), 2);
}

LT_TEST(whole_files_round_trip_within_a_limit)
{
    const char *path = scratch("whole");
    char *data;
    size_t n;
    LT_CHECK_OK(lt_file_write(path, "hello", 5));
    LT_CHECK_OK(lt_file_read(path, 5, &data, &n));
    LT_CHECK(n == 5 && !strcmp(data, "hello")); /* and a zero behind it */
    lt_free(data);
    LT_CHECK_FAILS(lt_file_read(path, 4, &data, &n), LT_ERR_FORMAT, "5 bytes, expected at most 4");
    LT_CHECK(data == NULL);
    LT_CHECK_OK(lt_file_write(path, "", 0));
    LT_CHECK_OK(lt_file_read(path, 0, &data, &n));
    LT_CHECK(n == 0 && data[0] == 0);
    lt_free(data);
}

LT_TEST(what_cannot_be_opened_is_named)
{
    char *data;
    size_t n;
    LT_CHECK_FAILS(lt_file_read(scratch("absent"), 10, &data, &n), LT_ERR_IO, "absent: cannot open: No such file");
    LT_CHECK_FAILS(lt_file_read(scratch_folder, 10, &data, &n), LT_ERR_IO, "not a regular file");
    const char *pipe = scratch("pipe");
    LT_CHECK(!mkfifo(pipe, 0600));
    LT_CHECK_FAILS(lt_file_read(pipe, 10, &data, &n), LT_ERR_IO, "not a regular file"); /* and does not hang */
    LT_CHECK_FAILS(lt_file_write(pipe, "x", 1), LT_ERR_IO, "not a regular file");
    LT_CHECK_FAILS(lt_file_write(scratch("no/such/folder"), "x", 1), LT_ERR_IO, "cannot write beside it");
}

/* A caller may blame LT_ERR_IO on whoever gave the path; limits and disks are not the path's. */
LT_TEST(limits_and_broken_disks_are_not_the_paths_fault)
{
    const char *path = scratch("limit");
    struct rlimit old;
    char *data;
    size_t n;
    LT_CHECK_OK(lt_file_write(path, "x", 1));
    LT_CHECK(getrlimit(RLIMIT_NOFILE, &old) == 0);
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 3, old.rlim_max });
    LT_CHECK_FAILS(lt_file_read(path, 1, &data, &n), LT_ERR_MEMORY, "cannot open: Too many open files");
    setrlimit(RLIMIT_NOFILE, &old);
    LT_CHECK_OK(lt_file_read(path, 1, &data, &n));
    lt_free(data);
    LT_CHECK_EQ_INT(lt_file_status(EIO), LT_ERR_DEVICE);
    LT_CHECK_EQ_INT(lt_file_status(EMFILE), LT_ERR_MEMORY);
    LT_CHECK_EQ_INT(lt_file_status(EAGAIN), LT_ERR_MEMORY);
    LT_CHECK_EQ_INT(lt_file_status(ENOENT), LT_ERR_IO);
    LT_CHECK_EQ_INT(lt_file_status(ENOSPC), LT_ERR_IO);
}

LT_TEST(replacement_is_all_or_nothing)
{
    mkdir(scratch("atomic"), 0700);
    const char *path = scratch("atomic/f");
    LT_CHECK_OK(lt_file_write(path, "old", 3));
    lt_atomic_file f;
    LT_CHECK_OK(lt_atomic_open(path, &f));
    LT_CHECK_OK(lt_atomic_write(&f, "new text", 8));
    char *data;
    size_t n;
    LT_CHECK_OK(lt_file_read(path, 100, &data, &n));
    LT_CHECK(!strcmp(data, "old")); /* not seen before commit */
    lt_free(data);
    lt_atomic_cancel(&f);
    lt_atomic_cancel(&f); /* twice is allowed */
    LT_CHECK_EQ_INT(scratch_count(scratch("atomic")), 1);
    LT_CHECK_OK(lt_atomic_open(path, &f));
    LT_CHECK_OK(lt_atomic_write(&f, "new", 3));
    LT_CHECK_OK(lt_atomic_commit(&f));
    LT_CHECK_OK(lt_file_read(path, 100, &data, &n));
    LT_CHECK(!strcmp(data, "new"));
    lt_free(data);
    LT_CHECK_EQ_INT(scratch_count(scratch("atomic")), 1);
}

LT_TEST(a_replaced_file_hands_its_mode_on)
{
    const char *path = scratch("private"), *fresh = scratch("fresh");
    const mode_t modes[] = { 0600, 0640, 0664, 0444 };
    lt_atomic_file f;
    struct stat st;
    LT_CHECK_OK(lt_file_write(path, "old", 3));
    for (int i = 0; i < 4; i++) {
        LT_CHECK(chmod(path, modes[i]) == 0);
        LT_CHECK_OK(lt_atomic_open(path, &f));
        LT_CHECK(stat(f.temporary, &st) == 0);
        LT_CHECK_EQ_INT(st.st_mode & 0777, modes[i]); /* from the start: nobody opens it meanwhile */
        LT_CHECK_OK(lt_atomic_commit(&f));
        LT_CHECK(stat(path, &st) == 0);
        LT_CHECK_EQ_INT(st.st_mode & 0777, modes[i]);
    }
    mode_t mask = umask(027);
    LT_CHECK_OK(lt_file_write(fresh, "new", 3));
    umask(mask);
    LT_CHECK(stat(fresh, &st) == 0);
    LT_CHECK_EQ_INT(st.st_mode & 0777, 0640);
}

LT_TEST(a_link_stays_and_its_file_is_replaced)
{
    struct stat st;
    char *own = NULL, *data;
    size_t n;
    mkdir(scratch("links"), 0700);
    mkdir(scratch("links/far"), 0700);
    LT_CHECK_OK(lt_file_write(scratch("links/far/f"), "old", 3));
    LT_CHECK(!symlink("far/f", scratch("links/near")) && !symlink("none", scratch("links/nowhere")));
    LT_CHECK_OK(lt_file_write(scratch("links/near"), "newer", 5));
    LT_CHECK(!lstat(scratch("links/near"), &st) && S_ISLNK(st.st_mode));
    LT_CHECK_OK(lt_file_read(scratch("links/far/f"), 100, &data, &n));
    LT_CHECK(n == 5 && !memcmp(data, "newer", 5));
    lt_free(data);
    LT_CHECK_EQ_INT(scratch_count(scratch("links/far")), 1);
    LT_CHECK(lt_file_write(scratch("links/nowhere"), "x", 1) == LT_ERR_ARGUMENT && strstr(lt_error_text(), "leads to no file"));
    LT_CHECK(lt_file_resolve(scratch("links/nowhere"), &own) == LT_ERR_ARGUMENT && !own);
    LT_CHECK_OK(lt_file_resolve(scratch("links/other"), &own));
    LT_CHECK(!strcmp(own, scratch("links/other"))); /* what is not there is its own name */
    lt_free(own);
}

LT_TEST(two_writers_do_not_meet)
{
    lt_atomic_file a, b;
    const char *path = scratch("contended");
    LT_CHECK_OK(lt_atomic_open(path, &a));
    LT_CHECK_OK(lt_atomic_open(path, &b));
    LT_CHECK_OK(lt_atomic_write(&a, "aaaa", 4));
    LT_CHECK_OK(lt_atomic_write(&b, "bb", 2));
    LT_CHECK_OK(lt_atomic_commit(&a));
    LT_CHECK_OK(lt_atomic_commit(&b));
    char *data;
    size_t n;
    LT_CHECK_OK(lt_file_read(path, 100, &data, &n));
    LT_CHECK(!strcmp(data, "bb"));
    lt_free(data);
}

/* A process that is killed while it writes `path`; with wait, not before the caller says so. */
static pid_t die_writing(const char *path, int wait_fd, int ready_fd)
{
    pid_t child = fork();
    if (child) return child;
    lt_atomic_file f;
    char byte = 0;
    if (lt_atomic_open(path, &f) || lt_atomic_write(&f, "half", 4) || write(ready_fd, &byte, 1) != 1) _exit(1);
    if (wait_fd >= 0 && read(wait_fd, &byte, 1) < 0) _exit(1);
    raise(SIGKILL);
    _exit(1);
}

static void expect_killed(pid_t child)
{
    int status;
    LT_CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

LT_TEST(leftovers_of_killed_writers_go_with_the_next_one)
{
    mkdir(scratch("killed"), 0700);
    const char *path = scratch("killed/f");
    int hold[2], ready[2];
    char byte;
    LT_CHECK(!pipe(hold) && !pipe(ready));
    LT_CHECK_OK(lt_file_write(path, "old", 3));
    pid_t living = die_writing(path, hold[0], ready[1]);
    LT_CHECK(read(ready[0], &byte, 1) == 1);
    expect_killed(die_writing(path, -1, ready[1]));
    LT_CHECK_EQ_INT(scratch_count(scratch("killed")), 3);
    LT_CHECK_OK(lt_file_write(path, "new", 3));
    LT_CHECK_EQ_INT(scratch_count(scratch("killed")), 2); /* the one that is being written stays */
    LT_CHECK(!access(scratch("killed/f.lathe-0.tmp"), F_OK));
    LT_CHECK(write(hold[1], "", 1) == 1);
    expect_killed(living);
    LT_CHECK_OK(lt_file_write(scratch("killed/other"), "x", 1));
    LT_CHECK_EQ_INT(scratch_count(scratch("killed")), 3); /* of another file: not ours to judge */
    LT_CHECK_OK(lt_file_write(path, "newer", 5));
    LT_CHECK_EQ_INT(scratch_count(scratch("killed")), 2);
    for (int i = 0; i < 2; i++) close(hold[i]), close(ready[i]);
}

LT_TEST(leftovers_with_higher_numbers_go_too)
{
    mkdir(scratch("several"), 0700);
    LT_CHECK_OK(lt_file_write(scratch("several/f.lathe-1.tmp"), "x", 1));
    LT_CHECK_OK(lt_file_write(scratch("several/f.lathe-2.tmp"), "x", 1));
    LT_CHECK(!symlink("/nowhere", scratch("several/f.lathe-3.tmp")));
    LT_CHECK_OK(lt_file_write(scratch("several/f.lathe-4.tmp"), "x", 1));
    LT_CHECK_OK(lt_file_write(scratch("several/f"), "new", 3));
    LT_CHECK_EQ_INT(scratch_count(scratch("several")), 3); /* a link is none of ours, and what is behind a gap waits */
    LT_CHECK_OK(lt_file_write(scratch("several/f.lathe-0.tmp"), "x", 1));
    LT_CHECK_OK(lt_file_write(scratch("several/f"), "new", 3));
    LT_CHECK_EQ_INT(scratch_count(scratch("several")), 3);
}

LT_TEST(more_writers_than_are_listed_work_too)
{
    enum { N = 40 };
    mkdir(scratch("many"), 0700);
    lt_atomic_file f[N];
    for (int i = 0; i < N; i++) LT_CHECK_OK(lt_atomic_open(scratch("many/f"), &f[i]));
    LT_CHECK_EQ_INT(scratch_count(scratch("many")), N);
    for (int i = 0; i < N; i++) lt_atomic_cancel(&f[i]);
    LT_CHECK_EQ_INT(scratch_count(scratch("many")), 0);
}

/* Folders of these names cannot be removed as leftovers. */
LT_TEST(when_all_names_are_taken_it_says_which)
{
    char path[500];
    mkdir(scratch("taken"), 0700);
    for (int i = 0; i < 1000; i++) {
        snprintf(path, sizeof path, "%s.lathe-%d.tmp", scratch("taken/f"), i);
        LT_CHECK(mkdir(path, 0700) == 0);
    }
    LT_CHECK_FAILS(lt_file_write(scratch("taken/f"), "x", 1), LT_ERR_IO, "f.lathe-0.tmp to -1000.tmp; remove them");
    LT_CHECK(rmdir(path) == 0);
    LT_CHECK_OK(lt_file_write(scratch("taken/f"), "x", 1));
}

LT_TEST(files_survive_each_failing_allocation)
{
    const char *path = scratch("oom");
    LT_CHECK_OK(lt_file_write(path, "old", 3));
    for (int at = 1; at <= 3; at++) {
        int64_t live = lt_alloc_live();
        lt_alloc_fail_at(at);
        lt_status s = lt_file_write(path, "new", 3);
        lt_alloc_fail_at(0);
        LT_CHECK_EQ_INT(s, at <= 2 ? LT_ERR_MEMORY : LT_OK);
        LT_CHECK_EQ_INT(lt_alloc_live(), live);
    }
    char *data;
    size_t n;
    lt_alloc_fail_at(1);
    LT_CHECK_FAILS(lt_file_read(path, 10, &data, &n), LT_ERR_MEMORY, "no memory");
    lt_alloc_fail_at(0);
}

LT_TEST(locks_exclude_other_processes)
{
    const char *path = scratch("lock");
    lt_file_lock lock, second;
    bool taken;
    LT_CHECK_OK(lt_file_lock_take(path, false, &lock, &taken));
    LT_CHECK(taken);
    pid_t child = fork();
    if (child == 0) {
        bool mine = true;
        lt_file_lock other;
        lt_status s = lt_file_lock_take(path, false, &other, &mine);
        _exit(s == LT_OK && !mine ? 0 : 1);
    }
    int status;
    LT_CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    LT_CHECK_OK(lt_file_lock_take(path, false, &second, &taken));
    LT_CHECK(!taken);
    lt_file_lock_release(&lock);
    LT_CHECK_OK(lt_file_lock_take(path, true, &second, &taken));
    LT_CHECK(taken);
    lt_file_lock_release(&second);
    lt_file_lock_release(&second);
    LT_CHECK_FAILS(lt_file_lock_take(scratch("no/lock"), true, &lock, &taken), LT_ERR_IO, "cannot open lock");
}

/* ---- Cache -------------------------------------------------------------------- */
LT_TEST(cache_folder_follows_the_environment)
{
    char path[4096];
    setenv("HOME", scratch("home"), 1);
    unsetenv("XDG_CACHE_HOME");
    unsetenv("LATHE_CACHE");
    LT_CHECK_OK(lt_cache_dir(path, sizeof path));
    LT_CHECK(!strcmp(path, scratch("home/.cache/lathe")));
    setenv("XDG_CACHE_HOME", "relative", 1);
    LT_CHECK_OK(lt_cache_dir(path, sizeof path));
    LT_CHECK(!strcmp(path, scratch("home/.cache/lathe")));
    setenv("XDG_CACHE_HOME", scratch("xdg"), 1);
    LT_CHECK_OK(lt_cache_dir(path, sizeof path));
    LT_CHECK(!strcmp(path, scratch("xdg/lathe")));
    setenv("LATHE_CACHE", scratch("own"), 1);
    LT_CHECK_OK(lt_cache_dir(path, sizeof path));
    LT_CHECK(!strcmp(path, scratch("own")));
    struct stat st;
    LT_CHECK(!stat(path, &st) && (st.st_mode & 07777) == 0700);
    LT_CHECK_FAILS(lt_cache_dir(path, 5), LT_ERR_IO, "expected fewer than 5");
    unsetenv("LATHE_CACHE");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    LT_CHECK_FAILS(lt_cache_dir(path, sizeof path), LT_ERR_IO, "LATHE_CACHE, XDG_CACHE_HOME and HOME");
}

LT_TEST(cache_folder_that_others_can_write_is_refused)
{
    char path[4096];
    setenv("LATHE_CACHE", scratch("open"), 1);
    mkdir(scratch("open"), 0700);
    chmod(scratch("open"), 0770);
    LT_CHECK_FAILS(lt_cache_dir(path, sizeof path), LT_ERR_IO, "mode 0770");
    chmod(scratch("open"), 0702);
    LT_CHECK_FAILS(lt_cache_put("k", "v", 1), LT_ERR_IO, "mode 0702");
    char *data;
    size_t n;
    LT_CHECK_FAILS(lt_cache_get("k", 100, &data, &n), LT_ERR_IO, "mode 0702");
    chmod(scratch("open"), 0755);
    LT_CHECK_OK(lt_cache_dir(path, sizeof path));
    LT_CHECK_OK(lt_file_write(scratch("plain-file"), "", 0));
    setenv("LATHE_CACHE", scratch("plain-file"), 1);
    LT_CHECK_FAILS(lt_cache_dir(path, sizeof path), LT_ERR_IO, "is a file");
    setenv("LATHE_CACHE", scratch("plain-file/below"), 1);
    LT_CHECK_FAILS(lt_cache_dir(path, sizeof path), LT_ERR_IO, "cannot be made");
    if (geteuid() == 0) { /* only root can give a folder away */
        mkdir(scratch("foreign"), 0700);
        LT_CHECK(!chown(scratch("foreign"), 12345, (gid_t)-1));
        setenv("LATHE_CACHE", scratch("foreign"), 1);
        LT_CHECK_FAILS(lt_cache_dir(path, sizeof path), LT_ERR_IO, "belongs to user 12345");
    }
}

/* Changes byte `at` of the only entry in the cache. */
static void damage_entry(long at)
{
    DIR *d = opendir(scratch("cache"));
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        char path[800];
        snprintf(path, sizeof path, "%s/%s", scratch("cache"), e->d_name);
        FILE *f = fopen(path, "r+b");
        fseek(f, at, SEEK_SET);
        int c = fgetc(f);
        fseek(f, at, SEEK_SET);
        fputc(c ^ 1, f);
        fclose(f);
    }
    if (d) closedir(d);
}

LT_TEST(cache_entries_are_checked_before_use)
{
    setenv("LATHE_CACHE", scratch("cache"), 1);
    char *data;
    size_t n;
    LT_CHECK_OK(lt_cache_get("key", 100, &data, &n));
    LT_CHECK(data == NULL);
    static const long damage[] = { 0, 20, 100, 144, 148 }; /* magic, key, content digest, content */
    for (size_t i = 0; i < LT_LEN(damage); i++) {
        LT_CHECK_OK(lt_cache_put("key", "value\0x", 7));
        LT_CHECK_OK(lt_cache_get("key", 100, &data, &n));
        LT_CHECK(data && n == 7 && !memcmp(data, "value\0x", 8));
        lt_free(data);
        damage_entry(damage[i]);
        LT_CHECK_OK(lt_cache_get("key", 100, &data, &n));
        LT_CHECK(data == NULL);
        LT_CHECK_EQ_INT(scratch_count(scratch("cache")), 0); /* a broken one is gone */
    }
    LT_CHECK_OK(lt_cache_put("key", "", 0));
    LT_CHECK_OK(lt_cache_get("key", 0, &data, &n));
    LT_CHECK(data && n == 0);
    lt_free(data);
    LT_CHECK_OK(lt_cache_put("key", "longer", 6));
    LT_CHECK_FAILS(lt_cache_get("key", 5, &data, &n), LT_ERR_FORMAT, "expected at most");
}

/* In a program whose standard input is closed, its number is given to the next file. */
LT_TEST(descriptor_zero_is_one)
{
    int kept = dup(0);
    lt_file_lock lock;
    bool taken = false;
    close(0);
    lt_status s = lt_file_lock_take(scratch("zero"), false, &lock, &taken);
    int fd = lock.fd;
    if (!s) lt_file_lock_release(&lock);
    dup2(kept, 0);
    close(kept);
    LT_CHECK_OK(s);
    LT_CHECK(taken && fd == 0);
}

LT_TEST_MAIN()

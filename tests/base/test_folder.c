/* Folders that appear whole or not at all; checksums of parts. SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/alloc.h"
#include "base/files/file.h"
#include "base/files/folder.h"
#include "base/files/zip.h"
#include "base/scratch.h"
#include "base/status.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static bool exists(const char *path)
{
    struct stat st;
    return !lstat(path, &st);
}

/* Names below a scratch folder; scratch() gives one path at a time. */
static const char *below(const char *name, char path[500])
{
    snprintf(path, 500, "%s", scratch(name));
    return path;
}

LT_TEST(a_folder_appears_with_its_content)
{
    char path[500], inner[600];
    lt_atomic_folder f;
    below("made", path);
    LT_CHECK_OK(lt_atomic_folder_open(path, &f));
    LT_CHECK_OK(lt_atomic_folder_write(&f, "a/b/c", "text", 4));
    LT_CHECK_OK(lt_atomic_folder_write(&f, "empty", "", 0));
    LT_CHECK(!exists(path));
    LT_CHECK(lt_atomic_folder_write(&f, "a/b/c", "other", 5) != LT_OK); /* each name once */
    LT_CHECK_OK(lt_atomic_folder_commit(&f));
    snprintf(inner, sizeof inner, "%s/a/b/c", path);
    char *data;
    size_t n;
    LT_CHECK_OK(lt_file_read(inner, 100, &data, &n));
    LT_CHECK(n == 4 && !memcmp(data, "text", 4));
    lt_free(data);
    LT_CHECK_FAILS(lt_atomic_folder_open(path, &f), LT_ERR_ARGUMENT, "exists already");
    lt_atomic_folder_cancel(&f); /* idle */
    LT_CHECK(exists(inner));
}

LT_TEST(a_cancelled_folder_leaves_nothing)
{
    char path[500], temporary[600];
    lt_atomic_folder f;
    below("cancelled/", path);
    LT_CHECK_OK(lt_atomic_folder_open(path, &f));
    LT_CHECK_OK(lt_atomic_folder_write(&f, "x/y", "1", 1));
    snprintf(temporary, sizeof temporary, "%s", f.temporary);
    LT_CHECK(exists(temporary) && !strstr(temporary, "/.lathe")); /* beside it, not in it */
    lt_atomic_folder_cancel(&f);
    LT_CHECK(!exists(temporary) && !exists(below("cancelled", path)));
    LT_CHECK_FAILS(lt_atomic_folder_open(below("none/below/it", path), &f), LT_ERR_ARGUMENT, "cannot be made");
    LT_CHECK_FAILS(lt_atomic_folder_open("", &f), LT_ERR_ARGUMENT, "is empty");
    char name[800];
    size_t n = (size_t)snprintf(name, sizeof name, "%s/", scratch(""));
    memset(name + n, 'n', 300);
    name[n + 300] = '\0';
    LT_CHECK_FAILS(lt_atomic_folder_open(name, &f), LT_ERR_ARGUMENT, "too long");
}

/* Removed with what is in it, but not what links in it lead to; one that another process writes stays. */
LT_TEST(leftovers_go_and_living_ones_stay)
{
    char path[500], left[600], link[700], kept[500], taken[600];
    lt_atomic_folder first, second;
    below("twice", path);
    snprintf(left, sizeof left, "%s.lathe-0.tmp", path);
    snprintf(link, sizeof link, "%s/link", left);
    LT_CHECK(!mkdir(left, 0777) && !mkdir(below("kept", kept), 0777) && !symlink(kept, link));
    LT_CHECK_OK(lt_atomic_folder_open(path, &first));
    LT_CHECK(exists(kept) && !exists(link) && !strcmp(first.temporary, left));
    LT_CHECK_OK(lt_atomic_folder_open(path, &second));
    LT_CHECK(exists(first.temporary) && strcmp(first.temporary, second.temporary));
    snprintf(taken, sizeof taken, "%s", second.temporary);
    LT_CHECK_OK(lt_atomic_folder_commit(&first));
    LT_CHECK_FAILS(lt_atomic_folder_commit(&second), LT_ERR_IO, "cannot rename into place");
    LT_CHECK(exists(path) && !exists(taken));
}

LT_TEST(without_descriptors_no_folder_is_left)
{
    char path[500], temporary[600];
    struct rlimit old;
    lt_atomic_folder f;
    below("limited", path);
    snprintf(temporary, sizeof temporary, "%s.lathe-0.tmp", path);
    LT_CHECK(!getrlimit(RLIMIT_NOFILE, &old) && !setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 3, old.rlim_max }));
    lt_status s = lt_atomic_folder_open(path, &f);
    setrlimit(RLIMIT_NOFILE, &old);
    LT_CHECK(s == LT_ERR_MEMORY && strstr(lt_error_text(), "cannot open the folder"));
    LT_CHECK(!exists(temporary));
}

/* Nothing of another's is touched: not a leftover deeper than we make any, nor files of that name. */
LT_TEST(what_cannot_be_a_leftover_stays)
{
    enum { DEEP = 70, NAMES = 100 };
    char path[500], deep[1200], name[600];
    lt_atomic_folder f;
    int n = snprintf(deep, sizeof deep, "%s.lathe-0.tmp", below("deep", path));
    for (int i = 0; i <= DEEP; i++, n += snprintf(deep + n, sizeof deep - (size_t)n, "/d")) LT_CHECK(!mkdir(deep, 0777));
    LT_CHECK_OK(lt_atomic_folder_open(path, &f));
    LT_CHECK(strstr(f.temporary, ".lathe-1.tmp"));
    deep[n - 2] = '\0';
    LT_CHECK(exists(deep));
    lt_atomic_folder_cancel(&f);
    below("crowded", path);
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "%s.lathe-%d.tmp", path, i);
        LT_CHECK_OK(lt_file_write(name, "mine", 4));
    }
    LT_CHECK_FAILS(lt_atomic_folder_open(path, &f), LT_ERR_IO, "there are");
    LT_CHECK(exists(name));
    unlink(name);
    LT_CHECK_OK(lt_atomic_folder_open(path, &f));
    LT_CHECK(!strcmp(f.temporary, name));
    lt_atomic_folder_cancel(&f);
}

LT_TEST(without_memory_no_folder_is_left)
{
    char path[500];
    lt_atomic_folder f;
    below("memory", path);
    for (int at = 1; at <= 4; at++) {
        lt_alloc_fail_at(at);
        lt_status s = lt_atomic_folder_open(path, &f);
        if (!s) s = lt_atomic_folder_write(&f, "a", "1", 1);
        lt_alloc_fail_at(0);
        LT_CHECK(at == 4 ? s == LT_OK : s == LT_ERR_MEMORY);
        LT_CHECK(exists(f.temporary ? f.temporary : path) == (f.temporary != NULL));
        lt_atomic_folder_cancel(&f);
    }
}

LT_TEST(checksums_of_parts_are_joined)
{
    static uint8_t data[5000];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)(i * 2654435761u >> 13);
    for (size_t cut = 0; cut <= sizeof data; cut += cut < 20 ? 1 : 377) {
        uint32_t a = lt_crc32(0, data, cut), b = lt_crc32(0, data + cut, sizeof data - cut);
        LT_CHECK(lt_crc32_join(a, b, sizeof data - cut) == lt_crc32(0, data, sizeof data));
    }
    uint32_t zeros = lt_crc32(0, (uint8_t[1]){ 0 }, 1), all = zeros; /* 2^20 zeros by doubling */
    for (int i = 0; i < 20; i++) all = lt_crc32_join(all, all, UINT64_C(1) << i);
    static uint8_t nothing[1 << 20];
    LT_CHECK(all == lt_crc32(0, nothing, sizeof nothing));
}

LT_TEST_MAIN()

/* Many entries in one file: what was put is found, by other processes too, and what is damaged or half written is not there.
   SPDX-License-Identifier: BSD-3-Clause */
#include "lt_test.h"

#include "base/alloc.h"
#include "base/files/pack.h"
#include "base/scratch.h"
#include "base/status.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FIRST = 31, HEAD = 160, MOST = 1 << 20 }; /* bytes of the first line, of an entry's */

static const char *pack(void)
{
    static char path[800];
    setenv("LATHE_CACHE", scratch("cache"), 1);
    snprintf(path, sizeof path, "%s/pack", scratch("cache"));
    return path;
}

static bool has(const char *key, const char *content)
{
    char *data;
    size_t n;
    LT_CHECK_OK(lt_pack_get("pack", key, 1000, &data, &n));
    bool same = data && n == strlen(content) && !memcmp(data, content, n + 1);
    if (data && !same) LT_TEST_FAIL("%s: other content", key);
    lt_free(data);
    return same;
}

static off_t size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) ? -1 : st.st_size;
}

LT_TEST(what_was_put_is_found)
{
    char key[40], content[40], *data;
    size_t n;
    unlink(pack());
    LT_CHECK(!has("a", "1"));
    for (int i = 0; i < 200; i++) {
        snprintf(key, sizeof key, "key %d", i);
        snprintf(content, sizeof content, "content %d", i);
        LT_CHECK_OK(lt_pack_put("pack", key, content, strlen(content), MOST));
        LT_CHECK(has(key, content));
    }
    LT_CHECK(has("key 0", "content 0") && has("key 77", "content 77") && !has("key 200", ""));
    LT_CHECK_OK(lt_pack_put("pack", "key 77", "newer", 5, MOST));
    LT_CHECK(has("key 77", "newer"));
    LT_CHECK_OK(lt_pack_put("pack", "nothing", "", 0, MOST));
    LT_CHECK(has("nothing", ""));
    LT_CHECK_OK(lt_pack_get("pack", "key 77", 4, &data, &n)); /* more than was asked for */
    LT_CHECK(!data);
}

LT_TEST(what_is_damaged_or_half_written_is_not_there)
{
    static const int place[] = { 0, 20, 100, 150, HEAD - 1, HEAD }; /* of the second entry: magic, key, digest, size, end of the head, content */
    for (size_t i = 0; i < LT_LEN(place); i++) {
        unlink(pack());
        LT_CHECK_OK(lt_pack_put("pack", "a", "first", 5, MOST));
        LT_CHECK_OK(lt_pack_put("pack", "b", "second", 6, MOST));
        int fd = open(pack(), O_RDWR);
        char c;
        LT_CHECK(pread(fd, &c, 1, FIRST + HEAD + 5 + place[i]) == 1);
        c ^= 1;
        LT_CHECK(pwrite(fd, &c, 1, FIRST + HEAD + 5 + place[i]) == 1);
        close(fd);
        pid_t child = fork(); /* one that has not seen the file */
        if (child == 0) {
            setenv("LATHE_CACHE", scratch("cache"), 1);
            bool right = has("a", "first") && !has("b", "second") && !lt_pack_put("pack", "b", "second", 6, MOST) && has("a", "first") && has("b", "second");
            _exit(!right);
        }
        int status;
        waitpid(child, &status, 0);
        LT_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    for (off_t cut = 1; cut < HEAD + 6; cut += 13) { /* killed on the way */
        unlink(pack());
        LT_CHECK_OK(lt_pack_put("pack", "a", "first", 5, MOST));
        LT_CHECK_OK(lt_pack_put("pack", "b", "second", 6, MOST));
        LT_CHECK(!truncate(pack(), FIRST + 2 * HEAD + 11 - cut));
        LT_CHECK(has("a", "first") && !has("b", "second"));
        LT_CHECK_OK(lt_pack_put("pack", "c", "third", 5, MOST));
        LT_CHECK(has("a", "first") && has("c", "third"));
        LT_CHECK_EQ_INT(size_of(pack()), FIRST + 2 * HEAD + 10);
    }
}

/* The same file by its number, with other entries. */
LT_TEST(a_file_that_began_anew_is_not_taken_for_the_old_one)
{
    unlink(pack());
    LT_CHECK_OK(lt_pack_put("pack", "a", "1234567890", 10, MOST));
    LT_CHECK_OK(lt_pack_put("pack", "b", "123", 3, MOST));
    pid_t child = fork();
    if (child == 0) {
        bool right = !truncate(pack(), 0);
        for (const char *k = "cdefghij"; *k; k++) right = right && !lt_pack_put("pack", (char[]){ *k, 0 }, "12", 2, MOST);
        _exit(!right);
    }
    int status;
    waitpid(child, &status, 0);
    LT_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    LT_CHECK(!has("a", "") && has("c", "12") && has("j", "12"));
    LT_CHECK_OK(lt_pack_put("pack", "k", "12", 2, MOST));
    LT_CHECK(has("c", "12") && has("j", "12") && has("k", "12"));
    LT_CHECK(!truncate(pack(), FIRST - 1)); /* not even a first line */
    LT_CHECK(!has("c", ""));
    LT_CHECK_OK(lt_pack_put("pack", "c", "12", 2, MOST));
    LT_CHECK(has("c", "12"));
}

LT_TEST(a_full_file_begins_anew)
{
    unlink(pack());
    for (int i = 0; i < 50; i++) {
        char key[16];
        snprintf(key, sizeof key, "%d", i);
        LT_CHECK_OK(lt_pack_put("pack", key, "0123456789", 10, FIRST + 10 * (HEAD + 10)));
        LT_CHECK(has(key, "0123456789") && size_of(pack()) <= FIRST + 10 * (HEAD + 10));
    }
    LT_CHECK(has("40", "0123456789") && !has("39", ""));
    LT_CHECK_OK(lt_pack_put("pack", "large", "01234567890123456789", 20, 30)); /* alone, though it is too large */
    LT_CHECK(has("large", "01234567890123456789"));
}

/* Writers that are killed at any moment, and others beside them. */
LT_TEST(processes_share_a_file)
{
    enum { WRITERS = 4, EACH = 100, ENDLESS = 1 << 30 };
    pid_t child[WRITERS];
    unlink(pack());
    for (int w = 0; w < WRITERS; w++) {
        if ((child[w] = fork())) continue;
        for (int i = 0;; i++) {
            char key[40], content[400];
            snprintf(key, sizeof key, "%d %d", w, i % EACH);
            snprintf(content, sizeof content, "%d %0300d", w, i % EACH);
            if (lt_pack_put("pack", key, content, strlen(content), ENDLESS)) _exit(1);
            if (w >= 2 && i + 1 == EACH) _exit(0);
        }
    }
    int status;
    for (int w = 2; w < WRITERS; w++) {
        waitpid(child[w], &status, 0);
        LT_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    for (int w = 0; w < 2; w++) kill(child[w], SIGKILL), waitpid(child[w], &status, 0);
    LT_CHECK(WIFSIGNALED(status));
    LT_CHECK_OK(lt_pack_put("pack", "last", "one", 3, ENDLESS));
    LT_CHECK(has("last", "one"));
    int found = 0;
    for (int i = 0; i < EACH; i++) {
        char key[40], content[400];
        snprintf(key, sizeof key, "%d %d", 3, i);
        snprintf(content, sizeof content, "%d %0300d", 3, i);
        found += has(key, content);
    }
    LT_CHECK_EQ_INT(found, EACH);
}

LT_TEST_MAIN()

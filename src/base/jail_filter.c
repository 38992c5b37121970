/* Landlock and seccomp by their system calls: what a jail may do. SPDX-License-Identifier: BSD-3-Clause */
#include "base/jail_filter.h"

#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#if __has_include(<linux/landlock.h>)
#include <linux/landlock.h>
#endif

/* ---- Landlock ----------------------------------------------------------------------------------------- */

#ifdef LANDLOCK_ACCESS_FS_MAKE_SYM

static long landlock_version(void) { return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION); }

/* Every right of the first version of Landlock: later ones add to these, and seccomp forbids what they are about. */
static const uint64_t handled = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR
                                | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR
                                | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK
                                | LANDLOCK_ACCESS_FS_MAKE_SYM;

void lt_jail_landlock(int file)
{
    struct landlock_ruleset_attr rules = { .handled_access_fs = handled };
    struct landlock_path_beneath_attr one = { .allowed_access = LANDLOCK_ACCESS_FS_READ_FILE, .parent_fd = file };
    if (landlock_version() < 1 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return;
    int set = (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0);
    if (set < 0) return;
    if (file < 0 || !syscall(SYS_landlock_add_rule, set, LANDLOCK_RULE_PATH_BENEATH, &one, 0)) (void)syscall(SYS_landlock_restrict_self, set, 0);
    close(set);
}

#else

void lt_jail_landlock(int file) { (void)file; }
static long landlock_version(void) { return 0; }

#endif

/* ---- Seccomp -------------------------------------------------------------------------------------------- */

#if defined __x86_64__
#define MACHINE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define MACHINE AUDIT_ARCH_AARCH64
#endif

#ifdef MACHINE

#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define LOAD_ARGUMENT(i) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 8 * (i)) /* its low half: both machines are little-endian */
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, what)
#define REFUSE RETURN(SECCOMP_RET_ERRNO | EPERM)
#define ALLOW_CALL(nr) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), RETURN(SECCOMP_RET_ALLOW)
/* Allowed unless the argument has one of these bits. */
#define ALLOW_WITHOUT(nr, argument, bits)                                                                                            \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 4), LOAD_ARGUMENT(argument), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1), REFUSE, RETURN(SECCOMP_RET_ALLOW)
/* Allowed with this argument alone. */
#define ALLOW_WITH(call, argument, value)                                                                                              \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4), LOAD_ARGUMENT(argument), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1), RETURN(SECCOMP_RET_ALLOW), LOAD(nr)
#define BEGIN                                                                                                                        \
    LOAD(arch), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0), RETURN(SECCOMP_RET_KILL_PROCESS), LOAD(nr),                        \
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1), RETURN(SECCOMP_RET_KILL_PROCESS) /* the other convention of x86-64 */

#define WRITING (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND)

static const struct sock_filter calls[] = {
    BEGIN,
    /* the socket and the file */
    ALLOW_CALL(SYS_read), ALLOW_CALL(SYS_pread64), ALLOW_CALL(SYS_lseek), ALLOW_CALL(SYS_recvfrom), ALLOW_CALL(SYS_ppoll), ALLOW_CALL(SYS_sendto), ALLOW_CALL(SYS_close),
    ALLOW_CALL(SYS_fstat), ALLOW_CALL(SYS_newfstatat), ALLOW_CALL(SYS_flock), ALLOW_CALL(SYS_getcwd), ALLOW_WITHOUT(SYS_openat, 2, WRITING),
    /* its own memory, never as code */
    ALLOW_CALL(SYS_brk), ALLOW_CALL(SYS_munmap), ALLOW_CALL(SYS_mremap), ALLOW_CALL(SYS_madvise),
    ALLOW_WITHOUT(SYS_mmap, 2, PROT_EXEC), ALLOW_WITHOUT(SYS_mprotect, 2, PROT_EXEC),
    /* its own limits and end; locks of the heap, sanitizers */
    ALLOW_CALL(SYS_getrusage), ALLOW_WITHOUT(SYS_prlimit64, 0, 0xffffffff), ALLOW_CALL(SYS_exit), ALLOW_CALL(SYS_exit_group), ALLOW_CALL(SYS_futex),
    ALLOW_CALL(SYS_rt_sigreturn), ALLOW_CALL(SYS_rt_sigprocmask), ALLOW_CALL(SYS_rt_sigaction), ALLOW_CALL(SYS_getrandom), ALLOW_CALL(SYS_clock_gettime),
    ALLOW_WITH(SYS_prctl, 0, PR_SET_NO_NEW_PRIVS), ALLOW_WITH(SYS_prctl, 0, PR_SET_SECCOMP), /* more filters (lt_jail_seccomp_shut): they only forbid more */
    ALLOW_CALL(SYS_getpid), ALLOW_CALL(SYS_gettid), ALLOW_CALL(SYS_sched_yield), ALLOW_CALL(SYS_sysinfo),
#ifdef __x86_64__
    ALLOW_CALL(SYS_poll), ALLOW_WITHOUT(SYS_open, 1, WRITING), ALLOW_CALL(SYS_stat), ALLOW_CALL(SYS_lstat),
#endif
    REFUSE,
};

static const struct sock_filter opening[] = {
    LOAD(nr),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1), RETURN(SECCOMP_RET_ERRNO | EACCES),
#ifdef __x86_64__
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_open, 0, 1), RETURN(SECCOMP_RET_ERRNO | EACCES),
#endif
    RETURN(SECCOMP_RET_ALLOW), /* filters add up: the strictest answer counts */
};

static void install(const struct sock_filter *filter, size_t n)
{
    struct sock_fprog program = { (unsigned short)n, (struct sock_filter *)filter };
    if (!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) (void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

void lt_jail_seccomp(void) { install(calls, LT_LEN(calls)); }
void lt_jail_seccomp_shut(void) { install(opening, LT_LEN(opening)); }

static bool has_seccomp(void)
{
    uint32_t action = SECCOMP_RET_ERRNO;
    return !syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action);
}

#else

void lt_jail_seccomp(void) { }
void lt_jail_seccomp_shut(void) { }
static bool has_seccomp(void) { return false; }

#endif

const char *lt_jail_walls(void)
{
    static const char *const words[] = { "memory and time limits", "seccomp, memory and time limits", "landlock, memory and time limits",
                                         "seccomp, landlock, memory and time limits" };
    return words[(has_seccomp() ? 1 : 0) + (landlock_version() >= 1 ? 2 : 0)];
}

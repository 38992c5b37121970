/* Messages between lt_generate and its workers. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/generate/worker/worker.h"

#include "base/status.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

static lt_status gone(const char *what) { return LT_FAIL(LT_ERR_IO, "worker process: %s: %s", what, errno ? strerror(errno) : "the other side is gone"); }

static lt_status send_all(int fd, const void *data, size_t bytes)
{
    const char *at = data;
    while (bytes) {
        ssize_t n = send(fd, at, bytes, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return gone("cannot send");
        at += n;
        bytes -= (size_t)n;
    }
    return LT_OK;
}

lt_status lt_worker_send(int fd, lt_worker_head head, int n, const lt_worker_piece *piece)
{
    head.bytes = 0;
    for (int i = 0; i < n; i++) head.bytes += piece[i].bytes;
    LT_TRY(send_all(fd, &head, sizeof head));
    for (int i = 0; i < n; i++) LT_TRY(send_all(fd, piece[i].data, piece[i].bytes));
    return LT_OK;
}

lt_status lt_worker_receive(int fd, void *data, size_t bytes)
{
    char *at = data;
    while (bytes) {
        errno = 0;
        ssize_t n = recv(fd, at, bytes, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return gone("cannot receive");
        at += n;
        bytes -= (size_t)n;
    }
    return LT_OK;
}

/* Where frames go: PNG files in a folder, an animated PNG, or an ffmpeg process. SPDX-License-Identifier: BSD-3-Clause */
#include "operators/tools/pictures/visualize.h"
#include "operators/tools/pictures/image_apng.h"

#include "base/alloc.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct lt_frame_sink {
    char    *video, *folder;      /* NULL: not that */
    char    *target;              /* the name of the video as ffmpeg gets it */
    int      width, height;
    int64_t  n_frames;
    pid_t    child;               /* ffmpeg; 0: none */
    int      to_child;
    lt_apng *animation;           /* NULL: none */
    lt_status failed;             /* the first failure of a frame */
};

/* ---- ffmpeg ---------------------------------------------------------------------------------------- */

/* In the child, after fork: only async-signal-safe calls. The second pipe reports whether exec worked. */
static _Noreturn void become_ffmpeg(int frames, int fault, const char *size, const char *rate, const char *file)
{
    int nowhere = open("/dev/null", O_RDWR);
    dup2(frames, 0);
    dup2(nowhere, 1);
    dup2(nowhere, 2);
    char *const argv[] = { "ffmpeg", "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", (char *)size, "-r", (char *)rate,
                           "-i", "-", "-pix_fmt", "yuv420p", (char *)file, NULL };
    execvp(argv[0], argv);
    int error = errno;
    if (write(fault, &error, sizeof error) < 0) _exit(126);
    _exit(127);
}

/* Starts ffmpeg; *found is false when there is none. Frames go through a socket, because MSG_NOSIGNAL keeps a write from raising SIGPIPE
   when ffmpeg ends early. */
static lt_status start_ffmpeg(lt_frame_sink *s, int fps, bool *found)
{
    int frames[2], fault[2], error = 0;
    char size[32], rate[16];
    *found = false;
    snprintf(size, sizeof size, "%dx%d", s->width, s->height);
    snprintf(rate, sizeof rate, "%d", fps);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, frames)) return LT_FAIL(LT_ERR_IO, "no socket for ffmpeg: %s", strerror(errno));
    if (pipe2(fault, O_CLOEXEC)) {
        close(frames[0]);
        close(frames[1]);
        return LT_FAIL(LT_ERR_IO, "no pipe for ffmpeg: %s", strerror(errno));
    }
    pid_t child = fork();
    if (child == 0) become_ffmpeg(frames[1], fault[1], size, rate, s->target);
    close(frames[1]);
    close(fault[1]);
    bool failed = child < 0 || read(fault[0], &error, sizeof error) > 0;
    close(fault[0]);
    if (failed) {
        close(frames[0]);
        if (child > 0) waitpid(child, NULL, 0);
        return child < 0 ? LT_FAIL(LT_ERR_IO, "no process for ffmpeg: %s", strerror(errno)) : LT_OK;
    }
    s->child = child;
    s->to_child = frames[0];
    *found = true;
    return LT_OK;
}

static lt_status send_frame(lt_frame_sink *s, const lt_image *frame)
{
    const uint8_t *at = frame->rgb;
    size_t left = (size_t)frame->width * (size_t)frame->height * 3;
    while (left) {
        ssize_t n = send(s->to_child, at, left, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return LT_FAIL(LT_ERR_IO, "%s: ffmpeg stopped reading frames: %s", s->video, strerror(errno));
        at += n;
        left -= (size_t)n;
    }
    return LT_OK;
}

/* ---- Frames --------------------------------------------------------------------------------------------- */

static lt_status make_folder(const char *path)
{
    struct stat st;
    if (mkdir(path, 0777) == 0) return LT_OK;
    if (errno == EEXIST && stat(path, &st) == 0 && S_ISDIR(st.st_mode)) return LT_OK;
    return LT_FAIL(LT_ERR_IO, "%s: cannot make the folder: %s", path, strerror(errno));
}

/* The video's name without its ending, with _frames. */
static char *folder_beside(const char *video)
{
    const char *slash = strrchr(video, '/'), *dot = strrchr(video, '.');
    size_t n = dot && (!slash || dot > slash + 1) && dot > video ? (size_t)(dot - video) : strlen(video);
    char *path = lt_malloc(n + 8);
    if (path) snprintf(path, n + 8, "%.*s_frames", (int)n, video);
    return path;
}

/* ffmpeg would read "-x.mp4" as an option and "a:b.mp4" as a protocol. The prefix makes every name a file. */
static char *as_file(const char *video)
{
    static const char protocol[] = "file:";
    size_t bytes = sizeof protocol + strlen(video);
    char *target = lt_malloc(bytes);
    if (target) snprintf(target, bytes, "%s%s", protocol, video);
    return target;
}

/* A name that ends so is an animated PNG, which needs no other program. */
static bool is_animation(const char *video)
{
    const char *dot = strrchr(video, '.');
    return dot && (!strcasecmp(dot, ".png") || !strcasecmp(dot, ".apng"));
}

static lt_status start_video(lt_frame_sink *s, int fps, bool *found)
{
    if (is_animation(s->video)) return lt_apng_begin(s->video, s->width, s->height, fps, &s->animation);
    return start_ffmpeg(s, fps, found);
}

static void release(lt_frame_sink *s)
{
    lt_free(s->video);
    lt_free(s->target);
    lt_free(s->folder);
    lt_free(s);
}

lt_status lt_frame_sink_open(const char *video, const char *frames, int width, int height, int fps, char *note, size_t note_bytes, lt_frame_sink **out)
{
    *out = NULL;
    note[0] = '\0';
    lt_frame_sink *s = lt_calloc(1, sizeof *s);
    if (!s) return LT_ERR_MEMORY;
    s->width = width;
    s->height = height;
    bool found = true;
    lt_status st = (video && (!(s->video = lt_strdup(video)) || !(s->target = as_file(video)))) || (frames && !(s->folder = lt_strdup(frames))) ? LT_ERR_MEMORY : LT_OK;
    if (!st && video) st = start_video(s, fps, &found);
    if (!st && !found && !s->folder && !(s->folder = folder_beside(video))) st = LT_ERR_MEMORY;
    if (!st && !found) snprintf(note, note_bytes, "ffmpeg was not found: frames are in %.60s; a video that ends in .png needs no ffmpeg", s->folder);
    if (!st && s->folder) st = make_folder(s->folder);
    if (st) {
        bool ignored;
        lt_frame_sink_close(s, &ignored);
    } else *out = s;
    return st;
}

static lt_status put_frame(lt_frame_sink *s, const lt_image *frame)
{
    if (s->folder) {
        size_t bytes = strlen(s->folder) + 32;
        char *path = lt_malloc(bytes);
        if (!path) return LT_ERR_MEMORY;
        snprintf(path, bytes, "%s/frame_%05lld.png", s->folder, (long long)s->n_frames);
        lt_status st = lt_image_write_png(frame, path);
        lt_free(path);
        LT_TRY(st);
    }
    s->n_frames++;
    if (s->animation) LT_TRY(lt_apng_put(s->animation, frame));
    return s->child ? send_frame(s, frame) : LT_OK;
}

lt_status lt_frame_sink_put(lt_frame_sink *s, const lt_image *frame)
{
    lt_status st = put_frame(s, frame);
    lt_frame_sink_stop(s, st);
    return st;
}

void lt_frame_sink_stop(lt_frame_sink *s, lt_status why)
{
    if (!s->failed) s->failed = why;
}

lt_status lt_frame_sink_close(lt_frame_sink *s, bool *video)
{
    lt_status st = LT_OK;
    *video = false;
    if (!s) return LT_OK;
    if (s->animation) {
        lt_status unfinished = s->failed ? s->failed : s->n_frames ? LT_OK : LT_ERR_CANCELLED; /* stopped before the first frame */
        st = lt_apng_finish(s->animation, unfinished);
        *video = !st;
    }
    if (s->child) {
        int status = 0;
        close(s->to_child);
        while (waitpid(s->child, &status, 0) < 0 && errno == EINTR) { }
        *video = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if (!*video) st = LT_FAIL(LT_ERR_IO, "%s: ffmpeg could not write it", s->video);
    }
    release(s);
    return st;
}

/* log.c: builds the line; the sink stamps it and puts it somewhere. The only mutable
 * globals of the project beside metrics: a log has no owner. */
#include "common/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_LEN  2000
#define LIMIT_MS      1000 /* a line in so much time, in the long run */
#define QUOTE_BUFS    4
#define QUOTE_MAX     300

static const char *const level_name[] = { "error", "warn", "info", "debug" };

static void default_sink(void *ctx, enum log_level level, const char *line);

static struct {
    log_sink sink;
    void *ctx;
    log_sink tap;
    void *tap_ctx;
    enum log_level level;
    int fd;
    char path[512]; /* "" = stderr */
} lg = { .sink = default_sink, .level = LOG_INFO, .fd = STDERR_FILENO };

static void default_sink(void *ctx, enum log_level level, const char *line)
{
    char out[LINE_MAX_LEN + 64];
    struct timespec ts;
    struct tm tm;
    size_t n;

    (void)ctx;
    (void)level;
    clock_gettime(CLOCK_REALTIME, &ts);
    gmtime_r(&ts.tv_sec, &tm);
    n = strftime(out, sizeof(out), "%Y-%m-%dT%H:%M:%S", &tm);
    n += (size_t)snprintf(out + n, sizeof(out) - n, ".%03ldZ %s\n",
                          ts.tv_nsec / 1000000, line);
    /* Writes each line at once: lines of several processes in one file do not mix. A full disk
     * must not stop a process, so a failed write is nobody's error. */
    if (write(lg.fd, out, n < sizeof(out) ? n : sizeof(out) - 1) < 0)
        return;
}

void log_set_sink(log_sink sink, void *ctx)
{
    lg.sink = sink != NULL ? sink : default_sink;
    lg.ctx = ctx;
}

void log_set_tap(log_sink tap, void *ctx)
{
    lg.tap = tap;
    lg.tap_ctx = ctx;
}

void log_set_level(enum log_level level)
{
    lg.level = level;
}

enum log_level log_level_now(void)
{
    return lg.level;
}

static int open_file(const char *path, struct err *e)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);

    if (fd < 0)
        return err_set(e, SQ_ESYS, "log %s: %s", path, strerror(errno));
    if (lg.fd != STDERR_FILENO)
        close(lg.fd);
    lg.fd = fd;
    return 0;
}

int log_open(const char *path, struct err *e)
{
    int rc;

    if (path == NULL) {
        if (lg.fd != STDERR_FILENO)
            close(lg.fd);
        lg.fd = STDERR_FILENO;
        lg.path[0] = '\0';
        return 0;
    }
    if (strlen(path) >= sizeof(lg.path))
        return err_set(e, SQ_ETOOBIG, "log path is longer than %zu", sizeof(lg.path) - 1);
    rc = open_file(path, e);
    if (rc == 0)
        memcpy(lg.path, path, strlen(path) + 1);
    return rc;
}

void log_reopen(void)
{
    struct err e;

    if (lg.path[0] != '\0' && open_file(lg.path, &e) < 0)
        log_line(LOG_ERROR, "log", "event=reopen_failed why=\"%s; going on with the old file\"",
                 e.text);
}

void log_line(enum log_level level, const char *module, const char *fmt, ...)
{
    char line[LINE_MAX_LEN];
    va_list ap;
    int n;

    if (level > lg.level && (lg.tap == NULL || level > LOG_INFO))
        return;
    n = snprintf(line, sizeof(line), "%s %s ", level_name[level], module);
    va_start(ap, fmt);
    vsnprintf(line + n, sizeof(line) - (size_t)n, fmt, ap);
    va_end(ap);
    /* Whatever came in, one event stays one line, and says nothing to a terminal. */
    for (unsigned char *p = (unsigned char *)line; *p != '\0'; p++)
        if (*p < 0x20 || *p >= 0x7f)
            *p = *p < 0x20 ? ' ' : '?';
    if (lg.tap != NULL && level <= LOG_INFO)
        lg.tap(lg.tap_ctx, level, line);
    if (level <= lg.level)
        lg.sink(lg.ctx, level, line);
}

static char *next_quote_buf(void)
{
    static char bufs[QUOTE_BUFS][QUOTE_MAX];
    static unsigned turn;

    return bufs[turn++ % QUOTE_BUFS];
}

const char *log_q(const char *s, size_t n)
{
    static const char hex[] = "0123456789abcdef";
    char *out = next_quote_buf();
    size_t k = 0;

    out[k++] = '"';
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];

        if (k + 4 + 4 > QUOTE_MAX) { /* the longest escape, then `.."` and the 0 */
            out[k++] = '.';
            out[k++] = '.';
            break;
        }
        if (c == '"' || c == '\\') {
            out[k++] = '\\';
            out[k++] = (char)c;
        } else if (c < 0x20 || c >= 0x7f) {
            out[k++] = '\\';
            out[k++] = 'x';
            out[k++] = hex[c >> 4];
            out[k++] = hex[c & 15];
        } else {
            out[k++] = (char)c;
        }
    }
    out[k++] = '"';
    out[k] = '\0';
    return out;
}

bool log_may(struct log_limit *l, int64_t now_ms, unsigned at_once, uint64_t *left_out)
{
    int64_t from_ms = l->free_ms > now_ms ? l->free_ms : now_ms;

    if (from_ms - now_ms > ((int64_t)at_once - 1) * LIMIT_MS) {
        l->left_out++;
        return false;
    }
    *left_out = l->left_out;
    *l = (struct log_limit){ .free_ms = from_ms + LIMIT_MS };
    return true;
}

/* log.h: one line = one event: `time level module key=value ...`.
 * error = a human must act; warn = we coped; info = state changed; debug = per request.
 * The sink is settable and stamps the time, so cores may log: simulations capture it.
 * Values from outside go through log_q() (escaped, bounded). Secrets and tokens are never
 * logged. */
#ifndef SEGQ_LOG_H
#define SEGQ_LOG_H

#include "common/base/base.h"
#include "common/base/err.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* line: no newline; without time. The default sink writes to stderr. */
typedef void (*log_sink)(void *ctx, enum log_level level, const char *line);
void log_set_sink(log_sink sink, void *ctx); /* NULL: the default */
/* Beside the sink: gets every line of level info or worse, whatever the level is set to. It
 * may not log. NULL: none. */
void log_set_tap(log_sink tap, void *ctx);
void log_set_level(enum log_level level);
enum log_level log_level_now(void);
/* To a file (append; reopened by log_reopen, for logrotate); NULL = stderr. */
SQ_CHECK int log_open(const char *path, struct err *e);
void log_reopen(void);

void log_line(enum log_level level, const char *module, const char *fmt, ...) SQ_PRINTF(3, 4);
/* A quoted, escaped copy of an outside string in one of 4 rotating buffers. */
const char *log_q(const char *s, size_t n);

/* Lines that others can cause, again and again: some at once, then one a second. Zero = new. */
struct log_limit {
    int64_t free_ms;   /* the lines until now have used up the time until then */
    uint64_t left_out; /* since the last line */
};
/* True: a line may be written; *left_out: how many were not, since the one before. */
bool log_may(struct log_limit *l, int64_t now_ms, unsigned at_once, uint64_t *left_out);

/* Each .c sets `#define LOG_MODULE "chain"` before use. */
#define log_error(...) log_line(LOG_ERROR, LOG_MODULE, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_WARN, LOG_MODULE, __VA_ARGS__)
#define log_info(...)  log_line(LOG_INFO, LOG_MODULE, __VA_ARGS__)
#define log_debug(...)                                                                   \
    do {                                                                                 \
        if (log_level_now() >= LOG_DEBUG)                                                \
            log_line(LOG_DEBUG, LOG_MODULE, __VA_ARGS__);                                \
    } while (0)

#endif

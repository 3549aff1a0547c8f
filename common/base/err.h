/* err.h: error codes of all modules, and one sentence for the edges. Pure.
 * A function that can fail returns 0 or a count, or one of these (negative).
 * At the edges (files, sockets, configuration) a struct err adds the sentence. */
#ifndef SEGQ_ERR_H
#define SEGQ_ERR_H

#include "common/base/base.h"

/* code, value, text */
#define SQ_ERRORS(X)                                                                     \
    X(SQ_ENOMEM, -1, "out of memory")                                                    \
    X(SQ_ESYS, -2, "system call failed")                                                 \
    X(SQ_EINVAL, -3, "invalid argument")                                                 \
    X(SQ_EFULL, -4, "full")                                                              \
    X(SQ_ESEALED, -5, "sealed")                                                          \
    X(SQ_EGONE, -6, "gone")                                                              \
    X(SQ_EUNKNOWN, -7, "unknown")                                                        \
    X(SQ_EBUSY, -8, "busy, try again")                                                   \
    X(SQ_ESTALE, -9, "stale epoch or version")                                           \
    X(SQ_EUNAVAIL, -10, "not available now")                                             \
    X(SQ_EPROTO, -11, "protocol violation")                                              \
    X(SQ_EAUTH, -12, "authentication failed")                                            \
    X(SQ_ETOOBIG, -13, "too big")                                                        \
    X(SQ_ECLOSED, -14, "closed")                                                         \
    X(SQ_ETIMEOUT, -15, "timed out")                                                     \
    X(SQ_ECONFLICT, -16, "conflict")                                                     \
    X(SQ_ENOTEMPTY, -17, "not empty")                                                    \
    X(SQ_ENOTLEADER, -18, "not the leader")                                              \
    X(SQ_EHELD, -19, "another one has it")

enum sq_err {
#define X(code, value, text) code = value,
    SQ_ERRORS(X)
#undef X
};

const char *sq_strerror(int code); /* "ok" for >= 0; never NULL */

struct err {
    int code;       /* 0 or an sq_err */
    char text[1000]; /* a sentence, no newline; all keys of a queue's definition fit */
};

/* Both return code, so that `return err_set(e, ...)` reads well. e may be NULL. */
int err_set(struct err *e, int code, const char *fmt, ...) SQ_PRINTF(3, 4);
/* Puts "what: " in front of the sentence that is there. */
int err_wrap(struct err *e, const char *fmt, ...) SQ_PRINTF(2, 3);

#endif

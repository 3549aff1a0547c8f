/* unfit.h: sentences about members of a request that are unfit: the range that they have, and the name
 * that was perhaps meant. Pure. */
#ifndef SEGQ_TASK_API_UNFIT_H
#define SEGQ_TASK_API_UNFIT_H

#include "common/http/http.h"

struct body_error {
    char text[160]; /* "": none */
    bool too_large; /* a payload or a result */
};

/* "BEFORE NAME AFTER"; the name may be a stranger's. Always false. */
bool task_body_say(struct body_error *e, const char *before, struct slice name, const char *after);

enum unfit_range { UNFIT_PLAIN, UNFIT_NUMBER, UNFIT_TIME, UNFIT_BYTES };

/* "priority must be a whole number" and the range behind it: " from 0 to 7". Always false. */
bool unfit_member(struct body_error *e, struct slice name, const char *must, enum unfit_range kind,
                  int64_t least, int64_t most);
/* "unknown member dealy; did you mean delay?": of the names that the request may have. Always
 * false. */
bool unfit_unknown(struct body_error *e, struct slice name, const char *const *names, size_t n);

#endif

/* http.h: one HTTP request and its answer. */
#ifndef SEGQ_CTL_HTTP_H
#define SEGQ_CTL_HTTP_H

#include <jansson.h>

#include "common/base/buf.h"
#include "common/base/err.h"

struct ctl_call {
    const char *method;        /* "GET", "POST", "PUT", "PATCH", "DELETE" */
    const char *path;          /* encoded, with its query */
    /* name for the last `*` in a path, not yet encoded: ctl_ask() puts it in */
    const char *name;
    const char *queue;         /* the same for the first of two: a queue of tasks */
    const char *bearer;        /* NULL = none */
    bool is_new;               /* If-None-Match: it must not be there yet */
    json_int_t version;        /* If-Match: nobody has changed it since; 0: whatever there is */
    const json_t *body;        /* NULL = none; or as text: */
    const char *text;          /* NULL = none */
};

struct ctl_answer {
    int status;
    const char *from; /* the router that answered ctl_ask(); ref */
    const char *name; /* name of what ctl_ask() asked about; ref, or NULL */
    struct buf body; /* owned by the caller, also after a failure */
};

struct ctl_net {
    unsigned timeout_s;  /* time of the whole request */
    const char *cacert;  /* authorities for https, a file; NULL: those of the system */
    const char *operator; /* the name for the log of changes; NULL: none but the environment's */
};

/* base: http:// or https://, host, port. 0, or SQ_EUNAVAIL (no connection, or a certificate that is
 * not good: the request was not sent), SQ_ECLOSED, SQ_ETIMEOUT (the request may have been carried
 * out), SQ_EINVAL, SQ_ENOMEM, with a sentence. */
SQ_CHECK int ctl_http(const char *base, const struct ctl_call *call, const struct ctl_net *net,
                      struct ctl_answer *a, struct err *e);

#endif

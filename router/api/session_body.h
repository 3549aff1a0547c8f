/* session_body.h: a backend's command about a session: X-Segq-Command, carried to us in a body.
 *
 *   {"command": "release"}      {"command": "extend=600"}      command=revoke
 *
 * The value of the header as it came: a gate in front need not understand it. */
#ifndef SEGQ_SESSION_IN_H
#define SEGQ_SESSION_IN_H

#include "common/base/err.h"
#include "common/http/http.h"
#include "common/wire/msg_router_segment.h"

#define GATE_SECRET_MAX    200
#define SESSION_MAX_EXTEND 31536000 /* seconds of one command; more is no number but a mistake */

struct gate_secret { /* token of the file; n 0: none, and nobody knows it */
    size_t n;
    char text[GATE_SECRET_MAX + 1];
};

struct session_cmd {
    enum sess_command command;
    uint32_t seconds; /* EXTEND: 0: not said */
};

/* "release", "revoke", "extend", "extend=SECONDS"; false: none of them. */
SQ_CHECK bool session_cmd_read(struct session_cmd *c, const char *p, size_t n);
/* Out of a request's body, JSON or form. 0, or SQ_EINVAL and *why: a sentence of ours. */
SQ_CHECK int session_body(struct session_cmd *c, struct slice body, const char **why);

/* path "": none. */
SQ_CHECK int gate_secret_read(struct gate_secret *s, const char *path, struct err *e);
/* Takes the same time wherever they differ. */
bool gate_secret_is(const struct gate_secret *s, struct slice said);

#endif

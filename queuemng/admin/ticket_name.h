/* ticket_name.h: what an operator calls a ticket: its token, or its id as passes and the
 * audit trail have it, "<segment>-<number>". Pure. */
#ifndef SEGQ_TICKET_NAME_H
#define SEGQ_TICKET_NAME_H

#include "common/base/err.h"
#include "common/ticket/token.h"

struct ticket_name {
    seg_id seg;
    uint32_t number;
    bool has_token; /* then these are known, too */
    uint8_t client;
    uint32_t issued_s;
    bool has_subject;
};

/* 0; SQ_EINVAL: neither of both; SQ_EAUTH: a token that is not ours. */
SQ_CHECK int ticket_name_read(struct ticket_name *n, const struct token_key *k,
                              const char *text);

#endif

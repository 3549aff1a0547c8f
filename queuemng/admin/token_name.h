/* token_name.h: what an operator calls a ticket or a task: its token, or its id as passes and
 * audit trails have it: "<segment>-<number>", "<partition>-<number>". Pure. */
#ifndef SEGQ_TOKEN_NAME_H
#define SEGQ_TOKEN_NAME_H

#include "common/base/err.h"
#include "common/task/bounds.h"
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
/* The same of a task. */
SQ_CHECK int task_name_read(part_no *part, task_no *no, const struct token_key *k,
                            const char *text);
/* The id alone. */
SQ_CHECK int task_id_read(part_no *part, task_no *no, const char *text);

#endif

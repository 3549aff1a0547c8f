/* task_token.h: a task's name for its callers, and the text of a lease. Pure.
 *
 *   1 byte   kind (high 4 bits, = 2: no ticket's token begins so), 0 (low 4 bits)
 *   4 bytes  partition                big endian
 *   8 bytes  the task's number in it
 *   4 bytes  0: for later
 *  16 bytes  SipHash-2-4-128 over the 17 bytes before, under the cluster's token key
 *
 * 33 bytes, 44 characters of URL-safe base64: no bit is spare, so a token has one text form. A
 * task has one token, whoever asks and whenever: it says nothing but which task. */
#ifndef SEGQ_TASK_TOKEN_H
#define SEGQ_TASK_TOKEN_H

#include "common/ticket/token.h"

#define TASK_TOKEN_LEN 44 /* without a final 0 */
#define LEASE_TEXT_LEN 11

/* Writes exactly TASK_TOKEN_LEN characters, no 0. */
void task_token_write(uint32_t part, uint64_t no, const struct token_key *k, char *out);
/* 0; SQ_EINVAL if malformed; SQ_EAUTH if the MAC is not ours (compared in constant time). */
SQ_CHECK int task_token_read(uint32_t *part, uint64_t *no, const struct token_key *k,
                             const char *text, size_t len);

/* A lease's number as LEASE_TEXT_LEN characters of base64; it is no secret. */
void lease_write(uint64_t lease, char *out);
SQ_CHECK bool lease_read(uint64_t *lease, const char *text, size_t len);

#endif

/* token.h: a ticket's name. Pure.
 *
 *   1 byte   version (high 4 bits, = 1), client class (low 4 bits)
 *   8 bytes  segment id               big endian
 *   4 bytes  number in that segment
 *   4 bytes  issue time, Unix seconds
 *   8 bytes  keyed hash of the subject, 0 = no subject
 *  16 bytes  SipHash-2-4-128 over the 25 bytes before, under the cluster's token key
 *
 * 41 bytes, 55 characters of URL-safe base64 without padding. Nothing is stored per
 * ticket but its place: the token carries the place, and the MAC makes it unforgeable.
 * Exactly one text form per token: other base64 spellings are refused. */
#ifndef SEGQ_TOKEN_H
#define SEGQ_TOKEN_H

#include "common/base/base.h"

#define TOKEN_KEY_BYTES 16
#define TOKEN_TEXT_LEN  55 /* without a final 0 */

struct token {
    seg_id seg;
    uint64_t subject_hash;
    uint32_t number;
    uint32_t issued_s;
    uint8_t client; /* enum client_class */
};

struct token_key {
    uint8_t mac[TOKEN_KEY_BYTES];
    uint8_t other_mac[TOKEN_KEY_BYTES]; /* writes nothing, but what it wrote is ours */
    bool has_other;                     /* while the cluster's secret is being changed */
    uint8_t subject[TOKEN_KEY_BYTES]; /* for token_subject_hash() */
};

/* Writes exactly TOKEN_TEXT_LEN characters, no 0. */
void token_write(const struct token *t, const struct token_key *k, char *out);
/* 0; SQ_EINVAL if malformed; SQ_EAUTH if the MAC is not ours (compared in constant time). */
SQ_CHECK int token_read(struct token *t, const struct token_key *k, const char *text,
                        size_t len);
/* Never 0. The queue's id goes in, so that one person's hashes differ between queues. */
uint64_t token_subject_hash(const struct token_key *k, queue_id q, const char *subject,
                            size_t len);

#endif

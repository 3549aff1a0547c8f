/* task_token.h: a task's name for its callers, the text of a lease, and the right of a target to say
 * how its attempt ended. Pure.
 *
 *   1 byte   kind (high 4 bits, = 2: no ticket's token begins so), 0 (low 4 bits)
 *   4 bytes  partition                big endian
 *   8 bytes  the task's number in it
 *   4 bytes  0: for later
 *  16 bytes  SipHash-2-4-128 over the 17 bytes before, under the cluster's token key
 *
 * 33 bytes, 44 characters of URL-safe base64: no bit is spare, so a token has one text form. A
 * task has one token, whoever asks and whenever: it says nothing but which task.
 *
 * A right: kind 3, partition (4 bytes), number (8), lease (8), attempt (1), 0, and a SipHash-2-4-128
 * over these 23 bytes, under a key made of the partition's seed: its owner alone can make and check
 * one, wherever the partition moves. 39 bytes, 52 characters. */
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

#define RIGHT_TEXT_LEN  52 /* without a final 0 */
#define RIGHT_MAC_BYTES 16
#define RIGHT_KEY_BYTES 16

struct attempt_right {
    uint32_t part;
    uint64_t no, lease;
    uint8_t attempt;
    uint8_t mac[RIGHT_MAC_BYTES];
};

/* Computes the MAC; seed: the partition's. */
void right_sign(struct attempt_right *r, const uint8_t seed[RIGHT_KEY_BYTES]);
/* In constant time. */
bool right_is_signed(const struct attempt_right *r, const uint8_t seed[RIGHT_KEY_BYTES]);
/* Writes exactly RIGHT_TEXT_LEN characters, no 0. */
void right_write(const struct attempt_right *r, char *out);
/* False: malformed. Its MAC is not looked at. */
SQ_CHECK bool right_read(struct attempt_right *r, const char *text, size_t len);

/* A lease as those outside a partition know it: SipHash-2-4 (64 bits) over the start's number, under a
 * key made of the partition's seed. Starts are counted, so their numbers can be guessed; this can not. */
struct lease_key {
    uint8_t bytes[16];
};
void lease_key_init(struct lease_key *k, const uint8_t seed[RIGHT_KEY_BYTES]);
uint64_t lease_outside(const struct lease_key *k, uint64_t no, uint64_t lease);
/* In constant time: is this how start `lease` of task `no` is known? */
bool lease_is(const struct lease_key *k, uint64_t no, uint64_t lease, uint64_t outside);

/* Writes LEASE_TEXT_LEN characters of base64. */
void lease_write(uint64_t lease, char *out);
SQ_CHECK bool lease_read(uint64_t *lease, const char *text, size_t len);

#endif

/* token.h: names that are given out: a ticket's; a task's, with the text of a lease and the right of a
 * target to say how its attempt ended (below). Pure.
 *
 *   1 byte   version (high 4 bits, = 1), client class (low 4 bits)
 *   8 bytes  segment id               big endian
 *   4 bytes  number in that segment
 *   4 bytes  issue time, Unix seconds
 *   8 bytes  keyed hash of the subject, 0 = no subject
 *  16 bytes  SipHash-2-4-128 over the 25 bytes before, under the cluster's token key
 *
 * Version 2 is bound to a device (router/calls/device.h): its last 16 bytes are 9 of the SipHash over
 * the 25 bytes and the device, and the device, 7 bytes.
 *
 * 41 bytes, 55 characters of URL-safe base64 without padding. Nothing is stored per
 * ticket but its place: the token carries the place, and the MAC makes it unforgeable.
 * Exactly one text form per token: other base64 spellings are refused. */
#ifndef SEGQ_TOKEN_H
#define SEGQ_TOKEN_H

#include "common/base/base.h"
#include "common/base/text.h"

#define TOKEN_KEY_BYTES 16
#define TOKEN_TEXT_LEN  55 /* without a final 0 */
#define DEVICE_LEN     22 /* a device's secret, and its id: 128 bits in URL-safe base64 */
#define CLAIM_MAX_LEN   2048 /* bytes of a signed claim of an operator (router/gate) */

struct token {
    seg_id seg;
    uint64_t subject_hash;
    uint32_t number;
    uint32_t issued_s;
    union {
        struct {
            uint64_t client : 8;  /* enum client_class */
            uint64_t device : 56; /* token_device() of the device that it works with; 0: any */
        };
        uint64_t bearer; /* both */
    };
};

struct token_key {
    uint8_t mac[TOKEN_KEY_BYTES];
    uint8_t other_mac[TOKEN_KEY_BYTES]; /* writes nothing, but what it wrote is ours */
    bool has_other;                     /* while the cluster's secret is being changed */
    uint8_t subject[TOKEN_KEY_BYTES]; /* for token_subject_hash() */
    uint8_t other_subject[TOKEN_KEY_BYTES]; /* likewise, of other_mac's secret */
};

/* Writes exactly TOKEN_TEXT_LEN characters, no 0. */
void token_write(const struct token *t, const struct token_key *k, char *out);
#define TOKEN_BOUND 1
/* 0; TOKEN_BOUND: it works with one device, which is for the caller to check; SQ_EINVAL if malformed;
 * SQ_EAUTH if the MAC is not ours (compared in constant time). Only TOKEN_BOUND leaves a device in *t. */
SQ_CHECK int token_read(struct token *t, const struct token_key *k, const char *text,
                        size_t len);
/* Never 0: short name of a device, by its secret. other: under the key that writes nothing. */
uint64_t token_device(const struct token_key *k, bool other, const char secret[DEVICE_LEN]);
/* Never 0. The queue's id goes in, so that one person's hashes differ between queues. */
uint64_t token_subject_hash(const struct token_key *k, queue_id q, const char *subject,
                            size_t len);

/* ---- URL-safe base64, sixteen characters and twelve bytes at a time, in registers ---- */

typedef uint16_t pairs8 __attribute__((vector_size(16)));
typedef uint32_t groups4 __attribute__((vector_size(16)));

/* Values of the characters, 0..63; the high half of each nearly says it. *bad: not 0 for what is no
 * such character. */
static inline chars16 chars64_values(chars16 c, chars16 *bad)
{
    const chars16 ours = { 0xa8, 0xf8, 0xf8, 0xf8, 0xf8, 0xf8, 0xf8, 0xf8,
                           0xf8, 0xf8, 0xf0, 0x50, 0x50, 0x54, 0x50, 0x70 };
    const uint8_t upper = (uint8_t)-'A', lower = (uint8_t)(26 - 'a');
    const chars16 add = { 0, 0, 62 - '-', 52 - '0', upper, upper, lower, lower }; /* but for '_' */

    *bad |= (chars16)(chars16_in(c, ours) == 0);
    return c + chars16_look_up(add, c >> 4) + ((chars16)(c == '_') & (63 - '_' + 'A'));
}

/* Sixteen values as twelve bytes; the last four are 0. */
static inline chars16 chars64_bytes(chars16 v)
{
    pairs8 p = (pairs8)v;
    groups4 g = (groups4)((p << 6 & 0xfc0) | p >> 8);

    v = (chars16)((g << 12 & 0xfff000) | g >> 16);
    return __builtin_shufflevector(v, v, 2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, 3, 7, 11, 15);
}

/* The text of the first twelve bytes. */
static inline chars16 chars64_of(chars16 b)
{
    const chars16 none = { 0 };
    groups4 g = (groups4)__builtin_shufflevector(b, none, 2, 1, 0, 16, 5, 4, 3, 16, 8, 7, 6, 16,
                                                 11, 10, 9, 16);
    chars16 v = (chars16)(g >> 18 | (g >> 4 & 0x3f00) | (g << 10 & 0x3f0000) | (g << 24 & 0x3f000000));

    return v + 'A' + ((chars16)(v > 25) & ('a' - 26 - 'A')) -
           ((chars16)(v > 51) & ('a' - 26 - '0' + 52)) - ((chars16)(v == 62) & ('0' + 10 - '-')) +
           ((chars16)(v == 63) & ('_' - '0' - 11));
}

/* ---- tasks: the name for callers, the text of a lease, and the right of a target to say how its
 * attempt ended -----------------------------------------------------------------------------
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

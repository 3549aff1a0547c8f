/* body_form.h: the bytes of a file of bodies, its name, and what a reference says. Pure.
 *
 * A file is bodies without gaps, each at a multiple of 16:
 *   sum 8 (of what follows) | length 4 | its own place / 16: 4 | bytes | zeros
 * Sums are SipHash-2-4 with node and number of the file in the key: what was copied from
 * elsewhere does not pass. There is no head: another form gets another name than `body-N`, and
 * another format of the journal, which older programs refuse.
 *
 * A reference: number of the file 26 bits | place / 16: 22 | bytes with head / 16: 16. So what
 * dies is counted, and what is read is read at once, without asking the disk first. */
#ifndef SEGQ_TASK_BODY_FORM_H
#define SEGQ_TASK_BODY_FORM_H

#include "common/base/base.h"

#define BODY_UNIT     16u
#define BODY_HEAD     16u
#define BODY_FILE_MAX ((1u << 26) - 1)           /* numbers are 1 to this, then 1 again */
#define BODY_END_MAX  ((uint64_t)BODY_UNIT << 22) /* end of a file, at most */
#define BODY_NAME_MAX 16

struct body_place {
    uint32_t file;   /* number of the file */
    uint32_t at, len; /* bytes; with head and zeros */
};

struct body_key {
    uint8_t k[16];
};

static inline uint32_t body_len(uint32_t n)
{
    return (BODY_HEAD + n + BODY_UNIT - 1) / BODY_UNIT * BODY_UNIT;
}

static inline uint64_t body_ref(const struct body_place *p)
{
    return (uint64_t)p->file << 38 | (uint64_t)(p->at / BODY_UNIT) << 16 | p->len / BODY_UNIT;
}

static inline struct body_place body_place_of(uint64_t ref)
{
    return (struct body_place){ (uint32_t)(ref >> 38),
                                ((uint32_t)(ref >> 16) & ((1u << 22) - 1)) * BODY_UNIT,
                                ((uint32_t)ref & 0xffff) * BODY_UNIT };
}

void body_name(char out[BODY_NAME_MAX], uint32_t file);
bool body_name_parse(const char *text, uint32_t *file);
void body_key_make(struct body_key *k, const char *node, uint32_t file);
/* Writes body_len(n) bytes. */
void body_seal(uint8_t *out, const struct body_key *k, uint32_t at, const uint8_t *p, uint32_t n);
/* The bytes of the place p are a body that was written there: its length in *n; it begins at
 * BODY_HEAD. */
bool body_is_whole(const uint8_t *bytes, const struct body_key *k, const struct body_place *p,
                   uint32_t *n);

#endif

/* format.h: the bytes of the journal's files. Pure.
 *
 * All numbers little endian. A file is a head and then groups, without gaps:
 *
 *   head, 128 bytes: magic 8 | sum 8 (of what follows) | version 4 | kind 4 | sequence 8 |
 *                    created, wall ms 8 | flags 8 | node name 64 |
 *                    start of the machine 8 | zeros
 *   group:           sum 8 (of what follows) | its own offset 8 | synced 8 | length of the
 *                    records 4 | number of records 3, kind 1 | records
 *   record:          length 3 | type 1 | bytes
 *
 * Sums are SipHash-2-4 of libsodium, which is linked anyway: 64 bits, a gigabyte a second,
 * and keyed: with node, kind and sequence in the key and the offset in the sum, a group
 * that was copied from elsewhere, even from this very file, does not pass.
 *
 * `synced` is how much of the file was known to be on the disk when the group was written.
 * That tells a torn tail (nobody was promised what is missing) from damage: bytes below any
 * later group's `synced` were there once. */
#ifndef SEGQ_JOURNAL_FORMAT_H
#define SEGQ_JOURNAL_FORMAT_H

#include <endian.h>
#include <string.h>

#include "common/base/base.h"

#define JHEAD_BYTES   128u
#define JGROUP_BYTES  32u
#define JRECORD_BYTES 4u
#define JGROUP_MAX    (64u << 20) /* bounds what a full disk keeps in memory */
#define JCOUNT_MAX    ((1u << 24) - 1)

enum jkind { JLOG = 1, JSNAP = 2 };
enum jgroup_kind {
    JG_RECORDS,
    JG_END,    /* a snapshot's last: one record, the number of its chunks */
    JG_CLOSED, /* log: all before it is synced. The last group of a log that others follow */
};
#define JHEAD_FRESH 1u /* log: worth nothing without its snapshot, see journal.h, the cure */

struct jhead {
    uint32_t version;
    enum jkind kind;
    uint64_t seq, created_ms, flags, boot;
    char node[NAME_MAX_LEN + 1];
};

struct jkey {
    uint8_t k[16];
};

struct jgroup {
    uint64_t at, synced;
    uint32_t len, count;
    uint8_t kind;
    const uint8_t *body; /* ref: the reader's window, until its next use */
};

struct jrecord {
    uint8_t type;
    uint32_t len;
    const uint8_t *p;
};

static inline uint64_t le64_get(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof(v));
    return le64toh(v);
}

static inline uint32_t le32_get(const uint8_t *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof(v));
    return le32toh(v);
}

static inline void le64_put(uint8_t *p, uint64_t v)
{
    v = htole64(v);
    memcpy(p, &v, sizeof(v));
}

static inline void le32_put(uint8_t *p, uint32_t v)
{
    v = htole32(v);
    memcpy(p, &v, sizeof(v));
}

void jhead_build(uint8_t out[JHEAD_BYTES], const struct jhead *h);
/* False: no whole head. The version may be newer than what the caller reads. */
bool jhead_parse(const uint8_t in[JHEAD_BYTES], struct jhead *h);
void jkey_make(struct jkey *k, const char *node, enum jkind kind, uint64_t seq);
/* Fills the first JGROUP_BYTES of a group of `len` bytes of records behind them. */
void jgroup_seal(uint8_t *group, const struct jkey *k, uint64_t at, uint64_t synced,
                 uint32_t len, uint32_t count, enum jgroup_kind kind);
/* Reads the head of a group that is said to begin at `at`, where the file has `room` bytes.
 * False: none begins there. */
bool jgroup_parse(const uint8_t *head, uint64_t at, uint64_t room, struct jgroup *g);
/* The bytes of the whole group are those that were written, by this journal, to this place. */
bool jgroup_is_whole(const uint8_t *group, const struct jkey *k, const struct jgroup *g);
/* The next record of a group that was found valid; *pos begins at 0. */
bool jgroup_next(const struct jgroup *g, uint32_t *pos, struct jrecord *out);

#endif

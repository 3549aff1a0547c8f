/* journal_int.h: the journal's files, shared by journal*.c. Private to them.
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
#ifndef SEGQ_JOURNAL_INT_H
#define SEGQ_JOURNAL_INT_H

#include <endian.h>
#include <string.h>

#include "segment/journal/journal.h"

#define JHEAD_BYTES   128u
#define JGROUP_BYTES  32u
#define JRECORD_BYTES 4u
#define JGROUP_MAX    (64u << 20) /* bounds what a full disk keeps in memory */
#define JCOUNT_MAX    ((1u << 24) - 1)
#define JNAME_MAX     32

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

/* ---- bytes ------------------------------------------------------------------------ */
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

/* ---- format (journal_file.c) ------------------------------------------------------- */
void jhead_build(uint8_t out[JHEAD_BYTES], const struct jhead *h);
enum jhead_rc { JHEAD_OK, JHEAD_BAD, JHEAD_NEWER };
enum jhead_rc jhead_parse(const uint8_t in[JHEAD_BYTES], struct jhead *h);
void jkey_make(struct jkey *k, const char *node, enum jkind kind, uint64_t seq);
/* Fills the first JGROUP_BYTES of a group of `len` bytes of records behind them. */
void jgroup_seal(uint8_t *group, const struct jkey *k, uint64_t at, uint64_t synced,
                 uint32_t len, uint32_t count, enum jgroup_kind kind);
/* The next record of a group that was found valid; *pos begins at 0. */
bool jgroup_next(const struct jgroup *g, uint32_t *pos, struct jrecord *out);

/* ---- reading (journal_file.c) ------------------------------------------------------ */
struct jreader {
    struct disk *d; /* ref */
    int h;
    uint64_t size;
    uint8_t *win; /* owned: bytes [win_at, win_at + win_len) */
    size_t win_len, win_cap;
    uint64_t win_at;
};
SQ_CHECK int jreader_open(struct jreader *r, struct disk *d, const char *name, struct err *e);
void jreader_close(struct jreader *r);
/* 0 and *p: n bytes at `at` (in the file), until the next call. */
SQ_CHECK int jreader_get(struct jreader *r, uint64_t at, size_t n, const uint8_t **p,
                         struct err *e);
/* 1: a whole, valid group; 0: none there. */
SQ_CHECK int jreader_group(struct jreader *r, const struct jkey *k, uint64_t at,
                           struct jgroup *g, struct err *e);
/* The first valid group that begins at `at` or after it; 1, or 0: none. */
SQ_CHECK int jreader_find(struct jreader *r, const struct jkey *k, uint64_t at,
                          struct jgroup *g, struct err *e);
SQ_CHECK int jreader_is_zero(struct jreader *r, uint64_t at, struct err *e); /* to the end */

enum jtail { JTAIL_ZEROS, JTAIL_TORN, JTAIL_DAMAGE };
/* What [at, end) is, where no group begins at `at`. An enum jtail or < 0. */
SQ_CHECK int jreader_tail(struct jreader *r, const struct jkey *k, uint64_t at, struct err *e);

/* ---- the folder (journal_dir.c) ---------------------------------------------------- */
enum jname_kind { JNAME_LOG, JNAME_SNAP, JNAME_TMP, JNAME_TORN };
struct jname {
    enum jname_kind kind;
    uint64_t seq;
};
struct jdir { /* sorted by kind, then seq */
    struct jname *v; /* owned */
    size_t n, cap;
    bool failed; /* no memory */
};
void jname_text(char out[JNAME_MAX], enum jname_kind kind, uint64_t seq);
bool jname_parse(const char *text, struct jname *out);
SQ_CHECK int jdir_read(struct jdir *dir, struct disk *d, struct err *e);
void jdir_fini(struct jdir *dir);

/* ---- the journal itself ------------------------------------------------------------ */
struct jout { /* a file being written */
    int h;    /* -1 = none */
    uint64_t seq, written, synced, allocated;
    struct jkey key;
    uint8_t *buf; /* owned: room for a group's head, then its records */
    size_t len, cap, first_cap;
    uint32_t count;
};

struct journal {
    struct disk *disk; /* owned if own_disk */
    bool own_disk;
    char *where; /* owned: the folder, for messages */
    char node[NAME_MAX_LEN + 1];
    enum journal_mode mode;
    uint64_t reserve, snap_after, promised, boot;
    uint64_t kept; /* of the log: its end as of the last flush that answered 0 */
    uint32_t sync_ms;
    bool failed; /* the log cannot be believed any more */
    bool curing; /* failed, and a fresh log and its snapshot are being written */
    bool full;   /* the group in log.buf found no room */
    bool was_cut; /* found at the opening: of another start of the machine */
    bool starved; /* room was refused; asked for again after the next tick */
    struct jout log, snap; /* snap.seq == log.seq while one is written */
    bool snap_running;
    uint64_t snap_chunks;
    uint64_t older_bytes; /* of the logs since the newest snapshot, without the current */
    unsigned older_logs;
    uint64_t base_bytes;  /* of the newest snapshot */
    msec_t now_ms, synced_ms, retry_ms;
    struct journal_counts c;
};

/* ---- writing (journal_out.c) ------------------------------------------------------- */
/* All: 0, SQ_EFULL (no room; may be tried again), or SQ_ESYS. */
/* One record of up to `longest` bytes will always fit. 0 or SQ_ENOMEM. */
SQ_CHECK int jout_init(struct jout *o, size_t longest);
void jout_fini(struct jout *o, struct disk *d);
void *jout_put_slow(struct jout *o, uint8_t type, size_t n);
static inline void *jout_put(struct jout *o, uint8_t type, size_t n)
{ /* NULL: no memory, o as before */
    uint8_t *p = o->buf + o->len;

    if (SQ_UNLIKELY(o->cap - o->len < JRECORD_BYTES + n || o->count == JCOUNT_MAX))
        return jout_put_slow(o, type, n);
    le32_put(p, (uint32_t)n << 8 | type);
    o->len += JRECORD_BYTES + n;
    o->count++;
    return p + JRECORD_BYTES;
}
void jout_drop(struct jout *o); /* forgets the records that were not written */
struct jfile_new {
    enum jname_kind name;
    uint64_t seq, flags;
    uint64_t room; /* to be had, if possible; `must`: or fail with SQ_EFULL */
    bool must;
};
/* A file with its head; a log's is on the disk for good. Leaves o->buf alone. */
SQ_CHECK int jout_create(struct journal *j, struct jout *o, const struct jfile_new *n,
                         struct err *e);
/* The records in the buffer as one group; they stay there if that fails. */
SQ_CHECK int jout_write(struct journal *j, struct jout *o, enum jgroup_kind kind,
                        struct err *e);
SQ_CHECK int jout_bytes(struct journal *j, struct jout *o, const uint8_t *p, size_t n,
                        struct err *e);
SQ_CHECK int jout_sync(struct journal *j, struct jout *o, struct err *e);
/* Room up to `end`, in large steps; false: none to be had. */
bool jout_room(struct journal *j, struct jout *o, uint64_t end);
void jout_close(struct jout *o, struct disk *d); /* the file, not the buffer */
SQ_CHECK int jdisk_sync_dir(struct disk *d, struct err *e);

void journal_fail(struct journal *j, const char *what); /* journal.c */

/* ---- recovery (journal_replay.c) --------------------------------------------------- */
/* Replays, closes what it read, removes what is void. *next: the log to create. */
SQ_CHECK int journal_recover(struct journal *j, const struct journal_replay *r,
                             bool allow_damage, uint64_t *next, struct err *e);
/* The snapshot and the logs behind it, up to j->kept in the newest; writes nothing. */
SQ_CHECK int journal_reread(struct journal *j, const struct journal_replay *r, struct err *e);

#endif

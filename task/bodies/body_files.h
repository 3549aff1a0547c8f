/* body_files.h: the files of bodies in a folder: their form, how much of each lives, their handles,
 * and which of them go. Shell. Everything returns >= 0, or -errno as the disk does.
 *
 * A file is bodies without gaps, each at a multiple of 16:
 *   sum 8 (of what follows) | length 4 | its own place / 16: 4 | bytes | zeros
 * Sums are SipHash-2-4 with node and number of the file in the key: what was copied from
 * elsewhere does not pass. There is no head: another form gets another name than `body-N`, and
 * another format of the journal, which older programs refuse.
 *
 * A reference: number of the file 26 bits | place / 16: 22 | bytes with head / 16: 16. So what
 * dies is counted, and what is read is read at once, without asking the disk first. */
#ifndef SEGQ_TASK_BODY_FILES_H
#define SEGQ_TASK_BODY_FILES_H

#include "common/base/map.h"
#include "common/journal/disk.h"

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

void body_key_make(struct body_key *k, const char *node, uint32_t file);
/* Writes body_len(n) bytes. */
void body_seal(uint8_t *out, const struct body_key *k, uint32_t at, const uint8_t *p, uint32_t n);
/* The bytes of the place p are a body that was written there: its length in *n; it begins at
 * BODY_HEAD. */
bool body_is_whole(const uint8_t *bytes, const struct body_key *k, const struct body_place *p,
                   uint32_t *n);

struct body_file {
    uint32_t no;
    int h; /* -1: closed */
    uint64_t end, living; /* bytes; living <= end, heads and zeros counted */
    uint64_t read_at;     /* the clock of reads: the smallest is closed first */
    msec_t dead_at;       /* seen without a living body since; 0: it has some */
    bool is_written;      /* handle stays; it is neither removed nor emptied */
    bool may_write;       /* handle of it */
    bool unsynced;        /* something was written since its last sync; its handle stays */
    bool old;             /* live bodies in it should move */
    bool stuck;           /* something in it cannot be read: it stays */
};

struct body_files {
    struct disk *disk; /* ref */
    const char *node;  /* ref */
    struct body_file **v; /* owned, each */
    uint32_t n, cap, n_open;
    struct map by_no;
    uint32_t newest; /* number; it grows, and begins at 1 again */
    uint64_t reads, writes; /* writes: calls */
};

/* Finds the files that are there. Also after a failure body_files_fini() is due. */
SQ_CHECK int body_files_init(struct body_files *f, struct disk *d, const char *node);
void body_files_fini(struct body_files *f);
static inline struct body_file *body_files_find(const struct body_files *f, uint32_t no)
{
    return map_get_ptr(&f->by_no, no);
}
/* An empty one with a number of its own, in the folder for good, open for writing: is_written. */
SQ_CHECK int body_files_create(struct body_files *f, struct body_file **out);
/* Numbers up to this one have been given. */
void body_files_saw(struct body_files *f, uint32_t no);
/* All of the place, into p. Opens the file if it is closed; some others may be closed for it. */
SQ_CHECK int body_files_read(struct body_files *f, struct body_file *one,
                             const struct body_place *at, uint8_t *p);
/* n bytes at `at`; opens the file for it. It is unsynced then. */
SQ_CHECK int body_files_write(struct body_files *f, struct body_file *one, uint64_t at,
                              const uint8_t *p, size_t n);

/* ---- which files go, and which are to be emptied first; not the one that is written -- */

/* Removes files that have had no living body for linger_ms. How many. */
uint32_t tidy_remove(struct body_files *f, msec_t now_ms, msec_t linger_ms);
/* When more than 3 x what lives and one file more is taken, files that live by less than a third
 * become old; small ones (of many starts) when there are many. True: there are old ones. */
bool tidy_mark(struct body_files *f, uint32_t file_bytes);
/* Something in it cannot be read: it is not to be emptied any more. */
void tidy_stuck(struct body_file *one);

/* ---- ahead: bodies are read one behind the other, as tasks are done in about the order in
 * which they came: one read of the disk brings many ---------------------------------- */

#define AHEAD_BYTES (32u << 10) /* bytes of a read */
#define AHEAD_GAP   4096 /* between two bodies that follow each other: results, bodies of others */

struct body_ahead {
    struct body_place at; /* len 0: nothing */
    uint8_t *bytes;       /* owned; NULL: none yet */
    uint32_t file, end;   /* where the last body ended that was asked for */
};

/* All 0 is empty. */
void body_ahead_fini(struct body_ahead *a);
/* Finds what the file has there, or had when it was read ahead: until the next read. NULL: it does
 * not follow the body before it, or cannot be read; it is to be read alone. */
const uint8_t *body_ahead_read(struct body_ahead *a, struct body_files *files,
                               struct body_file *f, const struct body_place *at);

#endif

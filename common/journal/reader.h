/* reader.h: reads one of the journal's files: its groups, and what follows the last of them.
 * Everything returns >= 0, or SQ_ESYS or SQ_ENOMEM. */
#ifndef SEGQ_JOURNAL_READER_H
#define SEGQ_JOURNAL_READER_H

#include "common/journal/disk.h"
#include "common/journal/format.h"

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
/* The kind of [at, end), where no group begins at `at`. An enum jtail or < 0. */
SQ_CHECK int jreader_tail(struct jreader *r, const struct jkey *k, uint64_t at, struct err *e);

#endif

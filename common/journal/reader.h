/* reader.h: reads one of the journal's files: its groups, and what follows the last of them; and
 * replays it, from its head to where no group follows (struct jwalk).
 * Everything returns >= 0, or SQ_ESYS or SQ_ENOMEM. */
#ifndef SEGQ_JOURNAL_READER_H
#define SEGQ_JOURNAL_READER_H

#include "common/journal/disk.h"
#include "common/journal/format.h"
#include "common/journal/out.h"

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

struct jreplay { /* the caller's part of a replay */
    struct journal *j;               /* ref: its counts are raised */
    const struct journal_replay *to; /* ref */
    bool allow;                      /* damage is skipped, not refused */
};

struct jwalk { /* a file being read */
    struct jreader f;
    struct jkey key;
    const char *name; /* ref */
    enum jkind kind;
    uint64_t at;       /* behind the last group */
    uint64_t synced;   /* known to be on the disk */
    uint64_t end_word; /* snapshot: the count in its end group */
    bool ended;        /* by an end mark */
};

/* 0 if damage is allowed (and said), else SQ_EPROTO. */
SQ_CHECK int jreplay_damage(struct jreplay *r, const char *name, uint64_t at, const char *what,
                            struct err *e);
/* 1: fine; 0: no whole head; < 0: of another, or of a newer version. */
SQ_CHECK int jreplay_head(struct jreplay *r, struct jreader *f, const char *name,
                          enum jkind kind, uint64_t seq, struct jhead *h, struct err *e);
/* 0, or < 0: the file cannot be read or is refused. jwalk_close() is due in any case, with
 * w->f.h -1 before. `name` is borrowed until then. */
SQ_CHECK int jwalk_open(struct jreplay *r, struct jwalk *w, const char *name, enum jkind kind,
                        uint64_t seq, struct err *e);
void jwalk_close(struct jwalk *w);
/* Delivers one valid group that begins at w->at, and goes behind it. */
SQ_CHECK int jwalk_group(struct jreplay *r, struct jwalk *w, const struct jgroup *g,
                         struct err *e);
/* All groups from w->at on, as far as they follow each other. */
SQ_CHECK int jwalk_groups(struct jreplay *r, struct jwalk *w, struct err *e);
/* Damage is allowed: goes on at the next whole group. 1, or 0: there is none. */
SQ_CHECK int jwalk_skip(struct jreplay *r, struct jwalk *w, struct err *e);
/* The snapshot of sequence `base`, whole; nothing if `base` is 0. */
SQ_CHECK int jwalk_snapshot(struct jreplay *r, uint64_t base, struct err *e);

#endif

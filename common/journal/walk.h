/* walk.h: replays one file of a journal: from its head to where no group follows. */
#ifndef SEGQ_JOURNAL_WALK_H
#define SEGQ_JOURNAL_WALK_H

#include "common/journal/dir.h"
#include "common/journal/journal_int.h"
#include "common/journal/reader.h"

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

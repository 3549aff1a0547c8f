/* body_files.h: the files of bodies in a folder: how much of each lives, and their handles. Shell.
 * For the files of this room. Everything returns >= 0, or -errno as the disk does. */
#ifndef SEGQ_TASK_BODY_FILES_H
#define SEGQ_TASK_BODY_FILES_H

#include "common/base/map.h"
#include "common/journal/disk.h"
#include "task/bodies/body_form.h"

struct body_file {
    uint32_t no;
    int h; /* -1: closed */
    uint64_t end, living; /* bytes; living <= end, heads and zeros counted */
    uint64_t read_at;     /* the clock of reads: the smallest is closed first */
    msec_t dead_at;       /* seen without a living body since; 0: it has some */
    bool is_written;      /* handle stays, and tidy.h leaves it alone */
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
/* Closed first. -errno: it stays, to be tried again. */
SQ_CHECK int body_files_remove(struct body_files *f, struct body_file *one);

#endif

/* disk.h: the few things the journal asks of a disk, so that tests may put a simulated one
 * in its place (tests/lib/sim/disk.h); and a folder of this machine as a disk. A disk is one folder; names have no slash.
 *
 * Everything returns >= 0, or -errno. Nothing retries: -EINTR and short reads and writes
 * are the caller's. A handle is like a descriptor: >= 0, closed by close. */
#ifndef SEGQ_DISK_H
#define SEGQ_DISK_H

#include <sys/types.h>

#include "common/base/err.h"

struct disk;

enum disk_how {
    DISK_READ,   /* must be there; read only */
    DISK_WRITE,  /* must be there; read and write */
    DISK_CREATE, /* made if missing, emptied if there; read and write */
};

struct disk_ops {
    int (*open)(struct disk *d, const char *name, enum disk_how how);
    void (*close)(struct disk *d, int h);
    ssize_t (*pread)(struct disk *d, int h, void *p, size_t n, uint64_t at);
    ssize_t (*pwrite)(struct disk *d, int h, const void *p, size_t n, uint64_t at);
    int64_t (*size)(struct disk *d, int h);
    /* Bytes written before are there after a power cut. After a failure nothing is known about
     * the file's unsynced bytes, and a later success says nothing about them either. */
    int (*sync)(struct disk *d, int h);
    /* Room for bytes up to `end`: writes below it do not fail for want of space. May
     * lengthen the file by zeros. */
    int (*allocate)(struct disk *d, int h, uint64_t end);
    int (*truncate)(struct disk *d, int h, uint64_t size); /* room behind `size` is free */
    int (*rename)(struct disk *d, const char *from, const char *to);
    int (*unlink)(struct disk *d, const char *name);
    int (*sync_dir)(struct disk *d); /* names made, changed and removed are so for good */
    int (*list)(struct disk *d, void (*on_name)(void *ctx, const char *name), void *ctx);
    int (*lock)(struct disk *d); /* for this process alone, until free(); -EWOULDBLOCK */
    void (*free)(struct disk *d);
};

struct disk {
    const struct disk_ops *ops;
};

/* Allocates a file's bytes up to `end`, by the MiB where there is room for that: *allocated of them are. False:
 * *starved, and the disk is not asked again while that stands. */
bool disk_room(struct disk *d, int h, uint64_t end, uint64_t *allocated, bool *starved);

/* The folder `dir` of this machine, made (one level) if `make`. points: static, the name of
 * its failpoints (POINTS.write, POINTS.sync). 0 or SQ_ESYS, SQ_ENOMEM. */
SQ_CHECK int disk_posix_open(struct disk **out, const char *dir, const char *points, bool make,
                             struct err *e);

/* ---- names of the journal's files, and the list of those in a folder ---- */

#define JNAME_MAX 32

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
/* 0; SQ_ESYS, SQ_ENOMEM. jdir_fini() is due in any case. */
SQ_CHECK int jdir_read(struct jdir *dir, struct disk *d, struct err *e);
void jdir_fini(struct jdir *dir);
SQ_CHECK int jdir_sync(struct disk *d, struct err *e); /* 0 or SQ_ESYS */

#endif

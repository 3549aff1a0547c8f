/* bodies.h: the bytes that tasks carry, and their results, in files of one folder. Shell.
 *
 * The journal keeps what changes, bodies stay as they are: so a task has a *reference*, 8 bytes,
 * and the bytes are appended to the newest of the files `body-N` once. Each has its length, its
 * place and a checksum in front. Which of them live is the caller's knowledge, and is not written
 * here: after a start, and after bodies_again(), it says so of each.
 *
 * A turn of the process:
 *   bodies_put            as tasks come; in memory so far, but to be read
 *   bodies_flush          before the journal's flush: a record implies its body
 *   the journal's flush
 *   bodies_drop           of what the records have ended: never before they are written
 *   bodies_step           by ticks: syncs, removes files without a living body; true: some
 *                         files are mostly dead, and whoever has a body in one of them
 *                         (bodies_is_old) has it copied, and writes the new reference down
 * So files take at most 4 x what lives and two files more (of BODIES_FILE bytes); under `os` what
 * died in the last seconds comes on top (BODIES_LINGER_MS).
 *
 * `fsync`. A sync of the file and then one of the journal would be two waits. So what a turn of
 * usual size has put goes into the journal as well, with its records (`keep`), and the file is
 * synced later: before the journal forgets it (bodies_sync), and once a second. After a start the
 * journal gives back all that it has of it (bodies_redo), before anybody asks who lives, and it is
 * written again. A turn of more than BODIES_KEPT_MOST, and one for which the journal has no room,
 * syncs the file instead.
 *
 * Failures. No room: bodies_put and bodies_copy answer SQ_EFULL, nothing has changed, and the
 * same may succeed later. A flush that fails: nothing of this turn is believed; bodies_again(),
 * as the journal is read again. Bytes that cannot be read or are not those that were written:
 * SQ_EPROTO, counted, logged; their task cannot be done any more, which is the caller's to say.
 * A sync under `fsync` that fails is a flush that fails, the next one; the journal's copies are
 * then written again, as after a start. */
#ifndef SEGQ_TASK_BODIES_H
#define SEGQ_TASK_BODIES_H

#include "common/base/buf.h"
#include "common/journal/disk.h"

#define BODIES_FILE      (32u << 20) /* a file is full; one turn may go beyond it */
#define BODIES_LINGER_MS 10000 /* `os`: the journal may have lost what it was told since */
/* Bytes of a turn into the journal, with heads: for more a copy costs about what a second sync does. */
#define BODIES_KEPT_MOST (192u << 10)

struct bodies_opts {
    const char *dir;
    struct disk *disk;   /* ref; NULL: `dir` on this machine, made if missing */
    const char *node;    /* whose they are: bodies of another name do not pass as its own */
    uint32_t sync_ms;    /* between syncs; `os`: at most so much is lost by a power cut; 0 = 1000 */
    /* `fsync`: takes the n bytes that a flush has written at `at` of a file, for the journal's next
     * flush. False: it has no room for them. NULL: `os`. */
    bool (*keep)(void *ctx, uint32_t file, uint32_t at, const uint8_t *p, uint32_t n);
    void *keep_ctx;
    uint32_t file_bytes; /* 0: BODIES_FILE; at most that */
};

struct bodies_counts {
    uint64_t puts, bytes, gets, copies; /* ever; bytes written, with all that is around them */
    uint64_t writes, syncs, failures;
    uint64_t full;                      /* refused for want of room */
    uint64_t no_room;                   /* now, for what is new */
    uint64_t damaged;                   /* reads of what is not there, or not as it was */
    uint64_t removed;                   /* files */
    uint64_t files, disk_bytes, living_bytes; /* now */
};

struct bodies;

/* Nothing lives yet: bodies_live() of each reference, then bodies_opened(). 0; SQ_EBUSY (another
 * process has the folder), SQ_ESYS, SQ_ENOMEM. */
SQ_CHECK int bodies_open(struct bodies **out, const struct bodies_opts *o, struct err *e);
/* Neither flushes nor syncs: what was not flushed was never promised. NULL is fine. */
void bodies_close(struct bodies *b);

/* Takes what `keep` was given, in its order, before any bodies_live(). 0; SQ_EPROTO: it cannot have been;
 * SQ_ESYS, SQ_ENOMEM: it could not be written. */
SQ_CHECK int bodies_redo(struct bodies *b, uint64_t file, uint64_t at, const uint8_t *p, size_t n);
/* Somebody has it. 0 is fine (no body). SQ_EGONE: it is not there (a power cut under `os`, or
 * somebody removed the file): its task must go, and the reference must not be kept. */
SQ_CHECK int bodies_live(struct bodies *b, uint64_t ref);
/* All that live were said: files without any may go. */
void bodies_opened(struct bodies *b);
/* After a failed flush, of bodies or of the journal: forgets what was not flushed, and who lives;
 * then as after bodies_open(). */
void bodies_again(struct bodies *b);

/* n 0: *ref is 0. SQ_EFULL, SQ_ETOOBIG (n > TASK_BODY_MAX), SQ_ENOMEM; SQ_ESYS: no file can be
 * made, or a flush has failed. It lives, until it is dropped. */
SQ_CHECK int bodies_put(struct bodies *b, const uint8_t *p, uint32_t n, uint64_t *ref);
/* 0; SQ_EFULL: it may be tried again, or be given up by bodies_again(); SQ_ESYS: given up. */
SQ_CHECK int bodies_flush(struct bodies *b);
/* All that was flushed gets to the disk: the journal may forget what it has of it. False: it must
 * not. */
SQ_CHECK bool bodies_sync(struct bodies *b);
/* Appends the bytes; also of what is not flushed yet; 0: none. SQ_EPROTO; SQ_ENOMEM, also of
 * handles: try again. */
SQ_CHECK int bodies_get(struct bodies *b, uint64_t ref, struct buf *out);
/* Drops it: nobody has it any more. What was put in this turn, last, is forgotten as if it had not been. */
void bodies_drop(struct bodies *b, uint64_t ref);

/* True: some files should be emptied, see bodies_is_old. */
bool bodies_step(struct bodies *b, msec_t now_ms);
bool bodies_is_old(const struct bodies *b, uint64_t ref);
/* Copies an old one: the same bytes at the end of the newest file. As bodies_put (SQ_EFULL also:
 * enough for this turn), or as bodies_get; SQ_EINVAL: it is not old. The old one lives until it is
 * dropped. */
SQ_CHECK int bodies_copy(struct bodies *b, uint64_t ref, uint64_t *to);

void bodies_counts(const struct bodies *b, struct bodies_counts *out);
/* Appends what is wrong with them now, after "; " if there is something. NULL: nothing. */
void bodies_warn(const struct bodies *b, struct buf *out);

#endif

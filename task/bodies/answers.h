/* answers.h: answers of calls that are longer than what is kept of a result: whole, each in a file of
 * its own. Shell.
 *
 *   names    PARTITION-NUMBER-LENGTH-SHA256, so the folder says by itself what is there: no record
 *            has anything of it. `new-N` is not whole yet, and goes at the next start
 *   life     a task has one at most. It goes with its task, with a newer one, and where there is no
 *            room: of those that were read whole the oldest goes first
 *   room     at most max_bytes together, also of those that are being written. Else there is none,
 *            and the result has its first bytes, its length and its hash alone
 *   disk     nothing is synced: after a power cut one may be missing, or not be as it was written.
 *            So whoever reads one compares its hash */
#ifndef SEGQ_TASK_ANSWERS_H
#define SEGQ_TASK_ANSWERS_H

#include "common/base/err.h"
#include "common/task/rules.h"

struct answers;
struct answer_file; /* an answer being written */

struct answer_id {
    uint32_t part;
    task_no no;
    uint64_t length;
    uint8_t sha256[RESULT_SHA256];
};

/* The folder is made if it is missing; the caller sees to it that nobody else has it. linger_ms 0: of answers; else
 * of what tasks need (large.h): answers_step() waits so long before one goes, unless there is no room for others;
 * then those of ANSWER_SPARE give way, too. */
SQ_CHECK int answers_open(struct answers **out, const char *dir, uint64_t max_bytes, msec_t linger_ms,
                          struct err *e);
/* No file is being written. NULL is fine. */
void answers_close(struct answers *a);

/* most: files that may be written together. NULL: there is no room, no descriptor or no memory (counted). */
struct answer_file *answers_begin(struct answers *a, size_t most);
/* The next n bytes. False: there is no room, or the disk fails (counted): it is gone. */
SQ_CHECK bool answers_add(struct answer_file *f, const void *p, size_t n);
/* Writes what was added to the disk: begins to, or (whole) until it is there. False: the disk fails. */
SQ_CHECK bool answers_sync(struct answer_file *f, bool whole);
/* Likewise the names in the folder. */
SQ_CHECK bool answers_sync_dir(struct answers *a);
/* Up to n bytes from `at` on of what was added. How many; SQ_ESYS. */
SQ_CHECK int64_t answers_peek(const struct answer_file *f, uint64_t at, uint8_t *p, size_t n);
/* Ends it: it has all bytes, and is this task's; *id as of what was added. False: it is gone. */
bool answers_keep(struct answer_file *f, const struct answer_id *id);
void answers_give_up(struct answer_file *f);
/* Is there room for so many bytes, or was some made? */
bool answers_has_room(struct answers *a, uint64_t n);
/* Drops what the task has, if it has one: another answer has taken its place. */
void answers_drop(struct answers *a, uint32_t part, task_no no);

bool answers_have(const struct answers *a, const struct answer_id *id);
/* Up to n bytes from `at` on. How many; SQ_EUNKNOWN: it is not there, or not whole; SQ_ESYS. The
 * length of *id is not looked at. */
SQ_CHECK int64_t answers_read(struct answers *a, const struct answer_id *id, uint64_t at, uint8_t *p,
                              size_t n);
/* A descriptor of it, to be closed; SQ_EUNKNOWN, SQ_ESYS. */
SQ_CHECK int answers_open_one(struct answers *a, const struct answer_id *id);
enum answer_life { ANSWER_DEAD, ANSWER_LIVES, ANSWER_SPARE };
typedef enum answer_life (*answer_lives)(void *ctx, uint32_t part, task_no no);
/* Some of those that are kept, in their turn: they go if their task is not there any more. lives: is asked later,
 * too. */
void answers_step(struct answers *a, msec_t now_ms, answer_lives lives, void *ctx);

struct answers_counts {
    uint64_t files, bytes;  /* now, with those that are being written */
    uint64_t writing;       /* files that are being written: each has a descriptor */
    uint64_t kept, read;    /* ever: files; bytes read */
    uint64_t no_room, failures; /* answers that are cut, since there was none; or the disk failed */
    uint64_t made_room;     /* answers that went before their task, for newer ones */
};
const struct answers_counts *answers_counts(const struct answers *a);

#endif

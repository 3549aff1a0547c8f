/* large.h: bodies of calls that are too long for the files of all bodies: each in a file of its own,
 * which comes in pieces before its task is submitted. Shell.
 *
 *   forms    the task's own body is a call form that names length and hash (common/task/call.h);
 *            the file has partition and number in its name (answers.h), so no record knows of it
 *   pieces   of a link: with the link goes what was not submitted
 *   order    a file is whole, has its name, and (`fsync`) is on the disk before the record of its task is
 *            written. Killed between the two there is a file without a task, and that goes
 *   life     until its task cannot be called any more, and BODIES_LINGER_MS longer: so the record of
 *            that is on the disk, too
 *   room     max_bytes together, with those that come. Only those of tasks that are over, dead ones too, give way:
 *            else it is said that there is none
 *   `os`     after a power cut one may be missing, or not be as it was: who sends it compares its hash */
#ifndef SEGQ_TASK_LARGE_H
#define SEGQ_TASK_LARGE_H

#include "common/task/call.h"
#include "common/task/state.h"
#include "task/bodies/answers.h"

struct large;

/* synced: `fsync`. */
SQ_CHECK int large_open(struct large **out, const char *dir, uint64_t max_bytes, bool synced, struct err *e);
void large_close(struct large *l); /* NULL is fine */

/* The next piece. 0; SQ_EUNKNOWN: it does not follow what is here, and that is gone; SQ_EFULL: no room, or the
 * disk fails; SQ_ETOOBIG; SQ_ENOMEM. sha256: of the last. */
SQ_CHECK int large_add(struct large *l, uint64_t link, const struct large_piece *q,
                       uint8_t sha256[RESULT_SHA256]);
/* All of it is here. */
bool large_has(const struct large *l, uint64_t link, const struct call_file *f);
/* Gives it to that task, which is to come. SQ_EFULL: the disk fails, and it is gone. */
SQ_CHECK int large_keep(struct large *l, uint64_t link, const struct call_file *f, uint32_t part, task_no no);
/* Gives one up, or (upload 0) all of a link. */
void large_drop(struct large *l, uint64_t link, uint64_t upload);

/* A descriptor, to be closed; SQ_EUNKNOWN: it is lost; SQ_ESYS. */
SQ_CHECK int large_read(struct large *l, const struct call_file *f, uint32_t part, task_no no);
/* Up to n bytes from `at` on: how many; SQ_EUNKNOWN, SQ_ESYS. */
SQ_CHECK int64_t large_read_at(struct large *l, const struct call_file *f, uint32_t part, task_no no, uint64_t at,
                               uint8_t *p, size_t n);
/* Use of its file to a task in this state (TASK_FREE: it is not here). That of a dead one is for who lets it run
 * again, as long as there is room. */
static inline enum answer_life large_life(enum task_state s)
{
    return s == TASK_DEAD ? ANSWER_SPARE
           : s == TASK_FREE || task_state_is_final(s) ? ANSWER_DEAD : ANSWER_LIVES;
}
/* Looks at some of them: files that nobody needs go, and so do those of which no piece comes any more. */
void large_step(struct large *l, msec_t now_ms, answer_lives needs, void *ctx);

struct large_counts {
    uint64_t files, bytes;         /* now, with those that come */
    uint64_t kept, no_room, given_up, lost, failures; /* ever */
    uint64_t max_bytes;
};
void large_counts(const struct large *l, struct large_counts *n);

#endif

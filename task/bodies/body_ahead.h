/* body_ahead.h: bodies that are read one behind the other, as tasks are done in about the order in which
 * they came: one read of the disk brings many. Shell. For the files of this room. */
#ifndef SEGQ_TASK_BODY_AHEAD_H
#define SEGQ_TASK_BODY_AHEAD_H

#include "task/bodies/body_files.h"

#define AHEAD_BYTES (32u << 10) /* bytes of a read */
#define AHEAD_GAP   4096 /* between two bodies that follow each other: results, bodies of others */

struct body_ahead {
    struct body_place at; /* len 0: nothing */
    uint8_t *bytes;       /* owned; NULL: none yet */
    uint32_t file, end;   /* where the last body ended that was asked for */
};

/* All 0 is empty. */
void body_ahead_fini(struct body_ahead *a);
/* Finds what the file has there, or had when it was read ahead: until the next read. NULL: it does not
 * follow the body before it, or cannot be read; it is to be read alone. */
const uint8_t *body_ahead_read(struct body_ahead *a, struct body_files *files,
                               struct body_file *f, const struct body_place *at);

#endif

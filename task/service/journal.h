/* journal.h: a task node's journal: the table's records into the files of common/journal, and
 * back; its bodies beside them. Shell. keeper.h says what happens when writing fails. */
#ifndef SEGQ_TASK_JOURNAL_H
#define SEGQ_TASK_JOURNAL_H

#include <stdio.h>

#include "common/journal/keeper.h"
#include "task/bodies/bodies.h"
#include "task/node/table.h"

/* For tasktab_opts.record; ctx: struct keeper. */
void *task_journal_record(void *keeper, uint8_t kind, size_t n);

/* For bodies_opts.keep; ctx: struct keeper. */
bool task_journal_keep(void *keeper, uint32_t file, uint32_t at, const uint8_t *p, uint32_t n);

struct task_journal { /* refs; NULL keeper: nothing survives the process */
    struct keeper *keeper;
    struct bodies *bodies;
    struct tasktab *tab; /* just made */
};
/* Reads all into the table, which then begins. again: after a turn that could not be written. */
SQ_CHECK int task_journal_read(const struct task_journal *j, struct task_now now, bool again,
                               struct err *e);
/* After a turn that was written: a slice of the snapshot, if one is due. */
void task_journal_snapshot(const struct task_journal *j);
/* task --check-journal DIR; the exit code. */
int task_journal_check(const char *dir, FILE *out);

#endif

/* check.h: explains a journal to a human (segment --check-journal DIR; a manager's store is
 * one, too). Changes nothing and takes no lock. */
#ifndef SEGQ_JOURNAL_CHECK_H
#define SEGQ_JOURNAL_CHECK_H

#include <stdio.h>

#include "common/journal/disk.h"

/* format: the newest that this program reads; files of a newer one count as damaged.
 * name: the text of a record type, NULL if it is unknown. 0: fine (also with a torn tail);
 * 1: damaged or unreadable. */
int journal_check(const char *dir, uint32_t format, const char *(*name)(uint8_t type), FILE *out);
/* The same on any disk. */
int journal_check_disk(struct disk *d, uint32_t format, const char *(*name)(uint8_t type),
                       FILE *out);

#endif

/* past_files.h: files of a past night for segqctl rehearse: arrivals, and the audit trail. */
#ifndef SEGQ_CTL_PAST_FILES_H
#define SEGQ_CTL_PAST_FILES_H

#include "rehearse/past.h"

/* Reads crowd.arrivals_csv, if the night names one: beside `file`, the night's own. CTL_... */
SQ_CHECK int past_files_csv(struct night *n, const char *file);
/* Reads audit-*.jsonl of the folder, and of those in it: one of each node. CTL_... */
SQ_CHECK int past_files_audit(struct past *p, const char *dir, const struct night *n);

#endif

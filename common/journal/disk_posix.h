/* disk_posix.h: a folder of this machine as a disk. */
#ifndef SEGQ_DISK_POSIX_H
#define SEGQ_DISK_POSIX_H

#include "common/journal/disk.h"

/* The folder `dir` of this machine, made (one level) if `make`. points: static, the name of
 * its failpoints (POINTS.write, POINTS.sync). 0 or SQ_ESYS, SQ_ENOMEM. */
SQ_CHECK int disk_posix_open(struct disk **out, const char *dir, const char *points, bool make,
                             struct err *e);

#endif

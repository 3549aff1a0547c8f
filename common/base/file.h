/* file.h: writing files so that they are there afterwards. Shell. */
#ifndef SEGQ_FILE_H
#define SEGQ_FILE_H

#include "common/base/base.h"

/* All n bytes, over short writes and signals; 0 or SQ_ESYS with errno. */
SQ_CHECK int file_write_all(int fd, const void *p, size_t n);
/* A renamed file is only there for good once its folder is synced; 0 or SQ_ESYS. */
SQ_CHECK int file_sync_dir(const char *dir);

#endif

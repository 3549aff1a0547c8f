/* file.h: files and folders, made so that they are there afterwards. Shell. */
#ifndef SEGQ_FILE_H
#define SEGQ_FILE_H

#include "common/base/err.h"

/* All n bytes, over short writes and signals; 0 or SQ_ESYS with errno. */
SQ_CHECK int file_write_all(int fd, const void *p, size_t n);
/* The folder is there; mode is for a new one. Its parent must be there. */
SQ_CHECK int file_make_dir(const char *path, unsigned mode, struct err *e);
/* A renamed file is only there for good once its folder is synced; 0 or SQ_ESYS. */
SQ_CHECK int file_sync_dir(const char *dir);

#endif

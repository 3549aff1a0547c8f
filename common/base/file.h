/* file.h: files and folders, made so that they are there afterwards; files that an operator names,
 * read so that nothing waits. Shell. */
#ifndef SEGQ_FILE_H
#define SEGQ_FILE_H

#include "common/base/err.h"

/* All n bytes, over short writes and signals; 0 or SQ_ESYS with errno. */
SQ_CHECK int file_write_all(int fd, const void *p, size_t n);
/* The folder is there; mode is for a new one. Its parent must be there. */
SQ_CHECK int file_make_dir(const char *path, unsigned mode, struct err *e);

/* The file has these bytes, mode 0600, and the owner of before, or us: at once, by a rename. */
SQ_CHECK int file_replace(const char *path, const void *p, size_t n, struct err *e);
/* Whoever reads a file and replaces it waits for its turn first: else one change undoes another. The
 * turn is a lock of the folder, until the descriptor is closed. Its number, or an error. */
SQ_CHECK int file_take_turn(const char *path, struct err *e);

struct stat;

/* Opens it to read: a regular file only, since a FIFO or a device may keep the process for ever. The
 * descriptor; SQ_EGONE: there is none; SQ_EINVAL: it is no regular file; SQ_ESYS. */
SQ_CHECK int file_open(const char *path, struct stat *st, struct err *e);
/* SQ_EAUTH: others than its owner may read or change it, or it belongs to another user. */
SQ_CHECK int file_check_secret(const char *path, const struct stat *st, struct err *e);

enum file_kind { FILE_ANY, FILE_SECRET /* is checked as above */ };

/* All of a file of at most `most` bytes, into out. How many; SQ_ETOOBIG, or as above. *st: the file
 * that it was; may be NULL. */
SQ_CHECK int64_t file_read(const char *path, enum file_kind kind, void *out, size_t most, struct stat *st,
                           struct err *e);
/* The same file, and as it was then? A look at its folder alone. */
bool file_is_same(const char *path, const struct stat *was);

#endif

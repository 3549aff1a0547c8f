/* dash_blob.h: the files of deploy/dashboard, inside the program. Pure. The table is
 * written by deploy/page/embed.sh when the program is built. */
#ifndef SEGQ_DASH_BLOB_H
#define SEGQ_DASH_BLOB_H

#include <stddef.h>

struct dash_blob {
    const char *name; /* without folders */
    const char *begin, *end;
    const char *gz, *gz_end; /* the same, in gzip */
};

extern const struct dash_blob dash_blobs[];
extern const size_t dash_blobs_n;

#endif

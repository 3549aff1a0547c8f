/* blob.h: the files of deploy/page and the scripts in deploy/client, inside the program.
 * Pure. The table is written by deploy/page/embed.sh when the program is built. */
#ifndef SEGQ_ROUTER_PAGE_BLOB_H
#define SEGQ_ROUTER_PAGE_BLOB_H

#include <stddef.h>

struct page_blob {
    const char *name; /* without folders */
    const char *begin, *end;
};

extern const struct page_blob page_blobs[];
extern const size_t page_blobs_n;

#endif

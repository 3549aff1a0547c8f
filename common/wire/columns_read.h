/* columns_read.h: packed protobuf columns to rows of structs, by hand. Pure. */
#ifndef SEGQ_COLUMNS_READ_H
#define SEGQ_COLUMNS_READ_H

#include "common/base/arena.h"
#include "common/wire/columns.h"

/* 0, *rows (in a) and *n; SQ_EPROTO; SQ_ENOMEM. Texts point into body. */
SQ_CHECK int columns_decode(const struct columns *t, const uint8_t *body, size_t len,
                            struct arena *a, void **rows, uint32_t *n);

#endif

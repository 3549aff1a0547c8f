/* libcurl_loop.h: libcurl on our loop: no thread, nothing blocks. Shell. For the files of this room. */
#ifndef SEGQ_OUT_LIBCURL_LOOP_H
#define SEGQ_OUT_LIBCURL_LOOP_H

#include "task/out/out_int.h"

SQ_CHECK bool libcurl_loop_init(struct out *o); /* false: no memory, and nothing is left */
void libcurl_loop_fini(struct out *o);

#endif

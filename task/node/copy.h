/* copy.h: bodies leave files that are mostly dead: tasktab_copy_bodies(). Pure. */
#ifndef SEGQ_TASKTAB_COPY_H
#define SEGQ_TASKTAB_COPY_H

#include "task/node/table.h"

#define COPY_SLOTS  65536u /* tasks looked at in a step */
#define COPY_BODIES 1000u  /* copied */

#endif

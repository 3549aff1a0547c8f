/* tidy.h: which files of bodies go, and which are to be emptied first. Shell.
 * For the files of this room. The file that is written is left alone. */
#ifndef SEGQ_TASK_TIDY_H
#define SEGQ_TASK_TIDY_H

#include "task/bodies/body_files.h"

/* Removes files that have had no living body for linger_ms. How many. */
uint32_t tidy_remove(struct body_files *f, msec_t now_ms, msec_t linger_ms);
/* When more than 3 x what lives and one file more is taken, files that live by less than a third
 * become old; small ones (of many starts) when there are many. True: there are old ones. */
bool tidy_mark(struct body_files *f, uint32_t file_bytes);
/* Something in it cannot be read: it is not to be emptied any more. */
void tidy_stuck(struct body_file *one);

#endif

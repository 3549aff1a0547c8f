/* rehearsal.h: segqctl rehearse: a night of a file is played, and what came of it printed. */
#ifndef SEGQ_CTL_REHEARSAL_H
#define SEGQ_CTL_REHEARSAL_H

struct ctl;

int cmd_rehearse(struct ctl *c, char **argv);

#endif

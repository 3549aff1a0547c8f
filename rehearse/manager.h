/* manager.h: the manager's ticks and seconds, with the real policy; the backend; what happens
 * when. Pure. */
#ifndef SEGQ_REHEARSE_MANAGER_H
#define SEGQ_REHEARSE_MANAGER_H

struct play;

void manager_tick(struct play *p);   /* each 100 ms */
void manager_second(struct play *p); /* each second, behind the tick */
void manager_start(struct play *p);

#endif

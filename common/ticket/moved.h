/* moved.h: tickets of a queue that an operator lets another device take over, as one text, a line each:
 *
 *   "17-42 1764334845 -\n"    until then the next device that shows it takes it over
 *   "17-42 1766926845 ID\n"   it has: until then the ticket works with that device alone
 *   "17-42 1764334845 -ID\n"  open once more: until another one has come it works with that device
 *
 * The manager keeps it and tells it to routers as it is. Pure. */
#ifndef SEGQ_MOVED_H
#define SEGQ_MOVED_H

#include "common/ticket/token.h"

#define MOVED_MAX      256 /* lines */
#define MOVED_TEXT_MAX (MOVED_MAX * 80)
#define MOVED_KEEP_S   (30 * 86400) /* the longest session; a device's cookie lives as long */

struct moved_ticket {
    seg_id seg;
    uint32_t number;
    int64_t until_s;             /* Unix time */
    bool open;                   /* until then for the next device */
    char device[DEVICE_LEN + 1]; /* "": the one that joined has it; else device_id() of who does */
};

/* False: no line is about the ticket. NULL: no text. */
SQ_CHECK bool moved_find(const char *text, seg_id seg, uint32_t number, struct moved_ticket *out);
/* *text (owned; NULL: none) with this line in place of the ticket's, without those that are over. SQ_EFULL,
 * SQ_ENOMEM: it is as it was. */
SQ_CHECK int moved_put(char **text, const struct moved_ticket *x, int64_t now_s);

#endif

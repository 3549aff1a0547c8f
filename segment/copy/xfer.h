/* xfer.h: a segment is copied to another node: what both ends of a move have in common. Pure.
 * proto/PROTOCOL.md section 6 has the sequence; xfer_out.h is the source's end, xfer_in.h the
 * target's, segment/transfer/ has the orders around them.
 *
 *   source:  BEGUN -> BLOCKS -> TOUCHING -> (fence) -> REST -> SESSIONS -> RELOCS -> SUBJECTS
 *            -> LAST -> SENT
 *   target:  stages the blocks beside its own line; the commit appends what is alive behind it
 *
 * Up to the fence the segment serves everything; what is done to a ticket whose block has been
 * sent is noted in a bitmap and sent again as a touch. From the fence on the caller lets nothing
 * in the segment change. The chunks, touches and extras carry one sequence of numbers; a gap is
 * refused, so a lost message aborts the move and never damages it. */
#ifndef SEGQ_SEG_COPY_XFER_H
#define SEGQ_SEG_COPY_XFER_H

#include "common/wire/msg.h"
#include "segment/line/contents.h"

#define XFER_WINDOW      8    /* messages not yet acknowledged */
#define XFER_TOUCH_MAX   2048 /* in one message */
#define XFER_SESSION_MAX 2048
#define XFER_SUBJECT_MAX 1024
#define XFER_CONTACT_MAX 256 /* half a MiB at most: fits into a frame */
#define XFER_RELOC_MAX   (900u << 10) /* must fit into a frame */
#define XFER_RECORD      44u          /* bytes of a record of the target's journal, without its text */
/* All that the target writes at its commit, in one turn. */
#define XFER_RECORDS_MAX (256u << 20)
#define XFER_MIN_LEFT_MS 5000         /* idle time that a moved ticket has at least */

struct xfer_time { /* times of the segment that is moved, or moved into */
    msec_t now_ms, service_ms;
    int64_t wall_ms;
    uint32_t unit_ms;
    uint8_t unit_now; /* modulo 256 */
};

#endif

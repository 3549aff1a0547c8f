/* segtab.h: all segments hosted by one segment node, and the orders they obey. Pure.
 *
 * This is the node's whole brain: the shell (segment/service/) and the simulation feed it
 * the same calls. Batches from routers are answered at once; everything else goes through
 * segtab_step() and an outbox. This header is the whole of what they may call:
 *
 *   segment/tickets/    polls, joins, leaves, session commands: answered at once
 *   segment/node/       steps: orders of the manager, reports, links
 *   segment/restore/    the journal's side: a snapshot, and records read again
 *   segment/transfer/   a segment moves to another node
 *   segment/directory/  one place per person over all nodes
 *   segment/replica/    what routers need to answer polls of waiting tickets
 *   segment/core/      the data, and what all of them need: where a ticket is, clocks, records
 *
 * Peers: the shell numbers its live connections (peer_no). The manager in charge is the
 * last one whose NODE_OK had the highest epoch; orders under a lower epoch are answered
 * with MSG_ERROR SQ_ESTALE and nothing is done.
 *
 * Two clocks arrive with every call: now_ms (monotonic) and wall_ms (only for what is
 * said in passes and tokens). Idle time-outs run on the node's *service clock*, which
 * advances with now_ms, but by at most SEGTAB_MAX_STEP_MS per tick, and only up to when a
 * router was heard last: time in which we were stopped or cut off expires nobody. When routers
 * come back after all were gone, it stands for as long again as they were away (at most
 * SEGTAB_REST_MS): clients that failed to reach them come that late. */
#ifndef SEGQ_SEG_NODE_SEGTAB_H
#define SEGQ_SEG_NODE_SEGTAB_H

#include "segment/core/opts.h"
#include "segment/node/count.h"
#include "segment/node/hold.h"
#include "segment/node/links.h"
#include "segment/node/node.h"
#include "segment/node/report.h"
#include "segment/node/step.h"
#include "segment/node/why.h"
#include "segment/replica/seen.h"
#include "segment/restore/digest.h"
#include "segment/restore/replay.h"
#include "segment/restore/restart.h"
#include "segment/restore/snapshot.h"
#include "segment/tickets/commands.h"
#include "segment/tickets/join.h"
#include "segment/tickets/poll.h"

#endif

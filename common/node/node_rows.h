/* node_rows.h: figures of a node and of its links for Prometheus: rows of struct node_counts and
 * struct rpc_counts for a process's own macro, which puts its name in front. Pure. */
#ifndef SEGQ_NODE_ROWS_H
#define SEGQ_NODE_ROWS_H

#include "common/node/node.h"

#define NODE_ROWS(ROW)                                                                         \
    ROW("frames_total", COUNTER, frames, "Messages of peers"),                                 \
    ROW("bad_frames_total", COUNTER, bad_frames, "Frames for which a link was closed"),        \
    ROW("unknown_frames_total", COUNTER, unknown, "Frames of a type that this build lacks"),   \
    ROW("unsent_messages_total", COUNTER, unsent, "Messages dropped: peer gone, or too large")

#define RPC_ROWS(ROW)                                                                          \
    ROW("link_frames_received_total", COUNTER, frames_in, "Frames received"),                  \
    ROW("link_frames_sent_total", COUNTER, frames_out, "Frames sent"),                         \
    ROW("link_received_bytes_total", COUNTER, bytes_in, "Bytes received on internal links"),   \
    ROW("link_sent_bytes_total", COUNTER, bytes_out, "Bytes sent on internal links"),          \
    ROW("link_writes_total", COUNTER, writes, "System calls that sent them"),                  \
    ROW("links_accepted_total", COUNTER, accepted, "Links accepted"),                          \
    ROW("links_dialled_total", COUNTER, dialled, "Links made by us"),                          \
    ROW("links_refused_total", COUNTER, refused, "Connections whose hello was not good"),      \
    ROW("links_closed_total", COUNTER, closed, "Links closed"),                                \
    ROW("link_messages_unfit_total", COUNTER, unfit, "Messages not sent: peers would refuse them")

#endif

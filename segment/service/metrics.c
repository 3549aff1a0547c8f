/* metrics.c: the node's figures for Prometheus. Cores count; this file names. */
#include "segment/service/metrics.h"

#include "common/base/metrics.h"
#include "common/journal/keeper.h"
#include "common/node/node.h"
#include "common/supervisor/metrics_process.h"
#include "segment/service/service.h"

#define ROW(name, kind, member, help) METRIC_ROW("segq_segment_" name, kind, ROW_OF, member, help)

#define ROW_OF struct segtab_counts
static const struct metric_row tab_rows[] = {
    ROW("segments", GAUGE, segments, "Segments held"),
    ROW("waiting", GAUGE, waiting, "Tickets in line"),
    ROW("ready", GAUGE, ready, "Released tickets that have not collected their pass"),
    ROW("active", GAUGE, active, "Tickets whose pass is collected and valid"),
    ROW("returning", GAUGE, returning, "No-shows that came back inside the grace"),
    ROW("tickets", GAUGE, tickets, "Places taken by live blocks"),
    ROW("max_tickets", GAUGE, max_tickets, "Places that it may hold"),
    ROW("blocks", GAUGE, blocks, "Blocks of 512 places"),
    ROW("core_bytes", GAUGE, core_bytes, "Memory of blocks, tables and records"),
    ROW("polls_total", COUNTER, places, "Polls received"),
    ROW("join_requests_total", COUNTER, appends, "Joins received"),
    ROW("leave_requests_total", COUNTER, drops, "Leaves received"),
    ROW("session_requests_total", COUNTER, sessions, "Backends' commands about sessions"),
    ROW("joined_total", COUNTER, joined, "Tickets made"),
    ROW("released_total", COUNTER, popped, "Tickets released"),
    ROW("admitted_total", COUNTER, admitted, "Tickets that collected their pass"),
    ROW("entered_total", COUNTER, entered, "Tickets that were let in with their join"),
    ROW("left_total", COUNTER, left, "Tickets whose owner left"),
    ROW("expired_total", COUNTER, expired, "Tickets that timed out"),
    ROW("no_shows_total", COUNTER, no_shows,
        "Released tickets that did not collect their pass in time"),
    ROW("returned_total", COUNTER, returned, "No-shows that came back"),
    ROW("rebuilding", GAUGE, rebuilding, "Segments whose tickets come back with their polls"),
    ROW("came_back_total", COUNTER, came_back, "Tickets that came back to such a segment"),
    ROW("busy_answers_total", COUNTER, busy, "Requests answered with busy: a move, or no room"),
    ROW("unknown_segment_answers_total", COUNTER, unknown, "Requests for segments not here"),
    ROW("moved_answers_total", COUNTER, moved, "Requests for segments that moved away"),
    ROW("sealed_answers_total", COUNTER, sealed_answers, "Joins sent on to the successor"),
    ROW("stale_orders_total", COUNTER, stale_orders, "Orders refused for their epoch"),
    ROW("replica_rows_total", COUNTER, replica_rows, "Rows of the replica pushed to routers"),
    ROW("replica_whole_total", COUNTER, replica_whole, "Whole pushes of it, one for each router"),
    ROW("seen_marks_total", COUNTER, seen_marks, "Polls that routers answered from it"),
    ROW("seen_late_total", COUNTER, seen_late, "Of these, of tickets that are not in line here"),
    ROW("routers_lost_total", COUNTER, spared, "Routers that ended without a farewell"),
    ROW("moves_in_total", COUNTER, moves_in, "Moves to this node that were committed"),
    ROW("moves_out_total", COUNTER, moves_out, "Moves from this node that were committed"),
    ROW("moves_aborted_total", COUNTER, moves_aborted, "Moves that were aborted"),
    ROW("passes_total", COUNTER, passes_made, "Passes returned to clients, repeats included"),
    ROW("contacts", GAUGE, contacts, "Tickets that are to be told that their turn comes, or were told"),
    ROW("contacts_due", GAUGE, contacts_due, "Of these, let in and not told yet"),
    ROW("turns_told_total", COUNTER, turns_told, "Words about a turn that a task node has"),
    ROW("turns_put_off_total", COUNTER, turns_later, "Answers of routers that could not hand one over"),
    ROW("directory_members", GAUGE, dir_members, "Nodes that keep the directory of subjects"),
    ROW("directory_entries", GAUGE, dir_entries, "Subjects in this node's share of it"),
    ROW("directory_complete", GAUGE, dir_complete, "1 if all nodes have said what they hold"),
    ROW("directory_busy_answers_total", COUNTER, dir_busy, "Joins that had to ask again for it"),
    ROW("directory_waited_total", COUNTER, dir_waited, "Joins that waited here for another node's word"),
    ROW("directory_found_total", COUNTER, dir_exists, "Joins whose place was on another node"),
    ROW("epoch", GAUGE, epoch, "Highest manager epoch seen"),
};
#undef ROW_OF

#define ROW_OF struct seg_shell_counts
static const struct metric_row shell_rows[] = {
    ROW("batches_total", COUNTER, batches, "Frames of polls, joins and leaves"),
    ROW("replica_bytes_total", COUNTER, replica_bytes, "Bytes pushed to routers"),
    ROW("late_ticks_total", COUNTER, late_ticks, "Ticks more than a second late"),
};
#undef ROW_OF

#define ROW_OF struct node_counts
static const struct metric_row node_rows[] = { NODE_ROWS(ROW) };
#undef ROW_OF

#define ROW_OF struct rpc_counts
static const struct metric_row rpc_rows[] = { RPC_ROWS(ROW) };
#undef ROW_OF

#define ROW_OF struct seg_pass_counts
static const struct metric_row pass_rows[] = {
    ROW("passes_signed_total", COUNTER, signed_, "Passes that had to be signed"),
    ROW("passes_kept_total", COUNTER, kept, "Passes answered from the cache"),
    ROW("passes_failed_total", COUNTER, failed, "Passes that could not be made"),
};
#undef ROW_OF

#define ROW_OF struct keeper_counts
static const struct metric_row journal_rows[] = {
    KEEPER_ROWS(ROW),
    ROW("journal_promised_bytes", GAUGE, file.promised, "Room kept for tickets in line"),
    ROW("journal_refused_joins_total", COUNTER, refused, "Joins that had no room"),
    ROW("journal_recovered_tickets", GAUGE, recovered, "Tickets found at the start"),
};
#undef ROW_OF

#define ROW_OF struct trail_counts
static const struct metric_row audit_rows[] = { TRAIL_ROWS(ROW, "audit", "the audit trail") };
#undef ROW_OF

static void put_links(const struct seg_service *s, struct buf *b)
{
    static const char name[] = "segq_segment_links";
    uint64_t n[RPC_NROLES] = { 0 };

    each_node_peer (&s->node, p)
        n[p->role]++;
    metrics_head(b, name, METRIC_GAUGE, "Links that are up, by the role of the peer");
    for (unsigned r = RPC_ROUTER; r < RPC_NROLES; r++) {
        const char *labels[] = { "role", rpc_role_name(r), NULL };

        metrics_u64(b, name, labels, n[r]);
    }
}

/* Time is told in seconds, whatever we count in: what Prometheus expects. */
static void seconds(struct buf *b, const char *name, enum metric_kind kind, const char *help,
                    uint64_t ms)
{
    metrics_value(b, name, kind, help, (double)ms / 1000);
}

void seg_metrics(void *ctx, struct buf *b)
{
    const struct seg_service *s = ctx;
    struct segtab_counts n = { 0 };
    struct keeper_counts journal;
    struct trail_counts audit;

    segtab_count(s->tab, &n);
    metrics_rows(b, tab_rows, ARRAY_LEN(tab_rows), &n);
    metrics_rows(b, shell_rows, ARRAY_LEN(shell_rows), &s->n);
    metrics_rows(b, node_rows, ARRAY_LEN(node_rows), &s->node.n);
    metrics_rows(b, rpc_rows, ARRAY_LEN(rpc_rows), rpc_counts(s->node.rpc));
    metrics_rows(b, pass_rows, ARRAY_LEN(pass_rows), seg_passes_counts(s->passes));
    seg_journal_count(s->journal, &journal);
    metrics_rows(b, journal_rows, ARRAY_LEN(journal_rows), &journal);
    seconds(b, "segq_segment_journal_replay_seconds", METRIC_GAUGE, "What reading it took",
            journal.file.replay_ms);
    seconds(b, "segq_segment_service_seconds_total", METRIC_COUNTER,
            "The clock of idle time-outs; stands still without routers", n.service_ms);
    audit_count(s->audit, &audit);
    metrics_rows(b, audit_rows, ARRAY_LEN(audit_rows), &audit);
    put_links(s, b);
    metrics_process(b, "segment", s->node.region, s->node.zone);
}

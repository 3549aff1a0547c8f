/* metrics.c: the node's figures for Prometheus. Cores count; this file names. */
#include "segment/service/metrics.h"

#include "common/base/metrics.h"
#include "segment/service/state.h"
#include "common/supervisor/metrics_process.h"

#define C METRIC_COUNTER
#define G METRIC_GAUGE

/* member of struct segtab_counts, name after segq_segment_, kind, help */
#define TAB_METRICS(X)                                                                   \
    X(segments, "segments", G, "Segments held.")                                         \
    X(waiting, "waiting", G, "Tickets in line.")                                         \
    X(ready, "ready", G, "Released tickets that have not collected their pass.")         \
    X(active, "active", G, "Tickets whose pass is collected and valid.")                 \
    X(returning, "returning", G, "No-shows that came back inside the grace.")            \
    X(tickets, "tickets", G, "Places taken by live blocks.")                             \
    X(max_tickets, "max_tickets", G, "Places that it may hold.")                         \
    X(blocks, "blocks", G, "Blocks of 512 places.")                                      \
    X(core_bytes, "core_bytes", G, "Memory of blocks, tables and records.")              \
    X(places, "polls_total", C, "Polls asked.")                                          \
    X(appends, "join_requests_total", C, "Joins asked.")                                 \
    X(drops, "leave_requests_total", C, "Leaves asked.")                                 \
    X(sessions, "session_requests_total", C, "Backends' commands about sessions.")       \
    X(joined, "joined_total", C, "Tickets made.")                                        \
    X(popped, "released_total", C, "Tickets released.")                                  \
    X(admitted, "admitted_total", C, "Tickets that collected their pass.")               \
    X(left, "left_total", C, "Tickets whose owner left.")                                \
    X(expired, "expired_total", C, "Tickets that timed out.")                            \
    X(no_shows, "no_shows_total", C, "Called, and did not come in time.")                \
    X(returned, "returned_total", C, "No-shows that came back.")                         \
    X(rebuilding, "rebuilding", G, "Segments whose tickets come back with their polls.") \
    X(came_back, "came_back_total", C, "Tickets that came back to such a segment.")      \
    X(busy, "busy_answers_total", C, "Requests to ask again: a move, or no room.")       \
    X(unknown, "unknown_segment_answers_total", C, "Requests for segments not here.")    \
    X(moved, "moved_answers_total", C, "Requests for segments that moved away.")         \
    X(sealed_answers, "sealed_answers_total", C, "Joins sent on to the successor.")      \
    X(stale_orders, "stale_orders_total", C, "Orders refused for their epoch.")          \
    X(moves_in, "moves_in_total", C, "Moves to this node that were committed.")          \
    X(moves_out, "moves_out_total", C, "Moves from this node that were committed.")      \
    X(moves_aborted, "moves_aborted_total", C, "Moves that were aborted.")               \
    X(passes_made, "passes_total", C, "Passes handed out, again ones included.")         \
    X(dir_members, "directory_members", G, "Nodes that keep the directory of subjects.") \
    X(dir_entries, "directory_entries", G, "Subjects in this node's share of it.")       \
    X(dir_complete, "directory_complete", G, "1 if all nodes have said what they hold.") \
    X(dir_busy, "directory_busy_answers_total", C, "Joins that had to ask again for it.") \
    X(dir_exists, "directory_found_total", C, "Joins whose place was on another node.")  \
    X(epoch, "epoch", G, "Highest manager epoch seen.")

#define SHELL_METRICS(X)                                                                 \
    X(batches, "batches_total", C, "Frames of polls, joins and leaves.")                 \
    X(orders, "order_frames_total", C, "Other frames.")                                  \
    X(bad_frames, "bad_frames_total", C, "Frames for which a link was closed.")          \
    X(unknown, "unknown_frames_total", C, "Frames of a type that this build lacks.")     \
    X(unsent, "unsent_messages_total", C, "Messages dropped: peer gone, or too large.")  \
    X(late_ticks, "late_ticks_total", C, "Ticks more than a second late.")

#define RPC_METRICS(X)                                                                   \
    X(frames_in, "link_frames_received_total", C, "Frames received.")                    \
    X(frames_out, "link_frames_sent_total", C, "Frames sent.")                           \
    X(bytes_in, "link_received_bytes_total", C, "Bytes received on internal links.")     \
    X(bytes_out, "link_sent_bytes_total", C, "Bytes sent on internal links.")            \
    X(writes, "link_writes_total", C, "System calls that sent them.")                    \
    X(accepted, "links_accepted_total", C, "Links accepted.")                            \
    X(dialled, "links_dialled_total", C, "Links made by us.")                            \
    X(refused, "links_refused_total", C, "Connections whose hello was not good.")        \
    X(closed, "links_closed_total", C, "Links closed.")

#define PASS_METRICS(X)                                                                  \
    X(signed_, "passes_signed_total", C, "Passes that had to be signed.")                \
    X(kept, "passes_kept_total", C, "Passes answered from memory.")                      \
    X(failed, "passes_failed_total", C, "Passes that could not be made.")

#define JOURNAL_METRICS(X)                                                               \
    X(file.records, "journal_records_total", C, "Records written.")                      \
    X(file.bytes, "journal_bytes_total", C, "Bytes written, with heads.")                \
    X(file.writes, "journal_writes_total", C, "System calls that wrote them.")           \
    X(file.syncs, "journal_syncs_total", C, "Syncs to the disk.")                        \
    X(file.failures, "journal_failures_total", C, "Writes and syncs that failed.")       \
    X(file.full, "journal_full_total", C, "Writes refused for want of room.")            \
    X(file.snapshots, "journal_snapshots_total", C, "Whole snapshots.")                  \
    X(file.snap_failures, "journal_snapshot_failures_total", C, "Snapshots given up.")   \
    X(file.log_bytes, "journal_log_bytes", G, "Bytes since the last snapshot.")          \
    X(file.promised, "journal_promised_bytes", G, "Room kept for who is in line.")       \
    X(file.torn_bytes, "journal_torn_bytes", G, "Cut off at the start.")                 \
    X(file.replay_records, "journal_replayed_records", G, "Read at the start.")          \
    X(refused, "journal_refused_joins_total", C, "Joins that had no room.")              \
    X(taken_back, "journal_taken_back_turns_total", C, "Turns not answered.")            \
    X(holding, "journal_holding", G, "1 while nothing new can be kept.")                 \
    X(recovered, "journal_recovered_tickets", G, "Tickets found at the start.")          \
    X(room_bytes, "journal_room_bytes", G, "Free on its file system; 0 without one.")

#define AUDIT_METRICS(X)                                                                 \
    X(lines, "audit_lines_total", C, "Lines of the audit trail.")                        \
    X(dropped, "audit_dropped_lines_total", C, "Lines left out: no room for them.")      \
    X(bytes, "audit_bytes_total", C, "Bytes of the trail written to files.")             \
    X(failures, "audit_failures_total", C, "Writes of the trail that failed.")           \
    X(failing, "audit_failing", G, "1 while the trail cannot be written.")               \
    X(waiting_bytes, "audit_waiting_bytes", G, "Lines that wait for the disk.")          \
    X(removed, "audit_removed_files_total", C, "Files of the trail that grew too old.")  \
    X(cut_bytes, "audit_cut_bytes_total", C, "Half lines cut off the end of files.")

#define ROW(member, name, kind, help)                                                    \
    { "segq_segment_" name, kind, help, offsetof(struct ROW_OF, member) },

#define ROW_OF segtab_counts
static const struct metric_row tab_rows[] = { TAB_METRICS(ROW) };
#undef ROW_OF
#define ROW_OF seg_shell_counts
static const struct metric_row shell_rows[] = { SHELL_METRICS(ROW) };
#undef ROW_OF
#define ROW_OF rpc_counts
static const struct metric_row rpc_rows[] = { RPC_METRICS(ROW) };
#undef ROW_OF
#define ROW_OF seg_pass_counts
static const struct metric_row pass_rows[] = { PASS_METRICS(ROW) };
#undef ROW_OF

#define ROW_OF seg_journal_counts
static const struct metric_row journal_rows[] = { JOURNAL_METRICS(ROW) };
#undef ROW_OF

#define ROW_OF audit_counts
static const struct metric_row audit_rows[] = { AUDIT_METRICS(ROW) };
#undef ROW_OF

static void put_links(const struct seg_service *s, struct buf *b)
{
    static const char name[] = "segq_segment_links";
    uint64_t n[RPC_NROLES] = { 0 };

    list_each(&s->peers, it)
        n[list_entry(it, struct seg_peer, node)->role]++;
    metrics_head(b, name, G, "Links that are up, by who is at the other end.");
    for (unsigned r = RPC_ROUTER; r < RPC_NROLES; r++) {
        const char *labels[] = { "role", rpc_role_name(r), NULL };

        metrics_u64(b, name, labels, n[r]);
    }
}

/* Time is told in seconds, whatever we count in: what Prometheus expects. */
static void seconds(struct buf *b, const char *name, enum metric_kind kind, const char *help,
                    uint64_t ms)
{
    metrics_head(b, name, kind, help);
    metrics_f64(b, name, NULL, (double)ms / 1000);
}

void seg_metrics(void *ctx, struct buf *b)
{
    const struct seg_service *s = ctx;
    struct segtab_counts n = { 0 };
    struct seg_journal_counts journal;
    struct audit_counts audit;

    segtab_count(s->tab, &n);
    metrics_rows(b, tab_rows, ARRAY_LEN(tab_rows), &n);
    metrics_rows(b, shell_rows, ARRAY_LEN(shell_rows), &s->n);
    metrics_rows(b, rpc_rows, ARRAY_LEN(rpc_rows), rpc_counts(s->rpc));
    metrics_rows(b, pass_rows, ARRAY_LEN(pass_rows), seg_passes_counts(s->passes));
    seg_journal_count(s->journal, &journal);
    metrics_rows(b, journal_rows, ARRAY_LEN(journal_rows), &journal);
    seconds(b, "segq_segment_journal_replay_seconds", G, "What reading it took.",
            journal.file.replay_ms);
    seconds(b, "segq_segment_service_seconds_total", C,
            "The clock of idle time-outs; stands still without routers.", n.service_ms);
    audit_count(s->audit, &audit);
    metrics_rows(b, audit_rows, ARRAY_LEN(audit_rows), &audit);
    put_links(s, b);
    metrics_process(b, "segment");
}

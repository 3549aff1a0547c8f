/* keeper_rows.h: a journal's figures for Prometheus: rows of struct keeper_counts for a process's
 * own macro, which puts its name in front. Pure. */
#ifndef SEGQ_KEEPER_ROWS_H
#define SEGQ_KEEPER_ROWS_H

#include "common/journal/keeper.h"

#define KEEPER_ROWS(ROW)                                                                       \
    ROW("journal_records_total", COUNTER, file.records, "Records written"),                    \
    ROW("journal_bytes_total", COUNTER, file.bytes, "Bytes written, with heads"),              \
    ROW("journal_writes_total", COUNTER, file.writes, "System calls that wrote them"),         \
    ROW("journal_syncs_total", COUNTER, file.syncs, "Syncs to the disk"),                      \
    ROW("journal_failures_total", COUNTER, file.failures, "Writes and syncs that failed"),     \
    ROW("journal_full_total", COUNTER, file.full, "Writes refused for want of room"),          \
    ROW("journal_snapshots_total", COUNTER, file.snapshots, "Whole snapshots"),                \
    ROW("journal_snapshot_failures_total", COUNTER, file.snap_failures, "Snapshots given up"), \
    ROW("journal_log_bytes", GAUGE, file.log_bytes, "Bytes since the last snapshot"),          \
    ROW("journal_torn_bytes", GAUGE, file.torn_bytes, "Cut off at the start"),                 \
    ROW("journal_replayed_records", GAUGE, file.replay_records, "Read at the start"),          \
    ROW("journal_taken_back_turns_total", COUNTER, taken_back, "Turns not answered"),          \
    ROW("journal_holding", GAUGE, holding, "1 while nothing new can be kept"),                 \
    ROW("journal_room_bytes", GAUGE, room_bytes, "Free on its file system; 0 without one")

#endif

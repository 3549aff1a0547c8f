/* opts.h: what a node's table of segments is given and asked for: its options, the
 * time of a call, the links that it wants, its counters. Included by segtab.h. */
#ifndef SEGQ_SEG_CORE_OPTS_H
#define SEGQ_SEG_CORE_OPTS_H

#include "common/wire/msg.h"

#define SEGTAB_MAX_STEP_MS 1000
#define SEGTAB_REST_MS     30000 /* clients back off to that: clients/js/segq.js */

struct segtab;
struct jrec;
struct audit_event;
struct seg_pass;

struct segtab_opts {
    uint64_t max_tickets;
    uint32_t max_segments;
    const char *addr, *admin; /* for NODE_REG; "host:port" */
    const char *region, *zone; /* likewise; ref, NULL: not said */
    uint8_t pass_pub[32];
    struct pass_others pass_others;
    uint32_t retry_ms;        /* poll_after of a ticket that must come back soon; 0 = 1000 */
    uint32_t sweep_blocks;    /* blocks swept for time-outs per tick; 0 = 4096 */
    uint32_t portion;         /* rows at most of whatever goes in portions; 0: as many as each has. A
                               * simulation's few people are several portions so */
    /* Makes the pass of a released ticket into out (MSG_PASS_MAX); length, or < 0. Pure
     * function of its arguments; the simulation passes a cheap one. */
    int (*make_pass)(void *ctx, const struct seg_pass *p, char *out);
    void *ctx;
    /* NULL, or gets every change at the moment it is made; what it is given is only good
     * during the call. It must be safe on disk before what the call answers is sent. */
    void (*log)(void *log_ctx, const struct jrec *r);
    /* NULL, or is asked before a move is committed: room for the bytes of its records? */
    bool (*log_room)(void *log_ctx, uint64_t bytes);
    void *log_ctx;
    /* NULL, or gets what happens to each ticket, at the moment it does (audit_line.h); not
     * what a replay repeats. */
    void (*audit)(void *audit_ctx, const struct audit_event *e);
    void *audit_ctx;
};

struct seg_pass { /* content of a pass */
    const char *queue, *lane, *issuer;
    const char *subject; /* NULL if none; not 0-terminated */
    size_t subject_len;
    const char *bound; /* common/ticket/pass.h; NULL: to nothing */
    size_t bound_len;
    seg_id seg;          /* the token's: "<seg>-<number>" is the ticket's id */
    uint32_t number;
    int64_t released_at_ms, expires_s;
};

struct seg_now {
    msec_t now_ms;
    int64_t wall_ms;
};

struct append_from { /* whose joins are in a batch, and the question that is answered */
    peer_no peer;
    uint64_t rid;
};

struct segtab_counts {
    uint64_t segments, rebuilding, waiting, ready, active, returning; /* now */
    uint64_t tickets, max_tickets, blocks, core_bytes;    /* held now, at most */
    uint64_t sessions; /* commands about sessions, ever */
    uint64_t places, appends, drops;                      /* asked, ever */
    uint64_t entered; /* let in with their joins; they count as popped and admitted, too */
    uint64_t joined, popped, admitted, left, expired, no_shows, returned, came_back;
    uint64_t busy, unknown, moved, sealed_answers, stale_orders;
    uint64_t replica_rows, replica_whole; /* said to routers; whole pushes begun */
    uint64_t seen_marks, seen_late; /* marks from routers; those for nobody in line here */
    uint64_t spared; /* routers that ended without a farewell */
    /* tickets that are told of their turn; of these let in, and not told yet; ever: told, put off by
     * routers */
    uint64_t contacts, contacts_due, turns_told, turns_later;
    uint64_t moves_in, moves_out, moves_aborted, passes_made;
    uint64_t epoch, service_ms;
    /* counts of the directory of subjects: entries of this node's share; whether every member has
     * said what it holds; joins that had to ask again, that waited here for another's word, and that
     * found an old place */
    uint64_t dir_members, dir_entries, dir_complete, dir_busy, dir_waited, dir_exists;
};

#endif

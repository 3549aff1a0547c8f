/* segtab.h: all segments hosted by one segment node, and the orders they obey. Pure.
 *
 * This is the node's whole brain: the shell (seg_service.c) and the simulation feed it
 * the same calls. Batches from routers are answered at once; everything else goes through
 * segtab_step() and an outbox.
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
 * SEGTAB_REST_MS): who failed to reach them comes that late. */
#ifndef SEGQ_SEGTAB_H
#define SEGQ_SEGTAB_H

#include "common/wire/outbox.h"

#define SEGTAB_MAX_STEP_MS 1000
#define SEGTAB_REST_MS     30000 /* clients back off to that: deploy/client/segq.js */

struct segtab;
struct jrec;
struct audit_event;

struct seg_pass;
struct segtab_opts {
    uint64_t max_tickets;
    uint32_t max_segments;
    const char *addr, *admin; /* for NODE_REG; "host:port" */
    uint8_t pass_pub[32];
    struct pass_others pass_others;
    uint32_t retry_ms;        /* poll_after of a ticket that must come back soon; 0 = 1000 */
    uint32_t sweep_blocks;    /* blocks swept for time-outs per tick; 0 = 4096 */
    /* Makes the pass of a released ticket into out (MSG_PASS_MAX); length, or < 0. Pure
     * function of its arguments; the simulation passes a cheap one. */
    int (*make_pass)(void *ctx, const struct seg_pass *p, char *out);
    void *ctx;
    /* NULL, or gets every change at the moment it is made; what it is given is only good
     * during the call. It must be safe on disk before what the call answers is sent. */
    void (*log)(void *log_ctx, const struct jrec *r);
    void *log_ctx;
    /* NULL, or gets what happens to each ticket, at the moment it does (audit_line.h); not
     * what a replay repeats. */
    void (*audit)(void *audit_ctx, const struct audit_event *e);
    void *audit_ctx;
};

struct seg_pass { /* what a pass says */
    const char *queue, *lane, *issuer;
    const char *subject; /* NULL if none; not 0-terminated */
    size_t subject_len;
    seg_id seg;          /* the token's: "<seg>-<number>" is the ticket's id */
    uint32_t number;
    int64_t released_at_ms, expires_s;
};

struct segtab *segtab_new(const struct segtab_opts *o); /* NULL: no memory */
void segtab_free(struct segtab *t);

/* ---- the hot path: answers go into ans[0..n-1]; passes live in `mem`. ------------ */
struct seg_now {
    msec_t now_ms;
    int64_t wall_ms;
};
void segtab_place(struct segtab *t, struct seg_now now, const struct place_req *req,
                  uint32_t n, struct place_ans *ans, struct arena *mem);
void segtab_append(struct segtab *t, struct seg_now now, const struct append_req *req,
                   uint32_t n, struct append_ans *ans);
void segtab_drop(struct segtab *t, struct seg_now now, const struct drop_req *req,
                 uint32_t n, struct drop_ans *ans);

void segtab_session(struct segtab *t, struct seg_now now, const struct sess_req *req,
                    uint32_t n, struct sess_ans *ans, struct arena *mem);

/* ---- everything else ------------------------------------------------------------- */
enum segtab_kind {
    SEGTAB_TICK,      /* at least every 100 ms: sweep, claim windows, reports, move progress */
    SEGTAB_REPORT,    /* report now what has changed; see segtab_urgent() */
    SEGTAB_ASK,       /* send what joins wait for; see segtab_asks() */
    SEGTAB_UP,        /* peer connected: role, name */
    SEGTAB_DOWN,      /* peer gone */
    SEGTAB_MSG,       /* from peer */
    SEGTAB_DIAL_FAIL, /* the peer asked for by want_peer could not be reached: name */
};
struct segtab_in {
    struct seg_now now;
    enum segtab_kind kind;
    peer_no peer;
    uint8_t role;     /* UP, DOWN: enum rpc_role */
    const char *name; /* UP: node name of the peer; DIAL_FAIL */
    const struct msg *msg;
    msec_t silent_ms; /* TICK: so long ago a router was heard last; 0: now */
};
/* Fills `out` with messages. When a move needs a link to another segment node, it is
 * named in segtab_wanted() until the move is over; the shell dials and reports UP. */
void segtab_step(struct segtab *t, const struct segtab_in *in, struct outbox *out);

/* Since the last report a segment has sealed itself, or is filling up: joins may soon have
 * to wait for the manager to open the next one, so it should hear of it in this turn
 * (SEGTAB_REPORT) and not at the next tick. */
bool segtab_urgent(const struct segtab *t);

/* A join waits for another node's word, which has not been asked for yet (SEGTAB_ASK; every
 * other step does it, too). */
bool segtab_asks(const struct segtab *t);

struct segtab_want {
    char name[NAME_MAX_LEN + 1], addr[64];
};
/* Links to other segment nodes that are wanted now; returns how many (at most cap). */
size_t segtab_wanted(const struct segtab *t, struct segtab_want *v, size_t cap);

/* ---- the journal's side (segment/records/jrec.h) ------------------------------------------ */
/* Into a new table, record by record, and then the end of it: deadlines begin anew, and
 * the table may be used. 0, SQ_ENOMEM, or SQ_EPROTO: this record cannot follow those
 * before it; then the table is good for segtab_free() only. */
SQ_CHECK int segtab_replay(struct segtab *t, const struct jrec *r);
SQ_CHECK int segtab_replayed(struct segtab *t, struct seg_now now);
/* After that: the last joins may be missing. Nobody joins what is open any more, or a number
 * that was given once would be given again, and two people had one place. */
void segtab_seal_all(struct segtab *t);
/* The whole state as records, some segments (at least one, and about n blocks of them) per
 * call; changes in between go to the log, as always. A replay takes the records of a whole
 * snapshot first, and then what was logged since it was begun. begin: from the start, even
 * if one is under way. true: there is more. */
bool segtab_snapshot(struct segtab *t, bool begin, uint64_t n_blocks,
                     void (*put)(void *ctx, const struct jrec *r), void *ctx);
/* Of everything that a replay brings back: equal tables, equal digests. */
uint64_t segtab_digest(const struct segtab *t);
/* What would change now could not be kept: nothing does (segtab_hold.c). The table must be
 * what the journal has: after a turn that was not written it is made anew. */
void segtab_hold(struct segtab *t, bool hold);
/* Nobody joins; everything else goes on. */
void segtab_full(struct segtab *t, bool full);

struct segtab_counts {
    uint64_t segments, rebuilding, waiting, ready, active, returning; /* now */
    uint64_t tickets, max_tickets, blocks, core_bytes;    /* held now, at most */
    uint64_t sessions; /* commands about sessions, ever */
    uint64_t places, appends, drops;                      /* asked, ever */
    uint64_t joined, popped, admitted, left, expired, no_shows, returned, came_back;
    uint64_t busy, unknown, moved, sealed_answers, stale_orders;
    uint64_t moves_in, moves_out, moves_aborted, passes_made;
    uint64_t epoch, service_ms;
    /* of the directory of subjects: entries of this node's share; whether every member has
     * said what it holds; joins that had to ask again, and that found an old place */
    uint64_t dir_members, dir_entries, dir_complete, dir_busy, dir_exists;
};
void segtab_count(const struct segtab *t, struct segtab_counts *c);

/* What is known of one ticket; it is not kept alive by that. a->lines is "". */
void segtab_why(struct segtab *t, struct seg_now now, const struct msg_why *q,
                struct msg_why_ans *a);

/* For the simulation: calls fn for every ticket that is waiting here, in order per
 * segment: the token's (seg, number) and the hosting segment. */
void segtab_each_waiting(const struct segtab *t,
                         void (*fn)(void *ctx, seg_id host, seg_id seg, uint32_t number),
                         void *ctx);
/* Also: every segment here, as it would be reported. */
void segtab_each_seg(const struct segtab *t,
                     void (*fn)(void *ctx, const struct seg_status *s), void *ctx);

#endif

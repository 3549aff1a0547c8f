/* msg_router_segment.h: a part of msg.h: what routers and segment nodes say to one
 * another: batches, where the i-th answer belongs to the i-th request of the frame with the
 * same request id (joins: append_ans.row); and the replica of its lines that a node keeps at each router. Pure.
 * Memory: msg.h.
 */
#ifndef SEGQ_MSG_ROUTER_SEGMENT_H
#define SEGQ_MSG_ROUTER_SEGMENT_H

#include "common/base/base.h"
#include "common/ticket/pass.h"
#include "common/ticket/token.h"
#include "common/wire/msg_segment_manager.h"

struct place_req { /* a poll: what the token says */
    seg_id seg;    /* the token's own segment, which may have been merged away */
    uint32_t number;
    uint8_t client; /* enum client_class */
};

enum place_state {
    PLACE_WAITING,  /* position, poll_after_ms */
    PLACE_ADMITTED, /* released; pass, released_at, pass_expires */
    PLACE_GONE,     /* reason */
    PLACE_BUSY,     /* being moved this very moment: ask again in some ms */
    PLACE_MOVED,    /* moved_to: the segment that has absorbed it */
    PLACE_UNKNOWN,  /* this node has no such segment: the asker's map is old */
    PLACE_NSTATES
};

enum gone_reason {
    GONE_EXPIRED,
    GONE_LEFT,
    GONE_NO_SHOW,
    GONE_FINISHED,
    GONE_LOST, /* "segment_lost" */
    GONE_NREASONS
};

enum no_place {     /* why a waiting ticket has no position */
    NO_PLACE_NONE,   /* has a place */
    NO_PLACE_EARLY,  /* a line to be drawn: the ticket draws, too */
    NO_PLACE_NOW,    /* for any other reason */
    NO_PLACE_N
};

struct place_ans {
    uint8_t state;          /* enum place_state */
    uint8_t reason;         /* enum gone_reason, if PLACE_GONE; enum no_place, if
                             * PLACE_WAITING without a position */
    uint16_t pass_len;      /* if PLACE_ADMITTED */
    uint32_t poll_after_ms; /* if PLACE_WAITING */
    union {
        uint64_t position; /* 1-based, in the lane; if PLACE_WAITING */
        seg_id moved_to;   /* if PLACE_MOVED */
    };
    int64_t released_at_ms;  /* wall clock; if PLACE_ADMITTED */
    int64_t pass_expires_s;  /* Unix seconds; if PLACE_ADMITTED */
    const char *pass;        /* if PLACE_ADMITTED; not 0-terminated */
};

struct append_req { /* a join */
    seg_id seg;
    uint8_t client;
    uint8_t subject_len; /* 0 = none */
    uint64_t subject_hash; /* hash of the name in it */
    const char *subject; /* ticket/pass.h */
    seg_id old_seg; /* 0; else the ticket that it replaces, which may have its subject */
    uint32_t old_number;
    uint32_t old_issued_s; /* from its token: the new one is later, whatever the clocks */
    uint8_t later; /* 1: its answer may come in a frame of its own, behind those of others */
};

#define APPEND_ALIEN UINT64_MAX /* position of an existing ticket: another device's than the join's */

enum append_state {
    APPEND_OK,       /* a new ticket */
    APPEND_EXISTING, /* the subject's live ticket: number, issued_s, client are its own */
    APPEND_SEALED,   /* next: the successor, 0 if there is none yet */
    APPEND_BUSY,     /* no memory, or not serving: 503 */
    APPEND_UNKNOWN,  /* this node has no such segment: the asker's map is old */
    APPEND_ENTERED,  /* a new ticket that was let in at once: its pass is here */
    APPEND_NSTATES
};

#define APPEND_COUNTED NO_PLACE_NOW /* which older routers pass over */

struct append_ans {
    uint8_t state;
    uint8_t client;
    union {
        uint8_t no_place; /* enum no_place, if APPEND_OK without a position */
        uint8_t counted;  /* APPEND_COUNTED, if EXISTING: the node knows of this join, too, so it may be given
                           * back. 0: it does not, or is older */
    };
    uint8_t row; /* whose it is; 0 in each: the i-th, and the frame answers all of the batch */
    uint32_t number;
    uint32_t issued_s; /* Unix seconds; goes into the token */
    uint32_t poll_after_ms;
    union {
        uint64_t position;
        seg_id next;
    };
    seg_id seg; /* the token's segment (differs from the asked one if EXISTING and moved) */
    uint16_t pass_len; /* this and the rest: APPEND_ENTERED */
    const char *pass;
    int64_t released_at_ms, pass_expires_s;
};

struct drop_req {
    seg_id seg;
    uint32_t number;
    uint64_t heir_hash; /* 0; else it leaves only if it waits, because a ticket with this subject
                         * replaces it; a name of its own must be the same */
};
/* heir_hash: it leaves unless its pass was handed out: a place of several (flow/places.h). */
#define DROP_UNLESS_ADMITTED UINT64_MAX
/* heir_hash: a join that failed gives back the place that it took or found: it leaves unless another join was
 * answered with it that has not given it back. Said once for a join: each counts. */
#define DROP_UNLESS_KEPT (UINT64_MAX - 1)
/* heir_hash: likewise, said again behind a link that ended: it leaves unless a later join was answered with it. */
#define DROP_UNLESS_FOUND (UINT64_MAX - 2)

enum drop_state {
    DROP_OK,
    DROP_BUSY,
    DROP_MOVED,
    DROP_UNKNOWN,
    DROP_GONE,   /* heir_hash: it was over already, as these two */
    DROP_INSIDE, /* released, or found: nothing is done */
    DROP_NAMED,  /* another subject: nothing is done */
    DROP_NSTATES
};

struct drop_ans {
    uint8_t state; /* OK also if it was gone already */
    seg_id moved_to;
};

/* Passes that are not what they say: from a node to every router, unasked. */
enum pass_state { PASS_REVOKED = 0, PASS_NSTATES };
struct pass_row {
    seg_id seg; /* the ticket */
    uint32_t number;
    uint8_t state; /* enum pass_state */
    int64_t until_s; /* Unix seconds: then the pass has expired by itself */
};

/* A backend's wish about the session of an admitted ticket; USE: a gate's, which
 * lets each pass in once. From a node to every router, unasked: sessions that were extended, with
 * the time that they last now. */
enum sess_command { SESS_RELEASE, SESS_REVOKE, SESS_EXTEND, SESS_USE, SESS_NCOMMANDS };
struct sess_req {
    seg_id seg;
    uint32_t number;
    uint8_t command; /* enum sess_command */
    uint8_t renews;  /* EXTEND: 1: for a request of the bearer's; the answer has the pass */
    int64_t until_s; /* EXTEND: Unix seconds, the router has looked at session_max; USE: a number
                      * > 0 that no other use has, the same when it is asked again */
};

enum sess_state {
    SESS_OK,   /* release, revoke: also if it was over already */
    SESS_GONE, /* extend: it is over; use: that, or it was used before */
    SESS_BUSY,
    SESS_MOVED,
    SESS_UNKNOWN,
    SESS_NSTATES
};
struct sess_ans {
    uint8_t state; /* enum sess_state */
    uint16_t pass_len;
    seg_id moved_to;
    int64_t until_s;  /* extend: how long it lasts now; use, GONE: the number of the use that came
                       * first, 0: none did (it is over) */
    const char *pass; /* pass_len 0: none was asked for */
};

struct msg_place {
    uint32_t n;
    struct place_req *req;
};
struct msg_place_ans {
    uint32_t n;
    struct place_ans *ans;
};
struct msg_append {
    uint32_t n;
    struct append_req *req;
};
struct msg_append_ans {
    uint32_t n;
    struct append_ans *ans;
};
struct msg_drop {
    uint32_t n;
    struct drop_req *req;
};
struct msg_drop_ans {
    uint32_t n;
    struct drop_ans *ans;
};
struct msg_passes {
    uint32_t n;
    struct pass_row *rows;
};
struct msg_session {
    uint32_t n;
    struct sess_req *req;
};
struct msg_session_ans {
    uint32_t n;
    struct sess_ans *ans;
};

/* ---- who is told that their turn comes ------------------------------------------------------
 * A contact (an address, a push subscription) is sealed by the router that takes it: nodes, journals
 * and copies have bytes that say nothing. When the ticket is let in (or soon will be) its node says so to
 * a router, again and again until one has handed it to a task node, or the ticket ends. */
#define CONTACT_MAX        2048 /* bytes of a contact: JSON, as it came */
#define CONTACT_SEALED_MAX (CONTACT_MAX + TOKEN_TEXT_LEN + 41)

enum turn_word { TURN_SOON = 1, TURN_NOW = 2 }; /* also bits of what was said */

struct contact_req {
    seg_id seg; /* the ticket */
    uint32_t number;
    uint32_t claim_ms; /* time to come, from its release, if its queue says less */
    uint16_t n_sealed; /* 0: it has none any more */
    const uint8_t *sealed;
};

enum contact_state {
    CONTACT_OK,
    CONTACT_GONE,    /* the ticket is over */
    CONTACT_INSIDE,  /* let in already */
    CONTACT_FULL,    /* too many have one */
    CONTACT_BUSY,
    CONTACT_MOVED,
    CONTACT_UNKNOWN,
    CONTACT_NSTATES
};
struct contact_ans {
    uint8_t state;  /* enum contact_state */
    uint8_t reason; /* enum gone_reason, if GONE */
    seg_id moved_to;
};

struct msg_contact {
    uint32_t n;
    struct contact_req *req;
};
struct msg_contact_ans {
    uint32_t n;
    struct contact_ans *ans;
};

struct msg_turn { /* to any router */
    seg_id seg; /* the ticket, as its token names it */
    uint32_t number;
    uint8_t word;     /* enum turn_word */
    int64_t at_ms;    /* wall clock: NOW: its release */
    int64_t until_ms; /* NOW: it has to be polled by then */
    uint32_t n_sealed;
    const uint8_t *sealed;
};

struct msg_turn_ans {
    seg_id seg;
    uint32_t number;
    uint8_t word;
    bool told;         /* a task node has it; else again after: */
    uint32_t later_ms;
};

/* ---- the replica -------------------------------------------------------------------------
 * A node pushes to a router what an answer to the poll of a waiting ticket is made of, by *name*:
 * by the segment that tokens name, also after that was absorbed. A ticket waits if its bit is
 * set; its position is before + set bits of lower numbers + 1. Whatever is not said in here is
 * asked as before, with PLACE.
 *
 * A push is any number of frames without stamp_ms and one with it, which comes last. Rows of a
 * push are of one moment, stamp_ms; each is whole, unless it says REPLICA_MORE. A router
 * asks for pushes with its first SEEN on a link. It gets a whole push: frames from
 * REPLICA_WHOLE to the next REPLICA_END, which replace all that it had from this node when the
 * last of them is here; pushes of what changes meanwhile stand between them, and belong to the
 * new. Later differences, and whole pushes again, if it reads too slowly. */
#define REPLICA_BYTES_MAX 65536 /* bytes of `dead`, of `lines`, of `marks` in a row */

enum replica_flag {
    REPLICA_WHOLE = 1, /* a whole push begins: before the rows of this frame */
    REPLICA_END = 2,   /* and ends: behind the rows of this frame, which has a stamp */
};

enum replica_row_flag { /* a flag that is not known means REPLICA_ASK */
    REPLICA_ASK = 1,    /* polls of this name are asked: nothing else in the row counts */
    REPLICA_NEW = 2,    /* earlier words about its numbers are void: all are dead */
    REPLICA_MORE = 4,   /* more rows of it follow in this push: ask until then */
    REPLICA_FENCED = 8, /* on its way to `host`, a segment of any node: see PROTOCOL 24 */
    REPLICA_EARLY = 16, /* without positions before the draw: NO_PLACE_EARLY */
    REPLICA_NO_PLACE = 32, /* without positions: NO_PLACE_NOW. The sum only chooses the interval */
    REPLICA_ROW_FLAGS = 63
};

/* How a row changes the numbers of its name, in this order: those from the end that was said
 * before up to `end` are alive (of a new one they are dead); `lines`; `dead`; those below
 * `head` are dead. Nothing else brings a number to life. A row of an unknown name that is not
 * REPLICA_NEW is passed over: it is for those that have it already. Bytes:
 * common/wire/replica_bytes.h; the codec refuses those that make no sense. */
struct replica_row {
    seg_id name;
    seg_id host;    /* the segment that has its tickets; itself, if it was not absorbed;
                     * REPLICA_FENCED: the one that will have them */
    queue_id queue; /* whose pace, of `lane`, is told */
    uint8_t lane;
    uint8_t flags;  /* enum replica_row_flag */
    uint32_t end;   /* numbers that it has given; never falls */
    uint32_t head;  /* <= end; never falls, unless REPLICA_NEW */
    uint32_t told_max_ms; /* the longest interval that is told here */
    uint64_t before; /* the waiting tickets before its first */
    uint32_t n_dead, n_lines;
    const uint8_t *dead, *lines;
};

struct msg_replica {
    msec_t stamp_ms;   /* the node's monotonic clock; 0: more frames of this push follow */
    msec_t echo_ms;    /* with a stamp: the newest clock_ms of this router that was read before
                        * it; 0: none */
    uint64_t seen;     /* with a stamp: the newest SEEN.seq that counts */
    uint8_t flags;     /* enum replica_flag */
    uint32_t n, n_pace, n_gone;
    struct replica_row *v;
    struct pace_entry *pace; /* entries that are new or changed; before the rows */
    seg_id *gone;      /* names that this node has no more; before the rows */
};

#define SEEN_EVERY_MS 500 /* interval of SEEN from a router, at most */

/* Polls that a router has answered from its replica. The first on a link asks for
 * pushes. */
struct seen_row {
    seg_id name;
    uint8_t client;   /* enum client_class */
    uint32_t n_marks; /* bytes */
    const uint8_t *marks; /* common/wire/replica_bytes.h */
};

enum seen_flag {
    SEEN_ECHO = 1, /* push a stamp at once */
    SEEN_LAST = 2, /* the router ends, and has told nobody anything that is not in here */
};

struct want_row { /* a ticket that somebody listens to at this router */
    seg_id seg; /* the one that its token names */
    uint32_t number;
    uint8_t client; /* enum client_class; WANT_NO_MORE */
};
#define WANT_NO_MORE CLIENT_NCLASSES

struct msg_seen {
    msec_t clock_ms; /* the router's monotonic clock */
    uint64_t seq;    /* 1, 2, ... for this node, not for this link; one that is sent again keeps
                      * its own. They come in order */
    uint8_t flags;   /* enum seen_flag */
    uint32_t n, n_want;
    struct seen_row *v;
    struct want_row *want; /* said once on a link */
};

/* Tickets that were wanted, and are let in: what their polls would be answered now. */
struct let_in_row {
    seg_id seg;
    uint32_t number;
    uint32_t pass_len;
    const uint8_t *pass;
    int64_t released_at_ms, pass_expires_s;
};
struct msg_let_in {
    uint32_t n;
    struct let_in_row *v;
};

#endif

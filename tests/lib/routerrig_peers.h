/* routerrig_peers.h: the made-up manager and segment node of routerrig.h, and the world that they
 * and the router are in. Numbers of tickets tell the node how to answer. */
#ifndef SEGQ_TESTS_ROUTERRIG_PEERS_H
#define SEGQ_TESTS_ROUTERRIG_PEERS_H

#include "tests/lib/criterion.h"
#include <stdio.h>
#include <string.h>

#include "common/wire/codec.h"
#include "common/wire/replica_bytes.h"
#include "router/service/service.h"

enum { N_GONE = 1000, N_ADMITTED, N_BUSY, N_SILENT, N_MOVED, N_UNKNOWN, N_SPECIAL_END };

struct world {
    struct ev *ev;
    struct router *r;
    struct router_cfg cfg;
    char *managers[1];
    struct rpc *mng, *seg;
    struct rpc_chan *mng_ch, *seg_ch;
    char seg_addr[64], dir[64];
    struct arena arena;
    uint16_t port;
    unsigned regs, places, place_frames, appends, append_frames, drops, busy;
    struct left_row left; /* the last of the last LEFT */
    char device[80];      /* the last DEVICE, as text */
    struct append_req last_append;
    char last_subject[SUBJECT_TEXT_MAX + 1];
    uint64_t map_epoch; /* of the maps to come; 0 = 1 */
    uint32_t map_format;
    uint64_t last_reg_version;
    bool hold; /* the node does what it is asked, but never answers */
    bool sealed;
    seg_id next_seg;     /* of a map: segments from here on are newer; 0: 100 */
    seg_id refused;      /* the node takes no joins to it; 0: none */
    seg_id mute;         /* its joins have no answer before say_late(); 0: none */
    seg_id unsure;       /* it takes no joins with a name */
    seg_id enters;       /* its joins are let in at once */
    bool mute_drops;     /* leaves have no answer */
    bool found, counts;  /* whoever joins has a place already, and the node counts that */
    uint64_t heir;       /* heir_hash of the last leave */
    uint32_t poll_ms;  /* that is told; 0 = 3000 */
    uint32_t moved;    /* so many before each have gone */
    enum gone_reason ends; /* all are over; 0: none is */
    enum no_place no_place; /* nobody has a position, and that is why */
    const char *page;   /* what the maps to come say of the queue's page, as JSON */
    const char *message;  /* the operator's, in the next map */
    struct map_phase when; /* ... of its phase */
    bool short_answers; /* the node answers joins with one answer too few */
    bool words_wait;    /* joins whose answers may come later have none: say_late() */
    uint32_t n_late;    /* rows of a batch of these, */
    uint64_t late_rid;
    struct append_ans late[16]; /* and what they are answered */
    const char *gate;        /* of the queue in the map, as JSON */
    uint32_t session_max_s, session_idle_s;
    const char *renewed;     /* the pass that renewals are answered with; NULL: none */
    bool sess_silent;        /* they are not answered */
    struct sess_req sess;    /* the last one that was asked */
    unsigned n_sess;
    const char *turn_queue, *push_key, *push_contact; /* of the queue in the map; NULL: none */
    uint32_t turn_field;
    struct contact_req contact; /* the last one; */
    uint8_t contact_bytes[CONTACT_SEALED_MAX], contact_state; /* and what is answered */
    unsigned n_contacts, n_turns;
    struct msg_turn_ans turn; /* the last one */
    int64_t clock_ms;        /* of releases, as the manager tells it; 0: it does not */
    uint8_t sess_state;      /* what is answered */
    int64_t sess_used;       /* number of the use that came first, as answered; 0: the question's */
    unsigned seen;           /* frames of SEEN with polls in them */
    unsigned n_seen, seen_flags; /* all frames of SEEN; what any of them said */
    enum { SEEN_TAKEN, SEEN_UNHEARD } does_with_seen;
    int fd;
};

static struct world w;
static struct { /* challenges of the queue in the next map and figures; told: joins that the manager heard of */
    uint32_t mode, from, per_address, keys, level, told, suspects, fallback;
    const char *verify_url;
    bool verify_is_foreign; /* in no network of verify_allow */
    struct suspect_row suspect; /* the first that the manager heard of */
} challenged;
static uint32_t queue_binds; /* enum queue_bind of the queue in the next map, */
static bool second_queue; /* there is "rides", too: segment 4, with nothing special */
static const char *queue_moved; /* and its tickets that change their device */
static char claim_file[100];
static struct cfg_list allow_origins;    /* of the router */
static struct cfg_list trusted_proxies;  /* likewise */
static char *task_tokens;               /* of the router; NULL: no tasks */
static int max_conns = 100;
static char *listen_tasks;              /* likewise; NULL: where all ask */
static const uint8_t (*map_keys)[32]; /* one public key; NULL: a made-up one */
static msec_t replica_fresh; /* not 0: the node pushes who waits: numbers 1 to 999 of segment 1 */
static uint64_t map_base;             /* ordinal of number 0 of segment 1; 0: the map tells none */
static const char *claim_secret;      /* there is a lane "vip", and a key "shop"; NULL: not */

static void send_msg(struct rpc_chan *ch, const struct msg *m, uint64_t rid)
{
    cr_assert_eq(rpc_send(ch, m, rid), 0);
}

/* ---- the manager ---- */

static void send_map(uint64_t from, uint64_t version, uint8_t state, bool with_next)
{
    static const uint8_t none[1][32] = { { 1, 2, 3 } };
    const uint8_t(*keys)[32] = map_keys != NULL ? map_keys : none;
    struct map_node node = { 1, "seg1", w.seg_addr };
    struct map_seg segs[2] = { { 1, 1, with_next ? SEG_SEALED : SEG_OPEN, map_base },
                               { 2, 1, SEG_OPEN, 0 } };
    struct map_seg vip = { 3, 1, SEG_OPEN, 0 };
    struct map_lane lane[2] = { { .name = "default",
                                  .n_segs = with_next ? 2 : 1,
                                  .segs = segs },
                                { .name = "vip", .n_segs = 1, .segs = &vip } };
    struct map_seg other = { 4, 1, SEG_OPEN, 0 };
    struct map_lane other_lane = { .name = "default", .n_segs = 1, .segs = &other };
    struct map_queue q[2] = { { .id = 7, .name = "login", .state = state,
                           .n_lanes = claim_secret != NULL ? 2 : 1, .lanes = lane,
                           .page = w.page, .message = w.message, .when = w.when,
                           .gate = w.gate, .pass_ttl_s = 300,
                           .turn_queue = w.turn_queue, .turn_claim_s = 240,
                           .push_key = w.push_key, .push_contact = w.push_contact, .turn_field = w.turn_field,
                           .session_max_s = w.session_max_s,
                           .session_idle_s = w.session_idle_s,
                           .challenge_mode = challenged.mode, .challenge_from = challenged.from,
                           .challenge_per_address = challenged.per_address,
                           .challenge_keys = challenged.keys, .suspects = challenged.suspects,
                           .suspects_from = 5, .suspects_places = 100, .verify_url = challenged.verify_url,
                           .verify_allow = challenged.verify_is_foreign ? "10.9.0.0/16" : "10.9.0.0/16,127.0.0.1",
                           .verify_fallback = challenged.fallback,
                           .bind = queue_binds, .moved = queue_moved, .silent_s = 3600 },
                              { .id = 8, .name = "rides", .state = QUEUE_OPEN, .n_lanes = 1,
                                .lanes = &other_lane, .pass_ttl_s = 300 } };
    struct msg m = { .type = MSG_MAP };

    m.map = (struct msg_map) { .format = w.map_format,
                               .epoch = w.map_epoch != 0 ? w.map_epoch : 1,
                               .from_version = from,
                               .version = version,
                               .next_seg = w.next_seg != 0 ? w.next_seg : 100,
                               .n_nodes = 1,
                               .n_queues = second_queue ? 2 : 1,
                               .nodes = &node,
                               .queues = q,
                               .n_keys = 1,
                               .keys = keys };
    send_msg(w.mng_ch, &m, 0);
}

static void send_stats(void)
{
    struct queue_stats s = { .id = 7,
                             .ready = 1,
                             .active = 2,
                             .rate_milli_per_s = 10000,
                             .limited_by = "fixed",
                             .challenge = challenged.level,
                             .n_lanes = 1,
                             .lane = { { 500, 10000 } } };
    struct msg m = { .type = MSG_STATS };

    m.stats = (struct msg_stats) { .n = 1, .queues = &s, .clock_ms = w.clock_ms };
    send_msg(w.mng_ch, &m, 0);
}

static void mng_frame(void *ctx, struct rpc_chan *ch, const struct frame *f)
{
    struct msg m;

    (void)ctx;
    cr_assert_eq(msg_decode(f->type, f->body, f->len, &w.arena, &m), 0);
    if (m.type == MSG_LEFT && m.left.n > 0)
        w.left = m.left.v[m.left.n - 1];
    if (m.type == MSG_DEVICE)
        snprintf(w.device, sizeof(w.device), "%llu-%u %s", (unsigned long long)m.device.seg, m.device.number, m.device.id);
    if (m.type == MSG_JOINS && m.joins.n > 0)
        challenged.told += m.joins.v[0].n;
    if (m.type == MSG_JOINS && m.joins.n_suspects > 0)
        challenged.suspect = m.joins.suspects[0];
    if (m.type == MSG_LOAD || m.type == MSG_LEFT || m.type == MSG_JOINS || m.type == MSG_DEVICE)
        return;
    cr_assert_eq(m.type, MSG_ROUTER_REG);
    w.mng_ch = ch;
    w.regs++;
    w.last_reg_version = m.router_reg.map_version;
    send_map(0, 5, QUEUE_OPEN, false);
    send_stats();
    arena_reset(&w.arena);
}

/* ---- the segment node ---- */

static void place(const struct place_req *q, struct place_ans *a)
{
    w.places++;
    a->state = PLACE_WAITING;
    a->position = w.no_place == NO_PLACE_NONE ? q->number - w.moved : 0;
    a->reason = (uint8_t)w.no_place;
    a->poll_after_ms = w.poll_ms != 0 ? w.poll_ms : 3000;
    if (q->number == N_GONE || w.ends != 0) {
        a->state = PLACE_GONE;
        a->reason = w.ends != 0 ? w.ends : GONE_NO_SHOW;
    } else if (q->number == N_ADMITTED) {
        *a = (struct place_ans) { .state = PLACE_ADMITTED,
                                  .pass = "a.b.c",
                                  .pass_len = 5,
                                  .released_at_ms = 1700000000123,
                                  .pass_expires_s = 1700000300 };
    } else if (q->number == N_BUSY && w.busy-- > 0) {
        a->state = PLACE_BUSY;
    } else if (q->number == N_UNKNOWN) {
        a->state = PLACE_UNKNOWN;
    }
}

static void append(const struct append_req *q, struct append_ans *a)
{
    *a = (struct append_ans) { .state = APPEND_OK,
                               .client = q->client,
                               .seg = q->seg,
                               .number = w.appends,
                               .issued_s = 1700000000,
                               .poll_after_ms = 1000,
                               .no_place = (uint8_t)w.no_place,
                               .position = w.no_place == NO_PLACE_NONE ? w.appends + 1 : 0 };
    if (q->seg == w.refused) {
        *a = (struct append_ans){ .state = APPEND_BUSY };
        return;
    }
    if (q->seg == w.unsure && q->subject_len > 0) {
        *a = (struct append_ans){ .state = APPEND_BUSY, .poll_after_ms = 20 };
        return;
    }
    w.appends++;
    if (q->seg == w.enters)
        *a = (struct append_ans){ .state = APPEND_ENTERED, .client = q->client, .seg = q->seg, .number = N_ADMITTED,
                                  .issued_s = 1700000000, .pass = "a.b.c", .pass_len = 5,
                                  .released_at_ms = 1700000000123, .pass_expires_s = 1700000300 };
    w.last_append = *q;
    snprintf(w.last_subject, sizeof(w.last_subject), "%.*s", (int)q->subject_len,
             q->subject_len > 0 ? q->subject : "");
    if (w.found || (q->subject_len == 5 && memcmp(q->subject, "known", 5) == 0))
        a->state = APPEND_EXISTING;
    if (q->subject_len > 5 && memcmp(q->subject + q->subject_len - 5, "alien", 5) == 0) {
        a->state = APPEND_EXISTING;
        a->position = APPEND_ALIEN;
    }
    if (a->state == APPEND_EXISTING && a->position != APPEND_ALIEN)
        a->counted = w.counts ? APPEND_COUNTED : 0;
    if (w.sealed && q->seg == 1)
        *a = (struct append_ans) { .state = APPEND_SEALED, .next = 2 };
}

/* Places and intervals are those of place(). */
static void push(struct rpc_chan *ch, const struct msg_seen *q)
{
    static struct pace_entry pace = { 7, 0, 60000, 600000, 0, 0 };
    static uint8_t lines[16];
    struct replica_row row = { .name = 1, .host = 1, .queue = 7, .flags = REPLICA_NEW,
                               .end = N_GONE, .head = 1, .told_max_ms = 3000, .lines = lines };
    struct msg m = { .type = MSG_REPLICA };
    uint32_t next = 0;

    m.replica = (struct msg_replica) { .stamp_ms = q->clock_ms, .echo_ms = q->clock_ms,
                                       .seen = q->seq };
    if (w.seen == 0 && q->n == 0) { /* the first on this link */
        row.n_lines = (uint32_t)(lines_put(lines, &next, 0, 2, 0) - lines);
        m.replica.flags = REPLICA_WHOLE | REPLICA_END;
        m.replica.n = m.replica.n_pace = 1;
        m.replica.v = &row;
        m.replica.pace = &pace;
    }
    w.seen += q->n > 0;
    send_msg(ch, &m, 0);
}

/* False: nothing is said to it. Each of these answers stays until the next of its kind. */
static bool answer_place(const struct msg_place *q, struct msg *out)
{
    static struct place_ans a[MSG_BATCH_MAX];
    bool silent = w.hold;

    memset(a, 0, sizeof(a));
    w.place_frames++;
    for (uint32_t i = 0; i < q->n; i++) {
        silent |= q->req[i].number == N_SILENT;
        place(&q->req[i], &a[i]);
    }
    out->type = MSG_PLACE_ANS;
    out->place_ans = (struct msg_place_ans) { q->n, a };
    return !silent;
}

static bool answer_append(const struct msg_append *q, struct msg *out)
{
    static struct append_ans a[MSG_BATCH_MAX];
    uint32_t n = 0;

    w.append_frames++;
    for (uint32_t i = 0; i < q->n; i++) {
        append(&q->req[i], &a[n]);
        a[n].row = w.words_wait || w.mute != 0 ? (uint8_t)i : 0;
        if (((w.words_wait && q->req[i].later) || (w.mute != 0 && q->req[i].seg == w.mute)) &&
            w.n_late < ARRAY_LEN(w.late))
            w.late[w.n_late++] = a[n];
        else
            n++;
    }
    out->type = MSG_APPEND_ANS;
    out->append_ans = (struct msg_append_ans) { n - w.short_answers, a };
    return !w.hold && (n > 0 || w.n_late == 0);
}

static bool answer_session(const struct msg_session *q, struct msg *out)
{
    static struct sess_ans a[MSG_BATCH_MAX];

    w.sess = q->req[0];
    w.n_sess += q->n;
    for (uint32_t i = 0; i < q->n; i++) {
        a[i] = (struct sess_ans) { .state = w.sess_state,
                                   .until_s = w.sess_used != 0 ? w.sess_used : w.sess.until_s };
        if (w.renewed != NULL && q->req[i].renews) {
            a[i].pass = w.renewed;
            a[i].pass_len = (uint16_t)strlen(w.renewed);
        }
    }
    out->type = MSG_SESSION_ANS;
    out->session_ans = (struct msg_session_ans) { q->n, a };
    return !w.sess_silent;
}

static bool answer_drop(const struct msg_drop *q, struct msg *out)
{
    static struct drop_ans a[MSG_BATCH_MAX];

    w.drops += q->n;
    w.heir = q->req[q->n - 1].heir_hash;
    out->type = MSG_DROP_ANS;
    out->drop_ans = (struct msg_drop_ans) { q->n, a };
    return !w.mute_drops;
}

static bool answer_contact(const struct msg_contact *q, struct msg *out)
{
    static struct contact_ans a[MSG_BATCH_MAX];

    w.n_contacts += q->n;
    w.contact = q->req[0];
    if (w.contact.n_sealed > 0)
        memcpy(w.contact_bytes, w.contact.sealed, w.contact.n_sealed);
    for (uint32_t i = 0; i < q->n; i++)
        a[i] = (struct contact_ans){ .state = w.contact_state, .reason = GONE_LEFT };
    out->type = MSG_CONTACT_ANS;
    out->contact_ans = (struct msg_contact_ans) { q->n, a };
    return true;
}

static void hear_seen(struct rpc_chan *ch, const struct msg_seen *q)
{
    w.n_seen++;
    w.seen_flags |= q->flags;
    if (w.does_with_seen == SEEN_TAKEN)
        push(ch, q);
}

/* Rows first .. first + n of the joins that wait, in that order, or in the other one. */
static inline void say_late(uint32_t first, uint32_t n, bool backwards)
{
    struct append_ans a[ARRAY_LEN(w.late)];
    struct msg m = { .type = MSG_APPEND_ANS, .append_ans = { n, a } };

    for (uint32_t i = 0; i < n; i++)
        a[i] = w.late[first + (backwards ? n - 1 - i : i)];
    send_msg(w.seg_ch, &m, w.late_rid);
}

static bool answer(const struct msg *m, struct msg *out)
{
    switch (m->type) {
    case MSG_PLACE:
        return answer_place(&m->place, out);
    case MSG_APPEND:
        return answer_append(&m->append, out);
    case MSG_SESSION:
        return answer_session(&m->session, out);
    case MSG_CONTACT:
        return answer_contact(&m->contact, out);
    case MSG_TURN_ANS:
        w.turn = m->turn_ans;
        w.n_turns++;
        return false;
    default:
        cr_assert_eq(m->type, MSG_DROP);
        return answer_drop(&m->drop, out);
    }
}

static void seg_frame(void *ctx, struct rpc_chan *ch, const struct frame *f)
{
    struct msg m, out = { 0 };

    (void)ctx;
    w.seg_ch = ch;
    cr_assert_eq(msg_decode(f->type, f->body, f->len, &w.arena, &m), 0);
    if (m.type == MSG_APPEND)
        w.late_rid = f->rid;
    if (m.type == MSG_SEEN)
        hear_seen(ch, &m.seen);
    else if (answer(&m, &out))
        send_msg(ch, &out, f->rid);
    arena_reset(&w.arena);
}

#endif

/* taskhttprig.h: a whole router (routerrig.h), a made-up manager that tells it of pools, and a
 * made-up task node that keeps tasks: for tests of the API of tasks. */
#ifndef SEGQ_TESTS_TASKHTTPRIG_H
#define SEGQ_TESTS_TASKHTTPRIG_H

#include <sodium.h>

#include "common/task/call.h"
#include "common/task/rules.h"
#include "common/task/sha256.h"
#include "common/task/state.h"
#include "router/task_requests/ask.h"
#include "tests/lib/routerrig.h"

#define TOKEN "server-token-of-the-tests"
#define HERS  "Authorization: Bearer " TOKEN "\r\n"

struct kept {
    char type[REPLY_TYPE_MAX + 1]; /* of its result */ /* a task, at the node */
    part_no part;
    char queue[TASK_NAME_MAX + 1], key1[TASK_NAME_MAX + 1], key2[TASK_NAME_MAX + 1];
    char name[TASK_NAME_MAX + 1], idem[TASK_IDEM_MAX + 1], body[2000], result[2000];
    char unique[TASK_IDEM_MAX + 1], head[2000];
    uint8_t unique_while;
    uint8_t then[4000];
    uint32_t then_n, body_n;
    uint32_t cut; /* bytes of the result that are kept, and 1; 0: all */
    uint64_t digest;
    uint8_t state, attempt, priority;
    int64_t delay_ms;
    uint64_t may_wait;
    bool read;
    struct task_own own;
    char labels[LABELS_TEXT_MAX + 1];
};

static struct {
    struct rpc *rpc;
    struct rpc_chan *ch;
    char addr[64], file[100];
    struct kept v[1100]; /* by number; 0 is none */
    uint32_t n, frames, stale; /* stale: so many answers more say that the map is old */
    bool silent;
    uint64_t epoch; /* of the partition, at the node */
    uint64_t last_rid, held_rid; /* held: of the last take */
    uint32_t given_back; /* unseen: */
    task_no back[2];     /* the first ones, in their order */
    bool breaks;         /* the link, when something is settled; once */
    uint64_t unheard;    /* request id of a take, */
    bool ends_takes;     /* and those that wait end */
    uint32_t takes;    /* asked */
    uint8_t take_code; /* enum task_code: the answer to each */
    uint32_t waits_ms; /* of the last look */
    uint8_t completes; /* enum task_code: the answer to a target, */
    const char *said;  /* who said this */
    unsigned feeds, feed_rows; /* questions; events that are there */
    uint64_t feed_after, feed_whose;
    bool feed_of_token;
    task_no feed_no;
    bool feed_gap;
    bool finishes;     /* who waits sees the end, */
    uint8_t ends_as;   /* that is this state; 0: SUCCEEDED */
    uint32_t length;   /* of what the target said; 0: it is all there */
    const char *answers; /* what the target said, if `as` has a status */
    struct msg_task_get_ans as; /* what a look says of a line */
    struct task_patch patch; /* the newest; its labels: of its task */
    unsigned forced, withdrawn; /* cancels by force; of what has not begun, */
    task_no left;               /* the newest of these */
    bool holds;                 /* who waits hears nothing */
    bool holds_looks;           /* nor does who looks and waits */
    const char *whole;          /* of a long answer: all of it, */
    uint32_t whole_n, piece;    /* so many bytes; a question has so many */
    unsigned discards, marks;   /* of what was read */
    uint8_t up[1 << 20];        /* a large body that came: */
    uint64_t up_n, up_length, up_id;
    uint8_t up_code;            /* enum task_code: the answer to each piece */
    bool up_holds, up_breaks;   /* there is none; the link ends */
    unsigned up_left;           /* clients that went amid one */
    struct call_file file_of;   /* the newest submission: its large body */
    uint32_t gen_max;           /* max_body of gen; 0: 1000 */
    uint8_t sha256[RESULT_SHA256];
    bool mute;                  /* and is told nothing */
    unsigned compared;          /* rows whose queue the node had to look at */
    bool ride_7;      /* a more specific pool has the queue ride/7 */
    const char *push_url; /* of the endpoint of gen/push.example; NULL: its host */
    part_no took_of[8]; /* partitions of the newest takes, the last one first */
    part_no groupless_part; /* knows no group; 0: all do */
    part_no deaf_part; /* its takes hear nothing */
    bool holds_waits; /* takes that wait hear nothing */
    const char *busy; /* takes of this queue are refused */
    const char *full; /* the line of this queue, or "*" of any, is too long */
    uint8_t full_by;  /* enum task_full; 0: FULL_WAIT */
    uint64_t full_units, full_max_units;
    uint32_t take_wait_ms; /* of the last take */
    const char *deaf; /* takes of this queue hear nothing */
    const char *payload; /* of all that are taken; NULL: each its own */
    uint64_t held[8]; /* their request ids */
    unsigned n_held;
    char counted[TASK_NAME_MAX + 1]; /* whose waiting tasks were asked for */
    unsigned reads, lose;       /* questions; the one that breaks the link */
    uint64_t get_rid;           /* of the newest look, */
    uint32_t window, follow;    /* and what it says of pieces */
    bool leaves, places;
    uint64_t told;              /* bytes that were told in pieces, */
    uint64_t more;              /* and asked for */
    unsigned flow_left;
} node;

static inline uint64_t lease_of(task_no no)
{
    return no * 1000 + node.v[no].attempt;
}

static inline void copy(char *to, size_t cap, const void *p, size_t n)
{
    cr_assert(n < cap);
    if (n > 0)
        memcpy(to, p, n);
    to[n] = '\0';
}

static inline void put(const struct task_put *q, struct task_put_row *a)
{
    struct kept *k;

    if (q->epoch != node.epoch || node.stale > 0) {
        node.stale -= node.stale > 0;
        a->code = CODE_STALE;
        return;
    }
    for (uint32_t i = 1; i <= node.n; i++) {
        bool same = (q->key.n > 0 && strlen(node.v[i].idem) == q->key.n &&
                     memcmp(node.v[i].idem, q->key.p, q->key.n) == 0) ||
                    (q->name[0] != '\0' && strcmp(node.v[i].name, q->name) == 0);

        if (same) {
            a->code = node.v[i].digest == q->digest ? CODE_SAME : CODE_MISMATCH;
            a->no = a->code == CODE_SAME ? i : 0;
            return;
        }
    }
    for (uint32_t i = 1; i <= node.n; i++)
        if (q->unique.n > 0 && strlen(node.v[i].unique) == q->unique.n &&
            memcmp(node.v[i].unique, q->unique.p, q->unique.n) == 0 && q->on_conflict != UNIQUE_REPLACE) {
            a->code = q->on_conflict == UNIQUE_RETURN ? CODE_SAME : CODE_HELD;
            a->no = i;
            return;
        }
    if (node.full != NULL && (node.full[0] == '*' || strcmp(q->queue, node.full) == 0)) {
        *a = (struct task_put_row){ .code = (uint8_t)(CODE_FULL + (node.full_by != 0 ? node.full_by : FULL_WAIT)),
                                    .too_long_ms = 3000, .units = node.full_units,
                                    .max_units = node.full_max_units };
        return;
    }
    (void)call_has_file(q->body.p, q->body.n, &node.file_of);
    cr_assert(node.n + 1 < ARRAY_LEN(node.v));
    k = &node.v[++node.n];
    k->part = q->part;
    copy(k->unique, sizeof(k->unique), q->unique.p, q->unique.n);
    k->unique_while = q->unique_while;
    k->then_n = q->then.n < sizeof(k->then) ? q->then.n : 0;
    if (k->then_n > 0)
        memcpy(k->then, q->then.p, k->then_n);
    copy(k->queue, sizeof(k->queue), q->queue, strlen(q->queue));
    copy(k->key1, sizeof(k->key1), q->key1, strlen(q->key1));
    copy(k->key2, sizeof(k->key2), q->key2, strlen(q->key2));
    copy(k->name, sizeof(k->name), q->name, strlen(q->name));
    copy(k->idem, sizeof(k->idem), q->key.p, q->key.n);
    if (strncmp(q->queue, "gen", 3) == 0) { /* method and path of the form */
        struct call c;

        cr_assert_eq(call_unpack(q->body.p, q->body.n, &c), 0);
        snprintf(k->body, sizeof(k->body), "%.*s %.*s", (int)c.method.n, c.method.p, (int)c.path.n,
                 c.path.p);
        copy(k->head, sizeof(k->head), c.headers.p, c.headers.n);
    } else {
        copy(k->body, sizeof(k->body), q->body.p, q->body.n);
    }
    k->body_n = (uint32_t)(strncmp(q->queue, "gen", 3) == 0 ? strlen(k->body) : q->body.n);
    k->digest = q->digest;
    k->own = q->own;
    copy(k->labels, sizeof(k->labels), q->own.labels, strlen(q->own.labels));
    k->own.labels = k->labels;
    k->delay_ms = q->delay_ms;
    k->may_wait = q->may_wait_ms;
    k->read = q->read;
    k->priority = q->priority;
    k->state = q->delay_ms > 0 || q->at_ms > 0 ? TASK_SCHEDULED : TASK_WAITING;
    *a = (struct task_put_row){ .code = CODE_DONE, .no = node.n, .state = k->state };
}

static inline void take(const struct msg_task_take *q, struct msg_task_take_ans *a)
{
    static struct taken_row rows[1000];

    a->v = rows;
    for (uint32_t i = 1; i <= node.n && a->n < q->most; i++) {
        struct kept *k = &node.v[i];
        const char *body = node.payload != NULL ? node.payload : k->body;

        if (k->state != TASK_WAITING || k->part != q->part || strcmp(k->queue, q->queue) != 0)
            continue;
        k->state = TASK_RUNNING;
        k->attempt++;
        rows[a->n++] = (struct taken_row){ .no = i, .lease = lease_of(i), .attempt = k->attempt,
                                           .until_ms = 1780000000123, .key1 = k->key1,
                                           .key2 = k->key2,
                                           .body = { node.payload != NULL ? (uint32_t)strlen(body) : k->body_n,
                                                     (const uint8_t *)body } };
    }
}

static inline bool is_denied(const struct kept *k, const struct bytes_of *queues)
{
    node.compared += queues->n > 0;
    return queues->n > 0 && !queues_match((const char *)queues->p, queues->n, k->queue,
                                          strlen(k->queue));
}

static inline void settle(const struct settle_row *q, const struct bytes_of *queues,
                          struct settled_row *a)
{
    struct kept *k = &node.v[q->no <= node.n ? q->no : 0];

    *a = (struct settled_row){ .code = CODE_UNKNOWN };
    if (q->verb == SETTLE_UNHEARD) {
        node.unheard = q->lease;
        if (q->lease == 0) {
            node.ends_takes = true;
            send_msg(node.ch, &(struct msg){ .type = MSG_TASK_TAKE_ANS }, node.held_rid);
        }
        a->code = CODE_DONE;
        return;
    }
    if (is_denied(k, queues))
        a->code = CODE_DENIED;
    if (k == node.v || a->code == CODE_DENIED)
        return;
    a->code = k->state == TASK_RUNNING && lease_of(q->no) == q->lease ? CODE_DONE : CODE_CONFLICT;
    if (a->code == CODE_DONE && q->verb == SETTLE_ACK) {
        copy(k->result, sizeof(k->result), q->result.p, q->result.n);
        copy(k->type, sizeof(k->type), q->type.p, q->type.n);
        k->state = TASK_SUCCEEDED;
    } else if (a->code == CODE_DONE && q->verb == SETTLE_NACK) {
        k->state = TASK_RETRYING;
    } else if (a->code == CODE_DONE && q->verb == SETTLE_UNSEEN) {
        if (node.given_back < ARRAY_LEN(node.back))
            node.back[node.given_back] = q->no;
        node.given_back++;
        k->state = TASK_WAITING;
    }
    a->state = k->state;
    a->until_ms = 1780000005000;
}

static inline void get(const struct msg_task_get *q, struct msg_task_get_ans *a)
{
    struct kept *k = NULL;

    *a = node.as;
    a->queue = a->key1 = a->key2 = "";
    a->limited_by = a->limited_by == NULL ? "" : a->limited_by;
    a->code = CODE_UNKNOWN;
    node.waits_ms = q->wait_ms;
    if (q->no == 0 && q->name[0] == '\0') {
        copy(node.counted, sizeof(node.counted), q->queue, strlen(q->queue));
        a->code = CODE_DONE;
        return;
    }
    for (uint32_t i = 1; i <= node.n; i++) {
        if (q->no != 0 ? q->no == i : strcmp(q->name, node.v[i].name) == 0) {
            k = &node.v[i];
            a->no = i;
        }
    }
    if (k == NULL)
        return;
    a->code = CODE_DONE;
    if (q->wait_ms > 0 && node.finishes) {
        k->state = node.ends_as != 0 ? node.ends_as : TASK_SUCCEEDED;
        strcpy(k->result, "[7]");
    }
    a->state = k->state;
    a->attempts = k->attempt;
    a->queue = k->queue;
    a->key1 = k->key1;
    a->key2 = k->key2;
    a->position = k->state == TASK_WAITING;
    a->until_ms = 1780000009000;
    a->own = k->own;
    a->result_length = strlen(k->result);
    a->result = (struct bytes_of){ (uint32_t)(k->cut != 0 ? k->cut - 1 : a->result_length),
                                   (const uint8_t *)k->result };
    if (a->status != 0) {
        a->result = (struct bytes_of){ (uint32_t)strlen(node.answers), (const uint8_t *)node.answers };
        a->result_length = node.length != 0 ? node.length : a->result.n;
    }
    a->result_sha256 = (struct bytes_of){ 4, (const uint8_t *)"\x01\x23\xab\xff" };
    if (node.whole == NULL)
        return;
    a->result = (struct bytes_of){ 1000, (const uint8_t *)node.whole };
    a->result_length = node.whole_n;
    a->result_whole = true;
    a->result_sha256 = (struct bytes_of){ RESULT_SHA256, node.sha256 };
}

static inline void read_whole(const struct msg_task_read *q, struct msg_task_read_ans *a)
{
    uint64_t left = node.whole != NULL ? node.whole_n - q->at : 0;

    cr_assert_eq(memcmp(q->sha256.p, node.sha256, RESULT_SHA256), 0);
    a->code = left > 0 ? CODE_DONE : CODE_UNKNOWN;
    if (left > 0)
        a->data = (struct bytes_of){ (uint32_t)u64_min(u64_min(left, q->most), node.piece),
                                     (const uint8_t *)node.whole + q->at };
}

/* Large bodies: one at a time. */
static inline void upload(const struct msg_task_upload *q, struct msg_task_upload_ans *a)
{
    static uint8_t sha256[RESULT_SHA256];

    a->code = node.up_code;
    if (q->at != node.up_n && q->at != 0)
        a->code = CODE_UNKNOWN;
    if (a->code != CODE_DONE)
        return;
    cr_expect_leq(q->data.n, TASK_UPLOAD_MAX);
    node.up_n = q->at + q->data.n;
    node.up_length = q->length;
    node.up_id = q->upload;
    cr_assert_leq(node.up_n, sizeof(node.up));
    memcpy(node.up + q->at, q->data.p, q->data.n);
    sha256_of(sha256, node.up, node.up_n);
    if (q->last)
        a->sha256 = (struct bytes_of){ sizeof(sha256), sha256 };
}

static inline void change(const struct msg_task_change *q, struct msg_task_change_ans *a)
{
    struct kept *k = &node.v[q->no <= node.n ? q->no : 0];

    a->code = is_denied(k, &q->queues) ? CODE_DENIED : CODE_UNKNOWN;
    if (k == node.v || a->code == CODE_DENIED)
        return;
    a->no = q->no;
    a->code = CODE_DONE;
    node.discards += q->verb == CHANGE_DISCARD;
    node.marks += q->verb == CHANGE_READ;
    if (q->verb == CHANGE_PATCH) {
        node.patch = q->patch;
        copy(k->labels, sizeof(k->labels), q->patch.labels, strlen(q->patch.labels));
    }
    if (q->verb == CHANGE_CANCEL && k->state < TASK_SUCCEEDED && k->state != TASK_RUNNING)
        k->state = TASK_CANCELLED;
    else if (q->verb == CHANGE_CANCEL && k->state != TASK_RUNNING)
        a->code = CODE_CONFLICT;
    node.withdrawn += q->unbegun;
    node.left = q->unbegun ? q->no : node.left;
    node.forced += q->verb == CHANGE_CANCEL && q->force;
    if (q->verb == CHANGE_CANCEL && q->force && k->state == TASK_RUNNING) {
        k->state = TASK_CANCELLED;
        a->maybe_executed = true;
    }
    a->state = k->state;
}

static inline void complete(const struct msg_task_complete *q, struct msg_task_complete_ans *a)
{
    static char said[80];

    snprintf(said, sizeof(said), "%u %u %u %s %.*s %.*s", q->verb, q->ms, q->status, q->content_type,
             (int)q->result.n, q->result.p, (int)q->reason.n, q->reason.p);
    node.said = said;
    cr_assert_eq(q->right.n, RIGHT_MAC_BYTES);
    *a = (struct msg_task_complete_ans){ node.completes, TASK_RUNNING, 1780000005000 };
}

static inline void progress(const struct msg_task_progress *q, struct msg_task_progress_ans *a)
{
    static char said[PROGRESS_TEXT + PROGRESS_DATA + 40];
    const struct kept *k = &node.v[q->no <= node.n ? q->no : 0];

    snprintf(said, sizeof(said), "%u %.*s %.*s %u", q->percent, (int)q->text.n, q->text.p, (int)q->data.n, q->data.p, q->ms);
    node.said = said;
    a->code = is_denied(k, &q->queues) ? CODE_DENIED : q->lease == lease_of(q->no) ? CODE_DONE : CODE_CONFLICT;
    a->state = TASK_RUNNING;
    a->until_ms = 1780000009000;
}

static inline bool hears_nothing(const struct msg *m)
{
    bool take = m->type == MSG_TASK_TAKE;

    return node.silent || (node.holds && (take || m->type == MSG_TASK_GET)) ||
           (node.mute && m->type == MSG_TASK_READ) ||
           (node.holds_looks && m->type == MSG_TASK_GET && m->task_get.wait_ms > 0) ||
           (take && node.holds_waits && m->task_take.wait_ms > 0) ||
           (take && node.deaf_part != 0 && m->task_take.part == node.deaf_part) ||
           (take && node.deaf != NULL && strcmp(m->task_take.queue, node.deaf) == 0);
}

static inline void node_frame(void *ctx, struct rpc_chan *ch, const struct frame *f)
{
    static struct task_put_row puts[1000];
    static struct settled_row rows[1000];
    struct msg m, out = { 0 };

    (void)ctx;
    cr_assert_eq(msg_decode(f->type, f->body, f->len, &w.arena, &m), 0);
    node.ch = ch;
    node.frames++;
    node.last_rid = f->rid;
    memset(puts, 0, sizeof(puts));
    switch (m.type) {
    case MSG_TASK_PUT:
        for (uint32_t i = 0; i < m.task_put.n; i++)
            put(&m.task_put.v[i], &puts[i]);
        out = (struct msg){ .type = MSG_TASK_PUT_ANS, .task_put_ans = { m.task_put.n, puts } };
        break;
    case MSG_TASK_TAKE:
        out.type = MSG_TASK_TAKE_ANS;
        node.takes++;
        node.held_rid = f->rid;
        node.take_wait_ms = m.task_take.wait_ms;
        memmove(node.took_of + 1, node.took_of, sizeof(node.took_of) - sizeof(node.took_of[0]));
        node.took_of[0] = m.task_take.part;
        if (node.holds_waits && m.task_take.wait_ms > 0)
            node.held[node.n_held++] = f->rid;
        out.task_take_ans.code = node.take_code;
        if (node.busy != NULL && strcmp(m.task_take.queue, node.busy) == 0)
            out.task_take_ans.code = CODE_BUSY;
        if (!node.silent && out.task_take_ans.code == CODE_DONE)
            take(&m.task_take, &out.task_take_ans);
        break;
    case MSG_TASK_SETTLE:
        if (node.breaks) {
            node.breaks = false;
            arena_reset(&w.arena);
            rpc_chan_close(ch, "as the test wants");
            return;
        }
        for (uint32_t i = 0; i < m.task_settle.n; i++)
            settle(&m.task_settle.v[i], &m.task_settle.queues, &rows[i]);
        out = (struct msg){ .type = MSG_TASK_SETTLE_ANS,
                            .task_settle_ans = { m.task_settle.n, rows } };
        break;
    case MSG_TASK_GROUP: {
        static uint64_t counts[TASK_NSTATES] = { [TASK_WAITING] = 2, [TASK_DEAD] = 1 };
        bool known = strcmp(m.task_group.name, "b7") == 0 && m.task_group.part != node.groupless_part;

        cr_expect_str_eq(m.task_group.queue, "ride/7");
        out = (struct msg){ .type = MSG_TASK_GROUP_ANS,
                            .task_group_ans = { .code = known ? CODE_DONE : CODE_UNKNOWN,
                                                .sealed = m.task_group.verb != GROUP_LOOK,
                                                .cancelling = m.task_group.verb == GROUP_CANCEL,
                                                .n_counts = known ? TASK_NSTATES : 0, .counts = counts } };
        break;
    }
    case MSG_TASK_FIRST: {
        static struct first_row first[] = {
            { .no = 77, .priority = 2, .order = -5, .entered_ms = 1500, .key1 = "a", .key2 = "b" },
            { .no = 78, .attempts = 1, .entered_ms = 2500, .key1 = "", .key2 = "" },
        };

        cr_expect_str_eq(m.task_first.queue, "ride/7");
        first[0].body = m.task_first.bodies ? (struct bytes_of){ 7, (const uint8_t *)"{\"n\":1}" }
                                            : (struct bytes_of){ 0 };
        out = (struct msg){ .type = MSG_TASK_FIRST_ANS,
                            .task_first_ans = { .waiting = 9, .now = 1, .cut = m.task_first.most == 2,
                                                .n = u32_min(m.task_first.most, 2), .v = first } };
        break;
    }
    case MSG_TASK_FLOW:
        cr_expect_eq(m.task_flow.call, 77);
        node.more += m.task_flow.more;
        node.flow_left += m.task_flow.left;
        arena_reset(&w.arena);
        return;
    case MSG_TASK_GET:
        node.get_rid = f->rid;
        node.window = m.task_get.window;
        node.follow = m.task_get.follow;
        node.places = m.task_get.places;
        node.waits_ms = m.task_get.wait_ms;
        node.leaves = m.task_get.leaves;
        out.type = MSG_TASK_GET_ANS;
        get(&m.task_get, &out.task_get_ans);
        break;
    case MSG_TASK_READ:
        if (++node.reads == node.lose) {
            node.lose = 0;
            arena_reset(&w.arena);
            rpc_chan_close(ch, "as the test wants");
            return;
        }
        out.type = MSG_TASK_READ_ANS;
        read_whole(&m.task_read, &out.task_read_ans);
        break;
    case MSG_TASK_PROGRESS:
        out.type = MSG_TASK_PROGRESS_ANS;
        progress(&m.task_progress, &out.task_progress_ans);
        break;
    case MSG_TASK_FEED: {
        static struct feed_row v[FEED_ROWS_MAX];

        cr_expect_str_eq(m.task_feed.queue, "images");
        node.feed_after = m.task_feed.after;
        node.feed_whose = m.task_feed.whose;
        node.feeds++;
        out.type = MSG_TASK_FEED_ANS;
        out.task_feed_ans = (struct msg_task_feed_ans){ .code = node.take_code, .next = m.task_feed.after, .v = v };
        for (; node.feed_rows > 0 && out.task_feed_ans.n < m.task_feed.most; node.feed_rows--)
            v[out.task_feed_ans.n++] = (struct feed_row){ TASK_RUNNING, ++node.feed_no, 1, 1780000001500 };
        out.task_feed_ans.gap = node.feed_gap;
        out.task_feed_ans.of_token = node.feed_of_token;
        node.feed_gap = false;
        out.task_feed_ans.next = m.task_feed.after == 0 ? 1000 : m.task_feed.after + out.task_feed_ans.n;
        break;
    }
    case MSG_TASK_UPLOAD:
        if (m.task_upload.left)
            node.up_left++;
        if (node.up_breaks) {
            arena_reset(&w.arena);
            rpc_chan_close(ch, "as the test wants");
            return;
        }
        if (m.task_upload.left || node.up_holds)
            break;
        out.type = MSG_TASK_UPLOAD_ANS;
        upload(&m.task_upload, &out.task_upload_ans);
        break;
    case MSG_TASK_COMPLETE:
        out.type = MSG_TASK_COMPLETE_ANS;
        complete(&m.task_complete, &out.task_complete_ans);
        break;
    default:
        cr_assert_eq(m.type, MSG_TASK_CHANGE);
        out.type = MSG_TASK_CHANGE_ANS;
        change(&m.task_change, &out.task_change_ans);
    }
    if (!hears_nothing(&m) && out.type != MSG_NONE)
        send_msg(ch, &out, f->rid);
    arena_reset(&w.arena);
}

static inline void send_pools(uint64_t epoch, uint64_t part_epoch, node_no owner)
{
    struct map_task_node n = { 9, "task1", node.addr };
    struct map_part images = { 1, part_epoch, owner }, rides[2] = { { 2, part_epoch, owner },
                                                                    { 3, part_epoch, owner } };
    struct map_part calls = { 4, part_epoch, owner }, permits = { 5, part_epoch, owner };
    struct map_part ride_7 = { 6, part_epoch, owner };
    struct map_part pushes = { 7, part_epoch, owner }, wide = { 8, part_epoch, owner }, refunds = { 9, part_epoch, owner };
    struct map_pool pools[8] = { { .match = "ride/7", .n = 1, .v = &ride_7 },
                                 { .match = "images", .max_body = 1000, .max_cost = 6000, .n = 1, .v = &images },
                                 { .match = "ride/*", .n = 2, .v = rides },
                                 { .match = "gen", .endpoint = "gen", .max_body = node.gen_max != 0 ? node.gen_max : 1000,
                                   .max_cost = 6000, .cancel_on_disconnect = true, .n = 1, .v = &calls,
                                   .url = "http://gen.example" },
                                 { .match = "login", .endpoint = "login", .n = 1, .v = &permits,
                                   .url = "http://login.example" },
                                 { .match = "gen/push.example", .endpoint = "gen", .max_body = 4000, .n = 1, .v = &pushes,
                                   .url = node.push_url != NULL ? node.push_url : "https://push.example" },
                                 { .match = "gen/w*", .endpoint = "gen", .max_body = 4000, .n = 1, .v = &wide,
                                   .url = "https://www.example" },
                                 { .match = "gen/refunds", .endpoint = "gen", .n = 1, .v = &refunds,
                                   .url = "https://inside.example" } };
    struct msg m = { .type = MSG_TASK_MAP };

    m.task_map = (struct msg_task_map){ .epoch = epoch, .n_nodes = 1, .n_pools = 7 + node.ride_7, .nodes = &n,
                                        .pools = pools + !node.ride_7 };
    send_msg(w.mng_ch, &m, 0);
}

static inline void start_node(const char *addr)
{
    static const struct rpc_calls c = { .on_frame = node_frame };
    struct err e = { 0 };

    node.rpc = peer(RPC_TASK, "task1");
    cr_assert_eq(rpc_listen(node.rpc, addr, 1u << RPC_ROUTER, &c, NULL, &e), 0, "%s", e.text);
    strcpy(node.addr, rpc_listen_addr(node.rpc));
}

/* The file's line of TOKEN: what it may, where. */
static inline void write_tokens(const char *may)
{
    uint8_t hash[32];
    char hex[65];
    FILE *f = fopen(node.file, "w");

    crypto_hash_sha256(hash, (const uint8_t *)TOKEN, strlen(TOKEN));
    sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
    cr_assert(f != NULL && fprintf(f, "# tokens\n\n%s %s\n", hex, may) > 0 && fclose(f) == 0);
}

static const char bearer[] = HERS;

static inline int ask(const char *method, const char *path, const char *body)
{
    return call_with(method, path, bearer, body);
}

static inline void ask_at(const struct httpd *h)
{
    close(w.fd);
    w.port = (uint16_t)atoi(strrchr(httpd_addr(h), ':') + 1);
    dial();
}

static inline void set_up(void)
{
    memset(&node, 0, sizeof(node));
    node.epoch = 5;
    snprintf(node.file, sizeof(node.file), "/tmp/segq-tokens-%d", (int)getpid());
    write_tokens("submit,take,read,look images,ride/*,gen");
    task_tokens = node.file;
    setup_all();
    if (listen_tasks != NULL)
        ask_at(w.r->httpd_tasks);
    start_node("127.0.0.1:0");
    send_pools(3, 5, 9);
    UNTIL(w.r->tasking->counts.maps == 1);
    UNTIL(ask("POST", "/v1/queues/images/tasks/take", "{}") == 200); /* the link is up */
}

static inline void tear_down(void)
{
    rpc_free(node.rpc);
    node.rpc = NULL;
    unlink(node.file);
    teardown();
}

static char task[200]; /* of the last answer: its path */

static inline const char *task_path(const char *verb)
{
    static char path[300];

    snprintf(path, sizeof(path), "/v1/tasks/%s%s", str("task"), verb);
    strcpy(task, path);
    return path;
}

static inline const json_t *taken(size_t i)
{
    return json_array_get(json_object_get(js, "tasks"), i);
}

static inline const char *taken_str(size_t i, const char *key)
{
    return json_string_value(json_object_get(taken(i), key));
}

static inline bool link_is_up(void)
{
    size_t up, of;

    node_links_count(&w.r->tasking->links, &up, &of);
    return up == 1;
}

/* Head alone of a POST, on a connection of its own: the status of its answer. */
static inline int send_head(const char *path, const char *fields)
{
    char t[1000];
    int n = snprintf(t, sizeof(t), "POST %s HTTP/1.1\r\nHost: a\r\n%s\r\n", path, fields);

    close(w.fd);
    dial();
    n_got = 0;
    cr_assert_eq(send(w.fd, t, (size_t)n, MSG_NOSIGNAL), n);
    UNTIL((more(), whole(got) > 0));
    return atoi(got + 9);
}

/* A character n times, while the router reads. */
static inline void send_many(char what, size_t n)
{
    char v[16000];

    memset(v, what, sizeof(v));
    while (n > 0) {
        ssize_t k = send(w.fd, v, n < sizeof(v) ? n : sizeof(v), MSG_NOSIGNAL);

        n -= k > 0 ? (size_t)k : 0;
        ev_turn(w.ev, false);
    }
}

#endif

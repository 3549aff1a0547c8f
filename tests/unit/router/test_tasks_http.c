/* test_tasks_http.c: the API of tasks through a whole router: a made-up manager tells of pools, a
 * made-up task node keeps tasks; what is asked, what is answered, and what follows when the node
 * is behind, silent, or gone. */
#include "tests/lib/claimrig.h"
#include "tests/lib/routerrig.h"

#include <sodium.h>

#include "common/task/call.h"
#include "common/task/eta.h"
#include "common/task/state.h"
#include "common/ticket/task_token.h"
#include "router/tasking/link_ask.h"

#define TOKEN "server-token-of-the-tests"

struct kept { /* a task, at the node */
    char queue[TASK_NAME_MAX + 1], key1[TASK_NAME_MAX + 1], key2[TASK_NAME_MAX + 1];
    char name[TASK_NAME_MAX + 1], idem[TASK_IDEM_MAX + 1], body[2000], result[2000];
    char unique[TASK_IDEM_MAX + 1];
    uint8_t unique_while;
    uint32_t cut; /* bytes of the result that are kept, and 1; 0: all */
    uint64_t digest;
    uint8_t state, attempt, priority;
    int64_t delay_ms;
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
    uint64_t last_rid;
    uint32_t given_back;
    uint32_t waits_ms; /* of the last look */
    uint8_t completes; /* enum task_code: the answer to a target, */
    const char *said;  /* who said this */
    bool finishes;     /* who waits sees the end, */
    uint8_t ends_as;   /* that is this state; 0: SUCCEEDED */
    uint32_t length;   /* of what the target said; 0: it is all there */
    const char *answers; /* what the target said, if `as` has a status */
    struct msg_task_get_ans as; /* what a look says of a line */
    struct task_patch patch; /* the newest; its labels: of its task */
    unsigned forced, withdrawn; /* cancels by force; of what has not begun, */
    task_no left;               /* the newest of these */
    bool holds;                 /* who waits hears nothing */
    const char *whole;          /* of a long answer: all of it, */
    uint32_t whole_n, piece;    /* so many bytes; a question has so many */
    unsigned discards, marks;   /* of what was read */
    uint8_t sha256[RESULT_SHA256];
    bool mute;                  /* and is told nothing */
    unsigned reads, lose;       /* questions; the one that breaks the link */
} node;

static uint64_t lease_of(task_no no)
{
    return no * 1000 + node.v[no].attempt;
}

static void copy(char *to, size_t cap, const void *p, size_t n)
{
    cr_assert(n < cap);
    if (n > 0)
        memcpy(to, p, n);
    to[n] = '\0';
}

static void put(const struct task_put *q, struct task_put_row *a)
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
    cr_assert(node.n + 1 < ARRAY_LEN(node.v));
    k = &node.v[++node.n];
    copy(k->unique, sizeof(k->unique), q->unique.p, q->unique.n);
    k->unique_while = q->unique_while;
    copy(k->queue, sizeof(k->queue), q->queue, strlen(q->queue));
    copy(k->key1, sizeof(k->key1), q->key1, strlen(q->key1));
    copy(k->key2, sizeof(k->key2), q->key2, strlen(q->key2));
    copy(k->name, sizeof(k->name), q->name, strlen(q->name));
    copy(k->idem, sizeof(k->idem), q->key.p, q->key.n);
    if (strcmp(q->queue, "gen") == 0) { /* method and path of the form */
        struct call c;

        cr_assert_eq(call_unpack(q->body.p, q->body.n, &c), 0);
        snprintf(k->body, sizeof(k->body), "%.*s %.*s", (int)c.method.n, c.method.p, (int)c.path.n,
                 c.path.p);
    } else {
        copy(k->body, sizeof(k->body), q->body.p, q->body.n);
    }
    k->digest = q->digest;
    k->own = q->own;
    copy(k->labels, sizeof(k->labels), q->own.labels, strlen(q->own.labels));
    k->own.labels = k->labels;
    k->delay_ms = q->delay_ms;
    k->priority = q->priority;
    k->state = q->delay_ms > 0 || q->at_ms > 0 ? TASK_SCHEDULED : TASK_WAITING;
    *a = (struct task_put_row){ CODE_DONE, node.n, k->state };
}

static void take(const struct msg_task_take *q, struct msg_task_take_ans *a)
{
    static struct taken_row rows[1000];

    a->v = rows;
    for (uint32_t i = 1; i <= node.n && a->n < q->most; i++) {
        struct kept *k = &node.v[i];

        if (k->state != TASK_WAITING || strcmp(k->queue, q->queue) != 0)
            continue;
        k->state = TASK_RUNNING;
        k->attempt++;
        rows[a->n++] = (struct taken_row){ .no = i, .lease = lease_of(i), .attempt = k->attempt,
                                           .until_ms = 1780000000123, .key1 = k->key1,
                                           .key2 = k->key2,
                                           .body = { (uint32_t)strlen(k->body),
                                                     (const uint8_t *)k->body } };
    }
}

static void settle(const struct settle_row *q, struct settled_row *a)
{
    struct kept *k = &node.v[q->no <= node.n ? q->no : 0];

    *a = (struct settled_row){ .code = CODE_UNKNOWN };
    if (k == node.v)
        return;
    a->code = k->state == TASK_RUNNING && lease_of(q->no) == q->lease ? CODE_DONE : CODE_CONFLICT;
    if (a->code == CODE_DONE && q->verb == SETTLE_ACK) {
        copy(k->result, sizeof(k->result), q->result.p, q->result.n);
        k->state = TASK_SUCCEEDED;
    } else if (a->code == CODE_DONE && q->verb == SETTLE_NACK) {
        node.given_back += q->ms == 0;
        k->state = TASK_RETRYING;
    }
    a->state = k->state;
    a->until_ms = 1780000005000;
}

static void get(const struct msg_task_get *q, struct msg_task_get_ans *a)
{
    struct kept *k = NULL;

    *a = node.as;
    a->queue = a->key1 = a->key2 = "";
    a->limited_by = a->limited_by == NULL ? "" : a->limited_by;
    a->code = CODE_UNKNOWN;
    node.waits_ms = q->wait_ms;
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

static void read_whole(const struct msg_task_read *q, struct msg_task_read_ans *a)
{
    uint64_t left = node.whole != NULL ? node.whole_n - q->at : 0;

    cr_assert_eq(memcmp(q->sha256.p, node.sha256, RESULT_SHA256), 0);
    a->code = left > 0 ? CODE_DONE : CODE_UNKNOWN;
    if (left > 0)
        a->data = (struct bytes_of){ (uint32_t)u64_min(u64_min(left, q->most), node.piece),
                                     (const uint8_t *)node.whole + q->at };
}

static void change(const struct msg_task_change *q, struct msg_task_change_ans *a)
{
    struct kept *k = &node.v[q->no <= node.n ? q->no : 0];

    a->code = CODE_UNKNOWN;
    if (k == node.v)
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

static void complete(const struct msg_task_complete *q, struct msg_task_complete_ans *a)
{
    static char said[80];

    snprintf(said, sizeof(said), "%u %u %u %s %.*s %.*s", q->verb, q->ms, q->status, q->content_type,
             (int)q->result.n, q->result.p, (int)q->reason.n, q->reason.p);
    node.said = said;
    cr_assert_eq(q->right.n, RIGHT_MAC_BYTES);
    *a = (struct msg_task_complete_ans){ node.completes, TASK_RUNNING, 1780000005000 };
}

static void node_frame(void *ctx, struct rpc_chan *ch, const struct frame *f)
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
        if (!node.silent)
            take(&m.task_take, &out.task_take_ans);
        break;
    case MSG_TASK_SETTLE:
        for (uint32_t i = 0; i < m.task_settle.n; i++)
            settle(&m.task_settle.v[i], &rows[i]);
        out = (struct msg){ .type = MSG_TASK_SETTLE_ANS,
                            .task_settle_ans = { m.task_settle.n, rows } };
        break;
    case MSG_TASK_GET:
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
    case MSG_TASK_COMPLETE:
        out.type = MSG_TASK_COMPLETE_ANS;
        complete(&m.task_complete, &out.task_complete_ans);
        break;
    default:
        cr_assert_eq(m.type, MSG_TASK_CHANGE);
        out.type = MSG_TASK_CHANGE_ANS;
        change(&m.task_change, &out.task_change_ans);
    }
    if (!node.silent && !(node.holds && m.type == MSG_TASK_GET) &&
        !(node.mute && m.type == MSG_TASK_READ))
        send_msg(ch, &out, f->rid);
    arena_reset(&w.arena);
}

static void send_pools(uint64_t epoch, uint64_t part_epoch, node_no owner)
{
    struct map_task_node n = { 9, "task1", node.addr };
    struct map_part images = { 1, part_epoch, owner }, rides[2] = { { 2, part_epoch, owner },
                                                                    { 3, part_epoch, owner } };
    struct map_part calls = { 4, part_epoch, owner }, permits = { 5, part_epoch, owner };
    struct map_pool pools[4] = { { .match = "images", .max_body = 1000, .n = 1, .v = &images },
                                 { .match = "ride/*", .n = 2, .v = rides },
                                 { .match = "gen", .endpoint = "gen", .max_body = 1000,
                                   .cancel_on_disconnect = true, .n = 1, .v = &calls,
                                   .url = "http://gen.example" },
                                 { .match = "login", .endpoint = "login", .n = 1, .v = &permits,
                                   .url = "http://login.example" } };
    struct msg m = { .type = MSG_TASK_MAP };

    m.task_map = (struct msg_task_map){ .epoch = epoch, .n_nodes = 1, .n_pools = 4, .nodes = &n,
                                        .pools = pools };
    send_msg(w.mng_ch, &m, 0);
}

static void start_node(const char *addr)
{
    static const struct rpc_calls c = { .on_frame = node_frame };
    struct err e = { 0 };

    node.rpc = peer(RPC_TASK, "task1");
    cr_assert_eq(rpc_listen(node.rpc, addr, 1u << RPC_ROUTER, &c, NULL, &e), 0, "%s", e.text);
    strcpy(node.addr, rpc_listen_addr(node.rpc));
}

/* The file's line of TOKEN: what it may, where. */
static void write_tokens(const char *may)
{
    uint8_t hash[32];
    char hex[65];
    FILE *f = fopen(node.file, "w");

    crypto_hash_sha256(hash, (const uint8_t *)TOKEN, strlen(TOKEN));
    sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
    cr_assert(f != NULL && fprintf(f, "# tokens\n\n%s %s\n", hex, may) > 0 && fclose(f) == 0);
}

static const char bearer[] = "Authorization: Bearer " TOKEN "\r\n";

static int ask(const char *method, const char *path, const char *body)
{
    return call_with(method, path, bearer, body);
}

static void ask_at(const struct httpd *h)
{
    close(w.fd);
    w.port = (uint16_t)atoi(strrchr(httpd_addr(h), ':') + 1);
    dial();
}

static void set_up(void)
{
    memset(&node, 0, sizeof(node));
    node.epoch = 5;
    snprintf(node.file, sizeof(node.file), "/tmp/segq-tokens-%d", (int)getpid());
    write_tokens("submit,take,read images,ride/*,gen");
    task_tokens = node.file;
    setup_all();
    if (listen_tasks != NULL)
        ask_at(w.r->httpd_tasks);
    start_node("127.0.0.1:0");
    send_pools(3, 5, 9);
    UNTIL(w.r->tasking->counts.maps == 1);
    UNTIL(ask("POST", "/v1/queues/images/tasks/take", "{}") == 200); /* the link is up */
}

static void tear_down(void)
{
    rpc_free(node.rpc);
    node.rpc = NULL;
    unlink(node.file);
    teardown();
}

TestSuite(tasks_http, .init = set_up, .fini = tear_down, .timeout = 60);

static char task[200]; /* of the last answer: its path */

static const char *task_path(const char *verb)
{
    static char path[300];

    snprintf(path, sizeof(path), "/v1/tasks/%s%s", str("task"), verb);
    strcpy(task, path);
    return path;
}

static const json_t *taken(size_t i)
{
    return json_array_get(json_object_get(js, "tasks"), i);
}

static const char *taken_str(size_t i, const char *key)
{
    return json_string_value(json_object_get(taken(i), key));
}

/* ---- the life of a task ------------------------------------------------------------------ */

/* What is kept of it is no JSON: it is not shown as a part of the task. */
static void a_cut_result(const char *token)
{
    char path[100];

    node.v[1].cut = 1 + 4;
    snprintf(path, sizeof(path), "/v1/tasks/%s", token);
    cr_expect_eq(call("GET", path, ""), 200);
    cr_expect_null(strstr(got, "\"result\":"));
    cr_expect_not_null(strstr(got, "\"result_length\":11,\"result_sha256\":\"0123abff\","
                                   "\"result_truncated\":true"));
    snprintf(path, sizeof(path), "/v1/tasks/%s/result", token);
    cr_expect_eq(call("GET", path, ""), 200);
    cr_expect_str_eq(strstr(got, "\r\n\r\n") + 4, "{\"ur");
    cr_expect_not_null(strstr(got, "segq-truncated: true\r\n"));
    cr_expect_not_null(strstr(got, "application/octet-stream"));
    node.v[1].cut = 1; /* nothing of it */
    cr_expect_eq(call("GET", path, ""), 204);
    cr_expect_not_null(strstr(got, "segq-length: 11\r\n"));
    node.v[1].cut = 0;
}

Test(tasks_http, submitted_taken_acknowledged_and_read)
{
    char one[TASK_TOKEN_LEN + 1], path[200], body[300];

    cr_assert_eq(ask("POST", "/v1/queues/images/tasks",
                     "{\"key\":\"tenant7/user42\",\"payload\":{\"prompt\": \"a cat\"} }"), 201);
    strcpy(one, str("task"));
    cr_expect_eq(strlen(one), TASK_TOKEN_LEN);
    snprintf(path, sizeof(path), "Location: /v1/tasks/%s\r\n", one);
    cr_expect(strstr(got, path) != NULL);
    cr_expect_str_eq(str("state"), "waiting");
    cr_expect_str_eq(node.v[1].key1, "tenant7");
    cr_expect_str_eq(node.v[1].key2, "user42");
    cr_expect_str_eq(node.v[1].body, "{\"prompt\": \"a cat\"}"); /* byte for byte */

    cr_assert_eq(ask("POST", "/v1/queues/images/tasks/take", "{\"n\":10,\"lease\":\"30s\"}"), 200);
    cr_expect_str_eq(taken_str(0, "task"), one);
    cr_expect_str_eq(taken_str(0, "key"), "tenant7/user42");
    cr_expect(strstr(got, "\"payload\":{\"prompt\": \"a cat\"}") != NULL);
    cr_expect(strstr(got, "\"lease_expires_at\":1780000000.123") != NULL);

    snprintf(path, sizeof(path), "/v1/tasks/%s/ack", one);
    cr_expect_eq(call("POST", path, "{\"lease_id\":\"AAAAAAAAAAA\"}"), 401);
    snprintf(body, sizeof(body), "{\"lease_id\":\"%s\",\"result\":{\"url\":  1}}", "AAAAAAAAAAA");
    cr_expect_eq(ask("POST", path, body), 409);
    {
        char lease[LEASE_TEXT_LEN + 1] = { 0 };

        lease_write(lease_of(1), lease);
        snprintf(body, sizeof(body), "{\"lease_id\":\"%s\",\"result\":{\"url\":  1}}", lease);
    }
    cr_expect_eq(ask("POST", path, body), 200);
    cr_expect_str_eq(str("state"), "succeeded");
    cr_expect_eq(ask("POST", path, body), 409); /* again */

    snprintf(path, sizeof(path), "/v1/tasks/%s", one); /* needs no server's token */
    cr_expect_eq(call("GET", path, ""), 200);
    cr_expect_str_eq(str("state"), "succeeded");
    cr_expect(strstr(got, "\"result\":{\"url\":  1}") != NULL);
    snprintf(path, sizeof(path), "/v1/tasks/%s/result", one);
    cr_expect_eq(call("GET", path, ""), 200);
    cr_expect_str_eq(strstr(got, "\r\n\r\n") + 4, "{\"url\":  1}");
    cr_expect_not_null(strstr(got, "segq-status: 200\r\nsegq-length: 11\r\nsegq-sha256: 0123abff\r\n"));
    cr_expect_null(strstr(got, "segq-truncated"));
    a_cut_result(one);
    snprintf(path, sizeof(path), "/v1/tasks/%s", one);
    cr_expect_eq(call("DELETE", path, ""), 409);
    cr_expect_str_eq(str("code"), "task_final");
}

Test(tasks_http, the_same_again_is_the_same_task)
{
    static const char key[] = "Authorization: Bearer " TOKEN "\r\nIdempotency-Key: k1\r\n";
    char first[TASK_TOKEN_LEN + 1];

    cr_expect_eq(call_with("POST", "/v1/queues/images/tasks", key, "{\"payload\":1}"), 201);
    strcpy(first, str("task"));
    cr_expect_eq(call_with("POST", "/v1/queues/images/tasks", key, "{\"payload\":1}"), 200);
    cr_expect_str_eq(str("task"), first);
    cr_expect_eq(call_with("POST", "/v1/queues/images/tasks", key, "{\"payload\":2}"), 422);
    cr_expect_str_eq(str("code"), "idempotency_mismatch");
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks", "{\"payload\":1,\"name\":\"close-7\"}"), 201);
    strcpy(first, str("task"));
    cr_expect_eq(ask("GET", "/v1/queues/images/tasks/close-7", ""), 200);
    cr_expect_str_eq(str("task"), first);
    cr_expect_eq(ask("GET", "/v1/queues/images/tasks/close-8", ""), 404);
    cr_expect_str_eq(str("code"), "task_unknown");
}

static int unique(const char *member)
{
    char body[300];

    snprintf(body, sizeof(body), "{\"payload\":1,\"unique\":%s}", member);
    return ask("POST", "/v1/queues/images/tasks", body);
}

Test(tasks_http, a_unique_key_is_of_one_task)
{
    static const char *const bad[] = { "1", "\"u\"", "{}", "{\"key\":\"\"}", "{\"key\":\"a b\"}", "{\"key\":1}",
                                       "{\"key\":\"u\",\"while\":\"dead\"}", "{\"key\":\"u\",\"key\":\"v\"}",
                                       "{\"key\":\"u\",\"on_conflict\":1}", "{\"key\":\"u\",\"until\":1}" };
    char first[TASK_TOKEN_LEN + 1];

    cr_expect_eq(unique("{\"while\":\"final\",\"key\":\"u1\"}"), 201);
    strcpy(first, str("task"));
    cr_expect_str_eq(node.v[node.n].unique, "u1");
    cr_expect_eq(node.v[node.n].unique_while, UNIQUE_FINAL);
    cr_expect_eq(unique("{\"key\":\"u1\"}"), 200);
    cr_expect_str_eq(str("task"), first);
    cr_expect_eq(unique("{\"key\":\"u1\",\"on_conflict\":\"reject\"}"), 409);
    cr_expect_str_eq(str("code"), "unique_conflict");
    cr_expect_eq(unique("{\"key\":\"u1\",\"on_conflict\":\"replace\"}"), 201);
    cr_expect_eq(node.v[node.n].unique_while, UNIQUE_RUNNING, "if it is not said");
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++)
        cr_expect_eq(unique(bad[i]), 400, "%s", bad[i]);
}

Test(tasks_http, a_cancelled_one_stays_cancelled)
{
    cr_expect_eq(ask("POST", "/v1/queues/ride/7/tasks", "{\"delay\":\"2s\"}"), 201);
    cr_expect_str_eq(str("state"), "scheduled");
    cr_expect_eq(node.v[1].delay_ms, 2000);
    cr_expect_eq(call("DELETE", task_path(""), ""), 200);
    cr_expect_str_eq(str("state"), "cancelled");
    cr_expect_eq(call("DELETE", task, ""), 200);
    node.n = 0; /* it has gone */
    cr_expect_eq(call("DELETE", task, ""), 204);
    cr_expect_eq(call("GET", task, ""), 410);
    cr_expect_str_eq(str("code"), "task_gone");
}

Test(tasks_http, force_cancels_also_what_runs)
{
    cr_expect_eq(ask("POST", "/v1/queues/ride/7/tasks", "{}"), 201);
    node.v[1].state = TASK_RUNNING;
    cr_expect_eq(call("DELETE", task_path(""), ""), 200);
    cr_expect_str_eq(str("state"), "running");
    cr_expect_not_null(strstr(got, "\"stopping\":true"));
    cr_expect_null(strstr(got, "maybe_executed"));
    cr_expect_eq(node.forced, 0);
    cr_expect_eq(call("DELETE", task_path("?force=1"), ""), 200);
    cr_expect_eq(node.forced, 1);
    cr_expect_str_eq(str("state"), "cancelled");
    cr_expect_not_null(strstr(got, "\"maybe_executed\":true"));
    cr_expect_eq(call("DELETE", task_path("?force=yes"), ""), 400);
}

/* ---- waits, tags, estimates -------------------------------------------------------------- */

Test(tasks_http, a_submission_that_waits_is_answered_with_the_result_if_it_is_there_in_time)
{
    static const char wait[] = "Authorization: Bearer " TOKEN "\r\nPrefer: x=1, wait=7; y\r\n";

    cr_expect_eq(call_with("POST", "/v1/queues/images/tasks", wait, "{\"payload\":1}"), 201);
    cr_expect_str_eq(str("state"), "waiting");
    cr_expect_eq(node.waits_ms, 7000);
    cr_expect(strstr(got, "\r\nPreference-Applied: wait=7\r\n") != NULL);
    node.finishes = true;
    cr_expect_eq(call_with("POST", "/v1/queues/images/tasks", wait, "{\"payload\":1}"), 200);
    cr_expect_str_eq(str("state"), "succeeded");
    cr_expect(strstr(got, "\"result\":[7]") != NULL);
    cr_expect(strstr(got, "\r\nLocation: /v1/tasks/") != NULL);
    node.finishes = false;
    cr_expect_eq(call_with("POST", "/v1/queues/images/tasks",
                           "Authorization: Bearer " TOKEN "\r\nPrefer: wait=100000000000\r\n", "{}"), 201);
    cr_expect_eq(node.waits_ms, TASK_WAIT_MAX_MS);
    cr_expect_eq(call_with("POST", "/v1/queues/images/tasks",
                           "Authorization: Bearer " TOKEN "\r\nPrefer: await=9, wait=9x, wait=\r\n",
                           "{}"), 201);
    cr_expect_eq(node.waits_ms, TASK_WAIT_MAX_MS, "nobody has waited");
    cr_expect(strstr(got, "Preference-Applied") == NULL);
    cr_expect(strstr(got, "position") == NULL);
    cr_expect_eq(call_with("POST", "/v1/queues/images/tasks",
                           "Authorization: Bearer " TOKEN "\r\nPrefer: wait=0\r\n", "{}"), 201);
    cr_expect(strstr(got, "\"position\":1") != NULL, "its place, without a wait");
}

Test(tasks_http, what_the_client_has_already_is_not_sent_again)
{
    char tag[100], *at;

    cr_assert_eq(ask("POST", "/v1/queues/images/tasks", "{}"), 201);
    cr_assert_eq(call("GET", task_path(""), ""), 200);
    at = strstr(got, "\r\nETag: \"");
    cr_assert(at != NULL);
    snprintf(tag, sizeof(tag), "If-None-Match: \"other\", W/%.18s\r\n", at + strlen("\r\nETag: "));
    cr_expect_eq(call_with("GET", task, tag, ""), 304);
    node.v[1].state = TASK_RUNNING;
    cr_expect_eq(call_with("GET", task, tag, ""), 200);
    cr_expect_eq(call_with("GET", task, "If-None-Match: *\r\n", ""), 304);
    cr_expect_eq(call_with("PATCH", task, "Authorization: Bearer " TOKEN "\r\nIf-Match: \"a\"\r\n",
                           "{\"order\":1}"), 400);
    cr_expect_eq(call_with("PATCH", task, "Authorization: Bearer " TOKEN "\r\nIf-Match: *\r\n",
                           "{\"order\":1}"), 200);
}

/* The member of the answer's own text. */
static bool tells(const char *text)
{
    return strstr(got, text) != NULL;
}

Test(tasks_http, a_look_says_when_it_starts_why_and_when_to_look_again)
{
    cr_assert_eq(ask("POST", "/v1/queues/images/tasks", "{}"), 201);
    node.as = (struct msg_task_get_ans){ .eta = TASK_ETA_RATE, .eta_ms = 120001, .limited = 1,
                                         .limited_by = "tenant7", .limited_until_ms = 1780000000000 };
    cr_assert_eq(call("GET", task_path(""), ""), 200);
    cr_expect(tells("\"eta_s\":121,\"eta_reason\":\"rate\""));
    cr_expect(tells("\"limited_by\":\"rate:tenant7\",\"limited_until\":1780000000.000"));
    cr_expect(tells("\"poll_after_ms\":30000") && tells("\r\nRetry-After: 30\r\n"));
    node.as = (struct msg_task_get_ans){ .eta = TASK_ETA_NO_WORKER, .eta_ms = -1, .limited = 6,
                                         .limited_by = "images" };
    cr_assert_eq(call("GET", task, ""), 200);
    cr_expect(tells("\"eta_s\":null,\"eta_reason\":\"no_worker\""));
    cr_expect(tells("\"limited_by\":\"pause:images\""));
    cr_expect(tells("\"poll_after_ms\":5000"));
    node.as = (struct msg_task_get_ans){ .eta = TASK_ETA_DELAY, .eta_ms = 3600000 };
    cr_assert_eq(call("GET", task, ""), 200);
    cr_expect(tells("\"eta_s\":3600,\"eta_reason\":\"delay\"") && tells("\r\nRetry-After: 60\r\n"));
    node.as = (struct msg_task_get_ans){ 0 }; /* an older node */
    cr_assert_eq(call("GET", task, ""), 200);
    cr_expect(!tells("eta_s") && tells("\"poll_after_ms\":1000"));
}

/* ---- many -------------------------------------------------------------------------------- */

static json_int_t row_status(size_t i)
{
    return json_integer_value(json_object_get(json_array_get(js, i), "status"));
}

Test(tasks_http, of_a_batch_each_row_has_its_own_answer)
{
    cr_assert_eq(ask("POST", "/v1/queues/images/tasks/batch",
                     "[{\"payload\":1}, {\"payload\":2,\"colour\":3}, 7, {\"payload\":\"\\ud800\"},"
                     " {\"key\":\"\\ud800\"}, {\"idempotency_key\":\"a\"},{\"idempotency_key\":\"a\"}]"),
                 207);
    cr_expect_eq(json_array_size(js), 7);
    cr_expect_eq(row_status(0), 201);
    cr_expect_eq(row_status(1), 400);
    cr_expect(strstr(got, "unknown member colour") != NULL);
    cr_expect_eq(row_status(2), 400);
    cr_expect_eq(row_status(3), 201);
    cr_expect_eq(row_status(4), 400);
    cr_expect_eq(row_status(5), 201);
    cr_expect_eq(row_status(6), 200);
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks/batch", "{\"payload\":1}\n{\"payload\":2}\n"), 207);
    cr_expect_eq(json_array_size(js), 2);
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks/batch", "[{\"payload\":1},]"), 400);
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks/batch", "[]"), 400);
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks/batch", ""), 400);
}

Test(tasks_http, rows_of_a_turn_leave_in_one_frame)
{
    static char many[7000] = "[";
    uint32_t before;

    for (unsigned i = 0; i < 1001; i++)
        strcat(many, i == 0 ? "{}" : ",{}");
    strcat(many, "]");
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks/batch", many), 413);
    cr_expect_str_eq(str("code"), "too_many_in_batch");
    strcpy(strrchr(many, ','), "]");
    before = node.frames;
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks/batch", many), 207);
    cr_expect_eq(json_array_size(js), 1000);
    cr_expect_eq(node.frames - before, 1);
}

Test(tasks_http, a_worker_settles_many_at_once)
{
    char body[1000], one[TASK_TOKEN_LEN + 1], two[TASK_TOKEN_LEN + 1];
    char lease1[LEASE_TEXT_LEN + 1] = { 0 }, lease2[LEASE_TEXT_LEN + 1] = { 0 };

    cr_assert_eq(ask("POST", "/v1/queues/images/tasks/batch", "[{},{}]"), 207);
    cr_assert_eq(ask("POST", "/v1/queues/images/tasks/take", "{\"n\":2}"), 200);
    strcpy(one, taken_str(0, "task"));
    strcpy(two, taken_str(1, "task"));
    lease_write(lease_of(1), lease1);
    lease_write(lease_of(2), lease2);
    snprintf(body, sizeof(body),
             "[{\"task\":\"%s\",\"lease_id\":\"%s\",\"result\":[1]},"
             "{\"task\":\"%s\",\"verb\":\"nack\",\"lease_id\":\"%s\",\"delay\":2},"
             "{\"task\":\"%s\",\"lease_id\":\"%s\"},{\"task\":\"x\",\"lease_id\":\"y\"},"
             "{\"task\":\"%s\",\"lease_id\":\"%s\",\"delay\":1},"
             "{\"task\":\"%s\",\"verb\":\"nack\",\"lease_id\":\"%s\",\"delay\":\"50d\"}]",
             one, lease1, two, lease2, two, lease1, one, lease1, one, lease1);
    cr_assert_eq(ask("POST", "/v1/queues/images/tasks/settle", body), 207);
    cr_expect_eq(row_status(0), 200);
    cr_expect_eq(row_status(1), 200);
    cr_expect_eq(row_status(2), 409);
    cr_expect_eq(row_status(3), 404);
    cr_expect_eq(row_status(4), 400);
    cr_expect_eq(row_status(5), 400, "no node hears such a time");
    cr_expect_str_eq(node.v[1].result, "[1]");
    cr_expect_eq(node.v[2].state, TASK_RETRYING);
}

/* ---- what is refused --------------------------------------------------------------------- */

Test(tasks_http, what_is_unfit_is_refused_by_its_name)
{
    static const struct {
        const char *body, *says;
    } bad[] = {
        { "{\"payload\":1,\"pay\":2}", "unknown member pay" },
        { "{\"payload\":1,\"payload\":2}", "payload is there twice" },
        { "{\"payload\":{\"a\":}}", "JSON" },
        { "{\"payload\":1} x", "JSON" },
        { "{\"n\":1}", "unknown member n" },
        { "{\"delay\":\"2 s\"}", "delay must be" },
        { "{\"delay\":-1}", "delay must be" },
        { "{\"delay\":\"400d\"}", "delay must be" },
        { "{\"delay\":1,\"at\":1780000000}", "exclude" },
        { "{\"priority\":8}", "priority must be" },
        { "{\"priority\":1.5}", "priority must be" },
        { "{\"key\":\"a/b/c\"}", "key must be" },
        { "{\"key\":\"a/\"}", "key must be" },
        { "{\"name\":\"a/b\"}", "name must be" },
        { "{\"name\":7}", "name must be" },
        { "{\"ttl\":0}", "ttl must be" },
        { "{\"max_attempts\":63}", "max_attempts must be" },
        { "{\"result\":\"cut\"}", "result must be" },
        { "{\"retry\":3}", "retry must be" },
        { "{\"retry\":{\"min\":\"1s\",\"min\":\"2s\"}}", "retry must be" },
        { "{\"retry\":{\"least\":\"1s\"}}", "retry must be" },
        { "{\"retry\":{\"jitter\":101}}", "retry must be" },
        { "{\"labels\":\"a\"}", "labels must be" },
        { "{\"labels\":[\"a\",1]}", "labels must be" },
        { "{\"labels\":[\"a,b\"]}", "labels must be" },
        { "{\"labels\":[\"1\",\"2\",\"3\",\"4\",\"5\"]}", "labels must be" },
        { "[]", "JSON object" },
    };

    for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
        cr_expect_eq(ask("POST", "/v1/queues/images/tasks", bad[i].body), 400, "%s", bad[i].body);
        cr_expect(strstr(str("detail"), bad[i].says) != NULL, "%s: %s", bad[i].body, str("detail"));
    }
    cr_expect_eq(node.n, 0);
}

Test(tasks_http, what_a_task_has_of_its_own_is_asked_and_told)
{
    const struct task_own *own = &node.v[1].own;
    char path[100];

    cr_assert_eq(ask("POST", "/v1/queues/images/tasks",
                     "{\"ttl\":\"1.5s\",\"result\":\"drop\",\"max_attempts\":3,\"labels\":[ \"r\\u0065d\",\"blue\" ],"
                     "\"retry\":{\"min\":0,\"max\":\"1m\",\"doublings\":2,\"jitter\":0}}"), 201);
    cr_expect_eq(own->ttl_ms, 1501);
    cr_expect_eq(own->max_attempts, 4);
    cr_expect_eq(own->max_result, 1);
    cr_expect_eq(own->retry_min_ms, 1);
    cr_expect_eq(own->retry_max_ms, 60001);
    cr_expect_eq(own->retry_doublings, 3);
    cr_expect_eq(own->retry_jitter, 1);
    cr_expect_str_eq(own->labels, "red,blue");
    snprintf(path, sizeof(path), "/v1/tasks/%s", str("task"));
    cr_assert_eq(ask("GET", path, ""), 200);
    cr_expect(strstr(got, "\"ttl\":1.500,\"max_attempts\":3,\"retry\":{\"min\":0.000,\"max\":60.000,"
                          "\"doublings\":2,\"jitter\":0},\"labels\":[\"red\",\"blue\"]") != NULL, "%s", got);
    cr_assert_eq(ask("POST", "/v1/queues/images/tasks", "{\"labels\":[]}"), 201);
    cr_expect(own_is_none(&node.v[2].own));
}

Test(tasks_http, a_patch_says_what_it_changes_and_what_it_leaves)
{
    char path[100];

    cr_assert_eq(ask("POST", "/v1/queues/images/tasks", "{\"delay\":9}"), 201);
    snprintf(path, sizeof(path), "/v1/tasks/%s", str("task"));
    cr_assert_eq(ask("PATCH", path, "{\"priority\":0,\"labels\":[\"jump\"]}"), 200);
    cr_expect_eq(node.patch.has, PATCH_PRIORITY | PATCH_LABELS);
    cr_expect_str_eq(node.v[1].labels, "jump");
    cr_assert_eq(ask("PATCH", path, "{\"order\":-3,\"delay\":\"2s\"}"), 200);
    cr_expect_eq(node.patch.has, PATCH_ORDER | PATCH_WHEN);
    cr_expect_eq(node.patch.order, -3);
    cr_expect_eq(node.patch.delay_ms, 2000);
    cr_expect_eq(ask("PATCH", path, "{}"), 400);
    cr_expect_eq(ask("PATCH", path, "{\"ttl\":3}"), 400);
    cr_expect_eq(ask("PATCH", path, "{\"delay\":1,\"at\":1780000000}"), 400);
}

Test(tasks_http, a_payload_beyond_its_pool_s_bound_is_refused)
{
    static char body[2000] = "{\"payload\":\"";

    memset(body + 12, 'x', 998);
    strcpy(body + 12 + 998, "\"}");
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks", body), 201);
    strcpy(body + 12 + 998, "x\"}");
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks", body), 413);
}

Test(tasks_http, strangers_can_do_nothing)
{
    cr_expect_eq(call("POST", "/v1/queues/images/tasks", "{}"), 401);
    cr_expect(strstr(got, "WWW-Authenticate: Bearer") != NULL);
    cr_expect_eq(call_with("POST", "/v1/queues/images/tasks",
                           "Authorization: Bearer server-token-of-the-testt\r\n", "{}"), 401);
    cr_expect_eq(call("POST", "/v1/queues/images/tasks/take", "{}"), 401);
    cr_expect_eq(call("GET", "/v1/queues/images/tasks/close-7", ""), 401);
    cr_expect_eq(call("GET", "/v1/tasks/AAAA", ""), 404);
    cr_expect_str_eq(str("code"), "task_unknown");
    cr_expect_eq(ask("POST", "/v1/queues/other/tasks", "{}"), 403);
    write_tokens("submit ride/*");
    router_reload(w.r);
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks", "{}"), 403);
    cr_expect_eq(ask("POST", "/v1/queues/ride/7/tasks", "{}"), 201);
    cr_expect_eq(ask("POST", "/v1/queues/ride/7/tasks/take", "{}"), 403);
    cr_expect_eq(node.n, 1);
}

Test(tasks_http, paths_that_nobody_has)
{
    cr_expect_eq(ask("GET", "/v1/queues/images/tasks", ""), 405);
    cr_expect(strstr(got, "Allow: POST\r\n") != NULL);
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks/dance", ""), 405);
    cr_expect_eq(ask("POST", "/v1/queues/Images/tasks", ""), 404);
    cr_expect_eq(ask("POST", "/v1/queues/images/task", ""), 404);
    cr_expect_eq(ask("GET", "/v1/tasks/", ""), 404);
    cr_expect_eq(ask("POST", "/v1/tasks/AAAA/dance", ""), 404);
}

Test(tasks_http, other_requests_have_the_bodies_that_they_had)
{
    static char big[7900];
    char head[] = "POST /v1/queues/login/tickets HTTP/1.1\r\nHost: a\r\nContent-Length: 20000\r\n\r\n";

    memset(big, ' ', sizeof(big) - 1);
    n_got = 0;
    cr_assert(send(w.fd, head, strlen(head), MSG_NOSIGNAL) > 0);
    for (size_t left = 20000; left > 0;) {
        ssize_t n = send(w.fd, big, left < sizeof(big) ? left : sizeof(big), MSG_NOSIGNAL);

        left -= n > 0 ? (size_t)n : 0;
        ev_turn(w.ev, false);
    }
    UNTIL((more(), whole(got) > 0));
    cr_expect_eq(atoi(got + 9), 413);
}

/* ---- large bodies ------------------------------------------------------------------------ */

static int send_head(const char *path, const char *fields)
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
static void send_many(char what, size_t n)
{
    char v[16000];

    memset(v, what, sizeof(v));
    while (n > 0) {
        ssize_t k = send(w.fd, v, n < sizeof(v) ? n : sizeof(v), MSG_NOSIGNAL);

        n -= k > 0 ? (size_t)k : 0;
        ev_turn(w.ev, false);
    }
}

#define LARGE "Content-Length: 262144\r\n"
#define HERS  "Authorization: Bearer " TOKEN "\r\n"

Test(tasks_http, a_large_body_of_a_stranger_is_refused_before_it_is_sent)
{
    static const char wrong[] = LARGE "Authorization: Bearer server-token-of-the-testt\r\n";
    uint64_t refused = w.r->tasking->counts.refused;

    cr_expect_eq(send_head("/v1/queues/images/tasks/batch", LARGE), 401);
    cr_expect(strstr(got, "Connection: close\r\n") != NULL);
    cr_expect(strstr(got, "WWW-Authenticate: Bearer") != NULL);
    cr_expect(strstr(got, "\"code\":\"unauthorized\"") != NULL);
    cr_expect_eq(send_head("/v1/queues/images/tasks", wrong), 401);
    cr_expect_eq(send_head("/v1/tasks/AAAA/ack", LARGE "Expect: 100-continue\r\n"), 401);
    cr_expect_eq(send_head("/v1/queues/other/%74asks", HERS LARGE), 403);
    cr_expect_eq(w.r->tasking->counts.refused, refused + 4);
    cr_expect_eq(send_head("/v1/tasks/AAAA", HERS LARGE), 413);
    cr_expect_eq(send_head("/v1/queues/login/tickets", HERS LARGE), 413);
    cr_expect_eq(send_head("/v1/queues/images/tasks", HERS "Content-Length: 3000000\r\n"), 413);
    cr_expect_eq(httpd_counts(w.r->httpd)->in_now, 0);
    cr_expect_eq(httpd_counts(w.r->httpd)->large_now, 0);
}

Test(tasks_http, a_stranger_who_sends_chunks_holds_no_more_than_an_ordinary_body)
{
    static char chunk[1024 + 8] = "400\r\n";
    static const char head[] = "POST /v1/queues/images/tasks HTTP/1.1\r\nHost: a\r\n"
                               "Transfer-Encoding: chunked\r\n\r\n";
    uint64_t most = 0;

    memset(chunk + 5, ' ', 1024);
    memcpy(chunk + 5 + 1024, "\r\n", 2);
    n_got = 0;
    cr_assert(send(w.fd, head, strlen(head), MSG_NOSIGNAL) > 0);
    for (int i = 0; n_got == 0 && i < 1000; i++) {
        (void)!send(w.fd, chunk, 1024 + 7, MSG_NOSIGNAL);
        ev_turn(w.ev, false);
        most = u64_max(most, httpd_counts(w.r->httpd)->in_now);
        more();
    }
    cr_expect_eq(atoi(got + 9), 401);
    cr_expect_leq(most, 65536);
    cr_expect_eq(httpd_counts(w.r->httpd)->in_now, 0);
}

Test(tasks_http, a_large_body_of_a_server_passes)
{
    static const char *const path = "/v1/queues/images/%74asks/batch"; /* decoded once */

    cr_expect_eq(send_head(path, HERS LARGE "Expect: 100-continue\r\n"), 100);
    cr_expect_eq(httpd_counts(w.r->httpd)->large_now > 262144, true);
    n_got = 0;
    send_many(' ', 262144 - 14);
    cr_assert(send(w.fd, "[{},{},{},{} ]", 14, MSG_NOSIGNAL) == 14);
    UNTIL((more(), whole(got) > 0));
    cr_expect_eq(atoi(got + 9), 207);
    cr_expect_eq(node.n, 4);
    cr_expect_eq(httpd_counts(w.r->httpd)->large_now, 0);
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks", "{}"), 201); /* the connection lives */
}

static bool link_is_up(void)
{
    size_t up, of;

    node_links_count(&w.r->tasking->links, &up, &of);
    return up == 1;
}

/* ---- what goes wrong --------------------------------------------------------------------- */

Test(tasks_http, a_node_that_is_behind_is_asked_again)
{
    node.stale = 1; /* the map is as it should be: the node was late */
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks", "{}"), 201);
    node.epoch = 6; /* the router's map is old: until it has a newer one */
    say_with("POST", "/v1/queues/images/tasks", bearer, "{\"payload\":7}");
    n_got = 0;
    UNTIL(w.r->tasking->waiting.n == 1);
    send_pools(4, 6, 9);
    UNTIL((more(), whole(got) > 0));
    cr_expect_eq(atoi(got + 9), 201);
    send_pools(3, 5, 9); /* of a former leader */
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks", "{}"), 201);
    cr_expect_eq(w.r->tasking->pools.map.epoch, 4);
}

Test(tasks_http, nobody_has_the_partition)
{
    send_pools(4, 5, 0);
    UNTIL(w.r->tasking->counts.maps == 2);
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks", "{}"), 503);
    cr_expect(strstr(got, "Retry-After: ") != NULL);
    cr_expect_str_eq(str("code"), "queue_unavailable");
}

Test(tasks_http, a_broken_link_costs_503_but_what_may_be_repeated_is)
{
    char addr[64];

    strcpy(addr, node.addr);
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks", "{\"name\":\"a\"}"), 201);
    node.silent = true;
    node.n = 0;
    say_with("POST", "/v1/queues/images/tasks", bearer, "{}");
    n_got = 0;
    UNTIL(node.n == 1);
    rpc_free(node.rpc);
    UNTIL((more(), whole(got) > 0));
    cr_expect_eq(atoi(got + 9), 503);
    cr_expect(strstr(got, "it may have been done") != NULL);
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks", "{}"), 503);
    start_node(addr);
    UNTIL(link_is_up());
    say_with("POST", "/v1/queues/images/tasks", bearer, "{\"name\":\"b\"}");
    n_got = 0;
    UNTIL(strcmp(node.v[node.n].name, "b") == 0);
    node.silent = false;
    rpc_free(node.rpc);
    start_node(addr);
    UNTIL((more(), whole(got) > 0));
    cr_expect_eq(atoi(got + 9), 200); /* the same again */
}

Test(tasks_http, what_was_taken_for_a_worker_that_has_gone_goes_back)
{
    struct taken_row row = { .no = 1, .key1 = "", .key2 = "" };
    struct msg m = { .type = MSG_TASK_TAKE_ANS, .task_take_ans = { .n = 1, .v = &row } };
    uint32_t before = node.frames;
    uint64_t reads;

    cr_expect_eq(ask("POST", "/v1/queues/images/tasks", "{}"), 201);
    node.silent = true;
    say_with("POST", "/v1/queues/images/tasks/take", bearer, "{\"wait\":30}");
    UNTIL(node.frames >= before + 2);
    reads = httpd_counts(w.r->httpd)->reads;
    close(w.fd);
    dial();
    UNTIL(httpd_counts(w.r->httpd)->reads > reads);
    node.silent = false;
    node.v[1].state = TASK_RUNNING;
    row.lease = lease_of(1);
    send_msg(node.ch, &m, node.last_rid);
    UNTIL(node.given_back == 1);
    cr_expect_eq(node.v[1].state, TASK_RETRYING);
}

/* ---- claims ------------------------------------------------------------------------------ */

static void set_up_claims(void)
{
    static char site[] = "https://game.example", *origins[] = { site };

    claim_secret = CLAIM_SECRET "\n";
    allow_origins = (struct cfg_list){ origins, 1 };
    set_up();
}

TestSuite(task_claims, .init = set_up_claims, .fini = tear_down, .timeout = 60);

/* Of the queues ride/...; said: members, each with a comma behind it. */
static const char *task_claim(const char *said)
{
    char payload[500];

    snprintf(payload, sizeof(payload), "{%s\"queues\":[\"ride/*\"],\"exp\":%lld}", said,
             (long long)router_wall_s() + 60);
    return claim_text("{\"alg\":\"HS256\",\"kid\":\"shop\"}", payload, NULL);
}

/* more: members of the body, each with a comma before it. */
static int claimed(const char *queue, const char *jwt, const char *head, const char *more)
{
    char path[100], body[3000];

    snprintf(path, sizeof(path), "/v1/queues/%s/tasks", queue);
    snprintf(body, sizeof(body), "{\"claim\":\"%s\"%s}", jwt, more);
    return call_with("POST", path, head, body);
}

#define JTI "\"jti\":\"order-17\","

Test(task_claims, one_claim_is_one_task)
{
    const char *jwt = task_claim(JTI "\"key\":\"tenant7/user42\",\"priority\":3,");
    char first[TASK_TOKEN_LEN + 1];

    cr_assert_eq(claimed("ride/5", jwt, "", ",\"payload\":[1]"), 201);
    strcpy(first, str("task"));
    cr_expect_str_eq(node.v[1].idem, "order-17");
    cr_expect_str_eq(node.v[1].key1, "tenant7");
    cr_expect_str_eq(node.v[1].key2, "user42");
    cr_expect_eq(node.v[1].priority, 3);
    cr_expect_str_eq(node.v[1].body, "[1]");
    cr_expect_eq(claimed("ride/5", jwt, "", ",\"payload\":[1],\"priority\":3,"
                         "\"key\":\"tenant7/user42\""), 200);
    cr_expect_str_eq(str("task"), first);
    cr_expect_eq(claimed("ride/5", jwt, "", ",\"payload\":[2]"), 422);
    cr_expect_eq(node.n, 1);
    cr_expect_eq(w.r->counts.claims, 3);
    cr_expect_eq(claimed("ride/5", task_claim("\"jti\":\"p\","), "",
                         ",\"payload\":{\"kind\":\"permit\"}"), 201, "a task of that word is no permit");
    limit_set(w.r->gate.limit, LIMIT_JOIN, 0.001, 1);
    cr_expect_eq(claimed("ride/5", task_claim("\"jti\":\"q\","), "", ",\"payload\":\"permit\""), 201,
                 "it costs one join");
    cr_expect_eq(claimed("ride/5", task_claim("\"jti\":\"r\","), "", ",\"payload\":1"), 429);
}

Test(task_claims, a_refused_claim_is_told_why)
{
    static const struct {
        const char *queue, *said, *head, *body, *why;
    } rows[] = {
        { "images", JTI, "", "", "the claim is not for this queue (queues)" },
        { "ride/5", "", "", "", "the claim has no jti of 1 to 128 visible ASCII characters" },
        { "ride/5", "\"jti\":\"a b\",", "", "",
          "the claim has no jti of 1 to 128 visible ASCII characters" },
        { "ride/5", JTI "\"key\":\"a/b/c\",", "", "", "the claim's key is not the key of a task" },
        { "ride/5", JTI "\"key\":7,", "", "", "the claim's key is not the key of a task" },
        { "ride/5", JTI "\"priority\":8,", "", "",
          "the claim's priority is not a whole number within its range" },
        { "ride/5", JTI, "", ",\"key\":\"a\"", "the claim is for another key (key)" },
        { "ride/5", JTI, "", ",\"priority\":1", "the claim is for another priority (priority)" },
        { "ride/5", JTI, "Idempotency-Key: other\r\n", "",
          "the Idempotency-Key of a claim is its jti" },
        { "ride/5", JTI, "", ",\"name\":\"order-18\"",
          "with a claim a task has payload, delay, at and result of its own, and nothing else" },
        { "ride/5", JTI "\"iat\":9999999999,", "", "", "the claim is from the future (nbf, iat)" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        cr_expect_eq(claimed(rows[i].queue, task_claim(rows[i].said), rows[i].head, rows[i].body), 403);
        cr_expect_str_eq(str("code"), "not_eligible");
        cr_expect_str_eq(str("detail"), rows[i].why);
    }
    cr_expect_eq(node.n, 0, "no node was asked");
    cr_expect_eq(w.r->counts.claims_refused, ARRAY_LEN(rows));
    cr_expect_eq(claimed("ride/5", task_claim(JTI), bearer, ""), 400, "a server needs none");
}

Test(task_claims, all_else_needs_the_token_of_a_server)
{
    static const char *const paths[] = { "/v1/queues/ride/5/tasks/batch", "/v1/queues/ride/5/tasks/take",
                                         "/v1/queues/ride/5/tasks/settle" };
    char body[3000];

    snprintf(body, sizeof(body), "{\"claim\":\"%s\"}", task_claim(JTI));
    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        cr_expect_eq(call("POST", paths[i], body), 401);
    cr_expect_eq(call("POST", "/v1/queues/ride/5/tasks", "{\"payload\":1}"), 401);
    cr_expect_eq(call("GET", "/v1/queues/ride/5/tasks/order-17", ""), 401);
}

#define PREFLIGHT "Origin: https://game.example\r\nAccess-Control-Request-Method: POST\r\n"

Test(task_claims, pages_of_allowed_origins_submit_and_look)
{
    static const char line[] = "\r\nAccess-Control-Allow-Origin: https://game.example\r\n";

    cr_expect_eq(call_with("OPTIONS", "/v1/queues/ride/5/tasks", PREFLIGHT, ""), 204);
    cr_expect_not_null(strstr(got, "\r\nAccess-Control-Allow-Methods: POST\r\n"));
    cr_expect_eq(claimed("ride/5", task_claim(JTI), "Origin: https://game.example\r\n", ""), 201);
    cr_expect_not_null(strstr(got, line));
    cr_expect_eq(call_with("OPTIONS", task_path(""), PREFLIGHT, ""), 204);
    cr_expect_not_null(strstr(got, "\r\nAccess-Control-Allow-Methods: GET, HEAD, DELETE\r\n"));
    cr_expect_eq(call_with("GET", task, "Origin: https://game.example\r\n", ""), 200);
    cr_expect_not_null(strstr(got, line));
    cr_expect_eq(call_with("OPTIONS", "/v1/queues/ride/5/tasks/take", PREFLIGHT, ""), 405);
    cr_expect_null(strstr(got, line));
    cr_expect_eq(call_with("OPTIONS", "/v1/queues/ride/5", PREFLIGHT, ""), 404, "it has no methods");
}

/* ---- an address for servers -------------------------------------------------------------- */

static void set_up_apart(void)
{
    listen_tasks = (char *)"127.0.0.1:0";
    set_up();
}

static void tear_down_apart(void)
{
    tear_down();
    listen_tasks = NULL;
}

TestSuite(tasks_apart, .init = set_up_apart, .fini = tear_down_apart, .timeout = 60);

Test(tasks_apart, servers_have_an_address_of_their_own)
{
    cr_expect_eq(call("GET", "/v1/queues/login", ""), 404);
    cr_expect_eq(call("GET", "/healthz", ""), 200);
    cr_assert_eq(ask("POST", "/v1/queues/images/tasks", "{}"), 201);
    task_path("");
    ask_at(w.r->httpd);
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks", "{}"), 403);
    cr_expect_str_eq(str("code"), "not_eligible");
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks/take", "{}"), 403);
    cr_expect_eq(ask("PATCH", task, "{\"order\":1}"), 403);
    cr_expect_eq(call("GET", task, ""), 200);
    cr_expect_eq(call("DELETE", task, ""), 200);
    cr_expect_eq(call("GET", "/v1/queues/login", ""), 200);
    cr_expect_eq(send_head("/v1/queues/images/tasks", HERS LARGE "Expect: 100-continue\r\n"), 403);
    ask_at(w.r->httpd_tasks);
    cr_expect_eq(send_head("/v1/queues/images/tasks", HERS LARGE "Expect: 100-continue\r\n"), 100);
    cr_expect_eq(node.n, 1);
}

Test(tasks_apart, the_compat_door_is_at_both_addresses_and_servers_at_theirs)
{
    static const char offline[] = "{\"target_url\":\"http://gen.example/x\"}";

    w.cfg.compat = COMPAT_CLASSIC;
    cr_assert_eq(ask("POST", "/compat/v1/submitTask", offline), 200, "%s", got);
    cr_expect_eq(call("POST", "/compat/v1/submitTask", "{\"target_url\":\"http://login.example/img\","
                      "\"task_type\":\"online\"}"), 200);
    cr_expect_eq(send_head("/compat/v1/submitTask", HERS LARGE "Expect: 100-continue\r\n"), 100);
    ask_at(w.r->httpd);
    cr_expect_eq(ask("POST", "/compat/v1/submitTask", offline), 403);
    cr_expect_str_eq(str("code"), "not_eligible");
    cr_expect_eq(send_head("/compat/v1/submitTask", HERS LARGE "Expect: 100-continue\r\n"), 403);
    cr_expect_eq(node.n, 1);
}

/* ---- calls to an endpoint ---------------------------------------------------------------- */

#define GEN "/v1/queues/gen/tasks"

Test(tasks_http, a_queue_with_an_endpoint_takes_calls_and_no_worker)
{
    cr_expect_eq(ask("POST", GEN, "{\"path\":\"/a\",\"method\":\"PUT\",\"body\":\"x\"}"), 201);
    cr_expect_str_eq(node.v[1].body, "PUT /a");
    cr_expect_eq(ask("POST", GEN, "{\"payload\":1}"), 400);
    cr_expect_eq(ask("POST", GEN, "{\"path\":\"/a\",\"payload\":1}"), 400);
    cr_expect_eq(ask("POST", GEN, "{}"), 400);
    cr_expect_eq(ask("POST", "/v1/queues/images/tasks", "{\"path\":\"/a\"}"), 400);
    cr_expect_eq(ask("POST", GEN "/batch", "[{\"path\":\"/b\"},{\"path\":\"c\"},{\"payload\":1}]"), 207);
    cr_expect_eq(json_integer_value(json_object_get(json_array_get(js, 0), "status")), 201);
    cr_expect_eq(json_integer_value(json_object_get(json_array_get(js, 1), "status")), 400);
    cr_expect_eq(json_integer_value(json_object_get(json_array_get(js, 2), "status")), 400);
    cr_expect_eq(ask("POST", GEN "/take", "{}"), 409);
    cr_expect_str_eq(str("code"), "queue_has_endpoint");
    cr_expect_eq(node.n, 2);
}

Test(tasks_http, a_target_s_answer_is_its_own_and_no_page_of_ours)
{
    static char path[200];

    cr_assert_eq(ask("POST", GEN, "{\"path\":\"/a\"}"), 201);
    strcpy(path, task_path(""));
    node.v[1].state = TASK_SUCCEEDED;
    node.as.status = 203;
    node.as.content_type = "text/html";
    node.answers = "<b>";
    cr_expect_eq(call("GET", path, ""), 200);
    cr_expect_str_eq(str("kind"), "callback");
    cr_expect_str_eq(str("endpoint"), "gen");
    cr_expect_eq(num("status"), 203);
    cr_expect_null(json_object_get(js, "result"), "it is no JSON");
    cr_expect_eq(call("GET", strcat(strcpy(task, path), "/result"), ""), 200);
    cr_expect_not_null(strstr(got, "Content-Type: text/html\r\n"));
    cr_expect_not_null(strstr(got, "segq-status: 203\r\n"));
    cr_expect_not_null(strstr(got, "Content-Security-Policy: sandbox; default-src 'none'\r\n"));
    cr_expect_not_null(strstr(got, "Content-Disposition: attachment\r\n"));
    node.as.content_type = "application/problem+json; charset=utf-8";
    cr_expect_eq(call("GET", path, ""), 200);
    cr_expect_null(json_object_get(js, "result"), "it only says that it is");
    node.answers = "{\"a\":1}";
    cr_expect_eq(call("GET", path, ""), 200);
    cr_expect_eq(json_integer_value(json_object_get(json_object_get(js, "result"), "a")), 1);
    cr_expect_eq(call("GET", strcat(strcpy(task, path), "/result"), ""), 200);
    cr_expect_null(strstr(got, "Content-Disposition"));
}

static const char own[] = "segq-token: " TOKEN "\r\nAuthorization: Basic eA==\r\nPrefer: wait=30\r\n";

Test(tasks_http, a_request_is_passed_on_and_answered_as_the_target_answers)
{
    node.finishes = true;
    node.as.status = 201;
    node.as.content_type = "text/plain";
    node.answers = "made";
    cr_expect_eq(call_with("PUT", "/v1/call/gen/a%2Fb?c=%31", own, "{}"), 201, "%s", got);
    cr_expect_str_eq(node.v[1].body, "PUT /a%2Fb?c=%31", "as it came");
    cr_expect_eq(node.waits_ms, 30000);
    cr_expect_not_null(strstr(got, "\r\nsegq-location: /v1/tasks/"));
    node.finishes = false;
    cr_expect_eq(call_with("GET", "/v1/call/gen/", "Prefer: wait=2\r\nsegq-token: " TOKEN "\r\n", ""), 202);
    cr_expect_eq(node.waits_ms, 2000);
    cr_expect_str_eq(str("state"), "waiting");
    cr_expect_eq(call_with("GET", "/v1/call/gen/", "Prefer: wait=0\r\nsegq-token: " TOKEN "\r\n", ""), 202);
    cr_expect_not_null(strstr(got, "Retry-After: 1\r\n"));
}

/* What the caller of /v1/call sees of an end. */
static int ends_as(uint8_t state, uint32_t status, uint32_t length)
{
    node.finishes = true;
    node.ends_as = state;
    node.as.status = status;
    node.as.content_type = "application/json";
    node.length = length;
    node.answers = "{\"a\":1}";
    return call_with("GET", "/v1/call/gen/x", own, "");
}

Test(tasks_http, a_call_that_ends_badly_is_answered_as_the_target_answered_last)
{
    cr_expect_eq(ends_as(TASK_DEAD, 404, 0), 404);
    cr_expect_not_null(strstr(got, "segq-state: dead\r\nsegq-status: 404\r\n"));
    cr_expect_not_null(strstr(got, "\r\n\r\n{\"a\":1}"));
    cr_expect_eq(ends_as(TASK_DEAD, 599, 0), 599);
    for (const uint32_t *s = (const uint32_t[]){ 101, 302, 600, 999, 0 };; s++) {
        cr_expect_eq(ends_as(TASK_DEAD, *s, 0), 502, "%u", *s);
        cr_expect_str_eq(str("code"), "endpoint_failed");
        if (*s == 0)
            break;
    }
    cr_expect_eq(ends_as(TASK_EXPIRED, 0, 0), 502);
    cr_expect_eq(ends_as(TASK_CANCELLED, 0, 0), 502);
}

Test(tasks_http, a_long_answer_is_cut_and_says_so)
{
    cr_expect_eq(ends_as(TASK_SUCCEEDED, 200, 70000), 200);
    cr_expect_not_null(strstr(got, "Content-Length: 7\r\n"));
    cr_expect_not_null(strstr(got, "segq-length: 70000\r\n"));
    cr_expect_not_null(strstr(got, "segq-truncated: true\r\n"));
    cr_expect_not_null(strstr(got, "Content-Type: application/octet-stream\r\n"));
}

/* ---- answers that the node keeps whole ---- */

#define LONG 500000

static char noise[LONG];

/* The node has a long answer: its head comes at once. */
static void a_long_one(uint32_t piece)
{
    for (uint32_t i = 0; i < LONG; i++)
        noise[i] = (char)('a' + i * 31 / 7 % 26);
    crypto_hash_sha256(node.sha256, (const uint8_t *)noise, LONG);
    node.whole = noise;
    node.whole_n = LONG;
    node.piece = piece;
}

/* The connection ends: what came behind the head. */
static size_t body_that_came(void)
{
    char end;

    UNTIL((more(), recv(w.fd, &end, 1, MSG_PEEK) == 0));
    close(w.fd);
    dial();
    return n_got - (size_t)(strstr(got, "\r\n\r\n") + 4 - got);
}

static void say_call(void)
{
    n_got = 0;
    got[0] = '\0';
    node.finishes = true;
    node.as.status = 200;
    node.as.content_type = "image/png";
    node.answers = "";
    say_with("GET", "/v1/call/gen/x", own, "");
}

Test(tasks_http, a_long_answer_passes_whole)
{
    a_long_one(70000);
    say_call();
    UNTIL((more(), whole(got) > 0));
    cr_expect_not_null(strstr(got, "Content-Length: 500000\r\n"));
    cr_expect_not_null(strstr(got, "Content-Type: image/png\r\n"));
    cr_expect_null(strstr(got, "segq-truncated"));
    cr_expect_eq(body_that_came(), LONG);
    cr_expect_eq(memcmp(strstr(got, "\r\n\r\n") + 4, noise, LONG), 0);
    cr_expect_eq(node.reads, 8, "of which the first 1000 bytes were there");
    cr_expect_eq(w.r->tasking->wholes.n, 0);
    cr_expect_eq(w.r->tasking->counts.wholes_broken, 0);
}

Test(tasks_http, a_long_answer_goes_on_when_its_node_is_back)
{
    a_long_one(70000);
    node.lose = 3;
    say_call();
    UNTIL((more(), whole(got) > 0));
    cr_expect_eq(body_that_came(), LONG);
    cr_expect_eq(memcmp(strstr(got, "\r\n\r\n") + 4, noise, LONG), 0);
}

/* Its link breaks while nothing is asked: the next piece is wanted while the node is away. */
Test(tasks_http, a_long_answer_waits_for_its_node)
{
    a_long_one(100000);
    node.mute = true;
    say_call();
    UNTIL(node.reads == 1);
    rpc_free(node.rpc);
    UNTIL(!task_link_is_up(w.r->tasking, 9));
    for (int64_t until = ev_now(w.ev) + 700; ev_now(w.ev) < until;) /* ticks ask in vain */
        ev_turn(w.ev, false);
    node.mute = false;
    start_node(node.addr);
    UNTIL((more(), whole(got) > 0));
    cr_expect_eq(body_that_came(), LONG);
    cr_expect_eq(w.r->tasking->counts.wholes_broken, 0);
}

Test(tasks_http, a_long_answer_whose_node_stays_away_ends_early)
{
    a_long_one(100000);
    node.mute = true;
    say_call();
    UNTIL(node.reads == 1);
    rpc_free(node.rpc);
    node.rpc = NULL;
    cr_expect_eq(body_that_came(), 1000);
    cr_expect_eq(w.r->tasking->counts.wholes_broken, 1);
    UNTIL(w.r->tasking->wholes.n == 0);
}

Test(tasks_http, a_long_answer_that_is_another_one_by_now_ends_early)
{
    a_long_one(100000);
    node.sha256[5] ^= 1;
    say_call();
    cr_expect_lt(body_that_came(), LONG, "not its last byte");
    cr_expect_eq(w.r->tasking->counts.wholes_broken, 1);
    UNTIL(w.r->tasking->wholes.n == 0);
}

Test(tasks_http, a_long_answer_that_goes_meanwhile_ends_early)
{
    a_long_one(100000);
    say_call();
    UNTIL(node.reads == 2);
    node.whole = NULL;
    cr_expect_lt(body_that_came(), LONG);
    UNTIL(w.r->tasking->wholes.n == 0);
}

Test(tasks_http, who_asks_for_the_head_alone_gets_that_of_the_part)
{
    char path[200];

    a_long_one(100000);
    say_call();
    UNTIL((more(), whole(got) > 0));
    snprintf(path, sizeof(path), "%.*s/result?ack=1", 10 + TASK_TOKEN_LEN,
             strstr(got, "segq-location: ") + 15);
    (void)body_that_came();
    n_got = 0;
    got[0] = '\0';
    say("HEAD", path, "");
    UNTIL((more(), strstr(got, "\r\n\r\n") != NULL));
    cr_expect_not_null(strstr(got, "segq-truncated: true\r\n"));
    cr_expect_eq(w.r->tasking->wholes.n, 0);
    n_got = 0;
    say("GET", path, "");
    cr_expect_eq(body_that_came(), LONG);
    UNTIL(node.discards > 0);
    cr_expect(node.discards == 1 && node.marks == 0, "the head was not all of it");
}

Test(tasks_http, a_client_that_goes_ends_the_reading)
{
    a_long_one(1000);
    say_call();
    UNTIL(node.reads >= 2);
    close(w.fd);
    dial();
    UNTIL(w.r->tasking->wholes.n == 0);
    cr_expect_lt(node.reads, LONG / 1000);
}

Test(tasks_http, one_task_takes_no_more_than_its_part_of_the_readers)
{
    char path[200];
    int fd[16];

    a_long_one(100000);
    node.mute = true;
    say_call();
    UNTIL((more(), strstr(got, "\r\n\r\n") != NULL));
    snprintf(path, sizeof(path), "%.*s/result", 10 + TASK_TOKEN_LEN, strstr(got, "segq-location: ") + 15);
    for (unsigned i = 0; i < 15; i++) {
        fd[i] = w.fd;
        dial();
        say("GET", path, "");
        UNTIL(w.r->tasking->wholes.n == i + 2);
    }
    fd[15] = w.fd;
    dial();
    cr_expect_eq(call("GET", path, ""), 503);
    say_call();
    UNTIL(w.r->tasking->wholes.n == 17); /* that of another one */
    for (unsigned i = 0; i < 16; i++)
        close(fd[i]);
}

Test(tasks_http, too_many_long_answers_are_put_off)
{
    static struct { /* others' */
        struct list_node in;
        char rest[1000];
    } fake[256];
    struct list *wholes = &w.r->tasking->wholes;
    char path[200];

    a_long_one(100000);
    for (unsigned i = 0; i < ARRAY_LEN(fake); i++)
        list_push_back(wholes, &fake[i].in);
    say_call();
    UNTIL((more(), whole(got) > 0));
    cr_expect_not_null(strstr(got, "HTTP/1.1 202 "));
    cr_expect_not_null(strstr(got, "Retry-After: 1\r\n"));
    snprintf(path, sizeof(path), "%.*s/result", 10 + TASK_TOKEN_LEN, strstr(got, "Location: ") + 10);
    cr_expect_eq(call("GET", path, ""), 503);
    for (unsigned i = 0; i < ARRAY_LEN(fake); i++)
        list_remove(wholes, &fake[i].in);
    say("GET", path, "");
    UNTIL((more(), strstr(got, "Content-Length: 500000") != NULL));
    (void)body_that_came();
}

/* The client closes its connection while its request waits in line. */
static void call_and_leave(const char *more)
{
    char fields[200];

    snprintf(fields, sizeof(fields), "segq-token: " TOKEN "\r\n%s", more);
    node.waits_ms = 0;
    say_with("GET", "/v1/call/gen/a", fields, "");
    UNTIL(node.waits_ms > 0);
    close(w.fd);
    dial();
}

Test(tasks_http, a_call_whose_client_goes_is_cancelled_if_it_has_not_begun_and_nobody_comes_back)
{
    node.holds = true;
    call_and_leave("Prefer: wait=9\r\n");
    UNTIL(node.withdrawn == 1);
    cr_expect_eq(node.left, 1);
    call_and_leave("Prefer: wait=9\r\nIdempotency-Key: mine\r\n");
    call_and_leave("Prefer: wait=9, Respond-Async\r\n");
    call_and_leave("Prefer: wait=9\r\n");
    UNTIL(node.withdrawn == 2);
    cr_expect_eq(node.left, 4, "the others come back");
    cr_expect_eq(w.r->tasking->counts.left, 2);
}

Test(tasks_http, who_goes_while_there_is_too_much_to_do_is_cancelled_later)
{
    const struct linger at_once = { .l_onoff = 1 };

    node.holds = true;
    say_with("GET", "/v1/call/gen/a", own, "");
    UNTIL(node.waits_ms > 0);
    w.r->tasking->calls.n += TASK_CALLS;
    cr_assert_eq(setsockopt(w.fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
    close(w.fd);
    UNTIL(httpd_counts(w.r->httpd)->conns_now == 0);
    w.r->tasking->calls.n -= TASK_CALLS;
    UNTIL(node.withdrawn == 1);
    cr_expect_eq(w.r->tasking->counts.left, 1);
    dial();
}

Test(tasks_http, a_call_that_was_answered_goes_on_without_its_client)
{
    cr_expect_eq(call_with("GET", "/v1/call/gen/a", "segq-token: " TOKEN "\r\n", ""), 202);
    close(w.fd);
    dial();
    node.holds = true;
    call_and_leave("Prefer: wait=9\r\n");
    UNTIL(node.withdrawn == 1);
    cr_expect_eq(node.left, 2);
}

/* A target says how an attempt ended. */
static int completes(const char *verb, const char *json)
{
    struct attempt_right r = { .part = 1, .no = 17, .lease = 5, .attempt = 2 };
    char path[128] = "/v1/tasks/";

    right_write(&r, path + strlen(path));
    return call("POST", strcat(path, verb), json);
}

Test(tasks_http, a_target_says_later_how_a_call_ended)
{
    cr_expect_eq(completes("/complete", "{\"outcome\":\"succeeded\",\"result\":{\"a\": 1}}"), 200, "%s", got);
    cr_expect_str_eq(node.said, "0 4294967295 200 application/json {\"a\": 1} ");
    cr_expect_str_eq(str("id"), "1-17");
    cr_expect_str_eq(str("state"), "running");
    cr_expect_null(strstr(got, "\"task\""), "its token is not the target's");
    cr_expect_eq(completes("/complete", "{\"outcome\":\"failed\",\"delay\":\"2s\",\"reason\":\"no paper\"}"), 200);
    cr_expect_str_eq(node.said, "1 2000 500   no paper");
    cr_expect_eq(completes("/complete", "{\"outcome\":\"dead\",\"status\":404,\"body_base64\":\"YWI=\"}"), 200);
    cr_expect_str_eq(node.said, "2 4294967295 404 application/octet-stream ab ");
    cr_expect_eq(completes("/extend", "{\"lease\":\"5s\"}"), 200);
    cr_expect_str_eq(node.said, "3 5000 0   ");
    node.completes = CODE_SAME;
    cr_expect_eq(completes("/complete", "{\"outcome\":\"dead\"}"), 200);
    node.completes = CODE_CONFLICT;
    cr_expect_eq(completes("/complete", "{\"outcome\":\"dead\"}"), 409);
    node.completes = CODE_INVALID;
    cr_expect_eq(completes("/complete", "{\"outcome\":\"dead\"}"), 404);
    cr_expect_str_eq(str("code"), "task_unknown");
    node.completes = CODE_UNKNOWN;
    cr_expect_eq(completes("/complete", "{\"outcome\":\"dead\"}"), 410);
}

Test(tasks_http, what_a_target_cannot_say_is_refused)
{
    static const char *const bad[] = {
        "{}", "{\"outcome\":\"done\"}", "{\"outcome\":\"dead\",\"delay\":1}",
        "{\"outcome\":\"succeeded\",\"reason\":\"x\"}", "{\"outcome\":\"failed\",\"delay\":\"60d\"}",
        "{\"outcome\":\"dead\",\"body\":\"a\",\"result\":1}", "{\"outcome\":\"dead\",\"body_base64\":\"a\"}",
        "{\"outcome\":\"dead\",\"status\":600}", "{\"outcome\":\"dead\",\"lease_id\":\"x\"}",
    };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        cr_expect_eq(completes("/complete", bad[i]), 400, "%s: %s", bad[i], got);
    cr_expect_eq(completes("/extend", "{}"), 400);
    cr_expect_eq(completes("/nothing", "{}"), 404);
    cr_expect_eq(call("POST", "/v1/tasks/M/complete", "{\"outcome\":\"dead\"}"), 404);
    cr_expect_eq(call("GET", "/v1/tasks/M/complete", ""), 405);
    cr_expect_null(node.said);
}

Test(tasks_http, a_forged_right_never_costs_a_link)
{
    struct attempt_right r = { .part = 1, .no = 17, .lease = 5, .attempt = 255 };
    char path[128] = "/v1/tasks/";

    right_write(&r, path + strlen(path));
    cr_expect_eq(call("POST", strcat(path, "/complete"), "{\"outcome\":\"dead\"}"), 404, "%s", got);
    cr_expect_null(node.said);
}

Test(tasks_http, what_a_target_says_is_no_longer_than_a_message_takes)
{
    static const char begin[] = "{\"outcome\":\"dead\",\"body_base64\":\"", end[] = "\"}";
    const size_t n = (TASK_BODY_MAX / 3 + 1) * 4;
    struct attempt_right r = { .part = 1, .no = 17, .lease = 5, .attempt = 2 };
    char path[128] = "/v1/tasks/", fields[200];

    right_write(&r, path + strlen(path));
    snprintf(fields, sizeof(fields), HERS "Content-Length: %zu\r\nExpect: 100-continue\r\n",
             n + strlen(begin) + strlen(end));
    cr_assert_eq(send_head(strcat(path, "/complete"), fields), 100);
    n_got = 0;
    cr_assert_gt(send(w.fd, begin, strlen(begin), MSG_NOSIGNAL), 0);
    send_many('A', n);
    cr_assert_gt(send(w.fd, end, strlen(end), MSG_NOSIGNAL), 0);
    UNTIL((more(), whole(got) > 0));
    cr_expect_eq(atoi(got + 9), 400, "%s", got);
    cr_expect_null(node.said);
}

Test(tasks_http, only_servers_pass_requests_on_and_only_to_endpoints)
{
    cr_expect_eq(call("GET", "/v1/call/gen/a", ""), 401);
    cr_expect_eq(call("GET", "/v1/call/none/a", ""), 401, "strangers are told nothing");
    cr_expect_eq(ask("GET", "/v1/call/none/a", ""), 404);
    cr_expect_str_eq(str("code"), "endpoint_unknown");
    cr_expect_eq(ask("GET", "/v1/call/images/a", ""), 404, "it has no endpoint");
    cr_expect_eq(ask("GET", "/v1/call/gen", ""), 404);
    cr_expect_eq(call_with("GET", "/v1/call/gen/a", "segq-queue: images\r\nsegq-token: " TOKEN "\r\n", ""), 404);
    cr_expect_eq(ask("GET", "/v1/call/gen/a/../b", ""), 400);
    cr_expect_eq(node.n, 0);
}

/* ---- in other words ---------------------------------------------------------------------- */

static int classic(const char *call_name, const char *body)
{
    char path[100];

    snprintf(path, sizeof(path), "/compat/v1/%s", call_name);
    return ask("POST", path, body);
}

/* Of the task of the last answer. */
static int query(void)
{
    char path[200];

    snprintf(path, sizeof(path), "/compat/v1/queryTask?task_id=%s", str("task_id"));
    return call("GET", path, "");
}

Test(tasks_http, the_compat_door_is_closed_unless_it_is_opened)
{
    cr_expect_eq(classic("submitTask", "{\"target_url\":\"http://gen.example/x\"}"), 404);
    cr_expect_str_eq(str("detail"), "there is nothing here");
}

Test(tasks_http, an_offline_task_of_the_classic_kind_is_a_call)
{
    char body[200];

    w.cfg.compat = COMPAT_CLASSIC;
    cr_assert_eq(classic("submitTask", "{\"target_url\":\"http://gen.example/v1/x\",\"body\":{\"a\":1},"
                                       "\"priority\":2}"), 200, "%s", got);
    cr_expect_str_eq(str("task_status"), "pending");
    cr_expect_str_eq(str("task_type"), "offline");
    cr_expect_eq(num("wait_num"), 0);
    cr_expect_str_eq(node.v[1].queue, "gen");
    cr_expect_eq(node.v[1].priority, 2);
    cr_expect_eq(query(), 200);
    cr_expect_str_eq(str("task_status"), "pending");
    snprintf(body, sizeof(body), "{\"task_id\":\"%s\"}", str("task_id"));
    cr_expect_eq(classic("cancelTask", body), 200);
    cr_expect_str_eq(str("task_status"), "failed");
    cr_expect_eq(query(), 200);
    cr_expect(strstr(got, "\"task_error\":{\"code\":\"cancelled\"") != NULL);
    node.n = 0; /* it has gone */
    cr_expect_eq(query(), 410);
    cr_expect_str_eq(str("code"), "task_gone");
    cr_expect(strstr(str("message"), "not kept any more") != NULL);
    cr_expect_eq(classic("cancelTask", body), 200);
}

Test(tasks_http, an_online_task_of_the_classic_kind_is_a_permit)
{
    w.cfg.compat = COMPAT_CLASSIC;
    cr_assert_eq(call("POST", "/compat/v1/submitTask", "{\"target_url\":\"http://login.example/img/7?a\","
                      "\"task_type\":\"online\"}"), 200, "%s", got);
    cr_expect_str_eq(str("task_type"), "online");
    cr_expect_str_eq(str("task_status"), "pending");
    cr_expect_eq(num("wait_num"), 0);
    cr_expect_leq(router_wall_s() - num("created_at"), 5);
    cr_expect_eq(strlen(str("task_id")), TOKEN_TEXT_LEN);
    cr_expect_str_eq(w.last_subject, "\x02\x0c" "1POST /img/7", "%s", w.last_subject);
    cr_expect_eq(query(), 200);
    cr_expect_str_eq(str("task_type"), "online");
    cr_expect_eq(call("POST", "/compat/v1/submitTask", "{\"target_url\":\"http://gen.example/x\","
                      "\"task_type\":\"online\"}"), 404);
    cr_expect_str_eq(str("message"),
                     "online tasks of this target need the line of people gen: `segqctl queue add`");
    cr_expect_eq(node.n, 0, "no task node has a part in it");
}

Test(tasks_http, the_compat_door_has_the_rules_of_our_own)
{
    w.cfg.compat = COMPAT_CLASSIC;
    cr_expect_eq(call("POST", "/compat/v1/submitTask", "{\"target_url\":\"http://gen.example/x\"}"), 401);
    cr_expect_str_eq(str("code"), "unauthorized");
    cr_expect_str_eq(str("message"), "offline tasks need the token of a server that may submit");
    cr_expect_eq(call_with("POST", "/compat/v1/submitTask", "Authorization: Bearer server-token-of-nobody\r\n",
                           "{\"target_url\":\"http://gen.example/x\"}"), 401);
    cr_expect_str_eq(str("message"), "this needs the token of a server that may do it");
    cr_expect(strstr(got, "Content-Type: application/json\r\n") != NULL);
    cr_expect_eq(classic("submitTask", "{\"target_url\":\"http://other/x\"}"), 404);
    cr_expect_str_eq(str("code"), "endpoint_unknown");
    cr_expect_eq(classic("submitTask", "{\"target_url\":\"http://gen.example/../x\"}"), 400);
    cr_expect_str_eq(str("message"), "path has a part that is . or ..");
    cr_expect_eq(classic("submitTask", "{\"target_url\":\"http://gen.example/x\",\"priority\":9}"), 400);
    cr_expect(strstr(str("message"), "priority must be") != NULL);
    cr_expect_eq(ask("GET", "/compat/v1/submitTask", ""), 405);
    cr_expect(strstr(got, "\r\nAllow: POST\r\n") != NULL);
    cr_expect_eq(classic("dance", "{}"), 404);
    cr_expect_eq(call("GET", "/compat/v1/queryTask?task_id=AAAA", ""), 404);
    cr_expect_str_eq(str("code"), "task_unknown");
    cr_expect_eq(ask("GET", "/v1/tasks/AAAA", ""), 404);
    cr_expect_neq(str("detail"), NULL, "ours stay as they are");
}

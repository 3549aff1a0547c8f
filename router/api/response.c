/* response.c: see response.h. Composed without printf. */
#include "router/api/response.h"

#include <assert.h>
#include <sodium.h>
#include <stddef.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/text.h"
#include "common/http/http.h"
#include "common/ticket/pace.h"
#include "common/ticket/pass.h"
#include "router/api/json_out.h"

/* After admission no poll is needed; clients that poll all the same do it seldom. */
#define POLL_ADMITTED_MS 30000

/* Most bytes of a ticket but its pass and the operator's message: 183 of token and names, 138 of
 * figures, 196 of ours, and what text_u64 may touch. */
#define TICKET_MAX 600

/* A program that has no pass: it takes a visit of the room until it has one. */
#define NO_PASS_RETRY_S 5

/* Time for which a client that may not listen polls. */
#define NO_LISTENER_RETRY_S 30

static const struct api_told nothing = { .position = -1, .eta_s = -1, .entered_s = -1,
                                         .started_s = -1, .ended_s = -1 };

void api_ans_init(struct api_ans *a)
{
    a->status = 0;
    a->type = NULL;
    a->told = nothing;
    buf_init(&a->headers);
    buf_init(&a->body);
}

void api_ans_fini(struct api_ans *a)
{
    buf_fini(&a->headers);
    buf_fini(&a->body);
}

void api_ans_reset(struct api_ans *a)
{
    a->status = 0;
    a->type = NULL;
    memcpy(&a->told, &nothing, offsetof(struct api_told, task) + 1); /* each request pays for it */
    buf_reset(&a->headers);
    buf_reset(&a->body);
}

void api_ok(struct api_ans *a, int status)
{
    assert(a->body.len == 0 && status < 400); /* a single answer at a time */
    a->status = status;
    a->type = API_JSON;
}

const char *api_headers(struct api_ans *a)
{
    if (a->headers.len == 0 && !a->headers.failed)
        return a->body.failed ? NULL : "";
    buf_byte(&a->headers, 0);
    return a->headers.failed || a->body.failed ? NULL : (const char *)a->headers.data;
}

/* ---- problems ---- */

static const struct {
    int status;
    const char *code;
} problems[] = {
#define X(name, status, text) [API_##name] = { status, text },
    API_PROBLEMS(X)
#undef X
};

/* A request's id, as the log has it. */
static const char *hex16(char t[17], uint64_t v)
{
    *hex_put(t, v) = '\0';
    return t;
}

/* Spread, so that clients that were sent away together do not come back together. */
static void put_retry_after(struct api_ans *a, uint64_t base, uint64_t spread, uint64_t salt)
{
    out_u64(&a->headers, "Retry-After: ", base + (salt ^ salt >> 17) % spread);
    ADD(&a->headers, "\r\n");
}

int api_problem_status(enum api_problem p)
{
    return problems[p].status;
}

const char *api_problem_code(enum api_problem p)
{
    return problems[p].code;
}

/* A node that is awaited is back, or has an heir, within a second. What is longer is known to be: a
 * line that is full, and a router that is overloaded, to which its clients come back spread. */
static void retry_after(struct api_ans *a, enum api_problem p, uint64_t salt)
{
    if (a->status != 503 && a->status != 429)
        return;
    if (p == API_QUEUE_FULL)
        put_retry_after(a, 10, 11, salt);
    else
        put_retry_after(a, 1, p == API_QUEUE_UNAVAILABLE || p == API_OUTCOME_UNKNOWN ? 1 : 3, salt);
}

static const char *error_type(int status)
{
    return status == 401   ? "authentication_error"
           : status == 403 ? "permission_error"
           : status == 429 ? "rate_limit_error"
           : status >= 500 ? "server_error"
                           : "invalid_request_error";
}

static void put_error(struct api_ans *a, int status, const char *code, const char *detail)
{
    ADD(&a->body, ",\"error\":{\"message\":");
    json_ascii(&a->body, detail, strlen(detail));
    ADD(&a->body, ",\"type\":\"");
    buf_str(&a->body, error_type(status));
    ADD(&a->body, "\",\"param\":null,\"code\":\"");
    buf_str(&a->body, code);
    ADD(&a->body, "\"}");
    a->wraps = false;
}

/* Without its last brace: members may follow. */
static void begin(struct api_ans *a, int status, const char *code, const char *detail,
                  uint64_t salt)
{
    char id[17];

    assert(a->body.len == 0 && status >= 400); /* a single answer at a time */
    a->status = status;
    a->type = PROBLEM_TYPE;
    a->told.code = code;
    a->told.detail = detail;
    problem_open(&a->body, status, code, detail, hex16(id, salt));
    if (a->wraps)
        put_error(a, status, code, detail);
    if (status == 401)
        buf_str(&a->headers, code == problems[API_PROOF_REQUIRED].code
                                 ? "WWW-Authenticate: DPoP algs=\"ES256\", error=\"use_dpop_nonce\"\r\n"
                                 : "WWW-Authenticate: Bearer realm=\"segq\"\r\n");
}

static void problem(struct api_ans *a, int status, const char *code, const char *detail,
                    uint64_t salt)
{
    begin(a, status, code, detail, salt);
    ADD(&a->body, "}");
}

void api_problem(struct api_ans *a, enum api_problem p, const char *detail, uint64_t salt)
{
    problem(a, problems[p].status, problems[p].code, detail, salt);
    retry_after(a, p, salt);
}

void api_problem_later(struct api_ans *a, enum api_problem p, const char *detail, uint64_t wait_ms,
                       uint64_t salt)
{
    problem(a, problems[p].status, problems[p].code, detail, salt);
    out_u64(&a->headers, "Retry-After: ", u64_max((wait_ms + 999) / 1000, 1));
    ADD(&a->headers, "\r\n");
}

void api_too_fast(struct api_ans *a, uint32_t wait_ms, const char *detail, uint64_t salt)
{
    uint64_t wait_s = wait_ms > 1000 ? (wait_ms + 999) / 1000 : 1;

    assert(wait_ms > 0);
    begin(a, problems[API_TOO_FAST].status, problems[API_TOO_FAST].code, detail, salt);
    out_u64(&a->body, ",\"poll_after_ms\":", wait_ms > 1000 ? wait_ms : 1000);
    ADD(&a->body, "}");
    out_u64(&a->headers, "Retry-After: ", wait_s);
    ADD(&a->headers, "\r\n");
}

void api_bad_http(struct api_ans *a, int status, uint64_t salt)
{
    problem(a, status, problem_code_of_http(status),
            "this is not a request that this server accepts", salt);
}

/* Wall clock as Unix seconds, or nothing. */
static void put_moment(struct buf *b, const char *name, int64_t ms)
{
    if (ms == 0)
        return;
    out_word(b, ",", name);
    out_seconds(b, ":", ms);
}

void api_closed(struct api_ans *a, const struct route_queue *q, const char *detail,
                uint64_t salt)
{
    begin(a, problems[API_QUEUE_CLOSED].status, problems[API_QUEUE_CLOSED].code, detail, salt);
    if (q->map.when.phase == PHASE_EARLY)
        put_moment(&a->body, "opens_at", q->map.when.opens_ms);
    buf_str(&a->body, q->said);
    ADD(&a->body, "}");
}

void api_challenge(struct api_ans *a, const char *challenge, size_t n, uint64_t salt)
{
    begin(a, problems[API_CHALLENGE_REQUIRED].status, problems[API_CHALLENGE_REQUIRED].code,
          n > 0 ? "many join at this time: solve the challenge, and join again with its answer"
                : "join again with a token of the site's check (segq-verify)", salt);
    if (n > 0) {
        ADD(&a->body, ",\"challenge\":");
        buf_append(&a->body, challenge, n);
        ADD(&a->body, "}");
    } else {
        ADD(&a->body, ",\"verify\":true}");
    }
}

void api_other_device(struct api_ans *a, seg_id seg, uint32_t number, uint64_t salt)
{
    begin(a, problems[API_OTHER_DEVICE].status, problems[API_OTHER_DEVICE].code,
          "this ticket works only with the device that joined; its place is kept", salt);
    buf_printf(&a->body, ",\"ticket\":\"%llu-%u\"}", (unsigned long long)seg, number);
}

void api_no_listener(struct api_ans *a, uint64_t salt)
{
    a->status = 204;
    put_retry_after(a, NO_LISTENER_RETRY_S, NO_LISTENER_RETRY_S, salt);
}

void api_no_pass(struct api_ans *a, enum api_problem p, const char *detail,
                 struct slice room, uint64_t salt)
{
    assert(problems[p].status == 401 || problems[p].status == 403);
    begin(a, problems[p].status, problems[p].code, detail, salt);
    if (room.n > 0) {
        ADD(&a->body, ",\"location\":");
        json_ascii(&a->body, room.p, room.n);
    }
    ADD(&a->body, "}");
    put_retry_after(a, NO_PASS_RETRY_S, NO_PASS_RETRY_S, salt);
}

void api_bad_method(struct api_ans *a, const char *allow, uint64_t salt)
{
    api_problem(a, API_METHOD_NOT_ALLOWED, "see Allow", salt);
    ADD(&a->headers, "Allow: ");
    buf_str(&a->headers, allow);
    ADD(&a->headers, "\r\n");
}

static const char *const reasons[GONE_NREASONS] = {
    [GONE_EXPIRED] = "expired",   [GONE_LEFT] = "left",
    [GONE_NO_SHOW] = "no_show",   [GONE_FINISHED] = "finished",
    [GONE_LOST] = "segment_lost",
};

const char *api_gone_word(unsigned why)
{
    return reasons[why < GONE_NREASONS ? why : GONE_FINISHED];
}

/* How a flow can fail that has only one thing to say. */
static const struct {
    enum api_problem problem;
    const char *detail; /* NULL: it is none of these */
} failures[] = {
    [FLOW_NO_QUEUE] = { API_QUEUE_NOT_FOUND, "there is no such queue" },
    [FLOW_CLOSED] = { API_QUEUE_CLOSED, "the queue is closed, nobody may join" },
    [FLOW_FULL] = { API_QUEUE_FULL, "the line is full: there is no room for more people now" },
    [FLOW_OTHER] = { API_TICKET_UNKNOWN, "the ticket to be replaced is another queue's" },
    [FLOW_INSIDE] = { API_CONFLICT, "the ticket to be replaced was let in already" },
    [FLOW_NAMED] = { API_NOT_ELIGIBLE,
                     "the ticket to be replaced has a subject: the claim must name it (sub)" },
};

enum api_problem api_flow_problem(const struct flow *f)
{
    bool one = f->result < ARRAY_LEN(failures) && failures[f->result].detail != NULL;

    return one ? failures[f->result].problem : API_QUEUE_UNAVAILABLE;
}

void api_failed(struct api_ans *a, const struct flow *f, uint32_t wait_s, uint64_t salt)
{
    if (f->result == FLOW_GONE) {
        begin(a, 410, problems[API_TICKET_GONE].code, "this ticket is over", salt);
        ADD(&a->body, ",\"reason\":\"");
        buf_str(&a->body, api_gone_word(f->reason));
        ADD(&a->body, "\"}");
    } else if (f->result < ARRAY_LEN(failures) && failures[f->result].detail != NULL) {
        api_problem(a, failures[f->result].problem, failures[f->result].detail, salt);
    } else {
        api_problem_later(a, API_QUEUE_UNAVAILABLE,
                          f->kind == FLOW_POLL ? "the line cannot be reached now; the place is kept"
                                               : "the line cannot be reached now; ask again",
                          wait_s * 1000ull, salt);
    }
}

/* ---- tickets ---- */

int64_t api_eta_s(uint64_t position, const struct lane_stats *s)
{
    return eta_whole_s(eta_per_s(s->rate_milli_per_s), eta_leave(s->leave_ppm), position);
}

static char *or_null(char *w, int64_t v)
{
    return v < 0 ? PUT(w, "null") : text_u64(w, (uint64_t)v);
}

/* Where the place is not told, neither is how many there are. */
static char *place(char *w, const struct api_ticket *t)
{
    bool capped = api_is_capped(t);
    uint64_t position = api_position(t);

    w = PUT(w, ",\"position\":");
    w = or_null(w, position != 0 ? (int64_t)position : -1);
    if (capped)
        w = PUT(w, ",\"position_capped\":true");
    w = PUT(w, ",\"total\":");
    return text_u64(w, capped ? position : u64_max(position, api_lane_stats(t)->waiting));
}

static char *early(char *w, int64_t opens_ms)
{
    w = PUT(w, ",\"prequeue\":true");
    return opens_ms == 0 ? w : text_i64(PUT(w, ",\"opens_at\":"), opens_ms / 1000);
}

static char *waiting(char *w, const struct api_ticket *t)
{
    const struct lane_stats *s = api_lane_stats(t);
    const char *reason = eta_reason_name(s->eta_reason);

    w = PUT(w, "\",\"state\":\"waiting\"");
    w = place(w, t);
    w = PUT(w, ",\"eta_s\":");
    w = or_null(w, t->position != 0 ? api_eta_s(t->position, s) : -1);
    if (reason != NULL) {
        w = text_str(PUT(w, ",\"eta_reason\":\""), reason);
        *w++ = '"';
    }
    w = PUT(w, ",\"poll_after_ms\":");
    w = text_u64(w, t->poll_after_ms);
    return t->early ? early(w, t->queue->map.when.opens_ms) : w;
}

uint32_t api_words(const struct api_ticket *t)
{
    const struct lane_stats *s = api_lane_stats(t);
    bool eta = t->position != 0 && api_eta_s(t->position, s) >= 0;
    uint32_t words = t->queue->page_version * 64 + s->eta_reason;

    return words * 8 + 4 * eta + 2 * t->early + api_is_capped(t);
}

static char *admitted(char *w, const struct api_ticket *t)
{
    w = PUT(w, "\",\"state\":\"admitted\",\"position\":0,\"total\":");
    w = text_u64(w, api_lane_stats(t)->waiting);
    w = PUT(w, ",\"eta_s\":0,\"poll_after_ms\":");
    w = text_u64(w, POLL_ADMITTED_MS);
    w = PUT(w, ",\"pass\":\"");
    w = text_put(w, t->pass, t->pass_len);
    w = PUT(w, "\",\"pass_expires_at\":");
    w = text_i64(w, t->pass_expires_s);
    w = PUT(w, ",\"released_at\":");
    return text_millis(w, t->released_at_ms > 0 ? (uint64_t)t->released_at_ms : 0);
}

static char *name(char *w, const char *s)
{
    size_t n = strlen(s);

    assert(n <= NAME_MAX_LEN); /* no map with a longer one is taken */
    return text_put(w, s, n);
}

/* In one piece: this is the answer to a poll. */
static char *ticket(char *w, const struct api_ticket *t)
{
    w = SQ_UNLIKELY(t->permit) ? PUT(w, "{\"kind\":\"permit\",\"task\":\"") : PUT(w, "{\"token\":\"");
    w = text_put(w, t->token, TOKEN_TEXT_LEN);
    w = PUT(w, "\",\"queue\":\"");
    w = name(w, t->queue->map.name);
    w = PUT(w, "\",\"lane\":\"");
    w = name(w, t->queue->map.lanes[t->lane].name);
    w = t->admitted ? admitted(w, t) : waiting(w, t);
    w = PUT(w, ",\"segment\":");
    w = text_u64(w, t->segment);
    w = PUT(w, ",\"ticket\":\"");
    w = text_u64(w, t->of);
    *w++ = '-';
    w = text_u64(w, t->number);
    *w++ = '"';
    return w;
}

void api_location(char line[API_LOCATION_LEN], const char *token)
{
    char *w = PUT(line, "Location: /v1/tickets/");

    w = PUT(text_put(w, token, TOKEN_TEXT_LEN), "\r\n");
    assert(w == line + API_LOCATION_LEN);
}

void api_tell_name(struct api_told *x, const char *token, size_t n)
{
    assert(n < sizeof(x->task));
    *text_put(x->task, token, n) = '\0'; /* behind it may lie a longer one */
}

static void note_ticket(struct api_told *x, const struct api_ticket *t)
{
    x->permit = t->permit;
    api_tell_name(x, t->token, TOKEN_TEXT_LEN);
    x->state = t->admitted ? "admitted" : "waiting";
    if (t->admitted) {
        x->pass = t->pass;
        x->pass_len = t->pass_len;
        x->pass_expires_s = t->pass_expires_s;
        x->started_s = t->released_at_ms > 0 ? t->released_at_ms / 1000 : 0;
    } else if (t->position != 0) {
        x->position = (int64_t)api_position(t);
        x->eta_s = api_eta_s(t->position, api_lane_stats(t));
    }
}

void api_ticket(struct api_ans *a, int status, const struct api_ticket *t, bool location)
{
    struct buf *b = &a->body;
    size_t room = TICKET_MAX + (t->admitted ? t->pass_len : 0);
    char *w = (char *)buf_room(b, room), line[API_LOCATION_LEN];

    assert(!t->admitted || t->pass != NULL);
    a->status = status;
    a->type = API_JSON;
    if (w != NULL) {
        size_t n = (size_t)(ticket(w, t) - w);

        assert(n <= room);
        b->len += n;
    }
    if (t->queue->said[0] != '\0') /* seldom: a poll need not measure it */
        buf_str(b, t->queue->said);
    ADD(b, "}");
    if (SQ_UNLIKELY(t->permit))
        note_ticket(&a->told, t);
    if (location && t->permit) {
        buf_str(&a->headers, "Location: /v1/tasks/");
        buf_append(&a->headers, t->token, TOKEN_TEXT_LEN);
        buf_str(&a->headers, "\r\n");
    } else if (location) {
        api_location(line, t->token);
        buf_append(&a->headers, line, sizeof(line));
    }
}

void api_permit_over(struct api_ans *a, const char *token, enum gone_reason why)
{
    api_ok(a, 200);
    ADD(&a->body, "{\"kind\":\"permit\",\"task\":\"");
    buf_append(&a->body, token, TOKEN_TEXT_LEN);
    a->told.permit = true;
    api_tell_name(&a->told, token, TOKEN_TEXT_LEN);
    a->told.state = "finished";
    a->told.reason = api_gone_word(why);
    ADD(&a->body, "\",\"state\":\"finished\",\"reason\":\"");
    buf_str(&a->body, api_gone_word(why));
    ADD(&a->body, "\"}");
}

/* ---- the rest ---- */

/* For a join at this moment. Where nobody has waited yet no speed is known: that some are
 * let in is enough. */
static int64_t join_eta_s(const struct queue_stats *q, const struct lane_stats *s)
{
    if (s->waiting == 0 && (q->rate_milli_per_s > 0 || q->entry > 0))
        return 0;
    return api_eta_s(s->waiting, s);
}

static void one_lane(struct buf *b, const char *name, const struct queue_stats *q,
                     const struct lane_stats *s)
{
    out_word(b, "{\"name\":", name);
    out_u64(b, ",\"waiting\":", s->waiting);
    out_or_null(b, ",\"eta_s\":", join_eta_s(q, s));
    ADD(b, "}");
}

static void schedule(struct buf *b, const struct map_phase *w)
{
    put_moment(b, "opens_at", w->opens_ms);
    put_moment(b, "closes_at", w->closes_ms);
    if (w->draw != NULL && w->draw[0] != '\0') {
        ADD(b, ",\"draw\":");
        buf_str(b, w->draw);
    }
}

void api_queue(struct api_ans *a, const struct route_queue *q)
{
    const struct queue_stats *s = &q->stats;
    struct buf *b = &a->body;
    uint64_t n = 0;

    api_ok(a, 200);
    for (uint32_t i = 0; i < q->map.n_lanes; i++)
        n += s->lane[i].waiting;
    out_word(b, "{\"queue\":", q->map.name);
    out_word(b, ",\"state\":", queue_state_name((enum queue_phase)q->map.when.phase,
                                                (enum queue_state)q->map.state));
    schedule(b, &q->map.when);
    out_u64(b, ",\"waiting\":", n);
    out_u64(b, ",\"ready\":", s->ready);
    out_u64(b, ",\"active\":", s->active);
    out_millis(b, ",\"release_per_s\":", s->rate_milli_per_s);
    out_word(b, ",\"limited_by\":", s->limited_by != NULL ? s->limited_by : "");
    out_or_null(b, ",\"eta_s\":", join_eta_s(s, &s->lane[0]));
    ADD(b, ",\"lanes\":[");
    for (uint32_t i = 0; i < q->map.n_lanes; i++) {
        if (i > 0)
            ADD(b, ",");
        one_lane(b, q->map.lanes[i].name, s, &s->lane[i]);
    }
    out_u64(b, "],\"page\":", q->page_version);
    buf_str(b, q->said);
    ADD(b, "}");
    ADD(&a->headers, "Cache-Control: public, max-age=1\r\n");
}

void api_jwk(struct buf *b, const uint8_t key[32])
{
    char kid[12], x[48];

    pass_kid(key, kid);
    ADD(b, "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"use\":\"sig\",\"alg\":\"EdDSA\","
           "\"kid\":\"");
    buf_str(b, kid);
    ADD(b, "\",\"x\":\"");
    sodium_bin2base64(x, sizeof(x), key, 32, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    buf_str(b, x);
    ADD(b, "\"}");
}

void api_jwks(struct api_ans *a, const uint8_t (*keys)[32], size_t n)
{
    struct buf *b = &a->body;

    api_ok(a, 200);
    ADD(b, "{\"keys\":[");
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            ADD(b, ",");
        api_jwk(b, keys[i]);
    }
    ADD(b, "]}");
    ADD(&a->headers, "Cache-Control: public, max-age=60\r\n");
}

void api_health(struct api_ans *a)
{
    api_ok(a, 200);
    ADD(&a->body, "{\"status\":\"ok\"}");
}

void api_ready(struct api_ans *a, bool ready, uint64_t map_version, size_t up, size_t of)
{
    struct buf *b = &a->body;

    assert(up <= of);
    a->status = ready ? 200 : 503;
    a->type = API_JSON;
    if (!ready)
        ADD(&a->headers, "Retry-After: 1\r\n");
    buf_str(b, ready ? "{\"ready\":true" : "{\"ready\":false");
    out_u64(b, ",\"map_version\":", map_version);
    out_u64(b, ",\"segment_nodes_up\":", up);
    out_u64(b, ",\"segment_nodes\":", of);
    ADD(b, "}");
}

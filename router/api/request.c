/* request.c: see request.h. */
#include "router/api/request.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/ticket/token.h"
#include "router/gate/challenge.h"

#define M(m) (1u << (m))
#define READ (M(HTTP_GET) | M(HTTP_HEAD))

bool api_is_name(const char *p, size_t n)
{
    if (n == 0 || n > NAME_MAX_LEN)
        return false;
    for (size_t i = 0; i < n; i++) {
        char c = p[i];
        bool alnum = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');

        if (!alnum && (i == 0 || (c != '_' && c != '-')))
            return false;
    }
    return true;
}

struct slice api_bearer(const struct http_req *q)
{
    struct slice s = q->authorization;

    if (s.p == NULL || s.n <= 7 || !http_ieq(s.p, "bearer", 6) || s.p[6] != ' ')
        return (struct slice){ 0 };
    return (struct slice){ s.p + 7, s.n - 7 };
}

static bool is(struct slice p, const char *t, size_t n)
{
    return p.n == n && memcmp(p.p, t, n) == 0;
}

static bool begins(struct slice *p, const char *t, size_t n)
{
    if (p->n < n || memcmp(p->p, t, n) != 0)
        return false;
    p->p += n;
    p->n -= n;
    return true;
}

#define IS(p, lit)     is(p, lit, sizeof(lit) - 1)
#define BEGINS(p, lit) begins(p, lit, sizeof(lit) - 1)

static bool one_part(struct slice p)
{
    return p.n > 0 && memchr(p.p, '/', p.n) == NULL;
}

/* Methods that read: GET and HEAD. */
static void only_read(const struct http_req *q, struct api_req *out, enum api_call call)
{
    out->call = call;
    out->allow = "GET, HEAD";
    if ((M(q->method) & READ) == 0)
        out->call = API_BAD_METHOD;
}

static void only_post(const struct http_req *q, struct api_req *out, enum api_call call)
{
    out->call = q->method == HTTP_POST ? call : API_BAD_METHOD;
    out->allow = "POST";
}

static void ticket(const struct http_req *q, struct api_req *out, struct slice rest)
{
    out->arg = rest;
    out->open = true;
    out->allow = "GET, HEAD, DELETE";
    if (M(q->method) & READ)
        out->call = API_POLL;
    else
        out->call = q->method == HTTP_DELETE ? API_LEAVE : API_BAD_METHOD;
}

static bool cut_tail(struct slice *p, const char *t, size_t n)
{
    if (p->n <= n || memcmp(p->p + p->n - n, t, n) != 0)
        return false;
    p->n -= n;
    return true;
}

#define CUT_TAIL(p, lit) cut_tail(p, lit, sizeof(lit) - 1)

static void tickets(const struct http_req *q, struct api_req *out, struct slice rest)
{
    bool events = CUT_TAIL(&rest, "/events"), contact = !events && CUT_TAIL(&rest, "/contact");
    bool device = !events && !contact && CUT_TAIL(&rest, "/device");

    if (!one_part(rest))
        return;
    ticket(q, out, rest);
    if (contact) {
        out->allow = "PUT, DELETE";
        out->call = q->method == HTTP_PUT      ? API_CONTACT
                    : q->method == HTTP_DELETE ? API_UNCONTACT
                                               : API_BAD_METHOD;
    }
    if (device)
        only_post(q, out, API_DEVICE);
    if (!events)
        return;
    out->allow = "GET";
    out->call = q->method == HTTP_GET ? API_EVENTS : API_BAD_METHOD;
}

/* "", "/{group}" */
static void places(const struct http_req *q, struct api_req *out, struct slice rest)
{
    out->open = true;
    if (rest.n == 0) {
        only_post(q, out, API_PLACES);
    } else if (BEGINS(&rest, "/") && one_part(rest)) {
        ticket(q, out, rest);
        out->call = out->call == API_BAD_METHOD ? out->call : API_PLACE_GROUP;
    }
}

/* "images/tasks", "ride/7/tasks/...": where the queue's name ends; 0: nowhere. */
static size_t end_of_name(struct slice p)
{
    for (size_t i = 1; i + 6 <= p.n; i++)
        if (memcmp(p.p + i, "/tasks", 6) == 0)
            return i;
    return 0;
}

static void queues(const struct http_req *q, struct api_req *out, struct slice rest)
{
    out->open = true;
    if (CUT_TAIL(&rest, "/tickets")) {
        if (!one_part(rest))
            return;
        out->arg = rest;
        out->allow = "POST";
        out->call = q->method == HTTP_POST ? API_JOIN : API_BAD_METHOD;
    } else if (one_part(rest)) {
        out->arg = rest;
        only_read(q, out, API_QUEUE);
    } else if (end_of_name(rest) > 0) {
        out->arg = rest;
        out->call = API_TASKS;
        out->open = CUT_TAIL(&rest, "/tasks"); /* by a claim; the others need a server's token */
        out->allow = "POST";
    }
}

/* "login", "login/words", "login/leave" ... */
static void page(const struct http_req *q, struct api_req *out, struct slice rest)
{
    char *slash = memchr(rest.p, '/', rest.n);
    struct slice part = { NULL, 0 };

    out->arg = rest;
    if (slash == NULL) {
        if (rest.n > 0)
            only_read(q, out, API_PAGE);
        return;
    }
    out->arg.n = (size_t)(slash - rest.p);
    part = (struct slice) { slash + 1, rest.n - out->arg.n - 1 };
    if (out->arg.n == 0)
        return;
    if (IS(part, "words")) {
        only_read(q, out, API_WORDS);
    } else if (IS(part, "worker.js")) {
        only_read(q, out, API_WORKER);
    } else if (IS(part, "join") || IS(part, "enter") || IS(part, "leave") || IS(part, "tell")) {
        out->form = part.p[0];
        out->allow = "GET, HEAD, POST";
        out->call = q->method == HTTP_POST      ? API_FORM
                    : (M(q->method) & READ) != 0 ? API_UNFORM
                                                 : API_BAD_METHOD;
    }
}

/* ---- slashes in the names of task queues ---- */

#define SLASH '\1' /* an encoded one, until the parts of the path are known */

/* Does what http_unescape() does, but an encoded slash becomes SLASH: it divides no path, so a front that looks at
 * the path as it comes and we see the same parts. */
static int64_t unescape_names(char *p, size_t n)
{
    char *end = p + n;

    for (char *at = p; (at = memchr(at, '%', (size_t)(end - at))) != NULL; at++) {
        if (end - at < 3)
            break;
        if (at[1] == '0' && at[2] == SLASH + '0')
            return -1;
        if (at[1] == '2' && (at[2] == 'F' || at[2] == 'f')) {
            at[1] = '0';
            at[2] = SLASH + '0';
        }
    }
    return http_unescape(p, n);
}

/* Length of the queue's name in the path of a schedule, of a group: what the slash before its name ends.
 * Behind that name can be "/run", "/seal", "/cancel", as task_path_schedule(), task_path_group() read it. */
static size_t end_of_schedules(const struct http_req *q, struct slice rest, bool group)
{
    static const char *const verbs[] = { "/run", "/seal", "/cancel" };
    size_t n = rest.n;

    for (size_t i = group; q->method == HTTP_POST && i < (group ? ARRAY_LEN(verbs) : 1); i++)
        if (rest.n >= strlen(verbs[i]) &&
            memcmp(rest.p + rest.n - strlen(verbs[i]), verbs[i], strlen(verbs[i])) == 0)
            n = rest.n - strlen(verbs[i]);
    while (n > 0 && rest.p[n - 1] != '/')
        n--;
    return n > 0 ? n - 1 : 0;
}

/* The queue's name gets its slashes; anywhere else an encoded one is a bad escape. */
static void put_slashes(const struct http_req *q, struct api_req *out)
{
    size_t n = 0;

    if (memchr(out->arg.p, SLASH, out->arg.n) == NULL)
        return;
    if (out->call == API_TASKS)
        n = end_of_name(out->arg);
    else if (out->call == API_SCHEDULES)
        n = end_of_schedules(q, out->arg, out->group);
    for (size_t i = 0; i < n; i++)
        out->arg.p[i] = out->arg.p[i] == SLASH ? '/' : out->arg.p[i];
    if (memchr(out->arg.p, SLASH, out->arg.n) != NULL ||
        (out->call == API_TASKS && end_of_name(out->arg) != n))
        out->call = API_BAD_PATH;
}

bool api_query(struct slice query, const char *key, struct slice *out)
{
    size_t n = strlen(key);

    while (query.n > 0) {
        const char *end = memchr(query.p, '&', query.n);
        size_t len = end != NULL ? (size_t)(end - query.p) : query.n;

        if (len >= n && memcmp(query.p, key, n) == 0) {
            *out = (struct slice){ query.p + n, len - n };
            return true;
        }
        len += len < query.n;
        query.p += len;
        query.n -= len;
    }
    return false;
}

/* Paths of AWS' waiting room. */
static void aws(struct slice p, struct api_req *out)
{
    static const struct {
        const char *path, *allow;
        enum api_call call;
    } rows[] = {
        { "/serving_num", "GET, HEAD", API_AWS_SERVING },
        { "/waiting_num", "GET, HEAD", API_AWS_WAITING },
        { "/queue_num", "GET, HEAD", API_AWS_NUMBER },
        { "/assign_queue_num", "POST", API_AWS_ASSIGN },
        { "/generate_token", "POST", API_AWS_TOKEN },
        { "/queue_pos_expiry", "GET, HEAD", API_AWS_EXPIRY },
        { "/public_key", "GET, HEAD", API_AWS_KEY },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (slice_is(p, rows[i].path)) {
            *out = (struct api_req){ .call = rows[i].call, .allow = rows[i].allow, .open = true };
            return;
        }
}

/* Paths without a name in them. */
static void nameless(const struct http_req *q, struct api_req *out, struct slice p)
{
    if (IS(p, "/v1/verify"))
        only_read(q, out, API_VERIFY);
    else if (IS(p, "/v1/session"))
        only_post(q, out, API_SESSION);
    else if (IS(p, "/"))
        only_read(q, out, API_START);
    else if (IS(p, "/healthz"))
        only_read(q, out, API_HEALTH);
    else if (IS(p, "/readyz"))
        only_read(q, out, API_READY);
    else if (IS(p, "/.well-known/jwks.json"))
        only_read(q, out, API_JWKS);
    else
        aws(p, out);
}

#define TICKETS "/v1/tickets/"

/* The path of a token's length with no escape and no further part in it: nearly all of them. */
static bool is_plain_ticket(struct slice p)
{
    static const uint8_t at[4] = { 0, 16, 32, TOKEN_TEXT_LEN - 16 }; /* overlaps */
    const size_t begin = sizeof(TICKETS) - 1;
    chars16 bad = { 0 };

    if (p.n != begin + TOKEN_TEXT_LEN || memcmp(p.p, TICKETS, begin) != 0)
        return false;
    for (unsigned i = 0; i < ARRAY_LEN(at); i++) {
        chars16 c = chars16_at(p.p + begin + at[i]);

        bad |= (chars16)(c == '%') | (chars16)(c == '/');
    }
    return !chars16_any(bad);
}

bool api_is_compat(const struct http_req *q)
{
    struct slice p = q->path;

    return BEGINS(&p, "/compat/v1/");
}

void api_route(const struct http_req *q, struct api_req *out)
{
    struct slice p = q->path;
    bool named;
    int64_t n;

    memset(out, 0, sizeof(*out));
    if (SQ_LIKELY(is_plain_ticket(p))) {
        ticket(q, out, (struct slice) { p.p + p.n - TOKEN_TEXT_LEN, TOKEN_TEXT_LEN });
        return;
    }
    if (BEGINS(&p, "/v1/call/")) { /* the rest is the target's */
        *out = (struct api_req) { .call = API_CALL, .arg = p };
        return;
    }
    if (BEGINS(&p, "/v1/route/")) {
        *out = (struct api_req) { .call = API_CALL, .arg = p, .by_route = true };
        return;
    }
    out->call = API_NO_PATH;
    named = BEGINS(&p, "/v1/queues/") || BEGINS(&p, "/v1/schedules/") || BEGINS(&p, "/v1/groups/");
    p = q->path;
    n = named ? unescape_names(p.p, p.n) : http_unescape(p.p, p.n);
    if (n < 0) {
        out->call = API_BAD_PATH;
        return;
    }
    assert((size_t)n <= p.n); /* unescaped in place */
    p.n = (size_t)n;
    if (BEGINS(&p, TICKETS))
        tickets(q, out, p);
    else if (BEGINS(&p, "/v1/queues/"))
        queues(q, out, p);
    else if (BEGINS(&p, "/v1/tasks/"))
        *out = (struct api_req) { .call = API_TASK, .arg = p, .open = true,
                                   .allow = "GET, HEAD, DELETE" }; /* by its own token */
    else if (BEGINS(&p, "/compat/v1/"))
        *out = (struct api_req) { .call = API_COMPAT, .arg = p };
    else if (BEGINS(&p, "/v1/schedules/"))
        *out = (struct api_req) { .call = API_SCHEDULES, .arg = p };
    else if (BEGINS(&p, "/v1/groups/"))
        *out = (struct api_req) { .call = API_SCHEDULES, .arg = p, .group = true };
    else if (BEGINS(&p, "/v1/places"))
        places(q, out, p);
    else if (BEGINS(&p, "/q/"))
        page(q, out, p);
    else
        nameless(q, out, p);
    if (named && out->arg.p != NULL)
        put_slashes(q, out);
}

/* ---- the body of a join ------------------------------------------------------------------- */

struct said { /* slices point into the request's bytes */
    int64_t client;
    struct slice subject, lane, claim, altcha;
};

const char *const join_clients[CLIENT_NCLASSES] = { [CLIENT_GAME] = "game",
                                                    [CLIENT_MOBILE] = "mobile",
                                                    [CLIENT_BROWSER] = "browser" };

#define TEXT(name, most, how, must)                                                      \
    { #name, offsetof(struct said, name), 1, most, how, RANGE_BYTES, NULL, must }
static const struct json_member members[] = {
    { "client", offsetof(struct said, client), 0, CLIENT_NCLASSES, json_word, RANGE_UNSAID, join_clients,
      " must be browser, mobile or game" },
    TEXT(subject, SUBJECT_MAX_LEN, json_words, " must be a string without control characters,"),
    TEXT(lane, NAME_MAX_LEN, json_text, " must be a string"),
    TEXT(claim, CLAIM_MAX_LEN, json_text, " must be a string"),
    TEXT(altcha, CHALLENGE_ANSWER_MAX, json_text, " must be a string"),
    JSON_OTHERS,
};

bool body_join(struct join_body *b, struct slice text, struct body_error *e)
{
    struct said m = { 0 };
    uint64_t has;

    memset(b, 0, offsetof(struct join_body, claim));
    e->text[0] = '\0';
    if (text.n > 0 &&
        !json_members_whole(members, ARRAY_LEN(members), UINT64_MAX, text, &m, &has, e))
        return false;
    b->client = (uint8_t)m.client;
    b->subject_len = (uint8_t)m.subject.n;
    b->lane_len = (uint8_t)m.lane.n;
    b->claim_len = (uint16_t)m.claim.n;
    b->altcha_len = (uint16_t)m.altcha.n;
    b->altcha = m.altcha.p;
    if (m.subject.n > 0)
        memcpy(b->subject, m.subject.p, m.subject.n);
    if (m.lane.n > 0)
        memcpy(b->lane, m.lane.p, m.lane.n);
    if (m.claim.n > 0)
        memcpy(b->claim, m.claim.p, m.claim.n);
    return true;
}

/* ---- cors --------------------------------------------------------------------------------- */

/* Origins of a short list, and the lines for each, made once. */

#define SAYS                                                                             \
    "Access-Control-Expose-Headers: Location, Retry-After, ETag\r\n"                     \
    "Vary: Origin\r\n"
#define MAY                                                                              \
    "Access-Control-Allow-Headers: Content-Type, Idempotency-Key, Last-Event-ID, Prefer, " \
    "If-None-Match, segq-challenge, segq-verify\r\n"                                                                  \
    "Access-Control-Max-Age: 7200\r\n"

struct origin {
    struct buf name;            /* "" = any */
    struct buf lines, join, one; /* 0-terminated: all answers; preflights of the two paths */
};

struct cors {
    size_t n;
    struct origin v[];
};

/* scheme://host[:port], as browsers send it: small letters, no path, no default port. */
bool cors_is_origin(const char *s)
{
    const char *p = s;

    if (strcmp(p, "*") == 0)
        return true;
    if (strncmp(p, "https://", 8) == 0)
        p += 8;
    else if (strncmp(p, "http://", 7) == 0)
        p += 7;
    else
        return false;
    return *p != '\0' && p[strspn(p, "abcdefghijklmnopqrstuvwxyz0123456789.-:[]")] == '\0';
}

static void lines_make(struct buf *b, const char *name, const char *more)
{
    buf_init(b);
    buf_str(b, "Access-Control-Allow-Origin: ");
    buf_str(b, name);
    buf_str(b, "\r\n" SAYS);
    buf_str(b, more);
    buf_byte(b, 0);
}

static bool origin_make(struct origin *o, const char *name)
{
    buf_init(&o->name);
    if (strcmp(name, "*") != 0)
        buf_str(&o->name, name);
    lines_make(&o->lines, name, "");
    lines_make(&o->join, name, "Access-Control-Allow-Methods: POST\r\n" MAY);
    lines_make(&o->one, name, "Access-Control-Allow-Methods: GET, HEAD, PUT, DELETE\r\n" MAY);
    return !o->name.failed && !o->lines.failed && !o->join.failed && !o->one.failed;
}

int cors_new(struct cors **out, char *const *origins, size_t n, struct err *e)
{
    struct cors *c;

    *out = NULL;
    if (n == 0)
        return 0;
    c = calloc(1, sizeof(*c) + n * sizeof(c->v[0]));
    if (c == NULL)
        return err_set(e, SQ_ENOMEM, "out of memory");
    for (; c->n < n; c->n++)
        if (!origin_make(&c->v[c->n], origins[c->n])) {
            c->n++;
            cors_free(c);
            return err_set(e, SQ_ENOMEM, "out of memory");
        }
    *out = c;
    return 0;
}

void cors_free(struct cors *c)
{
    if (c == NULL)
        return;
    for (size_t i = 0; i < c->n; i++) {
        buf_fini(&c->v[i].name);
        buf_fini(&c->v[i].lines);
        buf_fini(&c->v[i].join);
        buf_fini(&c->v[i].one);
    }
    free(c);
}

bool cors_preflight(const struct http_req *q, const struct api_req *a)
{
    struct slice v;

    return q->method == HTTP_OPTIONS && a->open && a->allow != NULL &&
           http_find(q, "access-control-request-method", &v) == 1;
}

const char *cors_lines(const struct cors *c, const struct http_req *q,
                       const struct api_req *a)
{
    struct slice v;

    if (c == NULL || !a->open || http_find(q, "origin", &v) != 1)
        return NULL;
    for (size_t i = 0; i < c->n; i++) {
        const struct origin *o = &c->v[i];

        if (o->name.len != 0 &&
            (o->name.len != v.n || memcmp(o->name.data, v.p, v.n) != 0))
            continue;
        if (q->method != HTTP_OPTIONS || a->allow == NULL)
            return (const char *)o->lines.data;
        return (const char *)(strcmp(a->allow, "POST") == 0 ? o->join.data : o->one.data);
    }
    return NULL;
}

/* path.c: see path.h. */
#include "router/task_api/path.h"

#include <sodium.h>
#include <string.h>
#include <strings.h>

#include "common/base/text.h"
#include "common/http/http_scan.h"
#include "common/submit/body.h"
#include "common/submit/submission.h"
#include "common/task/rules.h"
#include "common/ticket/token.h"

#define M(m) (1u << (m))
#define READ (M(HTTP_GET) | M(HTTP_HEAD))

static void only_post(struct task_path *out, enum http_method m, enum task_op op)
{
    out->op = m == HTTP_POST ? op : TASK_BAD_METHOD;
    out->allow = "POST";
}

/* Two calls of one path: GET, and DELETE. */
static void get_delete(struct task_path *out, enum http_method m, enum task_op get,
                       enum task_op del)
{
    out->allow = "GET, HEAD, DELETE";
    out->op = M(m) & READ ? get : m == HTTP_DELETE ? del : TASK_BAD_METHOD;
}

/* Where "/tasks" ends the queue's name: no part of a name is "tasks". NULL: nowhere. */
static char *end_of_queue(struct slice rest)
{
    for (char *p = rest.p, *end = rest.p + rest.n; (p = memchr(p, '/', (size_t)(end - p))); p++)
        if (end - p >= 6 && memcmp(p, "/tasks", 6) == 0 && (end - p == 6 || p[6] == '/'))
            return p;
    return NULL;
}

void task_path_queue(struct task_path *out, enum http_method m, struct slice rest)
{
    char *at = end_of_queue(rest), *end = rest.p + rest.n;

    *out = (struct task_path){ .op = TASK_NO_PATH };
    if (at == NULL || !queue_name_ok(rest.p, (size_t)(at - rest.p)))
        return;
    out->queue = (struct slice){ rest.p, (size_t)(at - rest.p) };
    if (end - at == 6) {
        out->allow = "GET, HEAD, POST";
        out->op = m == HTTP_POST ? TASK_SUBMIT : M(m) & READ ? TASK_COUNT : TASK_BAD_METHOD;
        return;
    }
    out->name = (struct slice){ at + 7, (size_t)(end - at - 7) };
    if (out->name.n > TASK_NAME_MAX || !task_text_ok(out->name) ||
        memchr(out->name.p, '/', out->name.n) != NULL)
        return;
    if (m == HTTP_POST)
        out->op = slice_is(out->name, "batch")    ? TASK_BATCH
                    : slice_is(out->name, "take")   ? TASK_TAKE
                    : slice_is(out->name, "settle") ? TASK_SETTLE
                                              : TASK_BAD_METHOD;
    else if (m == HTTP_GET && slice_is(out->name, "events"))
        out->op = TASK_FEED;
    else
        get_delete(out, m, TASK_NAMED, TASK_UNNAME);
    if (out->op == TASK_BAD_METHOD)
        out->allow = "GET, HEAD, DELETE";
}

void task_path_schedule(struct task_path *out, enum http_method m, struct slice rest)
{
    bool run = m == HTTP_POST && rest.n > 4 && memcmp(rest.p + rest.n - 4, "/run", 4) == 0;
    size_t n; /* length of the queue's name and the slash behind it */

    *out = (struct task_path){ .op = TASK_NO_PATH };
    rest.n -= run ? 4 : 0;
    n = rest.n;
    while (n > 0 && rest.p[n - 1] != '/')
        n--;
    if (n == 0 || !queue_name_ok(rest.p, n - 1))
        return;
    out->queue = (struct slice){ rest.p, n - 1 };
    out->name = (struct slice){ rest.p + n, rest.n - n };
    if (out->name.n == 0) {
        out->allow = "GET, HEAD";
        out->op = M(m) & READ ? TASK_LIST_SCHEDULES : TASK_BAD_METHOD;
    } else if (schedule_name_ok(out->name)) {
        get_delete(out, m, TASK_GET_SCHEDULE, TASK_DELETE_SCHEDULE);
        out->allow = "GET, HEAD, PUT, DELETE";
        if (m == HTTP_PUT)
            out->op = TASK_PUT_SCHEDULE;
        if (run)
            out->op = TASK_RUN_SCHEDULE;
    }
}

/* Takes the verb off its end. */
static bool ends_with(struct slice *rest, const char *verb)
{
    size_t n = strlen(verb);

    if (rest->n < n || memcmp(rest->p + rest->n - n, verb, n) != 0)
        return false;
    rest->n -= n;
    return true;
}

void task_path_group(struct task_path *out, enum http_method m, struct slice rest)
{
    enum task_op op = M(m) & READ ? TASK_GROUP_LOOK : TASK_BAD_METHOD;
    size_t n;

    *out = (struct task_path){ .op = TASK_NO_PATH, .allow = "GET, HEAD" };
    if (m == HTTP_POST)
        op = ends_with(&rest, "/seal") ? TASK_GROUP_SEAL : ends_with(&rest, "/cancel") ? TASK_GROUP_CANCEL : op;
    n = rest.n;
    while (n > 0 && rest.p[n - 1] != '/')
        n--;
    out->name = (struct slice){ rest.p + n, rest.n - n };
    if (n == 0 || !queue_name_ok(rest.p, n - 1) || out->name.n > TASK_NAME_MAX || !task_text_ok(out->name))
        return;
    out->queue = (struct slice){ rest.p, n - 1 };
    out->op = op;
}

void task_path_task(struct task_path *out, enum http_method m, struct slice rest)
{
    char *slash = memchr(rest.p, '/', rest.n);
    struct slice verb = { NULL, 0 };

    *out = (struct task_path){ .op = TASK_NO_PATH, .token = rest };
    if (slice_is(rest, "take")) { /* no token is so short */
        out->token = (struct slice){ 0 };
        only_post(out, m, TASK_TAKE_MANY);
        return;
    }
    if (slash == NULL) {
        out->allow = "GET, HEAD, DELETE, PATCH";
        out->op = m == HTTP_PATCH    ? TASK_PATCH
                    : m == HTTP_DELETE ? TASK_CANCEL
                    : M(m) & READ      ? TASK_LOOK
                                       : TASK_BAD_METHOD;
        return;
    }
    out->token.n = (size_t)(slash - rest.p);
    verb = (struct slice){ slash + 1, rest.n - out->token.n - 1 };
    if (slice_is(verb, "ack"))
        only_post(out, m, TASK_ACK);
    else if (slice_is(verb, "nack"))
        only_post(out, m, TASK_NACK);
    else if (slice_is(verb, "extend"))
        only_post(out, m, out->token.n == RIGHT_TEXT_LEN ? TASK_PROLONG : TASK_EXTEND);
    else if (slice_is(verb, "progress"))
        only_post(out, m, TASK_PROGRESS);
    else if (slice_is(verb, "complete"))
        only_post(out, m, TASK_COMPLETE);
    else if (slice_is(verb, "events")) {
        out->allow = "GET";
        out->op = m == HTTP_GET ? TASK_EVENTS : TASK_BAD_METHOD;
    } else if (slice_is(verb, "result")) {
        out->allow = "GET, HEAD";
        out->op = M(m) & READ ? TASK_RESULT : TASK_BAD_METHOD;
    }
}

static bool *member_of(struct task_path *p, struct slice name)
{
    if (p->op == TASK_RESULT && slice_is(name, "ack"))
        return &p->ack;
    if (p->op == TASK_RESULT && slice_is(name, "follow"))
        return &p->follow;
    return (p->op == TASK_CANCEL || p->op == TASK_UNNAME) && slice_is(name, "force") ? &p->force : NULL;
}

static const char *refused(enum task_op op)
{
    return op == TASK_COUNT || op == TASK_FIRST
               ? "the query may have order=start, and with it limit=N (1 to 1000; 100 without it) and "
                 "payload=1, each once, and nothing else"
           : op == TASK_RESULT
               ? "the query may have ack=1, follow=1 and wait=SECONDS (0 to 60, with follow=1), each once, "
                 "and nothing else"
           : op == TASK_CANCEL || op == TASK_UNNAME ? "the query may have force=1, once, and nothing else"
                                                    : "this call has no query";
}

/* The whole seconds of "wait=N", as ms. False: it is none, or too many. */
static bool read_wait(struct slice text, msec_t *ms)
{
    int64_t s = decimal_read(text.p, text.n, TASK_WAIT_MAX_MS / 1000);

    *ms = s * 1000;
    return s >= 0;
}

/* The number of "limit=N". */
static bool read_limit(struct slice text, uint32_t *n)
{
    int64_t v = decimal_read(text.p, text.n, TASK_ROWS_MAX);

    *n = (uint32_t)v;
    return v >= 1;
}

/* "order=start", and what may be said with it, before it or behind. */
static bool read_first(struct task_path *p, struct slice name, struct slice value)
{
    if (slice_is(name, "order") && p->op == TASK_COUNT && slice_is(value, "start"))
        p->op = TASK_FIRST;
    else if (slice_is(name, "limit") && p->limit == 0)
        return read_limit(value, &p->limit);
    else if (slice_is(name, "payload") && !p->payload && slice_is(value, "1"))
        p->payload = true;
    else
        return false;
    return true;
}

/* Reads an item of the query; *seen: those before it, which may not come again. */
static bool read_item(struct task_path *p, struct slice item, uint8_t *seen)
{
    const char *is = memchr(item.p, '=', item.n);
    struct slice name = { item.p, is != NULL ? (size_t)(is - item.p) : 0 }, value;
    bool wait = p->op == TASK_RESULT && slice_is(name, "wait"), *to;
    uint8_t bit;

    if (is == NULL)
        return false;
    value = (struct slice){ item.p + name.n + 1, item.n - name.n - 1 };
    if (p->op == TASK_COUNT || p->op == TASK_FIRST)
        return read_first(p, name, value);
    to = wait ? NULL : member_of(p, name);
    bit = (uint8_t)(wait ? 1 : to == &p->ack ? 2 : to == &p->follow ? 4 : 8);
    if ((!wait && to == NULL) || (*seen & bit) != 0)
        return false;
    *seen |= bit;
    if (wait)
        return read_wait(value, &p->wait_ms);
    *to = slice_is(value, "1");
    return *to || slice_is(value, "0");
}

const char *task_path_ask(struct task_path *p, struct slice query)
{
    uint8_t seen = 0;

    p->wait_ms = -1;
    while (query.n > 0) {
        const char *end = memchr(query.p, '&', query.n);
        struct slice item = { query.p, end != NULL ? (size_t)(end - query.p) : query.n };

        if (!read_item(p, item, &seen))
            return refused(p->op);
        query.p += item.n + (end != NULL);
        query.n -= item.n + (end != NULL);
    }
    if (p->op == TASK_COUNT && (p->limit != 0 || p->payload))
        return refused(p->op);
    return p->wait_ms >= 0 && !p->follow ? refused(p->op) : NULL;
}

void task_path_call(struct task_path *out, struct slice rest, struct slice query)
{
    char *slash = memchr(rest.p, '/', rest.n), *end = rest.p + rest.n;

    *out = (struct task_path){ .op = TASK_NO_PATH };
    if (slash == NULL || !queue_name_ok(rest.p, (size_t)(slash - rest.p)))
        return;
    if (query.p == end + 1)
        end += 1 + query.n;
    *out = (struct task_path){ .op = TASK_CALL,
                               .endpoint = { rest.p, (size_t)(slash - rest.p) },
                               .path = { slash, (size_t)(end - slash) } };
}

/* "wait=10", and parameters behind a semicolon, which mean nothing here. -1: another one. */
static msec_t wait_of(struct slice item)
{
    static const char word[] = "wait=";
    size_t at = sizeof(word) - 1, first = at;
    msec_t s = 0;

    if (item.n <= at || strncasecmp(item.p, word, at) != 0)
        return -1;
    for (; at < item.n && item.p[at] >= '0' && item.p[at] <= '9'; at++)
        s = ms_min(s * 10 + (item.p[at] - '0'), TASK_WAIT_MAX_MS / 1000);
    if (at == first || (at < item.n && !http_blank(item.p[at]) && item.p[at] != ';'))
        return -1;
    return s * 1000;
}

static bool prefers(const struct http_req *q, const char *word)
{
    struct slice rest = q->fields, list, item;

    while (q->prefers && http_next(&rest, "prefer", &list))
        while (http_item_next(&list, &item))
            if (item.n == strlen(word) && strncasecmp(item.p, word, item.n) == 0)
                return true;
    return false;
}

bool prefers_async(const struct http_req *q)
{
    return prefers(q, "respond-async");
}

bool prefers_whole(const struct http_req *q)
{
    return prefers(q, "whole");
}

msec_t wait_preferred(const struct http_req *q, msec_t unsaid)
{
    struct slice rest = q->fields, list, item;

    while (q->prefers && http_next(&rest, "prefer", &list))
        while (http_item_next(&list, &item))
            if (wait_of(item) >= 0)
                return wait_of(item); /* the first of two counts */
    return unsaid;
}

void wait_applied(struct api_ans *a, msec_t wait_ms)
{
    if (wait_ms == 0)
        return;
    buf_str(&a->headers, "Preference-Applied: wait=");
    buf_u64(&a->headers, (uint64_t)wait_ms / 1000);
    buf_str(&a->headers, "\r\n");
}

static bool is_known(struct slice known, const char *tag, size_t n)
{
    struct slice item;

    while (http_item_next(&known, &item)) {
        if (item.n > 2 && item.p[0] == 'W' && item.p[1] == '/') { /* weak: as good here */
            item.p += 2;
            item.n -= 2;
        }
        if ((item.n == 1 && item.p[0] == '*') || (item.n == n && memcmp(item.p, tag, n) == 0))
            return true;
    }
    return false;
}

void answer_tag(struct api_ans *a, struct slice known)
{
    static const uint8_t key[crypto_shorthash_KEYBYTES] = "segq answer"; /* public */
    char tag[18] = "\"", *end;
    uint64_t h;

    crypto_shorthash((uint8_t *)&h, a->body.data, a->body.len, key);
    end = hex_put(tag + 1, h);
    *end++ = '"';
    buf_str(&a->headers, "ETag: ");
    buf_append(&a->headers, tag, (size_t)(end - tag));
    buf_str(&a->headers, "\r\n");
    if (is_known(known, tag, (size_t)(end - tag))) {
        a->status = 304;
        a->type = NULL;
        buf_reset(&a->body);
    }
}

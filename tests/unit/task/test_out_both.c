/* test_out_both.c: our own client and libcurl say the same of the same target: each row is an answer,
 * good or hostile, and what both make of it, in one piece and byte by byte; where libcurl is laxer, the
 * row says so. */
#define _GNU_SOURCE 1 /* memmem */
#include "task/out/out.h"

#include "tests/lib/criterion.h"
#include <sodium.h>
#include <stdio.h>

#include "task/calls/verdict.h"
#include "tests/lib/targetrig.h"

#define OK "HTTP/1.1 200 OK\r\n"

struct row {
    const char *name, *answer;
    enum call_fault fault;
    unsigned status;
    const char *body;   /* NULL: not looked at */
    const char *fields; /* that are kept; NULL: not looked at */
    const char *method; /* NULL: GET */
    bool closes;        /* the target, behind its answer */
    bool drips;
    bool kept;          /* the connection is used again */
    bool lax;           /* libcurl takes it for an answer */
};

static const struct row rows[] = {
    { .name = "length", .answer = OK "Content-Length: 5\r\n\r\nhello", .status = 200, .body = "hello",
      .kept = true },
    { .name = "no body", .answer = "HTTP/1.1 204 No\r\n\r\n", .status = 204, .body = "", .kept = true },
    { .name = "not modified", .answer = "HTTP/1.1 304 No\r\nContent-Length: 5\r\n\r\n", .status = 304,
      .body = "", .kept = true },
    { .name = "head", .method = "HEAD", .answer = OK "Content-Length: 5\r\n\r\n", .status = 200,
      .body = "", .kept = true },
    { .name = "chunks", .answer = OK "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x\r\nde\r\n0\r\nt: u\r\n\r\n",
      .status = 200, .body = "abcde", .kept = true },
    { .name = "until the end", .answer = OK "\r\nabc", .status = 200, .body = "abc", .closes = true },
    { .name = "1.0 until the end", .answer = "HTTP/1.0 200 OK\r\n\r\nabc", .status = 200, .body = "abc",
      .closes = true },
    { .name = "1.0 with a length", .answer = "HTTP/1.0 500 No\r\nContent-Length: 3\r\n\r\nabc", .status = 500,
      .body = "abc" },
    { .name = "close", .answer = OK "Connection: close\r\nContent-Length: 2\r\n\r\nab", .status = 200,
      .body = "ab", .closes = true },
    { .name = "close, and it stays open", .answer = OK "Connection: close\r\nContent-Length: 2\r\n\r\nab",
      .status = 200, .body = "ab" },
    { .name = "early hints", .answer = "HTTP/1.1 103 Early\r\nLink: x\r\n\r\n" OK "Content-Length: 1\r\n\r\nx",
      .status = 200, .body = "x", .kept = true },
    { .name = "packed stays packed", .answer = OK "Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
      .status = 200, .body = "abc", .kept = true },
    { .name = "equal lengths", .answer = OK "Content-Length: 2\r\nContent-Length: 2\r\n\r\nab", .status = 200,
      .body = "ab", .kept = true },
    { .name = "status of another kind", .answer = "HTTP/1.1 999 What\r\nContent-Length: 0\r\n\r\n",
      .status = 999, .body = "", .kept = true },
    { .name = "no reason", .answer = "HTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx", .status = 200, .body = "x",
      .kept = true },
    { .name = "fields", .answer = OK "Server: x\r\nETag: \"7\"\r\nConnection: keep-alive, x-hop\r\nX-Hop: 1\r\n"
      "allow:\r\nSet-Cookie: a=1\r\nLink:  <a>; rel=next \r\nLink: <b>\r\nContent-Length: 1\r\n\r\nx",
      .status = 200, .body = "x", .fields = "ETag=\"7\";allow=;", .kept = true },
    { .name = "fields of early hints are not the answer's",
      .answer = "HTTP/1.1 103 Early\r\nETag: 1\r\n\r\n" OK "Content-Length: 1\r\n\r\nx",
      .status = 200, .body = "x", .fields = "", .kept = true },
    { .name = "a trailer is none", .answer = OK "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nETag: 1\r\n\r\n",
      .status = 200, .body = "x", .fields = "", .kept = true },
    { .name = "a field of more than ASCII", .answer = OK "X-Request-Id: \xc3\xa4\r\nETag: 1\r\nContent-Length: 0\r\n\r\n",
      .status = 200, .body = "", .fields = "X-Request-Id=\xc3\xa4;ETag=1;", .kept = true },
    /* hostile */
    { .name = "garbage", .answer = "garbage\r\n\r\n", .fault = CALL_RESET, .closes = true },
    { .name = "nothing", .answer = "", .fault = CALL_RESET, .closes = true },
    { .name = "ends in the head", .answer = OK "Content-Len", .fault = CALL_RESET, .closes = true },
    { .name = "ends behind the head", .answer = OK "Content-Length: 5\r\n\r\n", .fault = CALL_RESET,
      .closes = true },
    { .name = "ends in the body", .answer = OK "Content-Length: 5\r\n\r\nabc", .fault = CALL_RESET,
      .closes = true },
    { .name = "ends in a chunk", .answer = OK "Transfer-Encoding: chunked\r\n\r\n5\r\nabc", .fault = CALL_RESET,
      .closes = true },
    { .name = "ends before the last chunk", .answer = OK "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
      .fault = CALL_RESET, .closes = true },
    { .name = "two lengths", .answer = OK "Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
      .fault = CALL_RESET },
    { .name = "a list of lengths", .answer = OK "Content-Length: 2, 2\r\n\r\nab", .fault = CALL_RESET },
    { .name = "length and chunks", .answer = OK "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      .fault = CALL_RESET },
    { .name = "a length below zero", .answer = OK "Content-Length: -2\r\n\r\n", .fault = CALL_RESET },
    { .name = "a folded line", .answer = OK "X: a\r\n b\r\nContent-Length: 0\r\n\r\n", .fault = CALL_RESET },
    { .name = "a bare line end", .answer = OK "X: a\nContent-Length: 0\r\n\r\n", .fault = CALL_RESET },
    { .name = "a blank before the colon", .answer = OK "Content-Length : 0\r\n\r\n", .fault = CALL_RESET },
    { .name = "chunks in 1.0", .answer = "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      .fault = CALL_RESET },
    { .name = "another coding", .answer = OK "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
      .fault = CALL_RESET },
    { .name = "another protocol", .answer = "HTTP/1.1 101 Go\r\nUpgrade: x\r\n\r\nbytes", .fault = CALL_RESET },
    { .name = "a size that is none", .answer = OK "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", .fault = CALL_RESET },
    { .name = "a size with a blank", .answer = OK "Transfer-Encoding: chunked\r\n\r\n1 \r\nx\r\n0\r\n\r\n",
      .fault = CALL_RESET, .lax = true },
    { .name = "a chunk that is longer", .answer = OK "Transfer-Encoding: chunked\r\n\r\n1\r\nxyz\r\n0\r\n\r\n",
      .fault = CALL_RESET },
    { .name = "drips in a body without end", .answer = OK "\r\n", .fault = CALL_TIMEOUT, .drips = true },
    { .name = "drips in a body", .answer = OK "Content-Length: 10000000\r\n\r\n", .fault = CALL_TIMEOUT,
      .drips = true },
    { .name = "hangs in the head", .answer = OK "X: ", .fault = CALL_TIMEOUT },
    { .name = "hangs in the body", .answer = OK "Content-Length: 2\r\n\r\na", .fault = CALL_TIMEOUT },
    { .name = "hangs", .answer = NULL, .fault = CALL_TIMEOUT },
    { .name = "only early hints", .answer = "HTTP/1.1 103 Early\r\n\r\n", .fault = CALL_TIMEOUT },
};

static struct ev *ev;
static struct out *out;
static struct out_target *target;
static struct targetrig rig;
static struct call_answer got;
static char body[1000], fields[1000];
static unsigned answers;

static void note_fields(const struct call_answer *a)
{
    struct call_span rest = a->fields, name, value;
    int at = 0;

    fields[0] = '\0';
    while (call_header_next(&rest, &name, &value))
        at += snprintf(fields + at, sizeof(fields) - (size_t)at, "%.*s=%.*s;", (int)name.n, name.p,
                       (int)value.n, value.p);
    snprintf(fields + at, sizeof(fields) - (size_t)at, "%s", a->fields_cut ? "cut" : "");
}

static void on_answer(void *arg, const struct call_answer *a)
{
    (void)arg;
    note_fields(a);
    got = *a;
    cr_assert_lt(a->n, sizeof(body));
    memcpy(body, a->body != NULL ? (const char *)a->body : "", a->n);
    answers++;
}

static struct buf all; /* of a long answer */

static void on_long_one(void *arg, const void *p, size_t n)
{
    (void)arg;
    cr_assert_gt(n, 0);
    buf_append(&all, p, n);
}

static bool may(void *arg)
{
    (void)arg;
    return true;
}

static void on_tick(void *arg)
{
    (void)arg;
}

static void begin(bool by_curl)
{
    struct out_rules r = { .connect_ms = 1000, .proxy = "",
                           .by_curl = by_curl };
    struct err e = { 0 };
    char url[128];

    cr_assert_eq(ev_new(&ev, &e), 0);
    cr_assert_eq(out_new(&out, ev, &e), 0, "%s", e.text);
    target_init(&rig, ev);
    snprintf(url, sizeof(url), "http://%s", rig.addr);
    r.url = url;
    cr_assert(ip_net_parse(&r.allow[r.n_allow++], "127.0.0.0/8"));
    cr_assert_eq(out_target_new(&target, out, &r, &e), 0, "%s", e.text);
}

static void end(void)
{
    out_target_free(target);
    out_free(out);
    target_fini(&rig);
    ev_free(ev);
}

#define WAIT_FOR(cond)                                                                   \
    do {                                                                                 \
        struct ev_timer *tick_ = ev_timer_new(ev, on_tick, NULL);                        \
        while (!(cond)) {                                                                \
            ev_timer_in_us(tick_, 1000);                                                 \
            ev_turn(ev, true);                                                           \
        }                                                                                \
        ev_timer_free(tick_);                                                            \
    } while (0)

static void call(const struct row *w)
{
    struct out_request q = { .method = w->method != NULL ? w->method : "GET", .path = "/", .fields = "",
                             .deadline_ms = w->fault == CALL_TIMEOUT ? 150 : 5000,
                             .keep = 900, .may = may, .long_one = on_long_one };
    unsigned before = answers;

    buf_reset(&all);
    cr_assert_neq(out_send(target, &q, on_answer, NULL), NULL);
    WAIT_FOR(answers > before);
}

static void check(const struct row *w, bool by_curl, size_t step)
{
    bool lax = by_curl && w->lax;

    begin(by_curl);
    rig.answer = w->answer;
    rig.closes = w->closes;
    rig.drips = w->drips;
    rig.step = step;
    call(w);
    cr_expect_eq(got.fault, lax ? CALL_NONE : w->fault, "%s, libcurl %d, step %zu: %s %s", w->name, by_curl,
                 step, call_fault_word(got.fault), got.why);
    cr_expect(lax || got.status == w->status, "%s, libcurl %d: %u", w->name, by_curl, got.status);
    cr_expect(lax || (w->fault != CALL_NONE) == (got.why[0] != 0), "%s: a fault has its words", w->name);
    if (w->body != NULL)
        cr_expect(got.length == strlen(w->body) && memcmp(body, w->body, got.n) == 0, "%s, libcurl %d",
                  w->name, by_curl);
    if (w->fields != NULL)
        cr_expect_str_eq(fields, w->fields, "%s, libcurl %d", w->name, by_curl);
    cr_expect_eq(rig.requests, 1, "%s, libcurl %d: it is sent once", w->name, by_curl);
    if (w->fault == CALL_NONE) {
        call(w);
        cr_expect_eq(rig.connections, w->kept ? 1 : 2, "%s, libcurl %d", w->name, by_curl);
    }
    end();
}

Test(out_both, say_the_same_of_each_answer)
{
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        check(&rows[i], false, 0);
        check(&rows[i], true, 0);
    }
}

Test(out_both, say_the_same_of_each_answer_that_comes_byte_by_byte)
{
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        check(&rows[i], false, 1);
        check(&rows[i], true, 1);
    }
}

/* It has read the request when it ends, and may take no connection then: an attempt all the same. */
Test(out_both, a_request_leaves_once_although_a_kept_connection_dies_under_it)
{
    for (unsigned i = 0; i < 4; i++) {
        bool by_curl = i & 1, away = i & 2;

        begin(by_curl);
        rig.answer = rows[0].answer;
        call(&rows[0]);
        rig.answer = NULL;
        rig.closes = true;
        if (away)
            target_deafen(&rig);
        call(&rows[0]);
        cr_expect_eq(got.fault, CALL_RESET, "libcurl %d, away %d: %s", by_curl, away, call_fault_word(got.fault));
        cr_expect_eq(rig.requests, 2, "libcurl %d, away %d", by_curl, away);
        end();
    }
}

/* Behind each byte of its answer, with a farewell and without. libcurl does without the last one. */
static void check_end_at(const char *answer, size_t at, bool by_curl, bool resets)
{
    static const struct row any = { .method = "POST" };
    bool whole = at == strlen(answer), lax = by_curl && at + 1 == strlen(answer);

    begin(by_curl);
    rig.answer = at > 0 ? answer : NULL;
    rig.answer_n = at;
    rig.closes = true;
    rig.resets = resets;
    call(&any);
    cr_expect(lax || got.fault == (whole ? CALL_NONE : CALL_RESET), "libcurl %d, reset %d, %zu bytes: %s %s",
              by_curl, resets, at, call_fault_word(got.fault), got.why);
    cr_expect_eq(rig.requests, 1);
    rig.resets = rig.closes = false;
    rig.answer = rows[0].answer;
    rig.answer_n = 0;
    if (!by_curl || got.fault != CALL_NONE) { /* libcurl may not see at once that it has ended */
        call(&any);
        cr_expect_eq(got.fault, CALL_NONE, "the next one: %s", got.why);
    }
    end();
}

Test(out_both, say_the_same_of_an_end_behind_each_byte)
{
    static const char *const answers_whole[] = {
        OK "Content-Length: 2\r\n\r\nab",
        OK "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
    };

    for (unsigned i = 0; i < ARRAY_LEN(answers_whole); i++)
        for (size_t at = 0; at <= strlen(answers_whole[i]); at++)
            for (unsigned how = 0; how < 4; how++)
                check_end_at(answers_whole[i], at, how & 1, how & 2);
}

/* A target that has done its work is not asked again because it talks too much. */
Test(out_both, an_answer_beyond_16_MiB_is_one_and_read_no_further)
{
    for (unsigned by_curl = 0; by_curl < 2; by_curl++) {
        struct buf b;
        struct row w = { .name = "long" };
        uint8_t hash[RESULT_SHA256];
        size_t head;

        begin(by_curl);
        buf_init(&b);
        buf_str(&b, OK "Content-Length: 20000000\r\n\r\n");
        head = b.len;
        cr_assert_neq(buf_reserve(&b, 20000000), NULL);
        memset(b.data + b.len, 'x', 20000000);
        b.len += 20000000;
        rig.answer = (const char *)b.data;
        rig.answer_n = b.len;
        call(&w);
        cr_expect(got.fault == CALL_NONE && got.status == 200, "%s", got.why);
        cr_expect(got.n == 900 && got.length == OUT_BODY_MAX && got.goes_on);
        cr_expect(all.len == OUT_BODY_MAX && memcmp(all.data, b.data + head, all.len) == 0);
        buf_fini(&all);
        buf_init(&all);
        crypto_hash_sha256(hash, b.data + head, OUT_BODY_MAX);
        cr_expect_arr_eq(hash, got.sha256, sizeof(hash));
        WAIT_FOR(rig.closed == 1);
        buf_fini(&b);
        end();
    }
}

/* And nothing of one that is all kept. */
Test(out_both, all_of_a_long_answer_is_heard_as_it_comes)
{
    static const struct row w = { .name = "long" };
    char text[2000], *to = text + sprintf(text, OK "Content-Length: 901\r\n\r\n");

    for (unsigned i = 0; i < 901; i++)
        to[i] = (char)('a' + i % 23);
    for (unsigned i = 0; i < 6; i++) {
        begin(i & 1);
        rig.answer = text;
        rig.answer_n = (size_t)(to - text) + 901;
        rig.step = (size_t[]){ 0, 7, 899 }[i / 2];
        call(&w);
        cr_expect(got.fault == CALL_NONE && got.n == 900 && got.length == 901 && !got.goes_on);
        cr_expect(all.len == 901 && memcmp(all.data, to, 901) == 0, "libcurl %u", i & 1);
        memcpy(strstr(text, "901"), "900", 3);
        rig.answer_n--;
        call(&w);
        cr_expect(got.fault == CALL_NONE && got.length == 900 && all.len == 0);
        memcpy(strstr(text, "900"), "901", 3);
        end();
    }
    buf_fini(&all);
}

/* ---- one target of each kind, in one process ------------------------------------------------ */

static struct call_answer heard[2]; /* of a call with our own client; with libcurl */

static void on_heard(void *arg, const struct call_answer *a)
{
    *(struct call_answer *)arg = *a;
    answers++;
}

static struct out_target *of_url(const char *scheme, const char *addr, uint32_t connect_ms, bool by_curl)
{
    struct out_rules r = { .connect_ms = connect_ms, .proxy = "", .by_curl = by_curl };
    struct out_target *t;
    struct err e = { 0 };
    char url[128];

    snprintf(url, sizeof(url), "%s://%s", scheme, addr);
    r.url = url;
    cr_assert(ip_net_parse(&r.allow[r.n_allow++], "127.0.0.0/8"));
    cr_assert_eq(out_target_new(&t, out, &r, &e), 0, "%s", e.text);
    return t;
}

static void send_to(struct out_target *t, uint32_t deadline_ms, struct call_answer *a)
{
    struct out_request q = { .method = "GET", .path = "/", .fields = "", .deadline_ms = deadline_ms,
                             .keep = 900, .may = may };

    cr_assert_neq(out_send(t, &q, on_heard, a), NULL);
}

/* Both hang, whichever was first; the one of libcurl ends as it does alone. */
static void check_beside(const char *scheme, uint32_t connect_ms, uint32_t deadline_ms, bool plain_first,
                         enum call_fault fault)
{
    struct out_target *by_curl;

    begin(false);
    rig.answer = NULL;
    answers = 0;
    by_curl = of_url(scheme, rig.addr, connect_ms, true);
    if (plain_first)
        send_to(target, deadline_ms, &heard[0]);
    send_to(by_curl, deadline_ms, &heard[1]);
    if (!plain_first)
        send_to(target, deadline_ms + 50, &heard[0]);
    WAIT_FOR(answers == 2);
    cr_expect_eq(heard[0].fault, CALL_TIMEOUT, "%s", heard[0].why);
    cr_expect_eq(heard[1].fault, fault, "%s beside a plain one: %s: %s", scheme,
                 call_fault_word(heard[1].fault), heard[1].why);
    cr_expect_geq(heard[1].ms + 1, deadline_ms);
    out_target_free(by_curl);
    end();
}

Test(out_both, a_call_by_libcurl_that_hangs_ends_alike_beside_one_of_ours)
{
    for (unsigned plain_first = 0; plain_first < 2; plain_first++) {
        check_beside("http", 1000, 200, plain_first, CALL_TIMEOUT);
        check_beside("https", 200, 200, plain_first, CALL_CONNECT); /* amid the handshake */
        check_beside("https", 1000, 200, plain_first, CALL_CONNECT);
    }
}

/* ---- a reader that takes its time ---- */

static struct {
    uint32_t room;
    uint64_t heard, asked;
    unsigned heads;
    bool sized;
} reads;

static void on_head(void *arg, const struct call_answer *a)
{
    (void)arg;
    reads.heads++;
    reads.sized = a->sized;
    cr_expect(a->status == 200 && reads.heard == 0);
}

static void on_more(void *arg, const void *p, size_t n)
{
    (void)arg;
    cr_assert_leq(n, reads.room);
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(((const char *)p)[i], (char)('a' + (reads.heard + i) % 23));
    reads.heard += n;
    reads.room -= reads.room != OUT_ANY ? (uint32_t)n : 0;
}

static uint32_t room(void *arg, size_t n)
{
    (void)arg;
    (void)n;
    return reads.room;
}

enum framing { SIZED, CHUNKED, UNTIL_END, NFRAMINGS };

static size_t make_answer(char *to, size_t n, enum framing how)
{
    bool chunked = how == CHUNKED;
    char *w = to + sprintf(to, chunked ? OK "Transfer-Encoding: chunked\r\n\r\n" :
                           how == SIZED ? OK "Content-Length: %zu\r\n\r\n" : OK "\r\n", n);

    for (size_t at = 0; at < n; at += 100) { /* n: a multiple of 100 */
        w += chunked ? sprintf(w, "64\r\n") : 0;
        for (size_t i = at; i < at + 100; i++)
            *w++ = (char)('a' + i % 23);
        w += chunked ? sprintf(w, "\r\n") : 0;
    }
    w += chunked ? sprintf(w, "0\r\n\r\n") : 0;
    return (size_t)(w - to);
}

Test(out_both, give_a_reader_no_more_than_it_has_room_for)
{
    static const struct out_reader reader = { on_head, on_more, room };
    static char answer[3 << 20];
    size_t n = 2000000;

    for (unsigned i = 0; i < 2 * NFRAMINGS; i++) {
        bool by_curl = i & 1;
        enum framing how = (enum framing)(i / 2);
        struct out_request q = { .method = "GET", .path = "/", .fields = "", .deadline_ms = 20000,
                                 .keep = 900, .may = may, .reader = &reader };
        unsigned before = answers;
        struct out_call *c;

        begin(by_curl);
        memset(&reads, 0, sizeof(reads));
        reads.room = 40000;
        rig.answer_n = make_answer(answer, n, how);
        rig.answer = answer;
        rig.closes = how == UNTIL_END;
        c = out_send(target, &q, on_answer, NULL);
        cr_assert_neq(c, NULL);
        while (answers == before) {
            uint64_t was = reads.heard;

            for (unsigned turns = 0; turns < 20 && answers == before; turns++)
                ev_turn(ev, false);
            if (answers == before && reads.heard == was) { /* it stands */
                reads.room += 33000;
                out_go_on(c);
            }
        }
        cr_expect_eq(got.fault, CALL_NONE, "libcurl %d: %s", by_curl, got.why);
        cr_expect(got.length == n && reads.heard == n, "libcurl %d: %lu", by_curl, reads.heard);
        cr_expect_eq(reads.heads, 1);
        cr_expect_eq(reads.sized, how == SIZED);
        end();
    }
}

/* An answer that is all there is heard at its end. */
Test(out_both, tell_no_head_of_what_is_whole_with_it)
{
    static const struct out_reader reader = { on_head, on_more, room };

    for (unsigned i = 0; i < 2; i++) {
        struct out_request q = { .method = "GET", .path = "/", .fields = "", .deadline_ms = 5000,
                                 .keep = 900, .may = may, .reader = &reader };
        unsigned before = answers;

        begin(i == 1);
        memset(&reads, 0, sizeof(reads));
        reads.room = OUT_ANY;
        rig.answer = OK "Content-Length: 3\r\n\r\nabc";
        cr_assert_neq(out_send(target, &q, on_answer, NULL), NULL);
        WAIT_FOR(answers > before);
        cr_expect(reads.heads == 0 && got.length == 3);
        end();
    }
}

/* Nobody keeps it from being read then: as much as of any other. */
Test(out_both, read_on_as_ever_when_their_reader_has_gone)
{
    static const struct out_reader reader = { on_head, on_more, room };
    static char answer[20 << 20];

    for (unsigned i = 0; i < 2; i++) {
        struct out_request q = { .method = "GET", .path = "/", .fields = "", .deadline_ms = 20000,
                                 .keep = 900, .may = may, .reader = &reader };
        unsigned before = answers;
        struct out_call *c;

        begin(i == 1);
        memset(&reads, 0, sizeof(reads));
        reads.room = OUT_BODY_MAX - 100000;
        rig.answer_n = make_answer(answer, 18000000, SIZED);
        rig.answer = answer;
        c = out_send(target, &q, on_answer, NULL);
        WAIT_FOR(reads.room < 16384);
        for (unsigned turns = 0; turns < 50; turns++)
            ev_turn(ev, false);
        cr_expect_eq(answers, before);
        reads.room = OUT_ANY;
        out_go_on(c);
        WAIT_FOR(answers > before);
        cr_expect(got.fault == CALL_NONE && got.length == OUT_BODY_MAX && got.goes_on, "libcurl %u: %s", i, got.why);
        cr_expect_lt(got.ms, 10000);
        end();
    }
}

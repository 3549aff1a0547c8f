/* outrig.h: an endpoint's client and a target, for the tests of task/out. */
#ifndef SEGQ_TEST_OUTRIG_H
#define SEGQ_TEST_OUTRIG_H

#include "task/out/out.h"

#include "tests/lib/criterion.h"
#include <stdio.h>
#include <string.h>

#include "common/base/err.h"
#include "task/calls/verdict.h"
#include "tests/lib/targetrig.h"

#define OK "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: text/plain\r\n\r\nhello"

static struct ev *ev;
static struct out *out;
static struct out_target *target;
static struct targetrig rig;
static struct call_answer got;
static char body[70000];
static unsigned answers;
static bool wanted;

static inline void on_answer(void *arg, const struct call_answer *a)
{
    (void)arg;
    got = *a;
    if (a->n > 0)
        memcpy(body, a->body, a->n);
    answers++;
}

static inline bool may(void *arg)
{
    (void)arg;
    return wanted;
}

#define WAIT(cond)                                                                       \
    do {                                                                                 \
        msec_t end_ = ev_now(ev) + 10000;                                                \
        struct ev_timer *t_ = ev_timer_new(ev, on_tick, NULL);                           \
        while (!(cond) && ev_now(ev) < end_) {                                           \
            ev_timer_in_us(t_, 5000);                                                    \
            ev_turn(ev, true);                                                           \
        }                                                                                \
        ev_timer_free(t_);                                                               \
        cr_assert(cond, "waited in vain for " #cond);                                    \
    } while (0)

static inline void on_tick(void *arg)
{
    (void)arg;
}

static inline void make_target(const char *url, const char *allow)
{
    struct out_rules r = { .url = url, .connect_ms = 1000, .proxy = "" };
    struct err e = { 0 };

    if (allow != NULL)
        cr_assert(ip_net_parse(&r.allow[r.n_allow++], allow));
    out_target_free(target);
    cr_assert_eq(out_target_new(&target, out, &r, &e), 0, "%s", e.text);
}

static inline void target_url(void)
{
    char url[128];

    snprintf(url, sizeof(url), "http://%s/base/", rig.addr);
    make_target(url, "127.0.0.0/8");
}

static inline void setup(void)
{
    struct err e = { 0 };

    cr_assert_eq(ev_new(&ev, &e), 0);
    cr_assert_eq(out_new(&out, ev, &e), 0, "%s", e.text);
    target_init(&rig, ev);
    rig.answer = OK;
    wanted = true;
    target_url();
}

static inline void teardown(void)
{
    out_target_free(target);
    out_free(out);
    target_fini(&rig);
    ev_free(ev);
}

static inline struct out_call *send_one(const char *method, const char *text, uint32_t deadline_ms)
{
    static const char fields[] = "x-a: 1\0x-empty: \0user-agent: segq/1";
    struct out_request q = { .method = method, .path = "/p?q=1", .fields = fields,
                             .fields_n = sizeof(fields), .body = { text, strlen(text) },
                             .deadline_ms = deadline_ms,
                             .keep = 65536, .may = may };

    return out_send(target, &q, on_answer, NULL);
}

static inline void call(const char *method, const char *text)
{
    unsigned before = answers;

    cr_assert_neq(send_one(method, text, 3000), NULL);
    WAIT(answers > before);
}

#endif

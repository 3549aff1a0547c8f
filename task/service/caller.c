/* caller.c: between the table and task/out. */
#include "task/service/caller.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/text.h"
#include "task/bodies/answers.h"
#include "task/bodies/large.h"
#include "task/calls/request.h"
#include "task/service/config.h"
#include "task/service/long_answers.h"
#include "task/service/service.h"

#define LOG_MODULE    "caller"
#define AGAIN_MS      1000

/* ---- targets ------------------------------------------------------------------------------- */

struct caller_target { /* target of an endpoint, under one serial */
    struct out_target *out;
    bool retired;
    uint32_t uses; /* calls on their way */
    struct endpoint_files files;
    struct target_page *page; /* owned; NULL: it has none */
    char bad[ENDPOINT_WHY_MAX + 1]; /* why newer files of TLS were not taken; "" */
};

static void target_free(struct caller_target *t)
{
    target_page_free(t->page);
    out_target_free(t->out);
    endpoint_files_fini(&t->files);
    free(t);
}

static void target_leave(struct caller_target *t)
{
    if (--t->uses == 0 && t->retired)
        target_free(t);
}

/* The endpoint has another one, or has gone: its calls end first. */
static void target_retire(struct endpoint *ep)
{
    struct caller_target *t = ep->target;

    ep->target = NULL;
    ep->usable = false;
    if (t == NULL)
        return;
    target_page_free(t->page); /* which knows the endpoint */
    t->page = NULL;
    t->retired = true;
    t->uses++;
    target_leave(t);
}

static int read_allow(struct out_rules *r, const struct msg_endpoint *d, struct err *e)
{
    for (uint32_t i = 0; i < d->n_allow; i++)
        if (!ip_net_parse(&r->allow[r->n_allow++], d->allow[i]))
            return err_set(e, SQ_EINVAL, "allow: %s is no network", log_q(d->allow[i], strlen(d->allow[i])));
    return 0;
}

/* NULL: *e says why it cannot be. */
static struct caller_target *target_new(struct caller *c, struct endpoint *ep, struct err *e)
{
    const struct msg_endpoint *d = &ep->def;
    struct out_rules r = { .url = d->url, .address = d->address, .told = d->told, .connect_ms = d->connect_timeout_ms, .proxy = d->proxy };
    struct caller_target *t = calloc(1, sizeof(*t));
    int rc = t == NULL ? err_set(e, SQ_ENOMEM, "out of memory") : read_allow(&r, d, e);

    if (rc == 0)
        rc = endpoint_files_read(&t->files, d, e);
    if (rc == 0) {
        endpoint_files_rules(&t->files, &r);
        rc = out_target_new(&t->out, c->out, &r, e);
    }
    if (rc == 0)
        rc = target_page_new(&t->page, &c->pages, c->out, ep, &r, e);
    if (rc == 0)
        return t;
    if (t != NULL)
        target_free(t);
    return NULL;
}

/* Files of its target may have changed. Calls that begin from now on use the new ones. */
static void look_at_files(struct caller *c, struct endpoint *ep)
{
    struct caller_target *t = ep->target, *fresh;
    struct err e = { 0 };

    endpoint_files_keys(&t->files, &ep->def, ep->name);
    if (!endpoint_files_tls_changed(&t->files, &ep->def))
        return;
    fresh = target_new(c, ep, &e);
    if (fresh == NULL) {
        if (strcmp(t->bad, e.text) != 0)
            log_error("event=endpoint_tls_bad endpoint=%s why=%s do=\"mend the file; what was read before "
                      "counts until then\"", ep->name, log_q(e.text, strlen(e.text)));
        copy_text(t->bad, sizeof(t->bad), e.text);
        return;
    }
    log_info("event=endpoint_tls_changed endpoint=%s", ep->name);
    target_retire(ep);
    ep->target = fresh;
}

/* Logs an unusable one once for each reason; no call begins. */
static void set_usable(struct endpoint *ep, const char *why, const char *what_to_do)
{
    ep->usable = why[0] == 0;
    if (why[0] != 0 && strcmp(ep->unusable, why) != 0)
        log_error("event=endpoint_unusable endpoint=%s why=%s do=\"%s\"", ep->name,
                  log_q(why, strlen(why)), what_to_do);
    copy_text(ep->unusable, sizeof(ep->unusable), why);
}

/* Checks for addresses that we do not call: then its tasks wait, and spend nothing. */
static void look_at_address(struct endpoint *ep)
{
    struct caller_target *t = ep->target;
    char why[ENDPOINT_WHY_MAX + 1] = "";

    if (t != NULL && out_target_is_refused(t->out, why, sizeof(why)))
        set_usable(ep, why, "add its network to `allow`, if calls may go there, or change its url");
    else if (t != NULL)
        set_usable(ep, "", "");
}

/* Tries an endpoint without a target again, since its files may have come. */
static void come_into_force(struct caller *c, struct endpoint *ep)
{
    bool known = ep->target_serial == ep->def.serial;
    msec_t now = task_service_now(c->s).ms;
    struct err e = { 0 };

    if (known && (ep->def.serial == 0 || ep->def.targets || now < ep->again))
        return;
    ep->again = now + AGAIN_MS;
    if (known && ep->target != NULL) {
        look_at_files(c, ep);
        look_at_address(ep);
        return;
    }
    target_retire(ep);
    ep->target_serial = ep->def.serial;
    if (ep->def.targets) {
        set_usable(ep, "", "");
        return;
    }
    ep->target = ep->def.serial != 0 ? target_new(c, ep, &e) : NULL;
    set_usable(ep, e.text, "change its definition, or the file");
    ep->usable = ep->target != NULL;
    look_at_address(ep);
}

/* ---- ends ---------------------------------------------------------------------------------- */

static void settle(struct caller *c, struct going_call *g)
{
    struct task_now now = task_service_now(c->s);

    if (!tasktab_call_ends(c->s->tab, now, g))
        return;
    tasktab_pass_end(c->s->tab, g, &c->s->node.out);
    calls_end(&c->calls, g, now.ms);
}

static void say_end(const struct going_call *g, const struct call_answer *a)
{
    const struct verdict *v = &g->verdict;

    if (v->kind == VERDICT_DEAD)
        log_warn("event=call_dead task=%u-%" PRIu64 " endpoint=%s attempt=%u class=%s status=%u",
                 g->part, g->no, g->endpoint->name, g->attempt, call_class_word(v->class),
                 a->status);
    else if (v->kind == VERDICT_RETRY)
        log_debug("event=call_failed task=%u-%" PRIu64 " endpoint=%s attempt=%u class=%s status=%u "
                  "fault=%s why=%s", g->part, g->no, g->endpoint->name, g->attempt,
                  call_class_word(v->class), a->status, call_fault_word(a->fault),
                  log_q(a->why, strlen(a->why)));
}

static void on_answer(void *arg, const struct call_answer *a)
{
    struct going_call *g = arg;
    struct caller *c = g->sender;

    g->sending = NULL;
    target_leave(g->target);
    histo_add(&c->took, (uint64_t)a->ms * 1000);
    tasktab_call_answered(c->s->tab, task_service_now(c->s), g, a);
    whole_ends(g, a);
    say_end(g, a);
    if (a->fault == CALL_REFUSED)
        look_at_address(g->at);
    settle(c, g);
}

/* Nothing was sent. It is settled by the next tick: this turn's records are written already. */
static void fails_here(struct going_call *g, const char *why)
{
    struct call_answer a = { .fault = CALL_LOCAL };

    g->step = CALL_SENT;
    copy_text(a.why, sizeof(a.why), why);
    tasktab_call_answered(g->sender->s->tab, task_service_now(g->sender->s), g, &a);
    say_end(g, &a);
}

/* Closes its connection, if it has one, and nobody hears of it. */
static void stop_sending(struct going_call *g)
{
    if (g->sending == NULL)
        return;
    out_cancel(g->sending);
    whole_give_up(g);
    g->sending = NULL;
    target_leave(g->target);
}

void caller_cut(struct caller *c)
{
    msec_t now = task_service_now(c->s).ms;

    if (!tasktab_calls_cut(c->s->tab))
        return;
    each_going (&c->calls, g) {
        if (g->step != CALL_SENT || !tasktab_call_is_cut(c->s->tab, g))
            continue;
        stop_sending(g);
        tasktab_pass_end(c->s->tab, g, &c->s->node.out);
        g->endpoint->n.cut++;
        g->at->n.cut += g->at != g->endpoint;
        calls_end(&c->calls, g, now);
    }
}

static void refuse(struct going_call *g)
{
    const struct call_answer none = { 0 };

    calls_refuse(g);
    say_end(g, &none);
}

/* ---- answers that are told as they come ------------------------------------------------------ */

static void on_head(void *arg, const struct call_answer *a)
{
    struct going_call *g = arg;
    struct task_service *s = g->sender->s;

    tasktab_pass_head(s->tab, task_service_now(s), g, a, &s->node.out);
    tasktab_follow_head(s->tab, task_service_now(s), g, a, &s->node.out);
}

static void on_more(void *arg, const void *p, size_t n)
{
    struct going_call *g = arg;
    struct task_service *s = g->sender->s;

    tasktab_pass_more(s->tab, g, p, n, &s->node.out);
}

static uint32_t room(void *arg, size_t n)
{
    return tasktab_pass_room(((struct going_call *)arg)->sender->s->tab, arg, n);
}

static void hear(void *arg, const struct call_answer *a, const void *p, size_t n)
{
    struct going_call *g = arg;

    if (a->length == 0)
        calls_told(g, a, task_service_now(g->sender->s).ms, ev_wall_ms(g->sender->s->node.ev));
    calls_hear(g, a, p, n);
}

static const struct out_reader reader = { on_head, on_more, room };

/* An answer that has gone on beyond what is kept is heard at its end. */
static void look_at_early(struct caller *c)
{
    struct task_service *s = c->s;

    list_each_of (&c->calls.early, struct going_call, in_early, g) {
        const struct call_answer *a = g->sending != NULL ? out_so_far(g->sending) : NULL;

        if (a != NULL)
            tasktab_pass_head(s->tab, task_service_now(s), g, a, &s->node.out);
        else
            tasktab_pass_none(s->tab, g);
    }
}

static void look_at_joined(struct caller *c)
{
    struct task_service *s = c->s;

    for (size_t left = c->calls.joined.n; left > 0; left--) { /* behind a hold they join again */
        struct going_call *g = list_entry(list_first(&c->calls.joined), struct going_call, in_joined);
        const struct call_answer *a = g->sending != NULL ? out_head(g->sending) : NULL;

        list_remove(&c->calls.joined, &g->in_joined);
        if (a != NULL)
            tasktab_follow_head(s->tab, task_service_now(s), g, a, &s->node.out);
    }
}

/* A link has room for more of it, or for its head, if nobody hears it yet. */
static void let_go(struct caller *c, struct going_call *g)
{
    struct task_service *s = c->s;
    const struct call_answer *a = g->sending != NULL ? out_so_far(g->sending) : NULL;

    if (a != NULL)
        tasktab_pass_head(s->tab, task_service_now(s), g, a, &s->node.out);
    if (g->sending != NULL && g->held == NULL)
        out_go_on(g->sending);
}

void caller_pass_on(struct caller *c)
{
    struct task_service *s = c->s;
    struct going_call *next;

    each_node_peer (&s->node, p)
        tasktab_link(s->tab, task_service_now(s), p->no, p->handed, rpc_chan_pending(p->ch));
    while ((next = tasktab_let_go(s->tab, task_service_now(s), &s->node.out)) != NULL)
        let_go(c, next);
    c->calls.files = s->answers != NULL ? answers_counts(s->answers)->writing : 0;
    if (tasktab_reads(c->s->tab))
        look_at_early(c);
    look_at_joined(c);
    tasktab_follow_on(s->tab, &s->node.out);
    list_each_of (&c->calls.eased, struct going_call, in_eased, g) {
        list_remove(&c->calls.eased, &g->in_eased);
        if (g->sending != NULL)
            out_go_on(g->sending);
    }
}

/* ---- and begins ---------------------------------------------------------------------------- */

/* A call that has lost its partition sends nothing more. */
static bool may_send(void *arg)
{
    const struct going_call *g = arg;

    return tasktab_call_may_go(g->sender->s->tab, g);
}

/* "PARTITION-NUMBER" */
static void put_id(char task[40], const struct going_call *g)
{
    char *w = text_u64(task, g->part);

    *w++ = '-';
    *text_u64(w, g->no) = '\0';
}

static void put_text(struct buf *b, struct call_span s)
{
    buf_append(b, s.p, s.n);
    buf_byte(b, 0);
}

/* Opens its large body. False: the call has ended by that. */
static bool open_file(struct going_call *g, const struct call *call, struct out_file *f)
{
    const struct caller_target *t = g->at->target;
    struct large *l = g->sender->s->large;
    int fd = l != NULL ? large_read(l, &call->file, g->part, g->no) : SQ_EUNKNOWN;

    if (fd == SQ_EUNKNOWN || t->files.sign) { /* which would need all of it at once */
        log_error("event=call_without_body task=%u-%" PRIu64 " endpoint=%s why=\"%s\"", g->part, g->no,
                  g->endpoint->name, fd < 0 ? "its file is not there" : "its endpoint signs by now");
        if (fd >= 0)
            close(fd);
        refuse(g);
        return false;
    }
    if (fd < 0)
        fails_here(g, "its body cannot be read now");
    *f = (struct out_file){ .fd = fd, .length = call->file.length };
    memcpy(f->sha256, call->file.sha256, sizeof(f->sha256));
    return fd >= 0;
}

/* Fields, method, path: texts one behind the other. */
static void send_request(struct going_call *g, const struct call *call, uint32_t deadline_ms)
{
    struct caller_target *t = g->at->target;
    char task[40];
    struct request_facts f = { .task = task, .queue = g->queue, .attempt = g->attempt,
                               .due_ms = g->due_ms, .now_ms = ev_wall_ms(g->sender->s->node.ev),
                               .keys = t->files.sign ? &t->files.keys : NULL, .auth = t->files.auth,
                               .public_url = g->sender->public_url, .right = g->right };
    struct buf *text = &g->sender->text;
    struct out_request q = { .body = call->body, .deadline_ms = deadline_ms, .keep = TASK_RESULT_MAX,
                             .hear = g->endpoint->def.used[0] != 0 || g->at->def.told[0] != 0 ? hear : NULL,
                             .used_header = g->endpoint->def.used_header,
                             .reader = &reader, .may = may_send };

    if (call->file.length > 0 && !open_file(g, call, &q.file))
        return;
    buf_reset(text);
    put_id(task, g);
    request_fields(call, &f, text);
    q.fields_n = text->len;
    put_text(text, call->method);
    put_text(text, call->path);
    if (whole_is_wanted(g)) {
        q.keep = g->max_result;
        q.long_one = whole_more;
    }
    if (!text->failed) {
        q.fields = (const char *)text->data;
        q.method = q.fields + q.fields_n;
        q.path = q.method + call->method.n + 1;
        g->step = CALL_SENT;
        g->endpoint->n.sent++;
        g->at->n.sent += g->at != g->endpoint;
        g->sending = out_send(t->out, &q, on_answer, g);
    } else if (q.file.length > 0) {
        close(q.file.fd);
    }
    if (g->sending == NULL) {
        fails_here(g, "no memory");
        return;
    }
    g->target = t;
    t->uses++;
}

static void begin(struct caller *c, struct going_call *g, const struct taken_row *row)
{
    msec_t left = g->until - LEASE_MORE_MS - task_service_now(c->s).ms;
    struct call call;

    g->sender = c;
    if (call_unpack(row->body.p, row->body.n, &call) < 0)
        refuse(g);
    else if (g->at->target == NULL || g->endpoint->def.serial == 0)
        fails_here(g, "the endpoint's definition has gone");
    else if (left <= 0)
        fails_here(g, "its start was written too late");
    else
        send_request(g, &call, (uint32_t)left);
}

void caller_self(void *ctx, const struct msg *m, uint64_t rid)
{
    struct caller *c = &((struct task_service *)ctx)->caller;
    struct going_call *g = calls_at(&c->calls, rid);

    if (g == NULL)
        return;
    if (m->task_take_ans.n == 1 && !tasktab_call_is_cut(c->s->tab, g))
        begin(c, g, &m->task_take_ans.v[0]);
    else
        calls_end(&c->calls, g, task_service_now(c->s).ms); /* cut; or its body is lost */
}

bool caller_forget_taken(struct caller *c, uint64_t id, part_no no)
{
    struct going_call *g = calls_at(&c->calls, id);

    if (g == NULL || g->part != no)
        return false;
    assert(g->step == CALL_TAKEN);
    calls_end(&c->calls, g, task_service_now(c->s).ms);
    return true;
}

void caller_forget_all_taken(struct caller *c)
{
    each_going (&c->calls, g) {
        if (g->step == CALL_TAKEN)
            calls_end(&c->calls, g, task_service_now(c->s).ms);
    }
}

/* Once for each time that it comes to that. */
static void say_full(struct caller *c)
{
    if (c->calls.full && !c->said_full)
        log_warn("event=calls_full most=%zu do=\"give the task node more open files (LimitNOFILE=, ulimit -n), or "
                 "add a node: calls wait in line\"", c->calls.most);
    c->said_full = c->calls.full;
}

void caller_tick(struct caller *c)
{
    say_full(c);
    each_endpoint (&c->calls.endpoints, ep) {
        const struct caller_target *t;

        come_into_force(c, ep);
        t = ep->target;
        if (t != NULL && t->page != NULL)
            target_page_look(t->page, t->files.auth);
    }
    tasktab_calls_tidy(c->s->tab);
    each_going (&c->calls, g) {
        if (g->step == CALL_ENDED)
            settle(c, g);
    }
}

/* ---- life ---------------------------------------------------------------------------------- */

int caller_init(struct caller *c, struct task_service *s, const struct task_cfg *cfg, struct err *e)
{
    size_t n = strlen(cfg->public_url);
    char *const *pass = cfg->pass_headers.v;
    int rc;

    c->s = s;
    copy_text(c->public_url, sizeof(c->public_url), cfg->public_url);
    if (n > 0 && cfg->public_url[n - 1] == '/')
        c->public_url[n - 1] = 0;
    calls_init(&c->calls);
    c->pages = (struct target_pages){ .s = s };
    rc = out_new(&c->out, s->node.ev, e);
    if (rc == 0)
        c->calls.most = out_calls_most(c->out);
    for (size_t i = 0; rc == 0 && i < cfg->pass_headers.n; i++)
        rc = out_pass(c->out, pass[i], e);
    return rc;
}

void caller_fini(struct caller *c)
{
    if (c->s == NULL)
        return;
    each_going (&c->calls, g)
        stop_sending(g);
    each_endpoint (&c->calls.endpoints, ep)
        target_retire(ep);
    calls_fini(&c->calls);
    out_free(c->out);
    buf_fini(&c->text);
}

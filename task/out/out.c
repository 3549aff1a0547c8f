/* out.c: life; targets, and which client calls them; requests, from the target's name to the client. */
#include "task/out/out.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/resource.h>

#include "common/base/text.h"
#include "task/out/libcurl.h"
#include "task/out/out_call.h"
#include "task/out/plain.h"
#include "task/out/trust.h"

#define DESCRIPTORS_MAX   65536u /* descriptors that are asked for */
#define CONNECTIONS_LEAST 64     /* where it cannot be asked */
#define KEPT_MAX          1024u

/* Connections to targets. The descriptors that are left are for links, and for files of answers that are kept
 * whole. */
static size_t most_connections(void)
{
    struct rlimit rl;

    if (getrlimit(RLIMIT_NOFILE, &rl) < 0)
        return CONNECTIONS_LEAST;
    if (rl.rlim_cur < rl.rlim_max) {
        rl.rlim_cur = u64_min(rl.rlim_max, u64_max(rl.rlim_cur, DESCRIPTORS_MAX));
        if (setrlimit(RLIMIT_NOFILE, &rl) < 0 && getrlimit(RLIMIT_NOFILE, &rl) < 0)
            return CONNECTIONS_LEAST;
    }
    return u64_min(rl.rlim_cur, DESCRIPTORS_MAX) / 4 * 3;
}

int out_new(struct out **out, struct ev *ev, struct err *e)
{
    struct out *o = calloc(1, sizeof(*o));

    if (o == NULL)
        return err_set(e, SQ_ENOMEM, "out of memory");
    o->ev = ev;
    o->most_conns = most_connections();
    o->most_kept = u64_min(o->most_conns / 12, KEPT_MAX); /* a sixteenth of all: both clients have their own */
    buf_init(&o->pass);
    hosts_init(&o->hosts, ev);
    list_init(&o->targets);
    list_init(&o->ending);
    list_init(&o->spare);
    list_init(&o->kept);
    list_init(&o->crowded);
    if (!libcurl_loop_init(o)) {
        free(o);
        return err_set(e, SQ_ENOMEM, "libcurl: out of memory");
    }
    if (!plain_init(o)) {
        out_free(o);
        return err_set(e, SQ_ENOMEM, "out of memory");
    }
    *out = o;
    return 0;
}

int out_pass(struct out *o, const char *name, struct err *e)
{
    for (const char *p = name; *p != '\0'; p++)
        buf_byte(&o->pass, (uint8_t)(*p >= 'A' && *p <= 'Z' ? *p + ('a' - 'A') : *p));
    buf_byte(&o->pass, 0);
    return o->pass.failed ? err_set(e, SQ_ENOMEM, "out of memory") : 0;
}

size_t out_calls_most(const struct out *o)
{
    return o->most_conns;
}

void out_free(struct out *o)
{
    if (o == NULL)
        return;
    buf_fini(&o->pass);
    plain_fini(o);
    libcurl_loop_fini(o);
    out_call_free_spare(o);
    hosts_fini(&o->hosts);
    free(o);
}

/* ---- targets ------------------------------------------------------------------------------- */

int out_target_new(struct out_target **out, struct out *o, const struct out_rules *r, struct err *e)
{
    struct out_target *t = calloc(1, sizeof(*t));
    const char *why = t != NULL ? url_parse(&t->url, r->url) : NULL;
    int rc;

    if (t == NULL)
        return err_set(e, SQ_ENOMEM, "out of memory");
    if (why == NULL && r->proxy[0] != 0)
        why = url_parse(&t->proxy, r->proxy);
    if (why == NULL && t->proxy.tls)
        why = "a proxy's url begins with http://";
    if (why == NULL && t->url.tls)
        why = trust_pair_wrong(r->cert, r->key);
    rc = why != NULL ? err_set(e, SQ_EINVAL, "%s", why) : 0;
    if (rc == 0 && t->url.tls)
        rc = trust_read(&t->trust, r->ca, ++o->n_targets, e);
    if (rc < 0) {
        free(t);
        return rc;
    }
    t->out = o;
    t->rules = *r;
    t->rules.url = t->rules.proxy = t->rules.address = t->rules.told = NULL; /* parsed, and copied */
    copy_text(t->address, sizeof(t->address), r->address != NULL ? r->address : "");
    copy_text(t->told, sizeof(t->told), r->told != NULL ? r->told : "");
    t->plain = !t->url.tls && t->proxy.host[0] == 0 && !r->by_curl;
    list_init(&t->waiting);
    list_init(&t->calls);
    list_init(&t->opening);
    list_init(&t->kept);
    list_init(&t->crowded);
    list_push_back(&o->targets, &t->in);
    *out = t;
    return 0;
}

void out_target_free(struct out_target *t)
{
    if (t == NULL)
        return;
    list_each_of (&t->waiting, struct out_call, in, c)
        out_cancel(c);
    list_each_of (&t->calls, struct out_call, in, c)
        out_cancel(c);
    list_each_of (&t->out->ending, struct out_call, in, c) {
        if (c->target == t)
            out_cancel(c);
    }
    plain_forget(t);
    if (t->question != NULL)
        hosts_drop(t->question);
    list_remove(&t->out->targets, &t->in);
    trust_fini(&t->trust);
    free(t);
}

/* ---- requests ------------------------------------------------------------------------------ */

static void find_way(struct out_call *c);

static void go(struct out_call *c, const struct net_addr *a)
{
    if (c->due <= ev_now(c->target->out->ev))
        out_call_ends(c, CALL_TIMEOUT, "the deadline was over before its name was known");
    else if (c->target->plain)
        plain_go(c, a);
    else
        libcurl_go(c, a);
}

/* The answer to a target's name has come: those that wait for it go, or end. */
static void on_name(void *arg, const struct host_answer *a)
{
    struct out_target *t = arg;
    struct list_node *n;

    address_told(t, a);
    while ((n = list_first(&t->waiting)) != NULL) {
        struct out_call *c = container_of(n, struct out_call, in);

        out_call_leave(c);
        if (t->known.n == 0)
            out_call_ends(c, CALL_DNS, t->known.why);
        else
            find_way(c);
    }
}

bool out_target_is_refused(struct out_target *t, char *why, size_t cap)
{
    return address_is_refused(t, on_name, why, cap);
}

static void find_way(struct out_call *c)
{
    struct net_addr a;

    switch (address_of(c->target, &a, on_name)) {
    case ADDRESS_KNOWN:
        go(c, &a);
        return;
    case ADDRESS_ASKED:
        out_call_enter(c, PLACE_NAME);
        return;
    case ADDRESS_REFUSED:
        out_call_ends(c, CALL_REFUSED, "its address is not public, and not in `allow`");
        return;
    default:
        out_call_ends(c, CALL_DNS, "the name cannot be asked");
        return;
    }
}

struct out_call *out_send(struct out_target *t, const struct out_request *q, out_fn fn, void *arg)
{
    struct out_call *c = out_call_new(t->out);

    if (c == NULL && q->file.length > 0)
        close(q->file.fd);
    if (c == NULL)
        return NULL;
    c->target = t;
    c->file = q->file;
    c->fn = fn;
    c->may = q->may;
    c->long_one = q->long_one;
    c->hear = q->hear;
    copy_text(c->used_header, sizeof(c->used_header), q->used_header != NULL ? q->used_header : "");
    c->reader = q->reader;
    c->arg = arg;
    c->keep = q->keep;
    c->began = ev_now(t->out->ev);
    c->due = c->began + q->deadline_ms;
    buf_append(&c->body, q->body.p, q->body.n);
    if (c->body.failed || !(t->plain ? plain_prepare(c, q) : libcurl_prepare(c, q))) {
        out_call_free(t->out, c);
        return NULL;
    }
    find_way(c);
    return c;
}

void out_go_on(struct out_call *c)
{
    bool paused = c->paused && c->place == PLACE_CLIENT;

    c->paused = false;
    if (paused && c->target->plain)
        plain_go_on(c);
    else if (paused)
        libcurl_go_on(c);
}

void out_cancel(struct out_call *c)
{
    if (c->place == PLACE_CLIENT && c->target->plain)
        plain_drop(c);
    else if (c->place == PLACE_CLIENT)
        libcurl_drop(c);
    out_call_leave(c);
    out_call_free(c->target->out, c);
}

/* out.c: libcurl's multi interface on our loop (its "hiperfifo" example, with our watchers). */
#include "task/out/out.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "task/out/out_int.h"
#include "task/out/send.h"

#define KEPT_MAX        1024L  /* idle connections, of all targets */
#define DESCRIPTORS_MAX 65536u /* that are asked for */

/* ---- the loop ------------------------------------------------------------------------------ */

static void look(struct out *o)
{
    const CURLMsg *m;
    int left;

    while ((m = curl_multi_info_read(o->multi, &left)) != NULL) {
        CURLcode rc = m->data.result;
        char *c;

        if (m->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &c);
        send_ended((struct out_call *)(void *)c, rc);
    }
}

static void act(struct out *o, curl_socket_t fd, int what)
{
    int running;

    curl_multi_socket_action(o->multi, fd, what, &running);
    look(o);
}

struct watch {
    struct ev_io io;
    struct out *out; /* ref */
};

static void on_io(void *arg, unsigned what)
{
    const struct watch *w = arg;

    act(w->out, w->io.fd, (what & EV_IO_READ ? CURL_CSELECT_IN : 0) |
                              (what & EV_IO_WRITE ? CURL_CSELECT_OUT : 0)); /* may free w */
}

static struct watch *watch_new(struct out *o, curl_socket_t fd)
{
    struct watch *w = calloc(1, sizeof(*w));

    if (w == NULL)
        return NULL;
    w->out = o;
    ev_io_init(&w->io, o->ev, fd, on_io, w);
    curl_multi_assign(o->multi, fd, w);
    return w;
}

/* Without memory the call's deadline ends it. */
static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *of_socket)
{
    struct watch *w = of_socket;

    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (w != NULL)
            ev_io_end(&w->io);
        free(w);
        return 0;
    }
    if (w == NULL)
        w = watch_new(arg, fd);
    if (w != NULL)
        (void)!ev_io_set(&w->io, (what & CURL_POLL_IN ? EV_IO_READ : 0) |
                                     (what & CURL_POLL_OUT ? EV_IO_WRITE : 0));
    return 0;
}

static int on_timeout(CURLM *multi, long ms, void *arg)
{
    struct out *o = arg;

    (void)multi;
    ev_timer_at(o->timer, ms < 0 ? MSEC_NEVER : ev_now(o->ev) + ms + (ms > 0));
    return 0;
}

static void on_timer(void *arg)
{
    act(arg, CURL_SOCKET_TIMEOUT, 0);
}

/* ---- life ---------------------------------------------------------------------------------- */

/* Some descriptors are left for files and links, whatever endpoints may have under way. */
static long most_connections(void)
{
    struct rlimit rl;

    if (getrlimit(RLIMIT_NOFILE, &rl) < 0)
        return KEPT_MAX;
    if (rl.rlim_cur < rl.rlim_max) {
        rl.rlim_cur = u64_min(rl.rlim_max, u64_max(rl.rlim_cur, DESCRIPTORS_MAX));
        if (setrlimit(RLIMIT_NOFILE, &rl) < 0 && getrlimit(RLIMIT_NOFILE, &rl) < 0)
            return KEPT_MAX;
    }
    return (long)u64_min(rl.rlim_cur, DESCRIPTORS_MAX) / 4 * 3;
}

int out_new(struct out **out, struct ev *ev, struct err *e)
{
    struct out *o = calloc(1, sizeof(*o));

    if (o == NULL || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        free(o);
        return err_set(e, SQ_ENOMEM, "libcurl: out of memory");
    }
    o->ev = ev;
    hosts_init(&o->hosts, ev);
    list_init(&o->targets);
    list_init(&o->ending);
    o->multi = curl_multi_init();
    o->timer = ev_timer_new(ev, on_timer, o);
    if (o->multi == NULL || o->timer == NULL) {
        out_free(o);
        return err_set(e, SQ_ENOMEM, "libcurl: out of memory");
    }
    curl_multi_setopt(o->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(o->multi, CURLMOPT_SOCKETDATA, o);
    curl_multi_setopt(o->multi, CURLMOPT_TIMERFUNCTION, on_timeout);
    curl_multi_setopt(o->multi, CURLMOPT_TIMERDATA, o);
    curl_multi_setopt(o->multi, CURLMOPT_MAXCONNECTS, KEPT_MAX);
    curl_multi_setopt(o->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, most_connections());
    *out = o;
    return 0;
}

void out_free(struct out *o)
{
    if (o == NULL)
        return;
    curl_multi_cleanup(o->multi); /* closes what is kept, through on_socket() */
    ev_timer_free(o->timer);
    hosts_fini(&o->hosts);
    curl_global_cleanup();
    free(o);
}

/* ---- targets ------------------------------------------------------------------------------- */

static bool copy_rules(struct out_rules *to, const struct out_rules *r)
{
    *to = *r;
    to->url = NULL;
    to->ca_file = strdup(r->ca_file);
    to->cert_file = strdup(r->cert_file);
    to->key_file = strdup(r->key_file);
    to->proxy = NULL;
    return to->ca_file != NULL && to->cert_file != NULL && to->key_file != NULL;
}

static void target_free(struct out_target *t)
{
    free((char *)t->rules.ca_file);
    free((char *)t->rules.cert_file);
    free((char *)t->rules.key_file);
    free(t);
}

int out_target_new(struct out_target **out, struct out *o, const struct out_rules *r, struct err *e)
{
    struct out_target *t = calloc(1, sizeof(*t));
    const char *why = t != NULL ? url_parse(&t->url, r->url) : NULL;

    if (t == NULL || !copy_rules(&t->rules, r)) {
        if (t != NULL)
            target_free(t);
        return err_set(e, SQ_ENOMEM, "out of memory");
    }
    if (why == NULL && r->proxy[0] != 0)
        why = url_parse(&t->proxy, r->proxy);
    if (why == NULL && t->proxy.tls)
        why = "a proxy's url begins with http://";
    if (why != NULL) {
        target_free(t);
        return err_set(e, SQ_EINVAL, "%s", why);
    }
    t->out = o;
    list_init(&t->waiting);
    list_init(&t->calls);
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
    if (t->question != NULL)
        hosts_drop(t->question);
    list_remove(&t->out->targets, &t->in);
    target_free(t);
}

/* libcurl_loop.c: libcurl's multi interface on our loop (its "hiperfifo" example, with our watchers). */
#include "task/out/libcurl_loop.h"

#include <stdlib.h>

#include "task/out/libcurl.h"

#define KEPT_MAX 1024L /* idle connections, of all targets */

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
        libcurl_ended((struct out_call *)(void *)c, rc);
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

static void on_late(void *arg)
{
    struct out *o = arg;
    msec_t now = ev_now(o->ev);

    o->late_due = MSEC_NEVER;
    list_each_of (&o->targets, struct out_target, in, t) {
        if (!t->plain)
            libcurl_late_by(o, libcurl_late(t, now));
    }
}

/* ---- life ---------------------------------------------------------------------------------- */

bool libcurl_loop_init(struct out *o)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return false;
    o->multi = curl_multi_init();
    o->timer = ev_timer_new(o->ev, on_timer, o);
    o->late_timer = ev_timer_new(o->ev, on_late, o);
    o->late_due = MSEC_NEVER;
    if (o->multi == NULL || o->timer == NULL || o->late_timer == NULL) {
        libcurl_loop_fini(o);
        return false;
    }
    curl_multi_setopt(o->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(o->multi, CURLMOPT_SOCKETDATA, o);
    curl_multi_setopt(o->multi, CURLMOPT_TIMERFUNCTION, on_timeout);
    curl_multi_setopt(o->multi, CURLMOPT_TIMERDATA, o);
    curl_multi_setopt(o->multi, CURLMOPT_MAXCONNECTS, KEPT_MAX);
    curl_multi_setopt(o->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, (long)o->most_conns);
    return true;
}

void libcurl_loop_fini(struct out *o)
{
    curl_multi_cleanup(o->multi); /* closes what is kept, through on_socket() */
    ev_timer_free(o->timer);
    ev_timer_free(o->late_timer);
    curl_global_cleanup();
}

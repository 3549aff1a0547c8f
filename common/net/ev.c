/* ev.c: the turns of a loop: one wait in its epoll, what is due, posts, hooks. Descriptors are in
 * ev_io.c, timers in ev_timer.c, signals in ev_signal.c, the clock in ev_clock.c.
 *
 * libevent is a guest, for its HTTP client and its questions to name servers: while it has
 * something to wait for, it is asked in each turn, and turns come GUEST_US apart or sooner. Nobody
 * else pays for it. */
#include "common/net/ev.h"
#include "common/base/grow.h"
#include "common/net/ev_int.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"

#define LOG_MODULE     "ev"
#define POSTS_AT_START 256
#define GUEST_US       5000

int ev_new(struct ev **out, struct err *e)
{
    struct ev *ev = calloc(1, sizeof(*ev));

    if (ev != NULL) {
        list_init(&ev->timers);
        ev->epfd = epoll_create1(EPOLL_CLOEXEC);
        ev->posts = calloc(POSTS_AT_START, sizeof(*ev->posts));
        ev->running = calloc(POSTS_AT_START, sizeof(*ev->running));
        ev->cap_posts = ev->cap_running = POSTS_AT_START;
        ev->clock.stale = true;
    }
    if (ev == NULL || ev->epfd < 0 || ev->posts == NULL || ev->running == NULL) {
        ev_free(ev);
        return err_set(e, SQ_ENOMEM, "event loop: out of memory or descriptors");
    }
    *out = ev;
    return 0;
}

void ev_free(struct ev *ev)
{
    if (ev == NULL)
        return;
    ev_signals_end(ev);
    if (ev->guest != NULL)
        event_base_free(ev->guest);
    if (ev->epfd >= 0)
        close(ev->epfd);
    free(ev->posts);
    free(ev->running);
    free(ev->hooks);
    free(ev);
}

struct event_base *ev_base(struct ev *ev)
{
    struct event_config *cfg = ev->guest == NULL ? event_config_new() : NULL;

    if (cfg != NULL) {
        event_config_set_flag(cfg, EVENT_BASE_FLAG_NOLOCK);
        event_config_set_flag(cfg, EVENT_BASE_FLAG_IGNORE_ENV);
        ev->guest = event_base_new_with_config(cfg);
        event_config_free(cfg);
    }
    return ev->guest;
}

/* ---- posts ---- */

void ev_post(struct ev *ev, ev_fn fn, void *arg)
{
    /* A post is a promise (a connection to be freed, a peer to be told): losing one would
     * leave the process in a state that nobody has thought of. */
    if (!GROW(ev->posts, ev->n_posts, ev->cap_posts, 64)) {
        log_error("event=no_memory what=post posts=%zu", ev->n_posts);
        abort();
    }
    ev->posts[ev->n_posts++] = (struct ev_call){ fn, arg, 0 };
}

/* Two arrays that change places: what is posted meanwhile goes into the other one. */
static void run_posts(struct ev *ev)
{
    struct ev_call *v = ev->posts;
    size_t n = ev->n_posts, cap = ev->cap_posts;

    ev->posts = ev->running;
    ev->cap_posts = ev->cap_running;
    ev->n_posts = 0;
    ev->running = v;
    ev->cap_running = cap;
    for (size_t i = 0; i < n; i++)
        v[i].fn(v[i].arg);
}

/* ---- hooks ---- */

int ev_hook(struct ev *ev, int rank, ev_fn fn, void *arg)
{
    struct ev_call *v = realloc(ev->hooks, (ev->n_hooks + 1) * sizeof(*v));
    size_t at;

    assert(!ev->in_hooks);
    if (v == NULL)
        return SQ_ENOMEM;
    ev->hooks = v;
    for (at = ev->n_hooks; at > 0 && v[at - 1].rank > rank; at--)
        v[at] = v[at - 1];
    v[at] = (struct ev_call){ fn, arg, rank };
    ev->n_hooks++;
    return 0;
}

static void sweep_hooks(struct ev *ev)
{
    size_t kept = 0;

    for (size_t i = 0; i < ev->n_hooks; i++)
        if (ev->hooks[i].fn != NULL)
            ev->hooks[kept++] = ev->hooks[i];
    ev->n_hooks = kept;
}

void ev_unhook(struct ev *ev, ev_fn fn, void *arg)
{
    for (size_t i = 0; i < ev->n_hooks; i++)
        if (ev->hooks[i].fn == fn && ev->hooks[i].arg == arg)
            ev->hooks[i].fn = NULL;
    if (!ev->in_hooks)
        sweep_hooks(ev);
}

static void run_hooks(struct ev *ev)
{
    ev->in_hooks = true;
    for (size_t i = 0; i < ev->n_hooks; i++)
        if (ev->hooks[i].fn != NULL)
            ev->hooks[i].fn(ev->hooks[i].arg);
    ev->in_hooks = false;
    sweep_hooks(ev);
}

/* ---- turns ---- */

static bool guest_waits(const struct ev *ev)
{
    return ev->guest != NULL &&
           event_base_get_num_events(ev->guest,
                                     EVENT_BASE_COUNT_ADDED | EVENT_BASE_COUNT_ACTIVE) > 0;
}

/* How long the next turn may wait; INT64_MAX: for ever. */
static int64_t wait_us(const struct ev *ev)
{
    int64_t due = ev_timers_due(ev), wait = INT64_MAX;

    if (due != INT64_MAX) {
        wait = due - ev_read_mono_us();
        wait = wait > 0 ? wait : 0;
    }
    if (wait > GUEST_US && guest_waits(ev))
        wait = GUEST_US;
    return wait;
}

void ev_turn(struct ev *ev, bool wait)
{
    int64_t us = wait && ev->n_posts == 0 ? wait_us(ev) : 0;

    ev->clock.stale = true;
    ev_ios_run(ev, us);
    ev_timers_run(ev);
    if (guest_waits(ev) && event_base_loop(ev->guest, EVLOOP_ONCE | EVLOOP_NONBLOCK) < 0)
        log_error("event=loop_failed errno=%d", errno);
    run_posts(ev);
    run_hooks(ev);
}

void ev_run(struct ev *ev)
{
    while (!ev->stop)
        ev_turn(ev, true);
    ev->stop = false;
}

void ev_stop(struct ev *ev)
{
    ev->stop = true;
}

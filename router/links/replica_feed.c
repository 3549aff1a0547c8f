/* replica_feed.c: see replica_feed.h. */
#include "router/links/replica_feed.h"

#include <assert.h>

#include "common/base/log.h"
#include "common/wire/codec.h"

#define LOG_MODULE "replica"

#define FAREWELL_MS 250

static struct replicas *known(const struct seg_links *s)
{
    return &s->r->replicas;
}

static void say(struct seg_link *l, const struct msg_seen *seen)
{
    struct msg m = { .type = MSG_SEEN, .seen = *seen };

    l->seen_rid = ++l->s->next_rid;
    if (rpc_send(l->n.ch, &m, l->seen_rid) < 0) /* sent again with the next link */
        rpc_chan_close(l->n.ch, "no memory to say which polls were answered");
}

/* NULL: nothing is said to it. */
static struct stream *listener(struct seg_link *l)
{
    struct stream *st = replicas_stream(known(l->s), l->n.no);

    return st != NULL && st->up && !st->refused ? st : NULL;
}

static void say_all(struct seg_link *l)
{
    struct stream *st = listener(l);
    struct msg_seen m;

    while (st != NULL && stream_seen(st, ev_now(l->s->r->ev), &m))
        say(l, &m);
}

static void farewell_ends(struct seg_links *s)
{
    ev_fn done = s->farewell_done;

    s->farewell_done = NULL;
    ev_timer_at(s->seen_timer, MSEC_NEVER);
    done(s->farewell_arg);
}

static void on_timer(void *arg)
{
    struct seg_links *s = arg;
    struct seg_link *l;

    if (s->farewell_done != NULL) {
        farewell_ends(s);
        return;
    }
    each_node_link (&s->nodes, l)
        say_all(l);
    ev_timer_at(s->seen_timer, ev_now(s->r->ev) + STREAM_SEEN_MS);
}

int replica_feed_init(struct seg_links *s)
{
    s->seen_timer = ev_timer_new(s->r->ev, on_timer, s);
    if (s->seen_timer == NULL)
        return SQ_ENOMEM;
    if (known(s)->fresh_ms > 0)
        ev_timer_at(s->seen_timer, ev_now(s->r->ev) + STREAM_SEEN_MS);
    return 0;
}

void replica_feed_fini(struct seg_links *s)
{
    ev_timer_free(s->seen_timer);
}

void replica_feed_up(struct seg_link *l)
{
    struct stream *st;

    if (known(l->s)->fresh_ms == 0 || (st = replicas_stream(known(l->s), l->n.no)) == NULL)
        return;
    stream_up(st, ev_now(l->s->r->ev));
    say_all(l);
}

void replica_feed_down(struct seg_link *l)
{
    struct replicas *k = known(l->s);
    struct stream *st = map_get_ptr(&k->streams, l->n.no);

    if (st == NULL || !st->up)
        return;
    stream_down(st);
    if (k->keep_ms > 0 && st->now.names.n > 0)
        log_warn("event=replica_kept node=%s age_ms=%lld", l->n.name,
                 (long long)stream_age_ms(st, ev_now(l->s->r->ev)));
}

/* Counts all marks, and the farewell itself. */
static bool all_confirmed(struct seg_links *s)
{
    struct seg_link *l;

    each_node_link (&s->nodes, l) {
        const struct stream *st = listener(l);

        if (st != NULL && st->seen.acked < st->seen.seq)
            return false;
    }
    return true;
}

int replica_feed_in(struct seg_link *l, const struct msg_replica *m)
{
    struct seg_links *s = l->s;
    struct stream *st = listener(l);
    int rc = st != NULL ? stream_apply(st, m, ev_now(s->r->ev)) : SQ_EPROTO;

    if (rc < 0)
        log_warn("event=bad_replica node=%s stamp_ms=%lld rows=%u", l->n.name,
                 (long long)m->stamp_ms, m->n);
    else if (s->farewell_done != NULL && all_confirmed(s))
        farewell_ends(s);
    if (rc == 0 && listeners_pushed(&s->r->listeners, s->r->routes, known(s)))
        ev_timer_at(s->r->listen_timer, ev_now(s->r->ev));
    return rc;
}

bool replica_feed_refused(struct seg_link *l, uint64_t rid)
{
    struct stream *st = listener(l);

    if (st == NULL || rid == 0 || rid != l->seen_rid)
        return false;
    log_info("event=replica_unknown node=%s do=\"upgrade it; its polls are asked until then\"",
             l->n.name);
    stream_refused(st);
    return true;
}

void replica_feed_farewell(struct seg_links *s, ev_fn done, void *arg)
{
    struct seg_link *l;

    assert(s->farewell_done == NULL && done != NULL);
    s->farewell_done = done;
    s->farewell_arg = arg;
    each_node_link (&s->nodes, l) {
        struct stream *st = listener(l);
        struct msg_seen m;

        if (st == NULL)
            continue;
        say_all(l);
        stream_farewell(st, ev_now(s->r->ev), &m);
        say(l, &m);
    }
    if (all_confirmed(s))
        farewell_ends(s);
    else
        ev_timer_at(s->seen_timer, ev_now(s->r->ev) + FAREWELL_MS);
}

/* manager.c: the steps in order, in s->out: first those that wait for the store, then the new ones,
 * then spares. With Redis the messages of later turns wait behind those of earlier ones. */
#include "queuemng/process/manager.h"

#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/failpoint.h"
#include "common/base/log.h"
#include "queuemng/core/mng.h"
#include "queuemng/core/tick.h"

#define LOG_MODULE "manager"

/* Keeps room for another step: a manager that cannot even note down what its
 * core has decided would be a different one from the one that others know. */
struct mng_out *mng_service_step(struct mng_service *s)
{
    if (s->n_out == s->cap_out) {
        size_t cap = s->cap_out != 0 ? s->cap_out * 2 : 16;
        struct mng_step *v = realloc(s->out, cap * sizeof(*v));

        if (v == NULL)
            goto fail;
        s->out = v;
        for (; s->cap_out < cap; s->cap_out++) {
            v[s->cap_out].out = malloc(sizeof(*v->out));
            if (v[s->cap_out].out == NULL)
                goto fail;
            mng_out_init(v[s->cap_out].out);
        }
    }
    assert(s->n_out < s->cap_out && s->n_stored <= s->n_out);
    if (s->leads)
        mng_forgive(s->mng, ev_now(s->ev));
    s->counts.steps++;
    s->out[s->n_out].by = (struct mng_step_by){ 0 };
    return s->out[s->n_out++].out;
fail:
    log_error("event=no_memory what=step");
    abort();
}

struct mng_out *mng_service_step_by(struct mng_service *s, const struct rpc_peer *peer, uint16_t type)
{
    struct mng_out *out = mng_service_step(s);
    struct mng_step_by *by = &s->out[s->n_out - 1].by;

    snprintf(by->node, sizeof(by->node), "%s", peer->node);
    by->role = peer->role;
    by->type = type;
    return out;
}

static int put(struct mng_service *s, const struct mng_act *a)
{
    if (a->kind != MNG_SEND)
        FAILPOINT_NOTE(a->key[0] == 'c' ? "chain" : a->key[0] == 'n' ? "node" : "meta");
    if (a->kind == MNG_PUT)
        return store_put(s->store, a->key, a->val);
    return a->kind == MNG_DEL ? store_del(s->store, a->key) : 0;
}

static void store_told(struct mng_service *s, bool ok, const struct err *e)
{
    if (!ok)
        s->counts.store_failures++;
    if (!ok && s->store_ok)
        log_error("event=store_failed why=%s", log_q(e->text, strlen(e->text)));
    else if (ok && !s->store_ok)
        log_info("event=store_ok");
    s->store_ok = ok;
}

/* All puts of the new steps, then one sync. */
static bool store_new(struct mng_service *s)
{
    struct err e = { 0 };
    uint64_t need = 0;
    int rc = 0;

    for (size_t i = s->n_stored; i < s->n_out; i++)
        for (uint32_t k = 0; k < s->out[i].out->n; k++) {
            int r = put(s, &s->out[i].out->act[k]);

            if (r < 0)
                rc = err_set(&e, r, "%s", sq_strerror(r));
        }
    FAILPOINT_NOTED("before_store", 0);
    if (rc == 0)
        rc = store_sync(s->store, &need, &e);
    FAILPOINT_NOTED("after_store", 1);
    for (size_t i = s->n_stored; i < s->n_out; i++)
        s->out[i].need = need;
    s->n_stored = s->n_out;
    store_told(s, rc == 0, &e);
    return rc == 0;
}

static void send_one(struct mng_service *s, const struct out_item *it, bool stored)
{
    struct rpc_chan *ch = map_get_ptr(&s->peers, it->to);
    int rc;

    if (ch == NULL)
        return; /* gone meanwhile */
    if (!stored) {
        rpc_chan_close(ch, "queuemng cannot store what it decided");
        return;
    }
    rc = rpc_send(ch, &it->m, 0);
    if (rc < 0) {
        log_error("event=not_sent type=%s why=\"%s\"", msg_name(it->m.type),
                  sq_strerror(rc));
        rpc_chan_close(ch, "a message could not be built");
    }
}

static void send_step(struct mng_service *s, struct mng_out *o, bool stored)
{
    assert(!o->box.failed); /* a step that is not whole is dropped before */
    for (uint32_t k = 0; k < o->n; k++)
        if (o->act[k].kind == MNG_SEND)
            send_one(s, &o->box.v[o->act[k].item], stored);
    mng_out_reset(o);
}

/* The first n steps are done with: they become the last spares. */
static void steps_done(struct mng_service *s, size_t n)
{
    struct mng_step done;

    assert(n <= s->n_stored && s->n_stored <= s->n_out && s->n_out <= s->cap_out);
    for (; n > 0; n--) {
        done = s->out[0];
        memmove(s->out, s->out + 1, (s->n_out - 1) * sizeof(*s->out));
        s->out[--s->n_out] = done;
        s->n_stored--;
    }
}

/* Sends what the store has. */
static void send_ready(struct mng_service *s, bool stored)
{
    uint64_t done = store_done(s->store);
    size_t n = 0;

    for (; n < s->n_stored && s->out[n].need <= done; n++)
        send_step(s, s->out[n].out, stored);
    steps_done(s, n);
}

static bool may_order(const struct mng_service *s)
{
    return s->leads && (s->lead == NULL || mng_lead_may_order(s->lead));
}

void mng_service_drop(struct mng_service *s)
{
    for (size_t i = 0; i < s->n_out; i++)
        mng_out_reset(s->out[i].out);
    s->n_out = s->n_stored = 0;
}

/* Sets broken and fault, if there is a step that is not whole. */
static void look_at_steps(struct mng_service *s)
{
    for (size_t i = s->n_stored; i < s->n_out && !s->broken; i++) {
        const struct mng_out *o = s->out[i].out;

        if (!o->box.failed)
            continue;
        s->broken = true;
        s->fault.by = s->out[i].by;
        snprintf(s->fault.why, sizeof(s->fault.why), "%s", o->why[0] != 0 ? o->why : "no memory");
    }
}

enum mng_stored mng_service_flush(struct mng_service *s, uint64_t *need)
{
    bool ok;

    *need = 0;
    if (!may_order(s)) {
        mng_service_drop(s);
        return MNG_NOT_STORED;
    }
    look_at_steps(s);
    if (s->broken) {
        mng_service_drop(s);
        return MNG_NOT_STORED;
    }
    ok = store_new(s);
    if (s->n_out > 0)
        *need = s->out[s->n_out - 1].need;
    send_ready(s, ok);
    return !ok ? MNG_NOT_STORED : *need <= store_done(s->store) ? MNG_STORED : MNG_STORED_LATER;
}

void mng_service_stored(struct mng_service *s)
{
    if (may_order(s))
        send_ready(s, true);
    else
        mng_service_drop(s);
}

/* ---- deferred answers ------------------------------------------------------------- */

#define DEFERRED_MAX 1000 /* operators are few */

struct deferred {
    struct list_node in; /* mng_service.deferred */
    struct admin_held *answer;
    uint64_t need;
};

static void not_sure(struct admin_ans *a)
{
    a->etag = NULL;
    admin_problem(
        a, 503, "queue_unavailable",
        "the store did not confirm the change; read it back before you retry");
}

void mng_defer(struct mng_service *s, struct admin_ans *a, uint64_t need)
{
    struct deferred *h = s->deferred.n < DEFERRED_MAX ? calloc(1, sizeof(*h)) : NULL;

    if (h == NULL || (h->answer = admin_hold(a)) == NULL) {
        free(h);
        not_sure(a);
        return;
    }
    h->need = need;
    list_push_back(&s->deferred, &h->in);
}

static void end(struct mng_service *s, struct deferred *h)
{
    struct admin_held *answer = h->answer;

    assert(answer != NULL && list_linked(&h->in));
    list_remove(&s->deferred, &h->in);
    free(h);
    admin_send(answer);
}

void mng_deferred_send(struct mng_service *s)
{
    list_each (&s->deferred, it) {
        struct deferred *h = container_of(it, struct deferred, in);

        if (h->need <= store_done(s->store))
            end(s, h);
    }
}

void mng_deferred_fail(struct mng_service *s)
{
    list_each (&s->deferred, it) {
        struct deferred *h = container_of(it, struct deferred, in);

        not_sure(admin_held_ans(h->answer));
        end(s, h);
    }
}

/* ---- health ----------------------------------------------------------------------- */

bool mng_healthy(void *ctx, struct buf *why)
{
    const struct mng_service *s = ctx;
    struct mng_lead_view v = { .reachable = true };

    if (s->lead != NULL)
        mng_lead_look(s->lead, &v);
    if (mng_is_foreign(s->mng))
        buf_str(why, "the segment nodes obey managers of another store");
    else if (!v.reachable)
        buf_str(why, "Redis cannot be reached");
    else if (!s->store_ok)
        buf_str(why, "the store cannot be written");
    else if (s->tokens_wrong[0] != '\0') /* no reason for a restart, which would fail by it */
        buf_printf(why, "admin_tokens_file was refused, the tokens from before are used: %s",
                   s->tokens_wrong);
    else if (v.alone)
        buf_str(why, "Redis has replicas, and takes writes that none of them gets: when its master is "
                     "cut off, two managers may lead; set min-replicas-to-write (docs/regions.md)");
    else
        rpc_warn(s->rpc, why);
    return v.reachable && s->store_ok && !mng_is_foreign(s->mng);
}

/* ---- loads, by role and name ------------------------------------------------------ */

void loads_init(struct loads *l)
{
    *l = (struct loads){ .began_ms = 0 };
    map_init(&l->by_name, 0);
}

void loads_fini(struct loads *l)
{
    map_fini_all(&l->by_name);
}

void loads_clear(struct loads *l)
{
    loads_fini(l);
    loads_init(l);
}

static uint64_t key_of(enum rpc_role role, const char *name)
{
    static const uint8_t k[crypto_shorthash_KEYBYTES] = "load-of-a-peer..";
    char text[NAME_MAX_LEN + 16];
    int n = snprintf(text, sizeof(text), "%d/%s", (int)role, name);
    uint64_t h;

    crypto_shorthash((uint8_t *)&h, (const uint8_t *)text, (size_t)n, k);
    return h;
}

/* A router's own clock says when a pass ends, a segment node's when its pre-queue is over: a wrong one was met
 * by people first. */
static void note_clock(struct load_seen *x, int64_t wall_ms, bool apart)
{
    int64_t ahead_ms = x->load.wall_ms - wall_ms, off_ms = ahead_ms < 0 ? -ahead_ms : ahead_ms;
    unsigned was = x->off;
    size_t n = strlen(x->warning);

    x->off = x->load.wall_ms == 0 || off_ms < (was < CLOCK_SURE ? CLOCK_OFF_MS : CLOCK_RIGHT_MS) ? 0
             : was < CLOCK_SURE && (was == 0 || apart)                                         ? was + 1
                                                                                               : was;
    if (x->off == CLOCK_SURE)
        snprintf(x->warning + n, sizeof(x->warning) - n, "%sits clock is %lld s %s this manager's: set both (NTP)",
                 n > 0 ? "; " : "", (long long)(off_ms / 1000), ahead_ms < 0 ? "behind" : "ahead of");
    if (x->off == CLOCK_SURE && was < CLOCK_SURE)
        log_warn("event=clock_off node=%s ahead_ms=%lld", x->name, (long long)ahead_ms);
    else if (x->off == 0 && was == CLOCK_SURE)
        log_info("event=clock_right node=%s ahead_ms=%lld", x->name, (long long)ahead_ms);
}

void loads_note(struct loads *l, enum rpc_role role, const char *name, msec_t now_ms, int64_t wall_ms,
                const struct msg_load *m)
{
    uint64_t key = key_of(role, name);
    struct load_seen *x = map_get_ptr(&l->by_name, key);
    bool apart;

    if (x == NULL && (x = calloc(1, sizeof(*x))) != NULL && map_set_ptr(&l->by_name, key, x) < 0) {
        free(x);
        x = NULL;
    }
    if (x == NULL)
        return;
    if (l->began_ms == 0)
        l->began_ms = now_ms;
    if (x->at_ms == 0)
        x->since_ms = now_ms - l->began_ms < ROUTERS_FOUND_MS ? -ROUTER_FOLLOWED_MS : now_ms;
    apart = now_ms - x->at_ms >= CLOCK_APART_MS;
    x->role = role;
    snprintf(x->name, sizeof(x->name), "%s", name);
    snprintf(x->version, sizeof(x->version), "%s", m->version != NULL ? m->version : "");
    snprintf(x->warning, sizeof(x->warning), "%s", m->warning != NULL ? m->warning : "");
    x->at_ms = now_ms;
    x->load = *m;
    x->load.version = x->version;
    x->load.warning = x->warning;
    note_clock(x, wall_ms, apart);
}

size_t loads_clocks_off(const struct loads *l, msec_t now_ms)
{
    uint64_t key, val;
    size_t n = 0;

    for (size_t i = 0; (i = map_next(&l->by_name, i, &key, &val)) != 0;) {
        const struct load_seen *x = (const struct load_seen *)(uintptr_t)val;

        n += x->off == CLOCK_SURE && now_ms - x->at_ms < LOAD_STALE_MS;
    }
    return n;
}

const struct load_seen *loads_of(const struct loads *l, enum rpc_role role, const char *name,
                                 msec_t now_ms)
{
    const struct load_seen *x = map_get_ptr(&l->by_name, key_of(role, name));

    return x != NULL && x->role == role && strcmp(x->name, name) == 0 &&
                   now_ms - x->at_ms < LOAD_STALE_MS
               ? x : NULL;
}

/* n of them are there; x takes the place of the one that went first, if it went later. */
static size_t keep_last(const struct load_seen *v[ROUTERS_MISSED_MAX], size_t n, const struct load_seen *x)
{
    size_t first = 0;

    if (n < ROUTERS_MISSED_MAX) {
        v[n] = x;
        return n + 1;
    }
    for (size_t i = 1; i < n; i++)
        if (v[i]->at_ms < v[first]->at_ms)
            first = i;
    if (x->at_ms > v[first]->at_ms)
        v[first] = x;
    return n;
}

static int later_first(const void *a, const void *b)
{
    const struct load_seen *const *x = a, *const *y = b;

    return ((*x)->at_ms < (*y)->at_ms) - ((*x)->at_ms > (*y)->at_ms);
}

/* Counts routers that came so lately that they may have the place of one that went at since_ms or later. As many
 * of them as left in good order in that time have the places of these (a rolling replacement). */
static size_t followers(const struct loads *l, msec_t now_ms, msec_t since_ms)
{
    size_t came = 0, left = 0;
    uint64_t key, val;

    for (size_t i = 0; (i = map_next(&l->by_name, i, &key, &val)) != 0;) {
        const struct load_seen *x = (const struct load_seen *)(uintptr_t)val;

        if (x->role != RPC_ROUTER)
            continue;
        if (x->load.leaves)
            left += x->at_ms + ROUTER_FOLLOWED_MS > since_ms;
        else
            came += now_ms - x->at_ms < LOAD_STALE_MS && x->since_ms + ROUTER_FOLLOWED_MS > since_ms;
    }
    return came > left ? came - left : 0;
}

size_t loads_routers_missed(const struct loads *l, msec_t now_ms, const struct load_seen *v[ROUTERS_MISSED_MAX])
{
    msec_t first_gone_ms = now_ms;
    size_t n = 0, gone = 0, came;
    uint64_t key, val;

    for (size_t i = 0; (i = map_next(&l->by_name, i, &key, &val)) != 0;) {
        const struct load_seen *x = (const struct load_seen *)(uintptr_t)val;

        if (x->role == RPC_ROUTER && !x->load.leaves && now_ms - x->at_ms >= LOAD_STALE_MS &&
            now_ms - x->at_ms < ROUTER_MISSED_MS) {
            n = keep_last(v, n, x);
            gone++;
            first_gone_ms = x->at_ms < first_gone_ms ? x->at_ms : first_gone_ms;
        }
    }
    came = followers(l, now_ms, first_gone_ms);
    qsort(v, n, sizeof(v[0]), later_first);
    return gone <= came ? 0 : gone - came < n ? gone - came : n;
}

void loads_tidy(struct loads *l, msec_t now_ms)
{
    uint64_t key, val;

    for (size_t i = 0; (i = map_next(&l->by_name, i, &key, &val)) != 0;) {
        struct load_seen *x = (struct load_seen *)(uintptr_t)val;

        if (now_ms - x->at_ms < (x->role == RPC_ROUTER ? ROUTER_MISSED_MS : LOAD_STALE_MS))
            continue;
        map_del(&l->by_name, key);
        free(x);
        return; /* the map has moved; the next one at the next look */
    }
}

/* ---- blame ------------------------------------------------------------------------ */

static bool is_of(const struct blamed *x, enum rpc_role role, const char *node)
{
    return x->at_ms[0] != 0 && x->role == role && strcmp(x->node, node) == 0;
}

/* Finds its row, or a row that it may have. */
static struct blamed *row_for(struct blame *b, enum rpc_role role, const char *node)
{
    struct blamed *oldest = &b->v[0];

    for (struct blamed *x = b->v; x < b->v + BLAME_ROWS; x++) {
        if (is_of(x, role, node))
            return x;
        if (x->at_ms[0] < oldest->at_ms[0])
            oldest = x;
    }
    memset(oldest, 0, sizeof(*oldest));
    oldest->role = role;
    strncpy(oldest->node, node, NAME_MAX_LEN);
    return oldest;
}

unsigned blame_add(struct blame *b, enum rpc_role role, const char *node, msec_t now_ms)
{
    struct blamed *x = row_for(b, role, node);
    unsigned times = 1;

    assert(now_ms > 0 && now_ms >= x->at_ms[0]);
    memmove(x->at_ms + 1, x->at_ms, sizeof(x->at_ms) - sizeof(x->at_ms[0]));
    x->at_ms[0] = now_ms;
    while (times < BLAME_TIMES && x->at_ms[times] != 0 &&
           now_ms - x->at_ms[times] < BLAME_WITHIN_MS)
        times++;
    if (times == BLAME_TIMES)
        x->until_ms = now_ms + BLAME_DROP_MS;
    return times;
}

msec_t blame_left_ms(const struct blame *b, enum rpc_role role, const char *node, msec_t now_ms)
{
    for (const struct blamed *x = b->v; x < b->v + BLAME_ROWS; x++)
        if (is_of(x, role, node))
            return x->until_ms > now_ms ? x->until_ms - now_ms : 0;
    return 0;
}

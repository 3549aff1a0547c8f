/* lead.c: see the header. */
#include "queuemng/process/lead.h"

#include <assert.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/log.h"
#include "common/net/tls.h"
#include "common/redis/redis_script.h"

#define LOG_MODULE    "lead"
#define RELOAD_MS     500  /* a standby's copy is about so old, */
#define RELOAD_BYTES  2048 /* and a millisecond older for so much to be copied */
#define LOAD_AGAIN_MS 100

struct mng_lead {
    struct ev *ev; /* ref */
    struct mng_lead_calls calls;
    void *ctx;
    struct lease lease;
    struct tls_ctx *tls;       /* owned; NULL: without */
    struct redis_store *store; /* owned */
    struct ev_timer *timer;
    uint32_t ttl_ms;
    bool up;           /* the link to Redis */
    msec_t settled_ms; /* before that, this Redis is not asked for the lease */
    bool exact;      /* no leader since us, as far as we know: our copy is exact */
    bool begun;        /* the term: on_lead was called */
    bool loading;
    bool fenced, unusable; /* this term must end: the timer does it */
    uint64_t fenced_by;
    uint64_t rev;              /* revision as last heard */
    msec_t loaded_ms, load_ms; /* when it was, when it will be tried again */
    char name[NAME_MAX_LEN + 1], addr[64], admin[64];
    char leader[NAME_MAX_LEN + 1], leader_addr[64], leader_admin[64];
    uint64_t terms, renewals, failures;
};

/* Not the turn's: a turn may have been stopped in its middle. */
static msec_t boot_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t);
    return (msec_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- terms ----------------------------------------------------------------------- */

static void leader_is(struct mng_lead *l, const char *holder)
{
    char name[NAME_MAX_LEN + 1] = "", addr[64] = "", admin[64] = "";

    bool other;

    (void)sscanf(holder, "%64s %63s %63s", name, addr, admin);
    other = strcmp(addr, l->leader_addr) != 0;
    if (other)
        log_info("event=leader name=%s addr=%s", name[0] != 0 ? name : "-",
                 addr[0] != 0 ? addr : "-");
    memcpy(l->leader, name, sizeof(name));
    memcpy(l->leader_addr, addr, sizeof(addr));
    memcpy(l->leader_admin, admin, sizeof(admin));
    if (other && addr[0] != 0 && !l->begun)
        l->calls.on_leader(l->ctx);
}

static void term_begin(struct mng_lead *l)
{
    char self[256];

    if (!lease_leads(&l->lease, boot_ms()))
        return; /* over before it began; the next tick notes it */
    assert(!l->begun);
    l->begun = l->exact = true;
    l->terms++;
    snprintf(self, sizeof(self), "%s %s %s", l->name, l->addr, l->admin);
    leader_is(l, self);
    redis_store_begin(l->store, l->lease.epoch);
    l->calls.on_lead(l->ctx, l->lease.epoch);
}

static void term_end(struct mng_lead *l, const char *why)
{
    assert(l->lease.state == LEASE_STANDBY);
    log_warn("event=step_down epoch=%" PRIu64 " why=\"%s\"", l->lease.epoch, why);
    redis_store_end(l->store);
    leader_is(l, "");
    if (!l->begun)
        return;
    l->begun = false;
    l->calls.on_stop(l->ctx, why);
}

static void load(struct mng_lead *l)
{
    l->load_ms = ev_now(l->ev) + LOAD_AGAIN_MS;
    if (!l->loading && l->up)
        l->loading = redis_store_load(l->store) == 0;
}

/* Redis has less than we know. */
static void restore(struct mng_lead *l)
{
    if (redis_store_restore(l->store) == 0)
        term_begin(l);
}

/* Granted: is what we know what Redis has? */
static void prepare(struct mng_lead *l)
{
    assert(!l->begun && l->lease.state == LEASE_LEADING);
    log_info("event=lease epoch=%" PRIu64 " rev=%" PRIu64, l->lease.epoch, l->rev);
    switch (redis_store_compare(l->store, l->rev)) {
    case REDIS_SAME:
        term_begin(l);
        break;
    case REDIS_NEWER:
        load(l);
        break;
    case REDIS_WENT_BACK:
        restore(l);
        break;
    }
}

/* ---- the lease ------------------------------------------------------------------- */

/* False: it could not be asked. */
static bool act(struct mng_lead *l, const struct lease_act *a)
{
    switch (a->what) {
    case LEASE_TAKE:
        return l->up && ev_now(l->ev) >= l->settled_ms &&
               redis_store_take(l->store, a->serial, a->epoch) == 0;
    case LEASE_RENEW:
        return redis_store_renew(l->store, a->serial, a->epoch) == 0;
    case LEASE_FREE:
        redis_store_free_lease(l->store);
        break;
    case LEASE_LEAD:
        prepare(l);
        break;
    case LEASE_STEP_DOWN:
        term_end(l, a->why);
        break;
    }
    return true;
}

static void feed(struct mng_lead *l, struct lease_in in)
{
    struct lease_out out;
    bool asked;
    msec_t now;

    do {
        asked = true;
        now = in.now_ms = boot_ms();
        lease_step(&l->lease, &in, &out);
        for (unsigned i = 0; i < out.n; i++)
            asked = act(l, &out.act[i]) && asked;
        in = (struct lease_in) { .kind = LEASE_FAILED, .serial = l->lease.serial };
    } while (!asked);
    if (out.wake_ms != MSEC_NEVER) {
        msec_t wake = ev_now(l->ev) + (out.wake_ms > now ? out.wake_ms - now : 0);

        if (l->lease.state ==
            LEASE_LEADING) /* a stuck write is seen, and a load repeated */
            wake = ms_min(wake, ev_now(l->ev) + LOAD_AGAIN_MS);
        ev_timer_at(l->timer, wake);
    }
}

/* Another manager leads, so Redis is authoritative even if it holds less than our copy. If it
 * is empty it was wiped: the leader will notice and restore it; we keep our copy. */
static void follow(struct mng_lead *l)
{
    struct store_counts n;

    if (l->rev == 0)
        return;
    store_count(redis_store_base(l->store), &n);
    if (redis_store_compare(l->store, l->rev) != REDIS_SAME &&
        (l->loaded_ms == 0 ||
         ev_now(l->ev) - l->loaded_ms >= RELOAD_MS + (msec_t)(n.bytes / RELOAD_BYTES)))
        load(l);
}

static void on_refused(void *ctx, const char *why)
{
    struct mng_lead *l = ctx;

    log_error("event=write_refused epoch=%" PRIu64 " why=\"%s\"", l->lease.epoch, why);
    mng_lead_give_up(l);
}

static void on_lease(void *ctx, const struct redis_lease *r)
{
    static const enum lease_kind kinds[] = { [REDIS_GRANTED] = LEASE_GRANTED,
                                             [REDIS_RENEWED] = LEASE_RENEWED,
                                             [REDIS_HELD] = LEASE_HELD,
                                             [REDIS_NO_ANSWER] = LEASE_FAILED };
    struct mng_lead *l = ctx;

    l->failures += r->is == REDIS_NO_ANSWER;
    l->renewals += r->is == REDIS_RENEWED;
    if (r->is != REDIS_NO_ANSWER)
        l->rev = r->rev;
    if (r->is == REDIS_HELD) {
        leader_is(l, r->holder);
        l->exact = l->exact && r->holder[0] == 0;
    }
    feed(l, (struct lease_in) { .kind = kinds[r->is],
                                .serial = r->serial,
                                .epoch = r->epoch,
                                .left_ms = r->left_ms });
    if (r->is == REDIS_HELD && r->holder[0] != 0)
        follow(l); /* if nobody holds it, it was emptied: what we know is all there is */
    if (r->is == REDIS_RENEWED && l->begun &&
        redis_store_compare(l->store, r->rev) == REDIS_WENT_BACK)
        on_refused(l, "the store does not have what it acknowledged");
}

static void on_timer(void *arg)
{
    struct mng_lead *l = arg;
    struct lease_in in = { .kind = LEASE_TICK };

    if (l->begun && redis_store_stuck_ms(l->store) > l->ttl_ms) {
        log_error("event=write_stuck epoch=%" PRIu64 " ms=%lld", l->lease.epoch,
                  (long long)redis_store_stuck_ms(l->store));
        mng_lead_give_up(l);
    }
    if (l->fenced)
        in = (struct lease_in) { .kind = LEASE_FENCED, .epoch = l->fenced_by };
    else if (l->unusable)
        in = (struct lease_in) { .kind = LEASE_UNUSABLE };
    else if (!l->begun && l->lease.state == LEASE_LEADING && ev_now(l->ev) >= l->load_ms)
        load(l);
    l->fenced = l->unusable = false;
    feed(l, in);
}

static void on_loaded(void *ctx, int rc)
{
    struct mng_lead *l = ctx;

    l->loading = false;
    l->loaded_ms = ev_now(l->ev);
    if (rc == SQ_ESTALE)
        l->rev = 0; /* emptied since it was last heard of */
    else if (rc < 0)
        log_warn("event=load_failed why=\"%s\"", sq_strerror(rc));
    if (l->begun || l->lease.state != LEASE_LEADING)
        return;
    if (rc == SQ_ESTALE)
        restore(l);
    else if (rc == 0)
        term_begin(l);
}

static void on_link(void *ctx, bool up, int64_t uptime_ms)
{
    struct mng_lead *l = ctx;
    msec_t now = ev_now(l->ev);

    l->up = up;
    if (!up)
        return;
    /* whole seconds are told, rounded down; a replica that was made master runs long */
    l->settled_ms = uptime_ms < 0 ? now : now + (msec_t)l->ttl_ms - uptime_ms;
    if (!l->exact && uptime_ms >= 0)
        l->settled_ms +=
            l->ttl_ms / 2; /* a manager that knows all goes first: this one may be empty */
    ev_timer_at(l->timer, now);
}

static void on_done(void *ctx)
{
    struct mng_lead *l = ctx;

    if (l->begun)
        l->calls.on_stored(l->ctx);
}

/* ---- for the service ------------------------------------------------------------- */

bool mng_lead_may_order(const struct mng_lead *l)
{
    return l->begun && lease_leads(&l->lease, boot_ms());
}

void mng_lead_fenced(struct mng_lead *l, uint64_t epoch)
{
    l->fenced = true;
    l->fenced_by = u64_max(l->fenced_by, epoch);
    ev_timer_at(l->timer, ev_now(l->ev));
}

void mng_lead_give_up(struct mng_lead *l)
{
    l->unusable = true;
    ev_timer_at(l->timer, ev_now(l->ev));
}

void mng_lead_look(const struct mng_lead *l, struct mng_lead_view *v)
{
    *v = (struct mng_lead_view) {
        .leads = l->begun,
        .reachable = l->up,
        .alone = redis_store_alone(l->store),
        .epoch = l->lease.epoch,
        .lease_age_ms =
            l->lease.state == LEASE_LEADING ? boot_ms() - l->lease.renewed_ms : -1,
        .redis = redis_link_addr(redis_store_link(l->store)),
        .leader = l->leader,
        .leader_addr = l->leader_addr,
        .leader_admin = l->leader_admin,
        .terms = l->terms,
        .renewals = l->renewals,
        .failures = l->failures,
        .faults = redis_link_counts(redis_store_link(l->store)),
        .latency = redis_store_latency(l->store),
    };
}

struct store *mng_lead_store(struct mng_lead *l)
{
    return redis_store_base(l->store);
}

/* ---- life ------------------------------------------------------------------------ */

static int open_store(struct mng_lead *l, const struct mng_cfg *c, struct err *e)
{
    static const struct redis_store_calls calls = { on_link, on_lease, on_loaded, on_done,
                                                    on_refused };
    char password[256], info[256], owner[33];
    uint8_t nonce[16];
    struct redis_store_opts o = {
        .prefix = c->redis.prefix,
        .owner = owner,
        .info = info,
        .ttl_ms = (uint32_t)c->lease_ms,
        .wait_replicas = (uint32_t)c->redis.wait_replicas,
    };
    int rc = redis_opts_of(&o.link, &c->redis, password, sizeof(password), &l->tls, e);

    randombytes_buf(nonce, sizeof(nonce));
    sodium_bin2hex(owner, sizeof(owner), nonce, sizeof(nonce));
    snprintf(info, sizeof(info), "%s %s %s", l->name, l->addr, l->admin);
    if (rc == 0)
        rc = redis_store_new(&l->store, l->ev, &o, &calls, l, e);
    sodium_memzero(password, sizeof(password));
    return rc;
}

int mng_lead_new(struct mng_lead **out, struct ev *ev, const struct mng_cfg *cfg,
                 const char *addr, const char *admin, const struct mng_lead_calls *calls,
                 void *ctx, struct err *e)
{
    struct mng_lead *l = calloc(1, sizeof(*l));
    uint64_t seed;
    int rc;

    if (l == NULL)
        return err_set(e, SQ_ENOMEM, "out of memory");
    l->ev = ev;
    l->calls = *calls;
    l->ctx = ctx;
    l->ttl_ms = (uint32_t)cfg->lease_ms;
    snprintf(l->name, sizeof(l->name), "%s", cfg->node);
    snprintf(l->addr, sizeof(l->addr), "%s", addr);
    snprintf(l->admin, sizeof(l->admin), "%s", admin);
    randombytes_buf(&seed, sizeof(seed));
    lease_init(&l->lease, l->ttl_ms, seed, boot_ms());
    l->timer = ev_timer_new(ev, on_timer, l);
    rc =
        l->timer == NULL ? err_set(e, SQ_ENOMEM, "out of memory") : open_store(l, cfg, e);
    if (rc < 0) {
        mng_lead_free(l);
        return rc;
    }
    ev_timer_at(l->timer, ev_now(ev));
    *out = l;
    return 0;
}

int mng_lead_reload(struct mng_lead *l, const struct mng_cfg *cfg, struct err *e)
{
    return redis_tls_load(&l->tls, &cfg->redis, e);
}

void mng_lead_resign(struct mng_lead *l)
{
    feed(l, (struct lease_in) { .kind = LEASE_RESIGN });
}

void mng_lead_free(struct mng_lead *l)
{
    if (l == NULL)
        return;
    if (l->store != NULL)
        store_close(redis_store_base(l->store));
    tls_ctx_free(l->tls);
    if (l->timer != NULL)
        ev_timer_free(l->timer);
    free(l);
}

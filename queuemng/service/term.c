/* term.c: a term of leading. A manager alone has one, from start to end. One of
 * several begins a term with the lease, from what the store has, with a core of its own;
 * and when the lease is over, that core is thrown away: nothing of what it knows is
 * certain any more. Peers are sent away at both ends, and come back, with jitter, to
 * register (or to be told who leads). The core of a standby is empty; monitors feed it
 * already. */
#include "queuemng/service/term.h"

#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/recur/zones.h"
#include "queuemng/policy/def_kind.h"
#include "queuemng/process/manager.h"

#define LOG_MODULE "manager"

int mng_core_new(struct mng_service *s, struct err *e)
{
    struct mng_opts o = { .tick_ms = (uint32_t)s->cfg->tick_ms,
                          .lost_after_ms = (uint32_t)s->cfg->lost_after_ms,
                          .forget_after_ms = (uint32_t)s->cfg->forget_after_ms,
                          .skip_after_ms = (uint32_t)s->cfg->skip_after_ms,
                          .issuer = s->cfg->issuer,
                          .zones = &system_zones };
    struct mng *m;

    randombytes_buf(&o.seed, sizeof(o.seed));
    randombytes_buf(o.secret, sizeof(o.secret));
    assert(s->n_out == 0); /* steps of the old core would outlive it */
    m = mng_new(&o);
    if (m == NULL)
        return err_set(e, SQ_ENOMEM, "out of memory");
    mng_free(s->mng);
    s->mng = m;
    return 0;
}

void mng_term_metrics(struct mng_service *s)
{
    const char *names[MNG_CFG_METRICS];
    size_t n = mng_cfg_metrics(s->cfg, names);

    mng_metrics_set(s->mng, ev_now(s->ev), names, n);
}

static int load_pair(void *ctx, const char *key, const char *val)
{
    struct mng_service *s = ctx;
    struct err e = { 0 };
    int rc = mng_yaml_load(s, key, val);

    if (rc == 0)
        rc = mng_load(s->mng, key, val, &e);
    if (rc < 0)
        log_error("event=store_not_understood key=%s why=%s", log_q(key, strlen(key)),
                  log_q(e.text, strlen(e.text)));
    return rc;
}

/* First of all: another format is to be named so, and not met as unexpected content. */
static int load_meta(void *ctx, const char *key, const char *val)
{
    return strcmp(key, "meta") == 0 ? load_pair(ctx, key, val) : 0;
}

int mng_term_begin(struct mng_service *s, uint64_t epoch, struct err *e)
{
    uint64_t need;
    int rc;

    assert(!s->leads && (epoch != 0) == (s->lead != NULL));
    rc = store_each(s->store, load_meta, s);
    if (rc == 0)
        rc = store_each(s->store, load_pair, s);
    if (rc < 0)
        return err_set(e, rc, "what is stored cannot be used");
    if (epoch != 0)
        mng_set_epoch(s->mng, epoch);
    loads_clear(&s->loads);
    s->leads = true;
    ev_read_clock(s->ev); /* loading is no silence of the nodes */
    mng_start(s->mng, ev_now(s->ev), ev_wall_ms(s->ev), mng_service_step(s));
    mng_term_metrics(s);
    mng_yaml_apply(s);
    /* a new epoch that is not durable must not command */
    if (mng_service_flush(s, &need) == MNG_NOT_STORED)
        return err_set(e, SQ_ESYS, "the store cannot be written");
    return 0;
}

static void send_away(struct mng_service *s, const char *why)
{
    uint64_t no, ch;

    for (size_t i = 0; (i = map_next(&s->peers, i, &no, &ch)) != 0;)
        rpc_chan_close((struct rpc_chan *)(uintptr_t)ch, why);
}

static void tell_fault(struct mng_service *s)
{
    const struct mng_step_by *by = &s->fault.by;
    bool is_peer = by->node[0] != 0;
    unsigned times = is_peer ? blame_add(&s->blame, by->role, by->node, ev_now(s->ev)) : 0;

    log_error("event=core_anew why=%s by=%s role=%s message=%s times=%u",
              log_q(s->fault.why, strlen(s->fault.why)), is_peer ? by->node : "-",
              is_peer ? rpc_role_name(by->role) : "-",
              by->type != 0 ? msg_name((enum msg_type)by->type) : "-", times);
    if (times >= BLAME_TIMES)
        log_error("event=peer_dropped node=%s role=%s for_s=%d", by->node, rpc_role_name(by->role),
                  BLAME_DROP_MS / 1000);
}

void mng_term_anew(struct mng_service *s)
{
    struct err e = { 0 };

    tell_fault(s);
    if (s->lead != NULL) {
        mng_lead_give_up(s->lead); /* on_stop() follows */
        return;
    }
    s->leads = s->broken = false;
    mng_yaml_forget(s);
    if (mng_core_new(s, &e) < 0 || mng_term_begin(s, 0, &e) < 0) {
        log_error("event=cannot_lead why=%s", log_q(e.text, strlen(e.text)));
        abort(); /* the supervisor starts another */
    }
    send_away(s, "begun anew: register again");
}

bool mng_term_drops(struct mng_service *s, struct rpc_chan *ch, const struct rpc_peer *peer)
{
    msec_t left = blame_left_ms(&s->blame, peer->role, peer->node, ev_now(s->ev));

    if (left > 0)
        rpc_chan_close(ch, "dropped: its messages ended the manager's core again and again");
    return left > 0;
}

/* ---- with a lease ---------------------------------------------------------------- */

static void on_lead(void *ctx, uint64_t epoch)
{
    struct mng_service *s = ctx;
    struct err e = { 0 };

    if (mng_term_begin(s, epoch, &e) < 0) {
        log_error("event=cannot_lead why=%s", log_q(e.text, strlen(e.text)));
        mng_lead_give_up(s->lead);
        return;
    }
    send_away(s, "this manager leads now: register with it");
}

static void on_stop(void *ctx, const char *why)
{
    struct mng_service *s = ctx;
    struct err e = { 0 };

    (void)why; /* lead.c has logged it */
    s->leads = false;
    s->broken = false;
    s->store_ok = true; /* left to the next leader */
    mng_service_drop(s);
    mng_deferred_fail(s);
    mng_yaml_forget(s);
    if (mng_core_new(s, &e) < 0) {
        log_error("event=no_memory what=core");
        abort();
    }
    send_away(s, "this manager does not lead any more");
}

static void on_stored(void *ctx)
{
    struct mng_service *s = ctx;

    mng_service_stored(s);
    mng_deferred_send(s);
}

/* "Not me; this one leads": its address and name, or nothing. */
static void tell_leader(struct mng_service *s, struct rpc_chan *ch, uint32_t about)
{
    struct msg m = { .type = MSG_ERROR };
    struct mng_lead_view v;
    char text[160] = "";

    mng_lead_look(s->lead, &v);
    if (v.leader_addr[0] != 0)
        snprintf(text, sizeof(text), "%s %s", v.leader_addr, v.leader);
    m.error.code = SQ_ENOTLEADER;
    m.error.about = about;
    m.error.text = text;
    if (rpc_send(ch, &m, 0) < 0)
        rpc_chan_close(ch, "out of memory");
}

static void on_leader(void *ctx)
{
    struct mng_service *s = ctx;
    uint64_t no, ch;

    for (size_t i = 0; (i = map_next(&s->peers, i, &no, &ch)) != 0;)
        tell_leader(s, (struct rpc_chan *)(uintptr_t)ch, 0);
}

int mng_lead_start(struct mng_service *s, struct err *e)
{
    static const struct mng_lead_calls calls = { on_lead, on_stop, on_stored, on_leader };
    const struct mng_cfg *c = s->cfg;
    const char *addr = c->advertise[0] != 0 ? c->advertise : rpc_listen_addr(s->rpc);
    const char *admin =
        c->advertise_admin[0] != 0 ? c->advertise_admin : admin_addr(s->admin);
    int rc = mng_lead_new(&s->lead, s->ev, c, addr, admin, &calls, s, e);

    if (rc == 0)
        s->store = mng_lead_store(s->lead);
    return rc;
}

void mng_standby_answer(struct mng_service *s, struct rpc_chan *ch, const struct frame *f)
{
    if (f->type == MSG_ROUTER_REG || f->type == MSG_NODE_REG || f->type == MSG_TASK_REG)
        tell_leader(s, ch, f->type);
    /* else it speaks to whom it takes for the leader: there is nothing to say */
}

/* Definitions of queuemng.yaml. What was applied is remembered in the store, as PREFIX + name (of a pool:
 * its match) -> the entry as JSON. An entry is applied again only when somebody has changed it: what was
 * ordered since by the admin API stays. */

/* Prefixes of the keys in the store, by kind. */
static const char *const prefixes[DEF_FILE_END] = { [DEF_BUDGET] = "yaml_budget/",
                                                    [DEF_ENDPOINT] = "yaml_endpoint/",
                                                    [DEF_ROUTE] = "yaml_route/",
                                                    [DEF_POOL] = "yaml_pool/",
                                                    [DEF_QUEUE] = "yaml/" };

static uint64_t hash_of(const char *key)
{
    static const uint8_t k[crypto_shorthash_KEYBYTES] = "queue-yaml-entry";
    uint64_t h;

    crypto_shorthash((uint8_t *)&h, (const uint8_t *)key, strlen(key), k);
    return h;
}

static int remember(struct mng_service *s, const char *key, const char *text)
{
    char *old = map_get_ptr(&s->yaml, hash_of(key)), *copy = strdup(text);

    if (copy == NULL || map_set_ptr(&s->yaml, hash_of(key), copy) < 0) {
        free(copy);
        return SQ_ENOMEM;
    }
    free(old);
    return 0;
}

int mng_yaml_load(struct mng_service *s, const char *key, const char *val)
{
    for (enum def_kind_no k = 0; k < DEF_FILE_END; k++)
        if (strncmp(key, prefixes[k], strlen(prefixes[k])) == 0)
            return remember(s, key, val);
    return 0;
}

/* The same entry? A key that is new in this version is not in the old text, and one of a
 * newer version not here: neither is a change that somebody has made. */
static bool is_same(const struct def_kind *k, const char *old, const char *text)
{
    _Alignas(16) char a[DEF_SIZE_MAX] = { 0 }, b[DEF_SIZE_MAX] = { 0 };
    struct err e;
    bool same = cfg_read_json(a, k->size, k->keys, old, strlen(old), NULL, &e) == 0 &&
                cfg_read_json(b, k->size, k->keys, text, strlen(text), NULL, &e) == 0 && cfg_equal(a, b, k->keys);

    cfg_clear(a, k->keys);
    cfg_clear(b, k->keys);
    return same;
}

/* Does the configuration have a pool for it, that is not there yet? */
static bool gets_pool(const struct mng_cfg *cfg, const char *endpoint)
{
    const struct pool_def *p = cfg->pools.v;

    for (size_t i = 0; i < cfg->pools.n; i++)
        if (strcmp(p[i].endpoint, endpoint) == 0)
            return true;
    return false;
}

static int define(struct mng_service *s, enum def_kind_no kind, const void *d, struct err *e)
{
    return kind == DEF_ENDPOINT && gets_pool(s->cfg, def_name(d))
               ? mng_define_endpoint_alone(s->mng, ev_now(s->ev), d, mng_service_step(s), e)
               : mng_define(s->mng, kind, ev_now(s->ev), d, mng_service_step(s), e);
}

static void apply(struct mng_service *s, enum def_kind_no kind, const void *d, const char *text)
{
    const char *word = def_kinds[kind].word, *name = def_name(d), *old;
    bool exists = mng_defined(s->mng, kind, name, NULL) != NULL;
    char key[NAME_MAX_LEN + 16];
    struct err e;

    snprintf(key, sizeof(key), "%s%s", prefixes[kind], name);
    old = map_get_ptr(&s->yaml, hash_of(key));
    if (exists && old != NULL &&
        (strcmp(old, text) == 0 || is_same(&def_kinds[kind], old, text)))
        return;
    if (define(s, kind, d, &e) < 0) {
        log_error("event=not_applied %s=%s why=%s", word, name, log_q(e.text, strlen(e.text)));
        return;
    }
    if (store_put(s->store, key, text) < 0 || remember(s, key, text) < 0)
        log_error("event=no_memory what=yaml %s=%s", word, name);
    log_info("event=applied %s=%s new=%d", word, name, !exists);
}

static void apply_all(struct mng_service *s, enum def_kind_no kind, const struct cfg_list *l)
{
    const struct def_kind *k = &def_kinds[kind];
    struct buf b;

    buf_init(&b);
    for (size_t i = 0; i < l->n; i++) {
        const void *d = (const char *)l->v + i * k->size;

        buf_reset(&b);
        cfg_dump_json(&b, d, k->keys);
        buf_byte(&b, 0);
        if (b.failed)
            log_error("event=no_memory what=yaml %s=%s", k->word, def_name(d));
        else
            apply(s, kind, d, (const char *)b.data);
    }
    buf_fini(&b);
}

void mng_yaml_apply(struct mng_service *s)
{
    assert(s->leads);
    apply_all(s, DEF_BUDGET, &s->cfg->budgets); /* queues and endpoints name them */
    apply_all(s, DEF_ENDPOINT, &s->cfg->endpoints); /* pools name them */
    apply_all(s, DEF_POOL, &s->cfg->pools);
    apply_all(s, DEF_QUEUE, &s->cfg->queues); /* they name queues of pools (turn_notice) */
    apply_all(s, DEF_ROUTE, &s->cfg->routes); /* they name endpoints */
}

void mng_yaml_forget(struct mng_service *s)
{
    map_fini_all(&s->yaml);
}

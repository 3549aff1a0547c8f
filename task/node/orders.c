/* orders.c: orders of managers, each of which may come twice. */
#include "task/node/orders.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>

#include "common/base/err.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "common/wire/msg.h"
#include "task/calls/estimates.h"
#include "task/engine/change.h"
#include "task/engine/engine.h"
#include "task/engine/replay.h"
#include "task/engine/worker.h"
#include "task/node/calls.h"
#include "task/node/keep.h"
#include "task/node/part_copy.h"
#include "task/node/parts.h"
#include "task/node/wait.h"

#define LOG_MODULE "table"

static void say_error(struct outbox *out, peer_no to, int code, uint32_t about,
                      const char *text)
{
    struct msg *m = outbox_add(out, to, MSG_ERROR);

    m->error.code = code;
    m->error.about = about;
    m->error.text = text;
}

/* ---- which manager is obeyed ------------------------------------------------------- */

static bool is_foreign(const struct tasktab *t, const struct tpeer *p)
{
    return t->store != 0 && p->store != 0 && t->store != p->store;
}

static void refuse(struct tasktab *t, struct tpeer *p, uint64_t epoch, uint32_t about,
                   struct outbox *out)
{
    t->n.stale_orders++;
    if (!p->refused)
        log_warn("event=order_refused order=%s manager=%s epoch=%" PRIu64 " seen=%" PRIu64
                 " obeys=%s foreign=%d",
                 msg_name((enum msg_type)about), p->name, epoch, t->epoch, t->manager_name,
                 is_foreign(t, p));
    p->refused = true;
    say_error(out, p->no, SQ_ESTALE, about,
              "a higher epoch, or another manager, commands this node");
}

static void adopt(struct tasktab *t, const struct tpeer *p, uint64_t epoch)
{
    uint64_t store = p->store != 0 ? p->store : t->store;
    bool changed = epoch != t->epoch || store != t->store;

    if (epoch != t->epoch)
        log_info("event=manager_obeyed manager=%s epoch=%" PRIu64 " was=%" PRIu64, p->name,
                 epoch, t->epoch);
    t->epoch = epoch;
    t->store = store;
    t->manager = p->no;
    copy_text(t->manager_name, sizeof(t->manager_name), p->name);
    if (changed)
        tasktab_keep_node(t);
    t->say = true;
}

static bool obey(struct tasktab *t, struct tpeer *p, uint64_t epoch, uint32_t about,
                 struct outbox *out)
{
    bool known = strcmp(t->manager_name, p->name) == 0;

    if (epoch < t->epoch || (epoch == t->epoch && t->manager_name[0] != 0 && !known) ||
        is_foreign(t, p)) {
        refuse(t, p, epoch, about, out);
        return false;
    }
    p->refused = false;
    if (epoch > t->epoch || t->manager != p->no || (t->store == 0 && p->store != 0))
        adopt(t, p, epoch);
    return true;
}

/* ---- openings ---------------------------------------------------------------------- */

struct part_rules { /* the pool in a PART_OPEN */
    struct task_rules rules;
    struct buf keys; /* owned; limits of keys, as a record has them */
    char zones[RATE_ZONES_MAX][ZONE_NAME_MAX + 1]; /* zone 1 and up of the manager's `windows` */
    unsigned n_zones;
    struct eta_rules eta;
};

struct opening_part { /* orders about a partition that is being read */
    struct list_node in; /* tasktab.openings */
    struct msg_part_open m; /* texts and numbers: below */
    char match[TASK_NAME_MAX + 1], endpoint[TASK_NAME_MAX + 1],
        notify[TASK_NAME_MAX + 1];
    struct part_rules rules;
};

/* NULL: none. */
static struct opening_part *opening_of(const struct tasktab *t, part_no no)
{
    list_each_of (&t->openings, struct opening_part, in, o) {
        if (o->m.part == no)
            return o;
    }
    return NULL;
}

/* Begins to read it, or goes on. Takes *r over, and leaves none of it. 0, SQ_ENOMEM, SQ_EBUSY. */
static int read_shared(struct tasktab *t, const struct msg_part_open *m, struct part_rules *r)
{
    struct opening_part *o = opening_of(t, m->part);

    if (o == NULL) {
        o = calloc(1, sizeof(*o));
        if (o == NULL)
            return SQ_ENOMEM;
        list_push_back(&t->openings, &o->in);
    }
    o->m = *m;
    o->m.match = o->match;
    o->m.endpoint = o->endpoint;
    o->m.notify = o->notify;
    o->m.rules = NULL;
    o->m.keys = NULL;
    o->m.eta_url = "";
    o->m.eta_allow = o->m.zones = NULL;
    o->m.n_rules = o->m.n_keys = o->m.n_eta_allow = o->m.n_zones = 0;
    buf_fini(&o->rules.keys);
    o->rules = *r;
    buf_init(&r->keys);
    copy_text(o->match, sizeof(o->match), m->match);
    copy_text(o->endpoint, sizeof(o->endpoint), m->endpoint);
    copy_text(o->notify, sizeof(o->notify), m->notify);
    return t->o.shared->open(t->o.shared_ctx, m->part, m->part_epoch);
}

static void opening_over(struct tasktab *t, struct opening_part *o)
{
    list_remove(&t->openings, &o->in);
    buf_fini(&o->rules.keys);
    free(o);
}

void tasktab_openings_free(struct tasktab *t)
{
    list_each_of (&t->openings, struct opening_part, in, o)
        opening_over(t, o);
}

/* ---- partitions -------------------------------------------------------------------- */

static uint32_t wanted_tasks(const struct tasktab *t, const struct msg_part_open *m)
{
    uint32_t most = u32_min(t->o.max_tasks, TASKS_MAX);

    return m->max_tasks > 0 ? u32_min(m->max_tasks, most) : most;
}

static const char *refuse_open(const struct tasktab *t, const struct msg_part_open *m,
                               const struct part *p)
{
    if (t->hold)
        return "the journal does not work";
    if (m->part == 0 || m->part_epoch == 0 || m->match[0] == 0)
        return "impossible partition";
    if (p == NULL && m->had && t->o.shared == NULL)
        return "it is not here";
    if (p != NULL && m->part_epoch < p->epoch)
        return "it is here under a higher epoch";
    if (p != NULL && strcmp(p->match, m->match) != 0)
        return "it has another pattern";
    if (p != NULL && (p->life == PART_COMING ||
                      (p->life == PART_COME && m->part_epoch != p->epoch)))
        return "its copy is not whole, or another one's";
    return NULL;
}

/* Without memory r->keys.failed is set. */
static bool read_rules(const struct msg_part_open *m, struct part_rules *r)
{
    unsigned i = 0;

    rules_default(&r->rules);
#define X(member, least, most)                                                           \
    if (i < m->n_rules)                                                                  \
        r->rules.member = m->rules[i];                                                   \
    i++;
    TASK_RULES(X)
#undef X
    key_limits_encode(m->keys, m->n_keys, &r->keys);
    for (r->n_zones = 0; r->n_zones < m->n_zones; r->n_zones++)
        copy_text(r->zones[r->n_zones], sizeof(r->zones[0]), m->zones[r->n_zones]);
    eta_rules_read(&r->eta, m);
    return rules_check(&r->rules) == NULL;
}

static struct part *open_new(struct tasktab *t, const struct msg_part_open *m)
{
    uint8_t seed[NAMES_SEED];
    struct part_seed s = { m->part, wanted_tasks(t, m), seed };
    struct part *p;

    /* A single node has a partition at a time: what it is made of need not be secret from it. */
    crypto_generichash(seed, sizeof(seed), (const uint8_t *)&m->part, sizeof(m->part),
                       t->o.seed, sizeof(t->o.seed));
    p = tasktab_part_new(t, &s);
    if (p != NULL)
        log_info("event=partition_opened part=%u epoch=%" PRIu64 " match=%s", m->part,
                 m->part_epoch, log_q(m->match, strlen(m->match)));
    return p;
}

/* Makes the manager's numbers of zones the partition's own. False: one that was not told. */
static bool renumber(uint64_t *windows, const uint8_t *own, unsigned rates)
{
    uint64_t is = 0;

    for (unsigned k = 0; k < rates; k++) {
        unsigned zone = *windows >> (ZONE_BITS * k) & RATE_ZONES_MAX;

        if (zone != 0 && own[zone] == 0)
            return false;
        is |= (uint64_t)own[zone] << (ZONE_BITS * k);
    }
    *windows = is;
    return true;
}

static int own_zones(struct part *p, struct part_rules *r)
{
    uint8_t own[RATE_ZONES_MAX + 1] = { 0 };
    uint32_t taken = 0;
    struct key_limit *v;
    bool ok;
    struct buf b;
    uint32_t n;
    int rc;

    for (unsigned z = 0; z < r->n_zones; z++) {
        rc = engine_zone(&p->e, r->zones[z], &taken);
        if (rc < 0)
            return rc;
        own[z + 1] = (uint8_t)rc;
    }
    ok = renumber(&r->rules.windows, own, TASK_KEY_LEVELS * UNIT_RATES_MAX);
    rc = r->keys.failed ? SQ_ENOMEM : key_limits_decode(r->keys.data, r->keys.len, &v, &n);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < n; i++)
        ok &= renumber(&v[i].windows, own, UNIT_RATES_MAX);
    buf_init(&b);
    key_limits_encode(v, n, &b);
    free(v);
    buf_fini(&r->keys);
    r->keys = b;
    return ok ? 0 : SQ_EINVAL;
}

/* Frees all numbers of zones: with those of definitions that it has not seen they would be too many. */
static int without_zones(struct part *p, const char *match, const struct part_rules *r)
{
    const struct buf none = { 0 };
    struct task_rules rules = r->rules;
    int rc;

    rules.windows = 0;
    rc = engine_define(&p->e, match, &rules);
    return rc < 0 ? rc : engine_define_keys(&p->e, match, &none);
}

/* Rules are written only where they are other ones: orders come again and again. */
static int define(struct part *p, const char *match, struct part_rules *r)
{
    int rc = own_zones(p, r);
    bool same;

    if (rc == SQ_EFULL && (rc = without_zones(p, match, r)) == 0)
        rc = own_zones(p, r);
    same = p->e.n_pools > 0 && memcmp(&p->e.pool[0]->rules, &r->rules, sizeof(r->rules)) == 0;

    rc = rc < 0 || same ? rc : engine_define(&p->e, match, &r->rules);
    return rc < 0 ? rc : engine_define_keys(&p->e, match, &r->keys);
}

/* Frees what calls of a process that is gone hold beyond their deadlines: no answer to be written down can
 * come any more. */
static void free_unknown_calls(struct part *p)
{
    if (p->restarted)
        engine_shorten_calls(&p->e, LEASE_MORE_MS);
    p->restarted = false;
}

/* A whole copy, or one whose copy to another node is given up. */
static int into_service(struct tasktab *t, struct part *p, uint64_t epoch)
{
    int rc = p->life == PART_COME ? engine_opened(&p->e, t->now.ms, tasktab_clock_after(t, p))
                                   : 0;

    if (rc < 0)
        return rc;
    log_info("event=partition_taken part=%u epoch=%" PRIu64 " tasks=%u", p->no, epoch,
             tasktab_part_tasks(p));
    engine_fence(&p->e, false);
    p->life = PART_OWNED;
    p->epoch = 0; /* to be written down */
    return 0;
}

static int open_part(struct tasktab *t, const struct msg_part_open *m,
                     struct part_rules *r)
{
    struct part *p = tasktab_part(t, m->part);
    uint32_t most = wanted_tasks(t, m);
    bool fresh = p == NULL, changed;
    int rc;

    if (fresh)
        p = open_new(t, m);
    if (p == NULL)
        return SQ_ENOMEM;
    if (!fresh && p->life == PART_FENCED && m->part_epoch <= p->fence)
        return 0; /* another node is to have it, as far as this order knows */
    rc = p->life == PART_OWNED ? 0 : into_service(t, p, m->part_epoch);
    if (rc < 0)
        return rc;
    if (m->part_epoch != p->epoch)
        tasktab_out_end(p);
    changed = fresh || p->epoch != m->part_epoch || p->paused != m->paused ||
              p->e.store.max != most;
    p->epoch = m->part_epoch;
    p->paused = m->paused;
    engine_limit(&p->e, most);
    copy_text(p->match, sizeof(p->match), m->match);
    copy_text(p->endpoint_name, sizeof(p->endpoint_name), m->endpoint);
    tasktab_calls_bind(t);
    if (changed)
        tasktab_keep_part(t, p);
    tasktab_clock(t, p);
    free_unknown_calls(p);
    notices_tell(&p->notices, m->notify != NULL ? m->notify : "", m->notify_starts, &p->e.log);
    tasktab_hear_ends(p);
    rc = define(p, m->match, r);
    if (rc == 0)
        rc = estimates_rule(&p->estimates, &r->eta);
    if (rc < 0 && fresh)
        tasktab_part_gone(t, p);
    return rc;
}

static void order_part_open(struct tasktab *t, struct tpeer *from,
                            const struct msg_part_open *m, struct outbox *out)
{
    struct part *p = tasktab_part(t, m->part);
    const char *why = refuse_open(t, m, p);
    struct part_rules r;
    int rc;

    buf_init(&r.keys);
    if (why == NULL && !read_rules(m, &r))
        why = "impossible rules";
    if (why != NULL) {
        t->n.refused++;
        say_error(out, from->no, SQ_EINVAL, MSG_PART_OPEN, why);
        buf_fini(&r.keys);
        return;
    }
    /* Writes what this turn accepted before it: read behind a lower limit it would be refused. */
    if (p != NULL && !tasktab_keep_log(t, p, out))
        t->lost_record = true;
    rc = t->o.shared != NULL && (p == NULL || p->epoch != m->part_epoch)
             ? read_shared(t, m, &r)
             : open_part(t, m, &r);
    buf_fini(&r.keys);
    if (rc < 0)
        say_error(out, from->no, rc, MSG_PART_OPEN, sq_strerror(rc));
    t->say = true;
}

/* Records of a shared store are framed as in a log. */
static int replay_all(struct tasktab *t, const uint8_t *p, size_t n)
{
    int rc = 0;

    for (size_t at = 0; rc == 0 && at < n;) {
        struct trec_frame f;

        rc = trec_next(p, n, &at, &f) ? tasktab_replay(t, false, f.kind, f.p, f.n) : SQ_EPROTO;
    }
    return rc;
}

static int load(struct tasktab *t, struct opening_part *o, const uint8_t *b, size_t n,
                bool (*live)(void *ctx, uint64_t ref), void *ctx)
{
    int rc = replay_all(t, b, n);
    struct part *p = tasktab_part(t, o->m.part);

    if (rc == 0 && p == NULL && o->m.had)
        return SQ_EGONE;
    if (rc == 0 && p != NULL && (strcmp(p->match, o->match) != 0 || p->epoch > o->m.part_epoch))
        return SQ_EPROTO;
    if (rc == 0 && p != NULL)
        rc = tasktab_part_replayed(t, p, live, ctx);
    return rc < 0 ? rc : open_part(t, &o->m, &o->rules);
}

int tasktab_loaded(struct tasktab *t, struct task_now now, part_no no, const uint8_t *p, size_t n,
                   bool (*live)(void *ctx, uint64_t ref), void *ctx)
{
    struct opening_part *o = opening_of(t, no);
    struct part *half;
    int rc;

    if (o == NULL)
        return SQ_EUNKNOWN; /* dropped meanwhile */
    assert(tasktab_part(t, no) == NULL);
    t->now = now;
    t->say = true;
    rc = load(t, o, p, n, live, ctx);
    half = tasktab_part(t, no);
    if (rc < 0 && half != NULL)
        tasktab_part_drop(t, half);
    if (rc < 0)
        log_error("event=partition_unreadable part=%u epoch=%" PRIu64 " why=\"%s\" do=\"%s\"", no,
                  o->m.part_epoch, sq_strerror(rc),
                  rc == SQ_EGONE ? "Redis has lost it: restore Redis, or remove the pool"
                                 : "see what else writes to these keys, or remove the pool");
    opening_over(t, o);
    return rc;
}

void tasktab_lost(struct tasktab *t, part_no no, struct outbox *out)
{
    struct part *p = tasktab_part(t, no);

    if (p != NULL) {
        tasktab_waits_drop(t, p, CODE_STALE, out);
        tasktab_part_drop(t, p);
    }
    t->say = true;
}

void tasktab_part_hold(struct tasktab *t, part_no no, bool on)
{
    struct part *p = tasktab_part(t, no);

    if (p == NULL)
        return;
    t->reads |= p->hold && !on; /* heads that came meanwhile */
    p->hold = on;
}

static void order_part_drop(struct tasktab *t, struct tpeer *from,
                            const struct msg_part_drop *m, struct outbox *out)
{
    struct part *p = tasktab_part(t, m->part);
    struct opening_part *o = opening_of(t, m->part);

    t->say = true;
    if (o != NULL && (m->part_epoch == 0 || o->m.part_epoch <= m->part_epoch))
        opening_over(t, o);
    if (t->o.shared != NULL && m->part_epoch == 0)
        t->o.shared->close(t->o.shared_ctx, m->part, true);
    if (t->hold)
        say_error(out, from->no, SQ_EBUSY, MSG_PART_DROP, "the journal does not work");
    if (p == NULL || t->hold || (m->part_epoch != 0 && p->epoch > m->part_epoch))
        return;
    log_info("event=partition_dropped part=%u tasks=%u", p->no, tasktab_part_tasks(p));
    if (t->o.shared != NULL && p->asked) /* answers of this turn are of what is not written */
        t->o.shared->ask(t->o.shared_ctx, p->no);
    tasktab_waits_drop(t, p, CODE_STALE, out);
    if (t->o.shared != NULL && m->part_epoch != 0)
        t->o.shared->close(t->o.shared_ctx, p->no, false);
    tasktab_part_gone(t, p);
}

static void order_part_out(struct tasktab *t, const struct tpeer *from,
                           const struct msg_part_out *m, struct outbox *out)
{
    const char *why = tasktab_out_order(t, m);

    if (why != NULL)
        say_error(out, from->no, SQ_EINVAL, MSG_PART_OUT, why);
}

static void order_endpoint(struct tasktab *t, const struct tpeer *from, const struct msg *m,
                           struct outbox *out)
{
    const char *why = tasktab_endpoint_order(t, m);

    if (why != NULL)
        say_error(out, from->no, SQ_EINVAL, m->type, why);
}

static void order_part_rate(struct tasktab *t, const struct msg_part_rate *m)
{
    struct part *p = tasktab_part(t, m->part);

    if (p == NULL || p->epoch != m->part_epoch || p->life != PART_OWNED)
        return; /* said in the next report */
    tasktab_clock(t, p);
    allowance_tell(&p->e.allowance, m->rate, p->e.at);
}

void tasktab_order(struct tasktab *t, struct tpeer *from, const struct msg *m,
                   struct outbox *out)
{
    if (from->role != RPC_MANAGER || m->epoch == 0) { /* below any manager's */
        say_error(out, from->no, SQ_EUNKNOWN, m->type, "not an order");
        return;
    }
    if (m->type == MSG_TASK_OK)
        from->store = m->task_ok.store;
    if (!obey(t, from, m->epoch, m->type, out))
        return;
    if (m->type == MSG_TASK_OK)
        t->no = m->task_ok.no;
    else if (m->type == MSG_PART_OPEN)
        order_part_open(t, from, &m->part_open, out);
    else if (m->type == MSG_PART_DROP)
        order_part_drop(t, from, &m->part_drop, out);
    else if (m->type == MSG_PART_OUT)
        order_part_out(t, from, &m->part_out, out);
    else if (m->type == MSG_ENDPOINT || m->type == MSG_ENDPOINT_DROP)
        order_endpoint(t, from, m, out);
    else if (m->type == MSG_PART_RATE)
        order_part_rate(t, &m->part_rate);
}

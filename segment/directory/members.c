/* members.c: the members of the directory, the links to them, and what goes out with a
 * step. Nothing is told while the journal does not work: what is over might not be over. */
#include "segment/directory/members.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "segment/core/state.h"
#include "segment/directory/exchange.h"
#include "segment/directory/holdings.h"
#include "segment/directory/parked.h"
#include "segment/directory/permit.h"

#define LOG_MODULE "directory"

void dirs_init(struct dirs *d)
{
    memset(d, 0, sizeof(*d));
    directory_init(&d->own);
    map_init(&d->by_hash, 0); /* keyed hashes */
    list_init(&d->asked);
    list_init(&d->words);
    list_init(&d->spare);
    list_init(&d->parked);
    list_init(&d->due);
    list_init(&d->park_spare);
}

static void forget_members(struct dirs *d)
{
    for (uint32_t i = 0; i < d->n; i++)
        free(d->m[i].row);
    free(d->m);
    free(d->no);
    d->m = NULL;
    d->no = NULL;
    d->n = d->self = 0;
    d->version = 0;
}

void dirs_fini(struct dirs *d)
{
    forget_members(d);
    directory_fini(&d->own);
    map_fini(&d->by_hash);
    free(d->permit);
    d->permit = NULL;
    free(d->park);
    d->park = NULL;
}

/* ---- members ---------------------------------------------------------------------- */

static void link_member(struct segtab *t, uint16_t i)
{
    struct dir_member *m = &t->dir.m[i];
    const struct peer *p = segtab_peer_named(t, m->name, RPC_SEGMENT);

    assert(i < t->dir.n && i != t->dir.self);
    m->to = p != NULL ? p->no : 0;
    if (m->to != 0)
        dir_say_begin(t, i);
    else
        dir_silence(t, i);
}

static bool take_members(struct dirs *d, const struct msg_members *m)
{
    d->m = calloc(m->n, sizeof(*d->m));
    d->no = calloc(m->n, sizeof(*d->no));
    if (d->m == NULL || d->no == NULL || directory_reset(&d->own, m->n) < 0) {
        forget_members(d);
        return false;
    }
    d->n = d->self = m->n;
    for (uint32_t i = 0; i < m->n; i++) {
        d->no[i] = m->v[i].no;
        strncpy(d->m[i].name, m->v[i].name, NAME_MAX_LEN);
        strncpy(d->m[i].addr, m->v[i].addr, sizeof(d->m[i].addr) - 1);
        if (m->v[i].no == m->self)
            d->self = i;
    }
    d->version = m->version;
    return true;
}

/* The same members as before, perhaps at other addresses. */
static void take_addresses(struct dirs *d, const struct msg_members *m)
{
    for (uint32_t i = 0; i < m->n && i < d->n; i++) {
        memset(d->m[i].addr, 0, sizeof(d->m[i].addr));
        strncpy(d->m[i].addr, m->v[i].addr, sizeof(d->m[i].addr) - 1);
    }
}

static void drop_permits(struct segtab *t)
{
    for (uint32_t i = 0; i < t->dir.n; i++)
        permits_drop(t, (uint16_t)i);
}

void segtab_dir_members(struct segtab *t, const struct msg_members *m)
{
    struct dirs *d = &t->dir;

    if (m->version == d->version) {
        take_addresses(d, m);
        return;
    }
    drop_permits(t);
    forget_members(d);
    if (m->n == 0 || !take_members(d, m)) {
        log_error("event=directory_not_taken version=%" PRIu64 " members=%" PRIu32, m->version,
                  m->n);
        return; /* joins with a subject wait for the next ones */
    }
    log_info("event=directory version=%" PRIu64 " members=%" PRIu32 " share=%d", d->version, d->n,
             d->self < d->n);
    if (d->self == d->n)
        return; /* given up as lost: what we hold is another's by now */
    for (uint32_t i = 0; i < d->n; i++)
        if (i != d->self)
            link_member(t, (uint16_t)i);
    dir_say_self_all(t);
}

void segtab_dir_up(struct segtab *t, const char *name)
{
    uint16_t i = dir_member_named(&t->dir, name);

    if (i != UINT16_MAX && t->dir.m[i].to == 0)
        link_member(t, i);
}

void segtab_dir_down(struct segtab *t, peer_no peer, const char *name)
{
    uint16_t i = dir_member_named(&t->dir, name);

    if (i == UINT16_MAX)
        return;
    if (t->dir.m[i].from == peer)
        t->dir.m[i].from = 0;
    if (t->dir.m[i].to == peer)
        link_member(t, i);
}

void segtab_dir_tick(struct segtab *t)
{
    struct dirs *d = &t->dir;
    uint16_t late;

    permits_tick(t);
    parked_tick(t);
    while ((late = permits_overdue(t)) != UINT16_MAX)
        dir_say_begin(t, late); /* drops all of that member's */
    for (uint32_t i = 0; dirs_on(d) && i < d->n; i++) {
        struct dir_member *m = &d->m[i];

        if (i == d->self || m->to == 0)
            continue;
        if (m->state == DIR_SILENT ||
            (m->state == DIR_SAYING && t->now.now_ms - m->said_ms >= DIR_AGAIN_MS))
            dir_say_begin(t, (uint16_t)i);
    }
    if (dirs_on(d) && d->self_again)
        dir_say_self_all(t);
}

/* The node with the lower number dials. */
size_t segtab_dir_wanted(const struct segtab *t, struct node_want *v, size_t n, size_t cap)
{
    const struct dirs *d = &t->dir;

    for (uint32_t i = 0; dirs_on(d) && i < d->n && n < cap; i++) {
        if (d->no[i] <= d->no[d->self])
            continue;
        memcpy(v[n].name, d->m[i].name, sizeof(v[n].name));
        memcpy(v[n].addr, d->m[i].addr, sizeof(v[n].addr));
        n++;
    }
    return n;
}

/* ---- sending ---------------------------------------------------------------------- */

static void say_word(struct segtab *t, peer_no to, enum dir_word what, uint64_t hash,
                     struct outbox *out)
{
    struct dir_row *r = arena_array(&out->mem, 1, sizeof(*r));
    struct msg_dir_ans *g = &outbox_add(out, to, MSG_DIR_ANS)->dir_ans;

    g->version = t->dir.version;
    g->v = r;
    g->n = r != NULL;
    if (r != NULL)
        *r = (struct dir_row){ .hash = hash, .what = (uint8_t)what };
}

static void send_checks(struct segtab *t, struct outbox *out)
{
    struct dirs *d = &t->dir;

    for (unsigned i = 0; i < d->n_check; i++) {
        const struct dir_check *c = &d->check[i];

        if (c->holder < d->n && d->m[c->holder].to != 0)
            say_word(t, d->m[c->holder].to, DIR_CHECK, c->hash, out);
    }
    d->n_check = 0;
}

static void send_rows(struct segtab *t, const struct dir_member *m, struct outbox *out)
{
    for (uint32_t k = 0, n; k < m->n; k += n) {
        struct msg_dir *g = &outbox_add(out, m->to, MSG_DIR)->dir;

        n = (uint32_t)u64_min(m->n - k, portion_of(MSG_DIR_ROWS_MAX, t->o.portion));
        g->version = t->dir.version;
        g->v = arena_memdup(&out->mem, m->row + k, n * sizeof(*g->v));
        g->n = g->v != NULL ? n : 0;
        out->failed |= g->v == NULL;
    }
}

void segtab_dir_flush(struct segtab *t, struct outbox *out)
{
    struct dirs *d = &t->dir;

    d->asks = false;
    if (t->hold)
        return;
    for (uint32_t i = 0; i < d->n; i++) {
        send_rows(t, &d->m[i], out);
        d->m[i].n = 0;
    }
    send_checks(t, out);
}

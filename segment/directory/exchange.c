/* exchange.c: what members of the directory say to each other. What this node holds, as a holder,
 * is told to each member once, from the beginning, and then as it changes, all on one link, in
 * order:
 *
 *   DIR_BEGIN, DIR_PUT ..., DIR_ECHO <-- DIR_HEARD, DIR_PUT ..., DIR_END <-- DIR_HEARD
 *
 * It begins anew when the link does, when the members change, and when no answer comes. As an
 * owner, this node takes each holder's word on its own link and answers; as a holder, it hears
 * what the owners have heard, or want to be checked. */
#include "segment/directory/exchange.h"

#include <assert.h>

#include "segment/core/location.h"
#include "segment/core/state.h"
#include "segment/directory/holdings.h"
#include "segment/directory/permit.h"

/* ---- what this node holds ------------------------------------------------------------- */

void dir_silence(struct segtab *t, uint16_t i)
{
    dir_forget_said(&t->dir.m[i]);
    permits_drop(t, i);
}

static void say_number(struct segtab *t, uint16_t i, enum dir_ask what)
{
    struct dir_row r = { .hash = ++t->dir.count };

    dir_say(t, i, what, &r);
    t->dir.asks = true;
}

/* Says the subjects of s that have a name, from *at on; false: enough for now. */
static bool say_subjects(struct segtab *t, uint16_t i, const struct subjects *s,
                         uint32_t *at, uint32_t *left)
{
    const struct subject *x;

    while (*left > 0 && (x = subjects_next(s, at)) != NULL) {
        struct dir_row r = dir_row_of(t, x);

        if (!subject_has_name(x->text, x->len) || dir_owner(&t->dir, x->hash) != i)
            continue;
        dir_say(t, i, DIR_PUT, &r);
        (*left)--;
    }
    return *left > 0;
}

static void say_moves(struct segtab *t, uint16_t i)
{
    uint32_t left = UINT32_MAX;

    each_move (t, v) {
        uint32_t at = 0;

        if (v->side == MOVE_SIDE_IN)
            (void)say_subjects(t, i, &v->in.subjects, &at, &left);
    }
}

static void say_more(struct segtab *t, uint16_t i);

void dir_say_begin(struct segtab *t, uint16_t i)
{
    struct dir_member *m = &t->dir.m[i];

    assert(i < t->dir.n && i != t->dir.self);
    dir_silence(t, i);
    m->state = DIR_SAYING;
    m->at = 0;
    m->at_i = 0;
    m->ending = false;
    say_number(t, i, DIR_BEGIN);
    m->begun = t->dir.count;
    say_more(t, i);
}

/* A segment at whose subjects we were may be gone, and some of them in another one that
 * was passed already: then from the beginning. */
static void say_more(struct segtab *t, uint16_t i)
{
    struct dir_member *m = &t->dir.m[i];
    struct seg *g = m->at != 0 ? segtab_seg(t, m->at) : NULL;
    struct list_node *it = g != NULL ? &g->node : list_first(&t->segs);
    uint32_t left = portion_of(DIR_CHUNK, t->o.portion);

    if (m->at != 0 && g == NULL) {
        dir_say_begin(t, i);
        return;
    }
    for (; it != NULL; it = list_next(&t->segs, it), m->at_i = 0) {
        g = container_of(it, struct seg, node);
        m->at = g->b.id;
        if (!say_subjects(t, i, &g->b.subjects, &m->at_i, &left))
            break;
    }
    m->ending = it == NULL;
    if (m->ending)
        say_moves(t, i);
    say_number(t, i, m->ending ? DIR_END : DIR_ECHO);
    m->echo = t->dir.count;
    m->said_ms = t->now.now_ms;
}

void segtab_dir_again(struct segtab *t, const struct seg *g)
{
    for (uint32_t i = 0; i < t->dir.n; i++)
        if (t->dir.m[i].at == g->b.id)
            t->dir.m[i].at_i = 0;
}

void segtab_dir_moved(struct segtab *t, const struct move *v)
{
    struct dirs *d = &t->dir;

    segtab_dir_again(t, v->seg);
    for (uint32_t i = 0; dirs_on(d) && i < d->n; i++) {
        const struct dir_member *m = &d->m[i];

        if (i != d->self && m->state == DIR_SAYING && !m->ending && m->begun > v->since)
            dir_say_begin(t, (uint16_t)i);
    }
}

void segtab_dir_to_end(struct segtab *t, const struct seg *g)
{
    const struct seg *behind = list_entry(list_next(&t->segs, &g->node), struct seg, node);
    struct dirs *d = &t->dir;

    for (uint32_t i = 0; behind != NULL && i < d->n; i++) {
        if (d->m[i].at != g->b.id)
            continue;
        d->m[i].at = behind->b.id;
        d->m[i].at_i = 0;
    }
}

/* The answer to an echo. */
static void heard(struct segtab *t, uint16_t i, uint64_t number)
{
    struct dir_member *m = &t->dir.m[i];

    m->heard = u64_max(m->heard, number);
    if (m->state != DIR_SAYING || number != m->echo)
        return;
    m->echo = 0;
    if (m->ending)
        m->state = DIR_KNOWN;
    else
        say_more(t, i);
}

void dir_say_self_all(struct segtab *t)
{
    struct dirs *d = &t->dir;
    uint32_t left = UINT32_MAX, at = 0;

    d->self_again = false;
    directory_begin(&d->own, (uint16_t)d->self);
    each_seg (t, g) {
        (void)say_subjects(t, (uint16_t)d->self,
                           &g->b.subjects, &at, &left);
        at = 0;
    }
    say_moves(t, (uint16_t)d->self);
    if (!d->self_again)
        directory_end(&d->own, (uint16_t)d->self);
}

/* ---- subjects of moved tickets ---------------------------------------------------- */

bool segtab_dir_tell(struct segtab *t, struct move *v)
{
    struct dirs *d = &t->dir;

    v->told = 0;
    if (!dirs_on(d) || v->in.subjects.n == 0 || v->peer == SEGTAB_SELF)
        return true;
    v->told = ++d->count;
    for (uint32_t i = 0; i < d->n; i++) {
        struct dir_row r = { .hash = v->told };

        if (i == d->self)
            continue;
        if (d->m[i].to == 0)
            return false;
        dir_say(t, (uint16_t)i, DIR_ECHO, &r); /* a member that is being told all hears it so */
    }
    return true;
}

/* A member to which all is said anew since the move began may have missed some, and hears them at the end. */
static bool has_heard(const struct dir_member *m, const struct move *v)
{
    return m->heard >= v->told && (m->state == DIR_KNOWN || m->begun <= v->since);
}

bool segtab_dir_told(const struct segtab *t, const struct move *v)
{
    const struct dirs *d = &t->dir;

    for (uint32_t i = 0; v->told != 0 && i < d->n; i++)
        if (i != d->self && !has_heard(&d->m[i], v))
            return false;
    return true;
}

/* ---- an owner --------------------------------------------------------------------- */

static void claimed(struct segtab *t, uint16_t holder, const struct dir_row *r,
                    struct dir_row *a)
{
    const struct ticket_id old = { r->seg, r->number };
    uint64_t hash = r->hash;
    uint16_t other;

    a->what = (uint8_t)directory_claim(&t->dir.own, holder, hash, old, a, &other);
    a->hash = hash;
    if (other != UINT16_MAX)
        dir_check(t, other, hash);
}

/* Takes a row of a holder; true: *a is to be answered. */
static bool asked(struct segtab *t, uint16_t holder, const struct dir_row *r,
                  struct dir_row *a)
{
    struct directory *own = &t->dir.own;

    assert(holder < t->dir.n && holder != t->dir.self);
    *a = (struct dir_row){ .hash = r->hash, .what = DIR_HEARD };
    switch ((enum dir_ask)r->what) {
    case DIR_BEGIN:
        directory_begin(own, holder);
        return false;
    case DIR_PUT:
        if (directory_put(own, holder, r) == 0)
            return false;
        a->what = DIR_AGAIN; /* no memory now */
        t->dir.m[holder].from = 0;
        return true;
    case DIR_FREE:
        directory_free(own, holder, r->hash);
        return false;
    case DIR_CLAIM:
        claimed(t, holder, r, a);
        return true;
    case DIR_END:
        directory_end(own, holder);
        return true;
    default: /* DIR_ECHO */
        return true;
    }
}

/* The sender is no member that we know (yet): its claims are to be asked again. */
static void not_for_us(const struct msg_dir *m, struct dir_row *a, uint32_t *n)
{
    for (uint32_t i = 0; i < m->n; i++)
        if (m->v[i].what == DIR_CLAIM)
            a[(*n)++] = (struct dir_row){ .hash = m->v[i].hash, .what = DIR_BUSY };
}

static void asks(struct segtab *t, uint16_t holder, peer_no from, const struct msg_dir *m,
                 struct dir_row *a, uint32_t *n)
{
    struct dir_member *h = &t->dir.m[holder];

    for (uint32_t i = 0; i < m->n; i++) {
        if (m->v[i].what == DIR_BEGIN)
            h->from = from;
        if (h->from != from) {
            a[(*n)++] = (struct dir_row){ .what = DIR_AGAIN };
            return;
        }
        *n += asked(t, holder, &m->v[i], &a[*n]);
    }
}

static void from_holder(struct segtab *t, const struct peer *p, const struct msg_dir *m,
                        struct outbox *out)
{
    uint16_t holder = dir_member_named(&t->dir, p->name);
    struct dir_row *a = arena_array(&out->mem, m->n + 1u, sizeof(*a));
    struct msg_dir_ans *g;
    uint32_t n = 0;

    if (a == NULL) {
        out->failed = true;
        return;
    }
    if (holder == UINT16_MAX || m->version != t->dir.version)
        not_for_us(m, a, &n);
    else
        asks(t, holder, p->no, m, a, &n);
    if (n == 0)
        return;
    g = &outbox_add(out, p->no, MSG_DIR_ANS)->dir_ans;
    g->version = m->version;
    g->n = n;
    g->v = a;
}

/* ---- a holder --------------------------------------------------------------------- */

static void checked(struct segtab *t, uint16_t i, uint64_t hash)
{
    struct dir_row r = { .hash = hash };

    if (!dir_holds(t, hash) && !permits_has(&t->dir, hash))
        dir_say(t, i, DIR_FREE, &r);
}

static void from_owner(struct segtab *t, const struct peer *p, const struct msg_dir_ans *m)
{
    uint16_t i = dir_member_named(&t->dir, p->name);

    if (i == UINT16_MAX || m->version != t->dir.version)
        return;
    for (uint32_t k = 0; k < m->n; k++) {
        const struct dir_row *r = &m->v[k];

        if (r->what == DIR_CHECK)
            checked(t, i, r->hash);
        else if (t->dir.m[i].to != p->no)
            continue; /* to what was asked on a link before */
        else if (r->what == DIR_HEARD)
            heard(t, i, r->hash);
        else if (r->what == DIR_AGAIN)
            dir_say_begin(t, i);
        else
            permits_answer(t, i, r);
    }
}

void segtab_dir_msg(struct segtab *t, peer_no from, const struct msg *m, struct outbox *out)
{
    const struct peer *p = segtab_peer(t, from);

    if (p == NULL || p->role != RPC_SEGMENT)
        return;
    if (m->type == MSG_DIR)
        from_holder(t, p, &m->dir, out);
    else
        from_owner(t, p, &m->dir_ans);
}

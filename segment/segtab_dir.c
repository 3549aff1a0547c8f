/* segtab_dir.c: the members of the directory: links to them, what they are told, what they
 * ask. What this node holds is told to each member once, from the beginning, and then as it
 * changes, all on one link, in order:
 *
 *   DIR_BEGIN, DIR_PUT ..., DIR_ECHO <-- DIR_HEARD, DIR_PUT ..., DIR_END <-- DIR_HEARD
 *
 * It begins anew when the link does, when the members change, and when no answer comes.
 * Nothing is told while the journal does not work: what is over might not be over. */
#include "segment/segtab_int.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"

#define LOG_MODULE "directory"

void dirs_init(struct dirs *d)
{
    memset(d, 0, sizeof(*d));
    directory_init(&d->own);
    map_init(&d->by_hash, 0); /* keyed hashes */
    list_init(&d->claims);
    list_init(&d->spare);
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
    free(d->claim);
    d->claim = NULL;
}

uint16_t dir_owner(const struct dirs *d, uint64_t hash)
{
    return directory_owner(hash, d->no, d->n);
}

static bool is_on(const struct dirs *d)
{
    return d->mode == DIR_ON && d->version != 0 && d->self < d->n;
}

/* ---- what we hold ---------------------------------------------------------------- */

static bool move_holds(const struct segtab *t, uint64_t hash)
{
    for (struct list_node *it = list_first(&t->moves); it != NULL;
         it = list_next(&t->moves, it)) {
        const struct move *v = container_of(it, struct move, node);

        if (v->side == MOVE_SIDE_IN && subjects_has(&v->in.subjects, hash))
            return true;
    }
    return false;
}

bool dir_holds(const struct segtab *t, uint64_t hash)
{
    for (struct list_node *it = list_first(&t->segs); it != NULL;
         it = list_next(&t->segs, it))
        if (subjects_has(&container_of(it, struct seg, node)->b.subjects, hash))
            return true;
    return move_holds(t, hash);
}

/* The same for one whose queue is known: no other can have it. */
static bool queue_holds(const struct segtab *t, const struct queue *q, uint64_t hash)
{
    for (struct list_node *it = list_first(&q->segs); it != NULL;
         it = list_next(&q->segs, it))
        if (subjects_has(&container_of(it, struct seg, queued)->b.subjects, hash))
            return true;
    return move_holds(t, hash);
}

static void silence(struct segtab *t, uint16_t i)
{
    struct dir_member *m = &t->dir.m[i];

    m->state = DIR_SILENT;
    m->echo = m->heard = 0;
    m->n = 0;
    claims_drop(t, i);
}

static void row_add(struct segtab *t, uint16_t i, const struct dir_row *r)
{
    struct dir_member *m = &t->dir.m[i];

    if (m->state == DIR_SILENT)
        return; /* it hears everything when there is a link */
    if (m->n == m->cap) {
        uint32_t cap = m->cap != 0 ? m->cap * 2 : 64;
        struct dir_row *v = realloc(m->row, cap * sizeof(*v));

        if (v == NULL) {
            silence(t, i); /* the tick begins anew */
            return;
        }
        m->row = v;
        m->cap = cap;
    }
    m->row[m->n++] = *r;
}

static void say_self(struct segtab *t, enum dir_ask what, const struct dir_row *r)
{
    struct dirs *d = &t->dir;
    uint16_t self = (uint16_t)d->self;

    if (what == DIR_FREE)
        directory_free(&d->own, self, r->hash);
    else if (what == DIR_PUT && directory_put(&d->own, self, r) < 0)
        d->self_again = true;
}

void dir_say(struct segtab *t, uint16_t owner, enum dir_ask what, const struct dir_row *r)
{
    struct dir_row row = *r;

    row.what = (uint8_t)what;
    if (owner == t->dir.self)
        say_self(t, what, &row);
    else
        row_add(t, owner, &row);
}

static struct dir_row row_of(const struct segtab *t, const struct subject *x)
{
    struct ticket_id id = segtab_outside(t, x->id);

    return (struct dir_row){ .hash = x->hash,
                             .seg = id.seg,
                             .number = id.number,
                             .issued_s = x->issued_s,
                             .client = x->client };
}

/* A merge within the node takes a subject from one segment to another. */
static void changed(const struct seg *g, const struct subject *x, bool here)
{
    struct segtab *t = g->tab;
    struct dir_row r = row_of(t, x);

    if (is_on(&t->dir) && (here || !queue_holds(t, g->queue, x->hash)))
        dir_say(t, dir_owner(&t->dir, x->hash), here ? DIR_PUT : DIR_FREE, &r);
}

static void in_segment(void *ctx, const struct subject *x, bool here)
{
    changed(ctx, x, here);
}

static void in_move(void *ctx, const struct subject *x, bool here)
{
    changed(((struct move *)ctx)->seg, x, here);
}

void segtab_dir_watch(struct seg *g)
{
    g->b.subjects.watch = (struct subject_watch){ in_segment, g };
}

void segtab_dir_watch_move(struct move *v)
{
    v->in.subjects.watch = (struct subject_watch){ in_move, v };
}

/* ---- saying everything ------------------------------------------------------------- */

static void say_number(struct segtab *t, uint16_t i, enum dir_ask what)
{
    struct dir_row r = { .hash = ++t->dir.count };

    dir_say(t, i, what, &r);
    t->dir.asks = true;
}

/* Of one store of subjects, from *at on; false: enough for now. */
static bool say_subjects(struct segtab *t, uint16_t i, const struct subjects *s, uint32_t *at,
                         uint32_t *left)
{
    const struct subject *x;

    while (*left > 0 && (x = subjects_next(s, at)) != NULL) {
        struct dir_row r = row_of(t, x);

        if (dir_owner(&t->dir, x->hash) != i)
            continue;
        dir_say(t, i, DIR_PUT, &r);
        (*left)--;
    }
    return *left > 0;
}

static void say_moves(struct segtab *t, uint16_t i)
{
    uint32_t left = UINT32_MAX;

    list_each (&t->moves, it) {
        const struct move *v = container_of(it, struct move, node);
        uint32_t at = 0;

        if (v->side == MOVE_SIDE_IN)
            (void)say_subjects(t, i, &v->in.subjects, &at, &left);
    }
}

static void say_more(struct segtab *t, uint16_t i);

static void say_begin(struct segtab *t, uint16_t i)
{
    struct dir_member *m = &t->dir.m[i];

    silence(t, i);
    m->state = DIR_SAYING;
    m->at = 0;
    m->at_i = 0;
    m->ending = false;
    say_number(t, i, DIR_BEGIN);
    say_more(t, i);
}

/* A segment at whose subjects we were may be gone, and some of them in another one that
 * was passed already: then from the beginning. */
static void say_more(struct segtab *t, uint16_t i)
{
    struct dir_member *m = &t->dir.m[i];
    struct seg *g = m->at != 0 ? segtab_seg(t, m->at) : NULL;
    struct list_node *it = g != NULL ? &g->node : list_first(&t->segs);
    uint32_t left = DIR_CHUNK;

    if (m->at != 0 && g == NULL) {
        say_begin(t, i);
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

static void say_all_to_self(struct segtab *t)
{
    struct dirs *d = &t->dir;
    uint32_t left = UINT32_MAX, at = 0;

    d->self_again = false;
    directory_begin(&d->own, (uint16_t)d->self);
    list_each (&t->segs, it) {
        (void)say_subjects(t, (uint16_t)d->self,
                           &container_of(it, struct seg, node)->b.subjects, &at, &left);
        at = 0;
    }
    say_moves(t, (uint16_t)d->self);
    if (!d->self_again)
        directory_end(&d->own, (uint16_t)d->self);
}

/* ---- members --------------------------------------------------------------------- */

static void link_member(struct segtab *t, uint16_t i)
{
    struct dir_member *m = &t->dir.m[i];
    const struct peer *p = segtab_peer_named(t, m->name, SEGTAB_ROLE_SEGMENT);

    m->to = p != NULL ? p->no : 0;
    if (m->to != 0)
        say_begin(t, i);
    else
        silence(t, i);
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

static void drop_claims(struct segtab *t)
{
    for (uint32_t i = 0; i < t->dir.n; i++)
        claims_drop(t, (uint16_t)i);
}

void segtab_dir_mode(struct segtab *t, bool on)
{
    struct dirs *d = &t->dir;

    if (on && d->mode != DIR_ON) {
        d->mode = DIR_ON;
    } else if (!on && d->mode != DIR_OFF) {
        drop_claims(t);
        forget_members(d);
        directory_fini(&d->own);
        d->mode = DIR_OFF;
    }
}

void segtab_dir_members(struct segtab *t, const struct msg_members *m)
{
    struct dirs *d = &t->dir;

    segtab_dir_mode(t, true);
    if (m->version == d->version) {
        take_addresses(d, m);
        return;
    }
    drop_claims(t);
    forget_members(d);
    if (m->n == 0 || !take_members(d, m)) {
        log_error("version=%" PRIu64 " members=%" PRIu32 " not taken", m->version, m->n);
        return; /* joins with a subject wait for the next ones */
    }
    log_info("version=%" PRIu64 " members=%" PRIu32 " share=%d", d->version, d->n,
             d->self < d->n);
    if (d->self == d->n)
        return; /* given up as lost: what we hold is another's by now */
    for (uint32_t i = 0; i < d->n; i++)
        if (i != d->self)
            link_member(t, (uint16_t)i);
    say_all_to_self(t);
}

static uint16_t member_named(const struct dirs *d, const char *name)
{
    for (uint32_t i = 0; is_on(d) && i < d->n; i++)
        if (i != d->self && strcmp(d->m[i].name, name) == 0)
            return (uint16_t)i;
    return UINT16_MAX;
}

void segtab_dir_up(struct segtab *t, const char *name)
{
    uint16_t i = member_named(&t->dir, name);

    if (i != UINT16_MAX && t->dir.m[i].to == 0)
        link_member(t, i);
}

void segtab_dir_down(struct segtab *t, peer_no peer, const char *name)
{
    uint16_t i = member_named(&t->dir, name);

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

    claims_tick(t);
    for (uint32_t i = 0; is_on(d) && i < d->n; i++) {
        struct dir_member *m = &d->m[i];

        if (i == d->self || m->to == 0)
            continue;
        if (m->state == DIR_SILENT ||
            (m->state == DIR_SAYING && t->now.now_ms - m->said_ms >= DIR_AGAIN_MS))
            say_begin(t, (uint16_t)i);
    }
    if (is_on(d) && d->self_again)
        say_all_to_self(t);
}

/* Of two nodes the one with the lower number dials. */
size_t segtab_dir_wanted(const struct segtab *t, struct segtab_want *v, size_t n, size_t cap)
{
    const struct dirs *d = &t->dir;

    for (uint32_t i = 0; is_on(d) && i < d->n && n < cap; i++) {
        if (d->no[i] <= d->no[d->self])
            continue;
        memcpy(v[n].name, d->m[i].name, sizeof(v[n].name));
        memcpy(v[n].addr, d->m[i].addr, sizeof(v[n].addr));
        n++;
    }
    return n;
}

/* ---- sending --------------------------------------------------------------------- */

static void say_word(struct segtab *t, peer_no to, enum dir_word what, uint64_t hash,
                     struct outbox *out)
{
    struct dir_row *r = arena_array(&out->mem, 1, sizeof(*r));
    struct msg_dir *g = &outbox_add(out, to, MSG_DIR_ANS)->dir_ans;

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

        n = (uint32_t)u64_min(m->n - k, MSG_DIR_ROWS_MAX);
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

/* ---- an owner ---------------------------------------------------------------------- */

/* Its entry may be old: what it held is over, and the word that said so was lost. */
void dir_check(struct segtab *t, uint16_t holder, uint64_t hash)
{
    struct dirs *d = &t->dir;

    if (holder == d->self) {
        if (!dir_holds(t, hash))
            directory_free(&d->own, holder, hash);
        return;
    }
    for (unsigned i = 0; i < d->n_check; i++)
        if (d->check[i].hash == hash)
            return;
    if (d->n_check < ARRAY_LEN(d->check))
        d->check[d->n_check++] = (struct dir_check){ hash, holder };
}

static void claimed(struct segtab *t, uint16_t holder, uint64_t hash, struct dir_row *a)
{
    uint16_t other;

    a->what = (uint8_t)directory_claim(&t->dir.own, holder, hash, a, &other);
    a->hash = hash;
    if (other != UINT16_MAX)
        dir_check(t, other, hash);
}

/* One row of a holder's; true: *a is to be answered. */
static bool asked(struct segtab *t, uint16_t holder, const struct dir_row *r,
                  struct dir_row *a)
{
    struct directory *own = &t->dir.own;

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
        claimed(t, holder, r->hash, a);
        return true;
    case DIR_END:
        directory_end(own, holder);
        return true;
    default: /* DIR_ECHO */
        return true;
    }
}

/* Of members that we do not know (yet): who waits for an answer is told to ask again. */
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
    uint16_t holder = member_named(&t->dir, p->name);
    struct dir_row *a = arena_array(&out->mem, m->n + 1u, sizeof(*a));
    struct msg_dir *g;
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

/* ---- a holder ---------------------------------------------------------------------- */

static void checked(struct segtab *t, uint16_t i, uint64_t hash)
{
    struct dir_row r = { .hash = hash };

    if (!dir_holds(t, hash) && !claims_has(&t->dir, hash))
        dir_say(t, i, DIR_FREE, &r);
}

static void from_owner(struct segtab *t, const struct peer *p, const struct msg_dir *m)
{
    uint16_t i = member_named(&t->dir, p->name);

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
            say_begin(t, i);
        else
            claims_answer(t, i, r);
    }
}

void segtab_dir_msg(struct segtab *t, peer_no from, const struct msg *m, struct outbox *out)
{
    const struct peer *p = segtab_peer(t, from);

    if (p == NULL || p->role != SEGTAB_ROLE_SEGMENT)
        return;
    if (m->type == MSG_DIR)
        from_holder(t, p, &m->dir, out);
    else
        from_owner(t, p, &m->dir_ans);
    if (m->type == MSG_DIR_ANS)
        segtab_moves_heard(t, out);
}

/* ---- moves ------------------------------------------------------------------------- */

bool segtab_dir_tell(struct segtab *t, struct move *v)
{
    struct dirs *d = &t->dir;

    v->told = 0;
    if (!is_on(d) || v->in.subjects.n == 0 || v->peer == SEGTAB_SELF)
        return true;
    v->told = ++d->count;
    for (uint32_t i = 0; i < d->n; i++) {
        struct dir_row r = { .hash = v->told };

        if (i == d->self)
            continue;
        if (d->m[i].to == 0)
            return false;
        dir_say(t, (uint16_t)i, DIR_ECHO, &r); /* one that is being told all hears it so */
    }
    return true;
}

bool segtab_dir_told(const struct segtab *t, const struct move *v)
{
    const struct dirs *d = &t->dir;

    for (uint32_t i = 0; v->told != 0 && i < d->n; i++)
        if (i != d->self && d->m[i].heard < v->told)
            return false;
    return true;
}

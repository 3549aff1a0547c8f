/* xfer_in.c: the target's end of a move. */
#include "segment/copy/xfer_in.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"

#define MAX_RECS (1u << 24) /* a peer cannot make us hold more */

void xfer_in_init(struct xfer_in *x, uint64_t move, seg_id from, seg_id to,
                  struct block_pool *pool)
{
    *x = (struct xfer_in) { .move = move, .from = from, .to = to, .pool = pool };
    subjects_init(&x->subjects);
    contacts_init(&x->contacts);
}

void xfer_in_fini(struct xfer_in *x)
{
    for (uint32_t i = 0; i < x->n_blocks; i++)
        if (x->stage[i] != NULL)
            block_give(x->pool, x->stage[i]);
    free(x->stage);
    free(x->rec);
    reloc_list_fini(&x->relocs);
    subjects_fini(&x->subjects);
    contacts_fini(&x->contacts);
    x->stage = NULL;
    x->rec = NULL;
    x->n_blocks = 0;
}

/* ---- staging --------------------------------------------------------------------- */

static const char *begin(struct xfer_in *x, const struct msg_copy_begin *m)
{
    uint64_t blocks = ((uint64_t)m->end + BLOCK_SLOTS - 1) >> BLOCK_SHIFT;

    if (x->begun)
        return "begun twice";
    if (m->from != x->from || m->to != x->to || m->joined > m->end || m->unit_ms == 0)
        return "begins another move";
    x->stage = calloc(blocks + 1, sizeof(*x->stage));
    if (x->stage == NULL)
        return "out of memory";
    x->n_blocks = (uint32_t)blocks;
    x->end = m->end;
    x->joined = m->joined;
    x->unit_ms = m->unit_ms;
    x->begun = true;
    return NULL;
}

static const char *take_block(struct xfer_in *x, const struct copy_block *v)
{
    struct block *k;
    unsigned n = 0;

    if (v->index >= x->n_blocks || x->stage[v->index] != NULL)
        return "block out of place";
    k = block_take(x->pool);
    if (k == NULL)
        return "no room for the copy";
    x->stage[v->index] = k;
    memcpy(k->alive, v->alive, sizeof(k->alive));
    if (bits512_count(k->alive) != v->n_left)
        return "block damaged";
    for (unsigned w = 0; w < BLOCK_WORDS; w++)
        for (uint64_t m = k->alive[w]; m != 0; m &= m - 1)
            k->idle[w * 64 + (unsigned)__builtin_ctzll(m)] = v->left[n++];
    x->waiting += n;
    return NULL;
}

static const char *take_touch(struct xfer_in *x, const struct touch_entry *e)
{
    uint32_t b = e->number >> BLOCK_SHIFT, slot = e->number & (BLOCK_SLOTS - 1);
    struct block *k = b < x->n_blocks ? x->stage[b] : NULL;

    if (k == NULL || !block_is_alive(k, slot)) /* died before it was copied */
        return e->alive ? "touch out of place" : NULL;
    if (e->alive) {
        k->idle[slot] = e->left;
        return NULL;
    }
    k->alive[slot >> 6] &= ~(1ull << (slot & 63));
    x->waiting--;
    return NULL;
}

static const char *take_sessions(struct xfer_in *x, const struct msg_copy_extra *m)
{
    if ((uint64_t)x->n_recs + m->n_sessions > MAX_RECS)
        return "too many records";
    if (!GROW_BY(x->rec, x->n_recs, m->n_sessions, x->cap_recs, 1))
        return "out of memory";
    for (uint32_t i = 0; i < m->n_sessions; i++) {
        if (m->sessions[i].state < SESSION_READY ||
            m->sessions[i].state == SESSION_OVER || m->sessions[i].state >= SESSION_NSTATES ||
            m->sessions[i].reason >= GONE_NREASONS ||
            (m->sessions[i].state == SESSION_REVOKED && m->sessions[i].reason == 0) ||
            (m->sessions[i].used != 0 && !session_has_use(m->sessions[i].state)))
            return "record damaged";
        x->rec[x->n_recs++] = m->sessions[i];
    }
    return NULL;
}

static const char *take_relocs(struct xfer_in *x, const struct msg_copy_extra *m)
{
    for (uint32_t i = 0; i < m->n_relocs; i++) {
        const struct reloc_rec *v = &m->relocs[i];
        struct reloc *r;

        if (v->n_words != reloc_words(v->bits))
            return "relocation table damaged";
        if (reloc_list_reserve(&x->relocs, 1) < 0)
            return "out of memory";
        r = reloc_new(v->seg, v->base, v->bits, v->alive);
        if (r == NULL)
            return "out of memory";
        reloc_list_add(&x->relocs, r);
    }
    return NULL;
}

static const char *take_subjects(struct xfer_in *x, const struct msg_copy_extra *m)
{
    for (uint32_t i = 0; i < m->n_subjects; i++) {
        const struct subject_rec *v = &m->subjects[i];
        struct subject s = {
            .id = { v->seg, v->number },
            .issued_s = v->issued_s,
            .client = v->client,
            .len = v->len,
            .joins = v->joins,
            .found = v->found != 0,
            .hash = v->hash,
            .text = (char *)(uintptr_t)v->text, /* only read */
        };

        if (v->text == NULL || subjects_by_ticket(&x->subjects, s.id) != NULL)
            return "subject damaged";
        if (subjects_add(&x->subjects, &s) < 0)
            return "out of memory";
        x->text_bytes += XFER_RECORD + s.len;
    }
    return NULL;
}

static const char *take_contacts(struct xfer_in *x, const struct msg_copy_extra *m)
{
    for (uint32_t i = 0; i < m->n_contacts; i++) {
        const struct contact_rec *v = &m->contacts[i];
        struct contact c = {
            .id = { v->seg, v->number },
            .said = v->said,
            .claim_ms = v->claim_ms,
            .n = v->n_sealed,
            .sealed = (uint8_t *)(uintptr_t)v->sealed, /* only read */
        };

        if (v->seg == 0 || (v->n_sealed > 0 && v->sealed == NULL) ||
            contacts_find(&x->contacts, c.id) != NULL)
            return "contact damaged";
        if (contacts_put(&x->contacts, &c) < 0)
            return "out of memory";
        x->text_bytes += XFER_RECORD + c.n;
    }
    return NULL;
}

/* The source's own numbers become a table; `base` is where its first ticket will be. */
static const char *make_self(struct xfer_in *x)
{
    struct reloc *r = reloc_new(x->from, 0, x->joined, NULL);
    uint32_t words = reloc_words(x->joined);

    if (r == NULL || reloc_list_reserve(&x->relocs, 1) < 0) {
        reloc_free(r);
        return "out of memory";
    }
    for (uint32_t w = 0; w < words; w++)
        if (x->stage[w / BLOCK_WORDS] != NULL)
            r->alive[w] = x->stage[w / BLOCK_WORDS]->alive[w % BLOCK_WORDS];
    reloc_count(r);
    x->self = r;
    reloc_list_add(&x->relocs, r);
    return NULL;
}

static bool is_consistent(const struct xfer_in *x)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < x->relocs.n; i++) {
        const struct reloc *r = x->relocs.v[i];

        if (r->count > 0 && r->base != n)
            return false;
        n += r->count;
    }
    return n == x->waiting;
}

static const char *end(struct xfer_in *x, const struct msg_copy_end *m, struct contents *b)
{
    const char *why;

    if (m->waiting != x->waiting)
        return "counts differ";
    why = make_self(x);
    if (why != NULL)
        return why;
    if (!is_consistent(x))
        return "relocation tables do not add up";
    if (segq_reserve(&b->q, x->waiting) < 0)
        return "no room for the tickets";
    x->ahead = m->ahead;
    x->complete = true;
    return NULL;
}

static const char *each_touch(struct xfer_in *x, const struct msg_copy_touch *m)
{
    const char *why = NULL;

    for (uint32_t i = 0; i < m->n && why == NULL; i++)
        why = take_touch(x, &m->v[i]);
    return why;
}

static const char *each_block(struct xfer_in *x, const struct msg_copy_chunk *m)
{
    const char *why = NULL;

    for (uint32_t i = 0; i < m->n && why == NULL; i++)
        why = take_block(x, &m->v[i]);
    return why;
}

static uint32_t seq_of(const struct msg *m)
{
    switch (m->type) {
    case MSG_COPY_CHUNK:
        return m->copy_chunk.seq;
    case MSG_COPY_TOUCH:
        return m->copy_touch.seq;
    case MSG_COPY_EXTRA:
        return m->copy_extra.seq;
    case MSG_COPY_END:
        return m->copy_end.seq;
    default:
        return 0;
    }
}

const char *xfer_in_msg(struct xfer_in *x, const struct msg *m, struct contents *b)
{
    const char *why = NULL;

    if (m->type == MSG_COPY_BEGIN)
        return begin(x, &m->copy_begin);
    if (!x->begun || x->complete || seq_of(m) != x->seq + 1)
        return "out of sequence";
    x->seq++;
    if (m->type == MSG_COPY_CHUNK)
        return each_block(x, &m->copy_chunk);
    if (m->type == MSG_COPY_TOUCH)
        return each_touch(x, &m->copy_touch);
    if (m->type == MSG_COPY_END)
        return end(x, &m->copy_end, b);
    why = take_sessions(x, &m->copy_extra);
    if (why == NULL)
        why = take_relocs(x, &m->copy_extra);
    if (why == NULL)
        why = take_subjects(x, &m->copy_extra);
    return why != NULL ? why : take_contacts(x, &m->copy_extra);
}

/* ---- commit ---------------------------------------------------------------------- */

/* Takes all people of the other two tables, or none: until the commit comes again, who was there may have left,
 * and of a copy nobody else would forget them; and it may never come. */
static int gather_to(struct subjects *s, struct contacts *c, const struct subjects *from_s,
                     const struct contacts *from_c, bool tell)
{
    const struct contact *x;

    if (contacts_put_all(c, from_c) == 0 && subjects_gather(s, from_s, tell) == 0)
        return 0;
    for (uint32_t i = 0; (x = contacts_next(from_c, &i)) != NULL;)
        contacts_del(c, x->id);
    return SQ_ENOMEM;
}

/* All subjects and contacts come together in the longer tables: a drain's target has none of its own, and
 * a million that came need not be looked at again. */
static int gather(struct xfer_in *x, struct contents *b)
{
    x->with_own = (uint64_t)x->subjects.n + x->contacts.n >
                  (uint64_t)b->subjects.n + b->contacts.n;
    if (x->with_own)
        return gather_to(&x->subjects, &x->contacts, &b->subjects, &b->contacts, false);
    return gather_to(&b->subjects, &b->contacts, &x->subjects, &x->contacts, true);
}

bool xfer_in_people(struct xfer_in *x, struct contents *b)
{
    bool swapped = x->with_own;

    if (swapped) {
        struct contacts was = b->contacts;

        subjects_swap(&x->subjects, &b->subjects);
        b->contacts = x->contacts;
        x->contacts = was;
    }
    x->subjects.watch = (struct subject_watch){ 0 }; /* all of them are in b */
    subjects_fini(&x->subjects);
    contacts_fini(&x->contacts);
    return swapped;
}

static int reserve(struct xfer_in *x, struct contents *b)
{
    if (sessions_reserve(&b->released, x->n_recs) < 0 ||
        reloc_list_reserve(&b->relocs, x->relocs.n) < 0 ||
        segq_reserve(&b->q, x->waiting) < 0)
        return SQ_ENOMEM;
    return gather(x, b); /* the last: it is undone if it fails */
}

/* Rounded up, never less than XFER_MIN_LEFT_MS, never beyond the horizon. */
static uint8_t deadline(const struct xfer_in *x, const struct xfer_time *tm, uint8_t left)
{
    uint64_t ms = u64_max((uint64_t)left * x->unit_ms, XFER_MIN_LEFT_MS);
    uint64_t units = ms / tm->unit_ms + 2;

    return (uint8_t)(tm->unit_now + u64_min(units, IDLE_HORIZON));
}

/* The deadlines of a block's living, one behind the other; how many. */
static uint32_t deadlines(const struct block *k, const uint8_t due[256],
                          uint8_t out[BLOCK_SLOTS])
{
    uint32_t n = 0;

    for (unsigned w = 0; w < BLOCK_WORDS; w++)
        for (uint64_t m = k->alive[w]; m != 0; m &= m - 1)
            out[n++] = due[k->idle[w * 64 + (unsigned)__builtin_ctzll(m)]];
    return n;
}

/* Everybody waits for the end of this: half a million take a millisecond. */
static int append_all(struct xfer_in *x, struct contents *b, const struct xfer_time *tm)
{
    uint8_t due[256], v[BLOCK_SLOTS];

    for (unsigned left = 0; left < 256; left++)
        due[left] = deadline(x, tm, (uint8_t)left);
    for (uint32_t i = 0; i < x->n_blocks; i++)
        if (x->stage[i] != NULL &&
            segq_append_many(&b->q, v, deadlines(x->stage[i], due, v)) < 0)
            return SQ_ENOMEM; /* cannot be: reserved */
    return 0;
}

static void add_session(struct contents *b, const struct session_rec *v,
                        const struct xfer_time *tm, uint32_t pass_ttl_s)
{
    struct ticket_id id = { v->seg, v->number };
    bool admitted = session_is_monotonic(v->state);
    msec_t base = admitted ? tm->now_ms : tm->service_ms;
    msec_t ttl_ms = pass_ttl_s * 1000ll;
    msec_t left_ms = v->released_at_ms + ttl_ms - tm->wall_ms; /* more: a clock went back */
    struct session *s;

    if (sessions_find(&b->released, id) != NULL)
        return;
    s = sessions_add(&b->released, id, (enum session_state)v->state, base + v->left_ms);
    s->client = v->client;
    s->reason = v->reason;
    s->released_at_ms = v->released_at_ms;
    s->until_s = v->until_s;
    if (v->used != 0)
        s->used = v->used;
    s->expires_ms = admitted ? s->deadline_ms
                             : tm->now_ms + (left_ms < ttl_ms ? left_ms : ttl_ms);
}

uint64_t xfer_in_records(const struct xfer_in *x)
{
    uint64_t n = x->text_bytes;

    for (uint32_t i = 0; i < x->relocs.n; i++)
        n += x->relocs.v[i]->bits / 8 + XFER_RECORD;
    return n + 3ull * XFER_RECORD * x->n_recs;
}

int xfer_in_commit(struct xfer_in *x, struct contents *b, const struct xfer_time *tm,
                   uint32_t pass_ttl_s)
{
    uint32_t base;

    assert(x->complete && b->q.sealed && !b->q.rebuilding);
    if (reserve(x, b) < 0)
        return SQ_ENOMEM;
    segq_settle(&b->q);
    segq_unseal(&b->q);
    base = b->q.end;
    if (append_all(x, b, tm) < 0)
        return SQ_ENOMEM;
    assert(b->q.end - base == x->waiting);
    segq_seal(&b->q);
    segq_unreserve(&b->q);
    for (uint32_t i = 0; i < x->relocs.n; i++) {
        x->relocs.v[i]->base += base;
        reloc_list_add(&b->relocs, x->relocs.v[i]);
    }
    x->relocs.n = 0;
    for (uint32_t i = 0; i < x->n_recs; i++)
        add_session(b, &x->rec[i], tm, pass_ttl_s);
    return 0;
}

/* xfer_out.c: the source's end of a move. */
#include "segment/copy/xfer_out.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/wire/codec.h"

#define FENCE_AT   512u /* touches left: few enough for a short fence */
#define MAX_ROUNDS 8u   /* fence then, however busy the segment is */

_Static_assert(XFER_CONTACT_MAX * (CONTACT_SEALED_MAX + 40) < FRAME_MAX_BODY, "the longest fit into a frame");

int xfer_out_init(struct xfer_out *x, const struct contents *b, uint64_t move, seg_id to,
                  uint64_t ahead)
{
    *x = (struct xfer_out) { .move = move, .from = b->id, .to = to, .ahead = ahead };
    x->n_blocks = b->q.n_blocks;
    x->next_block = b->q.head;
    x->touched = calloc(x->n_blocks * BLOCK_WORDS + 1, sizeof(*x->touched));
    return x->touched != NULL ? 0 : SQ_ENOMEM;
}

void xfer_out_fini(struct xfer_out *x)
{
    free(x->touched);
    reloc_free(x->frozen);
    x->touched = NULL;
    x->frozen = NULL;
}

void xfer_out_begin(const struct xfer_out *x, const struct contents *b,
                    const struct xfer_time *tm, struct outbox *out, peer_no peer)
{
    outbox_add(out, peer, MSG_COPY_BEGIN)->copy_begin = (struct msg_copy_begin) {
        .move = x->move,
        .from = x->from,
        .to = x->to,
        .first =
            b->q.head << BLOCK_SHIFT < b->q.end ? b->q.head << BLOCK_SHIFT : b->q.end,
        .end = b->q.end,
        .joined = b->joined,
        .unit_ms = tm->unit_ms,
    };
}

/* Bytes that the target will write down, about and at most. Counted one by one only where it matters. */
static uint64_t record_bytes(const struct contents *b)
{
    uint64_t most = b->contacts.bytes + (uint64_t)b->contacts.n * XFER_RECORD, n = most;
    const struct subject *x;
    const struct session *s;

    for (uint32_t i = 0; i < b->relocs.n; i++)
        most = n += b->relocs.v[i]->bits / 8 + XFER_RECORD;
    most += (uint64_t)b->subjects.n * (XFER_RECORD + SUBJECT_TEXT_MAX) + 3ull * XFER_RECORD * b->released.cap;
    if (most <= XFER_RECORDS_MAX)
        return most;
    for (uint32_t i = 0; (x = subjects_next(&b->subjects, &i)) != NULL;)
        n += XFER_RECORD + x->len;
    for (uint32_t i = 0; (s = sessions_next(&b->released, &i)) != NULL;)
        n += XFER_RECORD * (1u + (s->until_s != 0) + (s->used != 0));
    return n;
}

/* Everybody at the target waits while it writes. */
const char *xfer_out_unfit(const struct contents *b)
{
    return record_bytes(b) <= XFER_RECORDS_MAX
               ? NULL : "its contacts, subjects and passes are more than 256 MiB: it stays until it is shorter";
}

void xfer_out_touch(struct xfer_out *x, uint32_t slot)
{
    uint64_t bit = 1ull << (slot & 63);

    assert(x->next_block <= x->n_blocks);
    if (slot >> BLOCK_SHIFT >= x->next_block || (x->touched[slot >> 6] & bit))
        return;
    x->touched[slot >> 6] |= bit;
    x->n_touched++;
}

const char *xfer_out_ack(struct xfer_out *x, uint32_t seq)
{
    if (seq == 0 && x->phase == XFER_BEGUN)
        x->phase = XFER_BLOCKS;
    if (seq <= x->acked)
        return NULL;
    assert(x->acked <= x->seq);
    if (seq > x->seq)
        return "acknowledged what was not sent";
    x->acked = seq;
    return NULL;
}

/* ---- one message of each phase; true: there is more of this phase ------------------ */

static void fill_block(struct copy_block *v, uint32_t index, const struct block *k,
                       uint8_t now, struct outbox *out)
{
    uint8_t *left = arena_alloc(&out->mem, BLOCK_SLOTS);

    v->index = index;
    v->left = left;
    if (left == NULL) {
        out->failed = true;
        return;
    }
    memcpy(v->alive, k->alive, sizeof(v->alive));
    for (unsigned w = 0; w < BLOCK_WORDS; w++)
        for (uint64_t m = k->alive[w]; m != 0; m &= m - 1)
            left[v->n_left++] =
                idle_left(k->idle[w * 64 + (unsigned)__builtin_ctzll(m)], now);
}

static bool send_blocks(struct xfer_out *x, const struct contents *b, uint8_t now,
                        struct outbox *out, peer_no peer)
{
    struct copy_block *v;
    struct msg *m;
    uint32_t n = 0;

    while (x->next_block < x->n_blocks && b->q.block[x->next_block] == NULL)
        x->next_block++;
    if (x->next_block >= x->n_blocks)
        return false;
    v = arena_array(&out->mem, MSG_COPY_BLOCKS, sizeof(*v));
    m = outbox_add(out, peer, MSG_COPY_CHUNK);
    if (v == NULL) {
        out->failed = true;
        return false;
    }
    for (; x->next_block < x->n_blocks && n < portion_of(MSG_COPY_BLOCKS, x->portion); x->next_block++)
        if (b->q.block[x->next_block] != NULL)
            fill_block(&v[n++], x->next_block, b->q.block[x->next_block], now, out);
    m->copy_chunk = (struct msg_copy_chunk) { x->move, ++x->seq, n, v };
    return true;
}

static struct touch_entry touch(const struct contents *b, uint32_t slot, uint8_t now)
{
    struct touch_entry e = { .number = slot };

    if (segq_is_alive(&b->q, slot)) {
        e.alive = 1;
        e.left = idle_left(segq_block(&b->q, slot)->idle[slot & (BLOCK_SLOTS - 1)], now);
    }
    return e;
}

static bool send_touches(struct xfer_out *x, const struct contents *b, uint8_t now,
                         struct outbox *out, peer_no peer)
{
    uint32_t words = x->n_blocks * BLOCK_WORDS, room = portion_of(XFER_TOUCH_MAX, x->portion), n = 0;
    struct touch_entry *v;
    struct msg *m;

    if (x->n_touched == 0)
        return false;
    v = arena_array(&out->mem, room, sizeof(*v));
    m = outbox_add(out, peer, MSG_COPY_TOUCH);
    if (v == NULL) {
        out->failed = true;
        return false;
    }
    while (x->n_touched > 0 && n < room) {
        uint64_t *w = &x->touched[x->touch_word];

        for (; *w != 0 && n < room; *w &= *w - 1, x->n_touched--)
            v[n++] = touch(b, x->touch_word * 64 + (uint32_t)__builtin_ctzll(*w), now);
        if (*w == 0)
            x->touch_word = x->touch_word + 1 < words ? x->touch_word + 1 : 0;
    }
    m->copy_touch = (struct msg_copy_touch) { x->move, ++x->seq, n, v };
    x->rounds++;
    return true;
}

static struct msg_copy_extra *new_extra(struct xfer_out *x, struct outbox *out,
                                        peer_no peer)
{
    struct msg *m = outbox_add(out, peer, MSG_COPY_EXTRA);

    m->copy_extra = (struct msg_copy_extra) { .move = x->move, .seq = ++x->seq };
    return &m->copy_extra;
}

/* Memory of n rows; NULL: there is none. */
static void *rows(struct xfer_out *x, struct outbox *out, size_t n, size_t size)
{
    void *v = arena_array(&out->mem, n, size);

    if (v == NULL) {
        out->failed = true;
        x->seq++; /* the gap makes the target refuse */
    }
    return v;
}

/* The returning come first, in their order; then the others, in any. */
static const struct session *next_session(struct xfer_out *x, const struct contents *b)
{
    const struct session *s = x->returning;

    if (s != NULL) {
        x->returning = sessions_next_returning(&b->released, s);
        return s;
    }
    while ((s = sessions_next(&b->released, &x->cursor)) != NULL)
        if (s->state != SESSION_RETURNING && s->state != SESSION_OVER)
            return s;
    return NULL;
}

static bool send_sessions(struct xfer_out *x, const struct contents *b,
                          const struct xfer_time *tm, struct outbox *out, peer_no peer)
{
    uint32_t room = portion_of(XFER_SESSION_MAX, x->portion), n = 0;
    struct session_rec *v = rows(x, out, room, sizeof(*v));
    struct msg_copy_extra *e;
    const struct session *s;

    if (v == NULL)
        return false;
    while (n < room && (s = next_session(x, b)) != NULL)
        v[n++] = (struct session_rec) {
            .seg = s->id.seg,
            .number = s->id.number,
            .state = s->state,
            .client = s->client,
            .reason = s->state == SESSION_REVOKED ? s->reason : 0,
            .released_at_ms = s->released_at_ms,
            .left_ms = s->deadline_ms -
                       (session_is_monotonic(s->state) ? tm->now_ms : tm->service_ms),
            .until_s = s->until_s,
            .used = session_has_use(s->state) ? s->used : 0,
        };
    if (n == 0)
        return false;
    e = new_extra(x, out, peer);
    e->n_sessions = n;
    e->sessions = v;
    return n == room;
}

static bool send_reloc(struct xfer_out *x, const struct contents *b, struct outbox *out,
                       peer_no peer, const char **why)
{
    struct msg_copy_extra *e;
    struct reloc_rec *v;
    struct reloc *c;

    if (x->cursor >= b->relocs.n)
        return false;
    v = arena_alloc(&out->mem, sizeof(*v));
    c = reloc_compose(b->relocs.v[x->cursor], x->frozen);
    if (v == NULL || c == NULL || reloc_words(c->bits) * 8ull > XFER_RELOC_MAX) {
        *why = c != NULL && v != NULL ? "relocation table too big" : "out of memory";
        reloc_free(c);
        return false;
    }
    *v = (struct reloc_rec) { .seg = c->seg, .base = c->base, .bits = c->bits };
    v->n_words = reloc_words(c->bits);
    v->alive = arena_memdup(&out->mem, c->alive, v->n_words * sizeof(uint64_t));
    reloc_free(c);
    e = new_extra(x, out, peer);
    e->n_relocs = 1;
    e->relocs = v;
    x->cursor++;
    return true;
}

static bool send_subjects(struct xfer_out *x, const struct contents *b, struct outbox *out,
                          peer_no peer)
{
    uint32_t room = portion_of(XFER_SUBJECT_MAX, x->portion), n = 0;
    struct subject_rec *v = rows(x, out, room, sizeof(*v));
    const struct subject *s;
    struct msg_copy_extra *e;

    if (v == NULL)
        return false;
    while (n < room && (s = subjects_next(&b->subjects, &x->cursor)) != NULL)
        v[n++] = (struct subject_rec) {
            .seg = s->id.seg,
            .number = s->id.number,
            .issued_s = s->issued_s,
            .client = s->client,
            .len = s->len,
            .joins = s->joins,
            .found = s->found,
            .hash = s->hash,
            .text = arena_memdup(&out->mem, s->text, s->len),
        };
    if (n == 0)
        return false;
    e = new_extra(x, out, peer);
    e->n_subjects = n;
    e->subjects = v;
    return n == room;
}

static bool send_contacts(struct xfer_out *x, const struct contents *b, struct outbox *out,
                          peer_no peer)
{
    uint32_t room = portion_of(XFER_CONTACT_MAX, x->portion), n = 0;
    struct contact_rec *v = rows(x, out, room, sizeof(*v));
    const struct contact *c;
    struct msg_copy_extra *e;

    if (v == NULL)
        return false;
    while (n < room && (c = contacts_next(&b->contacts, &x->cursor)) != NULL)
        v[n++] = (struct contact_rec) {
            .seg = c->id.seg,
            .number = c->id.number,
            .said = c->said,
            .claim_ms = c->claim_ms,
            .n_sealed = c->n,
            .sealed = c->n > 0 ? arena_memdup(&out->mem, c->sealed, c->n) : NULL,
        };
    if (n == 0)
        return false;
    e = new_extra(x, out, peer);
    e->n_contacts = n;
    e->contacts = v;
    return n == room;
}

static void send_end(struct xfer_out *x, const struct contents *b, struct outbox *out,
                     peer_no peer)
{
    outbox_add(out, peer, MSG_COPY_END)->copy_end = (struct msg_copy_end) {
        .move = x->move,
        .seq = ++x->seq,
        .waiting = b->q.waiting,
        .ahead = x->ahead,
    };
}

/* ---- phases ---------------------------------------------------------------------- */

/* Touches go out in rounds: what is touched during one round makes the next. */
static bool may_fence(const struct xfer_out *x)
{
    uint32_t whole = x->n_blocks * BLOCK_SLOTS / portion_of(XFER_TOUCH_MAX, x->portion) + 1;

    return x->n_touched <= portion_of(FENCE_AT, x->portion) || x->rounds >= MAX_ROUNDS * whole;
}

static const char *fence(struct xfer_out *x, const struct contents *b)
{
    const char *why = xfer_out_unfit(b);

    if (why != NULL)
        return why;
    x->frozen = reloc_freeze(&b->q, b->id, b->q.end);
    if (x->frozen == NULL)
        return "out of memory";
    x->returning = sessions_first_returning(&b->released);
    assert(x->phase == XFER_TOUCHING && !x->waits);
    x->phase = XFER_REST;
    return NULL;
}

static void next_phase(struct xfer_out *x)
{
    x->phase++;
    x->cursor = 0;
}

const char *xfer_out_pump(struct xfer_out *x, struct contents *b, const struct xfer_time *tm,
                          struct outbox *out, peer_no peer)
{
    const char *why = NULL;
    bool more = true;

    while (why == NULL && x->phase != XFER_SENT && x->seq - x->acked < XFER_WINDOW) {
        switch (x->phase) {
        case XFER_BEGUN:
            return NULL;
        case XFER_BLOCKS:
            more = send_blocks(x, b, tm->unit_now, out, peer);
            break;
        case XFER_TOUCHING:
            if (may_fence(x) && x->waits)
                return NULL;
            if (may_fence(x))
                why = fence(x, b);
            else
                send_touches(x, b, tm->unit_now, out, peer);
            continue;
        case XFER_REST:
            more = send_touches(x, b, tm->unit_now, out, peer);
            break;
        case XFER_SESSIONS:
            more = send_sessions(x, b, tm, out, peer);
            break;
        case XFER_RELOCS:
            more = send_reloc(x, b, out, peer, &why);
            break;
        case XFER_SUBJECTS:
            more = send_subjects(x, b, out, peer);
            break;
        case XFER_CONTACTS:
            more = send_contacts(x, b, out, peer);
            break;
        case XFER_LAST:
            send_end(x, b, out, peer);
            more = false;
            break;
        case XFER_SENT:
            break;
        }
        if (!more)
            next_phase(x);
    }
    return why;
}

/* jrec.c: records as bytes. One walk over the members does both directions, so that they
 * cannot disagree. */
#include "segment/core/jrec.h"

#include <assert.h>
#include <string.h>

#include "common/base/buf.h"

struct jio {
    struct buf *out;         /* NULL: decoding */
    const uint8_t *p, *end;  /* decoding */
    bool bad;
};

/* ---- members --------------------------------------------------------------------- */

static uint64_t num(struct jio *io, uint64_t v)
{
    const uint8_t *p;

    if (io->out != NULL) {
        buf_varint(io->out, v);
        return v;
    }
    v = 0;
    p = varint_get_own(io->p, io->end, &v);
    io->bad |= p == NULL;
    io->p = p != NULL ? p : io->end;
    return v;
}

/* A number that must fit into its member. */
#define NUM(io, x)                                                                       \
    do {                                                                                 \
        uint64_t num_ = num(io, (uint64_t)(x));                                          \
        (x) = (__typeof__(x))num_;                                                       \
        (io)->bad |= (uint64_t)(x) != num_;                                              \
    } while (0)

static const void *bytes(struct jio *io, const void *p, size_t n)
{
    if (io->out != NULL) {
        assert(p != NULL || n == 0);
        buf_append(io->out, p, n);
        return p;
    }
    if (io->bad || (size_t)(io->end - io->p) < n) {
        io->bad = true;
        return NULL;
    }
    io->p += n;
    return io->p - n;
}

static void text(struct jio *io, struct jrec_text *t, uint32_t max)
{
    NUM(io, t->n);
    t->p = bytes(io, t->p, t->n);
    io->bad |= t->n > max;
}

static void bitmap(struct jio *io, uint64_t v[BLOCK_WORDS])
{
    const void *p = bytes(io, v, BLOCK_WORDS * sizeof(*v));

    if (p != NULL && p != v)
        memcpy(v, p, BLOCK_WORDS * sizeof(*v));
}

/* ---- records --------------------------------------------------------------------- */

/* The walk over struct jrec_MEMBER: its members in the order of the journal. N: a number,
 * T: a text with its longest. */
#define N(x)      NUM(io, v->x);
#define T(x, max) text(io, &v->x, max);
#define WALK(member, members)                                                            \
    static void member(struct jio *io, struct jrec_##member *v)                          \
    {                                                                                    \
        members                                                                          \
    }
WALK(set, N(n))
WALK(epoch, N(epoch) T(manager, NAME_MAX_LEN))
WALK(open, N(queue) N(lane) N(kind) N(capacity) N(ahead))
WALK(run, N(first) N(n) N(why))
WALK(subject, N(id.seg) N(id.number) N(issued_s) N(client) N(hash) T(text, SUBJECT_TEXT_MAX))
WALK(contact, N(id.seg) N(id.number) N(said) N(claim_ms) T(sealed, CONTACT_SEALED_MAX))
WALK(pop, N(tick) N(n) N(returning) N(waiting) N(at_ms))
WALK(session, N(id.seg) N(id.number) N(state) N(reason) N(at_ms))
WALK(extend, N(id.seg) N(id.number) N(until_s))
WALK(used, N(id.seg) N(id.number) N(used))
WALK(move, N(move) N(to))
WALK(rebuild, N(mark_end) N(for_ms))
WALK(released, N(first) N(n) N(at_ms))
WALK(mark, N(src) N(first) N(n) N(again) N(at_ms) N(held))
WALK(segment, open(io, &v->open);
     N(unit_ms) N(joined) N(end) N(popped_end) N(last_n) N(sealed) N(next) N(last_tick)
     N(popped) N(no_shows) N(expired) N(left))
#undef WALK
#undef N
#undef T

static void rules(struct jio *io, struct jrec_rules *r)
{
    NUM(io, r->queue);
    for (unsigned i = 0; i < CLIENT_NCLASSES; i++)
        NUM(io, r->idle_ms[i]);
#define X(f) NUM(io, r->f);
    NODE_RULES(X)
#undef X
    NUM(io, r->n_lanes);
    text(io, &r->name, UINT32_MAX);
    text(io, &r->issuer, UINT32_MAX);
    if (r->n_lanes > LANES_MAX)
        io->bad = true;
    for (unsigned i = 0; i < r->n_lanes && !io->bad; i++)
        text(io, &r->lanes[i], UINT32_MAX);
}

static void reloc(struct jio *io, struct jrec_reloc *r)
{
    NUM(io, r->src);
    NUM(io, r->base);
    NUM(io, r->bits);
    NUM(io, r->at);
    NUM(io, r->n_words);
    io->bad |= r->n_words > JREC_WORDS;
    r->words = bytes(io, r->words, r->n_words * sizeof(uint64_t));
}

static bool is_all(const uint64_t v[BLOCK_WORDS], uint64_t word)
{
    for (unsigned w = 0; w < BLOCK_WORDS; w++)
        if (v[w] != word)
            return false;
    return true;
}

/* A bitmap that is all 0 or all 1 is one byte. */
static void short_bitmap(struct jio *io, uint64_t v[BLOCK_WORDS])
{
    uint8_t form = io->out == NULL ? 0 : is_all(v, 0) ? 0 : is_all(v, ~0ull) ? 1 : 2;

    NUM(io, form);
    if (form == 2)
        bitmap(io, v);
    else
        memset(v, form == 1 ? 0xff : 0, BLOCK_WORDS * sizeof(*v));
    io->bad |= form > 2;
}

static void block(struct jio *io, struct jrec_block *b)
{
    NUM(io, b->index);
    short_bitmap(io, b->alive);
    short_bitmap(io, b->why[0]);
    short_bitmap(io, b->why[1]);
}

static void draw(struct jio *io, struct jrec_draw *d)
{
    const void *p;

    NUM(io, d->n);
    p = bytes(io, d->seed, DRAW_SEED);
    if (p != NULL && p != d->seed)
        memcpy(d->seed, p, DRAW_SEED);
}

static void members(struct jio *io, struct jrec *r)
{
    NUM(io, r->seg);
    switch ((enum jrec_kind)r->kind) {
#define X(NAME, number, word, member)                                                    \
    case JREC_##NAME:                                                                    \
        member(io, &r->member);                                                          \
        break;
        JREC_KINDS(X)
#undef X
    default:
        assert(!"a kind");
    }
}

/* NULL: no kind has this number. */
static const char *word_of(unsigned kind)
{
    static const char *const word[JREC_NKINDS] = {
#define X(NAME, number, word, member) [number] = word,
        JREC_KINDS(X)
#undef X
    };

    return kind < JREC_NKINDS ? word[kind] : NULL;
}

void jrec_encode(const struct jrec *r, struct buf *b)
{
    struct jio io = { .out = b };
    struct jrec c = *r; /* the walk writes back what it has read */

    members(&io, &c);
    assert(!io.bad); /* a record of our own can be read again */
}

int64_t jrec_decode(uint8_t kind, const uint8_t *p, size_t n, struct jrec *r)
{
    struct jio io = { .p = p, .end = p + n };

    if (word_of(kind) == NULL)
        return SQ_EUNKNOWN;
    memset(r, 0, sizeof(*r));
    r->kind = kind;
    members(&io, r);
    assert(io.p <= io.end);
    return io.bad ? SQ_EPROTO : io.p - p;
}

const char *jrec_name(unsigned kind)
{
    return word_of(kind) != NULL ? word_of(kind) : "unknown";
}

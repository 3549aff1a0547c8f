/* jrec.c: records as bytes. One walk over the members does both directions, so that they
 * cannot disagree. */
#include "segment/records/jrec.h"

#include <string.h>

#include "common/base/varint.h"

struct jio {
    struct buf *out;         /* NULL: decoding */
    const uint8_t *p, *end;  /* decoding */
    bool bad;
};

/* ---- members --------------------------------------------------------------------- */

static void put_num(struct buf *b, uint64_t v)
{
    uint8_t *p = buf_reserve(b, VARINT_MAX);

    if (p != NULL)
        b->len += (size_t)(varint_put(p, v) - p);
}

static uint64_t get_num(struct jio *io)
{
    uint64_t v = 0;

    for (unsigned shift = 0; shift < 64 && io->p < io->end; shift += 7) {
        uint8_t c = *io->p++;

        v |= (uint64_t)(c & 0x7f) << shift;
        if (c < 0x80)
            return shift < 63 || c <= 1 ? v : (io->bad = true, 0);
    }
    io->bad = true;
    return 0;
}

static uint64_t num(struct jio *io, uint64_t v)
{
    if (io->out == NULL)
        return get_num(io);
    put_num(io->out, v);
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

static void text(struct jio *io, struct jrec_text *t)
{
    NUM(io, t->n);
    t->p = bytes(io, t->p, t->n);
}

static void bitmap(struct jio *io, uint64_t v[BLOCK_WORDS])
{
    const void *p = bytes(io, v, BLOCK_WORDS * sizeof(*v));

    if (p != NULL && p != v)
        memcpy(v, p, BLOCK_WORDS * sizeof(*v));
}

/* ---- records --------------------------------------------------------------------- */

static void rules(struct jio *io, struct jrec_rules *r)
{
    NUM(io, r->queue);
    for (unsigned i = 0; i < CLIENT_NCLASSES; i++)
        NUM(io, r->idle_ms[i]);
#define X(f) NUM(io, r->f);
    NODE_RULES(X)
#undef X
    NUM(io, r->n_lanes);
    text(io, &r->name);
    text(io, &r->issuer);
    if (r->n_lanes > LANES_MAX)
        io->bad = true;
    for (unsigned i = 0; i < r->n_lanes && !io->bad; i++)
        text(io, &r->lanes[i]);
}

static void open(struct jio *io, struct jrec_open *o)
{
    NUM(io, o->queue);
    NUM(io, o->lane);
    NUM(io, o->kind);
    NUM(io, o->capacity);
    NUM(io, o->ahead);
}

static void run(struct jio *io, struct jrec_run *r)
{
    NUM(io, r->first);
    NUM(io, r->n);
    NUM(io, r->why);
}

static void subject(struct jio *io, struct jrec_subject *s)
{
    NUM(io, s->id.seg);
    NUM(io, s->id.number);
    NUM(io, s->issued_s);
    NUM(io, s->client);
    NUM(io, s->hash);
    text(io, &s->text);
    io->bad |= s->text.n > SUBJECT_MAX_LEN;
}

static void pop(struct jio *io, struct jrec_pop *p)
{
    NUM(io, p->tick);
    NUM(io, p->n);
    NUM(io, p->returning);
    NUM(io, p->waiting);
    NUM(io, p->at_ms);
}

static void session(struct jio *io, struct jrec_session *s)
{
    NUM(io, s->id.seg);
    NUM(io, s->id.number);
    NUM(io, s->state);
    NUM(io, s->reason);
    NUM(io, s->at_ms);
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

static void seg(struct jio *io, struct jrec_seg *s)
{
    open(io, &s->open);
    NUM(io, s->unit_ms);
    NUM(io, s->joined);
    NUM(io, s->end);
    NUM(io, s->popped_end);
    NUM(io, s->last_n);
    NUM(io, s->sealed);
    NUM(io, s->next);
    NUM(io, s->last_tick);
    NUM(io, s->popped);
    NUM(io, s->no_shows);
    NUM(io, s->expired);
    NUM(io, s->left);
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

static void released(struct jio *io, struct jrec_released *r)
{
    NUM(io, r->first);
    NUM(io, r->n);
    NUM(io, r->at_ms);
}

static void mark(struct jio *io, struct jrec_mark *m)
{
    NUM(io, m->src);
    NUM(io, m->first);
    NUM(io, m->n);
    NUM(io, m->again);
    NUM(io, m->at_ms);
    NUM(io, m->held);
}

static void draw(struct jio *io, struct jrec_draw *d)
{
    const void *p;

    NUM(io, d->n);
    p = bytes(io, d->seed, DRAW_SEED);
    if (p != NULL && p != d->seed)
        memcpy(d->seed, p, DRAW_SEED);
}

static void epoch(struct jio *io, struct jrec_epoch *v)
{
    NUM(io, v->epoch);
    text(io, &v->manager);
    io->bad |= v->manager.n > NAME_MAX_LEN;
}

static void extend(struct jio *io, struct jrec_extend *v)
{
    NUM(io, v->id.seg);
    NUM(io, v->id.number);
    NUM(io, v->until_s);
}

static void moved(struct jio *io, struct jrec_moved *v)
{
    NUM(io, v->id.seg);
    NUM(io, v->id.number);
    NUM(io, v->to.seg);
    NUM(io, v->to.number);
    NUM(io, v->slot);
}

/* What snapshots, moves and rebuilt segments have. */
static void of_segment(struct jio *io, struct jrec *r)
{
    switch ((enum jrec_kind)r->kind) {
    case JREC_FINAL:
        NUM(io, r->move.move);
        NUM(io, r->move.to);
        break;
    case JREC_RELOC:
        reloc(io, &r->reloc);
        break;
    case JREC_SEG:
        seg(io, &r->s);
        break;
    case JREC_BLOCK:
        block(io, &r->block);
        break;
    case JREC_HOLLOW:
        NUM(io, r->hollow.mark_end);
        NUM(io, r->hollow.for_ms);
        break;
    case JREC_RELEASED:
        released(io, &r->released);
        break;
    case JREC_UNKEPT:
        mark(io, &r->mark);
        break;
    case JREC_DRAW:
        draw(io, &r->draw);
        break;
    default:
        NUM(io, r->set.n);
    }
}

static void members(struct jio *io, struct jrec *r)
{
    NUM(io, r->seg);
    switch ((enum jrec_kind)r->kind) {
    case JREC_EPOCH:
        epoch(io, &r->epoch);
        break;
    case JREC_RULES:
        rules(io, &r->rules);
        break;
    case JREC_OPEN:
        open(io, &r->open);
        break;
    case JREC_JOIN:
    case JREC_DROP:
    case JREC_BURIED:
    case JREC_BACK:
        run(io, &r->run);
        break;
    case JREC_SUBJECT:
        subject(io, &r->subject);
        break;
    case JREC_POP:
        pop(io, &r->pop);
        break;
    case JREC_SESSION:
        session(io, &r->session);
        break;
    case JREC_EXTEND:
        extend(io, &r->extend);
        break;
    case JREC_MOVED:
        moved(io, &r->moved);
        break;
    default:
        of_segment(io, r);
    }
}

void jrec_encode(const struct jrec *r, struct buf *b)
{
    struct jio io = { .out = b };
    struct jrec c = *r; /* the walk writes back what it has read */

    members(&io, &c);
}

int64_t jrec_decode(uint8_t kind, const uint8_t *p, size_t n, struct jrec *r)
{
    struct jio io = { .p = p, .end = p + n };

    if (kind == 0 || kind >= JREC_NKINDS)
        return SQ_EUNKNOWN;
    memset(r, 0, sizeof(*r));
    r->kind = kind;
    members(&io, r);
    return io.bad ? SQ_EPROTO : io.p - p;
}

const char *jrec_name(unsigned kind)
{
    static const char *const names[] = {
        [JREC_EPOCH] = "epoch",       [JREC_RULES] = "rules",
        [JREC_OPEN] = "open",         [JREC_UNIT] = "unit",
        [JREC_SEAL] = "seal",         [JREC_NEXT] = "next",
        [JREC_AHEAD] = "ahead",       [JREC_REMOVE] = "remove",
        [JREC_JOIN] = "join",         [JREC_SUBJECT] = "subject",
        [JREC_DROP] = "drop",         [JREC_POP] = "pop",
        [JREC_SESSION] = "session",   [JREC_ALIAS] = "alias",
        [JREC_FINAL] = "final",       [JREC_FREED] = "freed",
        [JREC_ABSORB] = "absorb",     [JREC_RELOC] = "reloc",
        [JREC_ABSORBED] = "absorbed", [JREC_SNAP] = "snap",
        [JREC_SEG] = "seg",           [JREC_BURIED] = "buried",
        [JREC_BLOCK] = "block",       [JREC_SEG_END] = "seg-end",
        [JREC_SNAP_END] = "snap-end", [JREC_MARK] = "mark",
        [JREC_HOLLOW] = "hollow",     [JREC_RELEASED] = "released",
        [JREC_BACK] = "back",         [JREC_SOLID] = "solid",
        [JREC_KEPT] = "kept",         [JREC_UNKEPT] = "unkept",
        [JREC_STORE] = "store",       [JREC_EXTEND] = "extend",
        [JREC_EARLY] = "early",       [JREC_DRAW] = "draw",
        [JREC_MOVED] = "moved",
    };

    _Static_assert(ARRAY_LEN(names) == JREC_NKINDS, "JREC_NKINDS is not behind the last");
    return kind < ARRAY_LEN(names) && names[kind] != NULL ? names[kind] : "unknown";
}

/* record.c: each kind has a row of members; one walk writes it, one reads it. */
#include "task/store/record.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

enum member_type { NUMBER, SIGNED, TEXT };

enum member {
#define M(m) M_##m,
    TREC_MEMBERS(M, M, M)
#undef M
    N_MEMBERS
};

static const struct {
    uint16_t at;
    uint8_t type;
} members[N_MEMBERS] = {
#define U(m) [M_##m] = { offsetof(struct trec, m), NUMBER },
#define I(m) [M_##m] = { offsetof(struct trec, m), SIGNED },
#define T(m) [M_##m] = { offsetof(struct trec, m), TEXT },
    TREC_MEMBERS(U, I, T)
#undef U
#undef I
#undef T
};

#define ROW_MAX 16

/* Members as numbers + 1: a row ends with 0. */
#define P1(m, ...)  M_##m + 1, __VA_OPT__(P2(__VA_ARGS__))
#define P2(m, ...)  M_##m + 1, __VA_OPT__(P3(__VA_ARGS__))
#define P3(m, ...)  M_##m + 1, __VA_OPT__(P4(__VA_ARGS__))
#define P4(m, ...)  M_##m + 1, __VA_OPT__(P5(__VA_ARGS__))
#define P5(m, ...)  M_##m + 1, __VA_OPT__(P6(__VA_ARGS__))
#define P6(m, ...)  M_##m + 1, __VA_OPT__(P7(__VA_ARGS__))
#define P7(m, ...)  M_##m + 1, __VA_OPT__(P8(__VA_ARGS__))
#define P8(m, ...)  M_##m + 1, __VA_OPT__(P9(__VA_ARGS__))
#define P9(m, ...)  M_##m + 1, __VA_OPT__(P10(__VA_ARGS__))
#define P10(m, ...) M_##m + 1, __VA_OPT__(P11(__VA_ARGS__))
#define P11(m, ...) M_##m + 1, __VA_OPT__(P12(__VA_ARGS__))
#define P12(m, ...) M_##m + 1, __VA_OPT__(P13(__VA_ARGS__))
#define P13(m, ...) M_##m + 1, __VA_OPT__(P14(__VA_ARGS__))
#define P14(m) M_##m + 1,

static const uint8_t rows[TREC_NKINDS][ROW_MAX] = {
#define X(NAME, number, ...) [number] = { P1(__VA_ARGS__) 0 },
    TREC_KINDS(X)
#undef X
};

static const char *const names[TREC_NKINDS] = {
#define X(NAME, number, ...) [number] = #NAME,
    TREC_KINDS(X)
#undef X
};

void trec_encode(const struct trec *r, struct buf *b)
{
    assert(r->kind < TREC_NKINDS && rows[r->kind][0] != 0);
    for (const uint8_t *m = rows[r->kind]; *m != 0; m++) {
        const void *at = (const char *)r + members[*m - 1].at;
        const struct trec_text *text = at;
        uint64_t v;

        if (members[*m - 1].type == TEXT) {
            buf_varint(b, text->n);
            buf_append(b, text->p, text->n);
            continue;
        }
        memcpy(&v, at, sizeof(v));
        if (members[*m - 1].type == SIGNED)
            v = v << 1 ^ (uint64_t)((int64_t)v >> 63);
        buf_varint(b, v);
    }
}

void trec_append(const struct trec *r, struct buf *log)
{
    size_t from = log->len, n;

    buf_append(log, "\0\0\0", 3);
    buf_byte(log, r->kind);
    trec_encode(r, log);
    if (log->failed)
        return;
    n = log->len - from - TREC_FRAME;
    assert(n < 1u << 24);
    for (unsigned i = 0; i < 3; i++)
        log->data[from + i] = (uint8_t)(n >> 8 * i);
}

void *trec_room(struct buf *log, uint8_t kind, size_t n)
{
    uint8_t *to = buf_reserve(log, TREC_FRAME + n);

    assert(n < 1u << 24);
    if (to == NULL)
        return NULL;
    to[0] = (uint8_t)n;
    to[1] = (uint8_t)(n >> 8);
    to[2] = (uint8_t)(n >> 16);
    to[3] = kind;
    log->len += TREC_FRAME + n;
    return to + TREC_FRAME;
}

void trec_frame(struct buf *log, uint8_t kind, const void *p, size_t n)
{
    void *to = trec_room(log, kind, n);

    if (to != NULL && n > 0)
        memcpy(to, p, n);
}

bool trec_next(const uint8_t *log, size_t len, size_t *at, struct trec_frame *f)
{
    size_t left = len - *at;
    const uint8_t *p;

    if (left < TREC_FRAME)
        return false;
    p = log + *at;
    *f = (struct trec_frame){ p[3], p + TREC_FRAME, p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 };
    *at += TREC_FRAME + f->n;
    return f->n <= left - TREC_FRAME;
}

int trec_decode(uint8_t kind, const uint8_t *p, size_t n, struct trec *r)
{
    const uint8_t *end = p + n;

    if (kind >= TREC_NKINDS || rows[kind][0] == 0)
        return SQ_EUNKNOWN;
    memset(r, 0, sizeof(*r));
    r->kind = kind;
    for (const uint8_t *m = rows[kind]; *m != 0; m++) {
        void *at = (char *)r + members[*m - 1].at;
        uint64_t v;

        p = varint_get_own(p, end, &v);
        if (p == NULL)
            return SQ_EPROTO;
        if (members[*m - 1].type == TEXT) {
            struct trec_text text = { (const char *)p, (uint32_t)v };

            if (v > (size_t)(end - p))
                return SQ_EPROTO;
            memcpy(at, &text, sizeof(text));
            p += v;
            continue;
        }
        if (members[*m - 1].type == SIGNED)
            v = v >> 1 ^ (0 - (v & 1));
        memcpy(at, &v, sizeof(v));
    }
    return p == end ? 0 : SQ_EPROTO;
}

const char *trec_name(unsigned kind)
{
    return kind < TREC_NKINDS && names[kind] != NULL ? names[kind] : "?";
}

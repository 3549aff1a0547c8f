/* waiting_text.c: see waiting_text.h. */
#define _GNU_SOURCE /* memmem */
#include "router/api/waiting_text.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/err.h"
#include "common/base/text.h"
#include "common/ticket/pace.h"

int waiting_texts_init(struct waiting_texts *t)
{
    api_ans_init(&t->sample);
    t->v = calloc(WAITING_NAMES, sizeof(*t->v));
    if (t->v == NULL)
        return SQ_ENOMEM;
    t->v[0].name = 1; /* a value of another slot: 0 would be found there */
    return 0;
}

void waiting_texts_fini(struct waiting_texts *t)
{
    free(t->v);
    api_ans_fini(&t->sample);
}

/* ---- cutting ---- */

struct cut { /* rest of the sample */
    const char *p, *end;
};

/* Goes behind the figure (or null) that follows `label`. Before it: *text, of *n bytes. */
static bool cut(struct cut *c, const char *label, const char **text, size_t *n)
{
    const char *at = memmem(c->p, (size_t)(c->end - c->p), label, strlen(label));

    if (at == NULL)
        return false;
    *text = c->p;
    c->p = at + strlen(label);
    *n = (size_t)(c->p - *text);
    while (c->p < c->end && *c->p != ',' && *c->p != '"')
        c->p++;
    return true;
}

static bool cut_first(struct waiting_text *x, struct cut *c)
{
    const char *text;
    size_t n;

    if (!cut(c, "\"position\":", &text, &n) || n > sizeof(x->first))
        return false;
    memcpy(x->first, text, n);
    x->n_first = (unsigned)n;
    return true;
}

static bool keep(struct waiting_text *x, enum waiting_piece k, const char *text, size_t n)
{
    if (n > TEXT_PIECE)
        return false;
    memcpy(x->piece[k], text, n);
    x->n[k] = (unsigned)n;
    return true;
}

/* Names have neither quotes nor commas, so each label is found where it stands. */
static bool cut_all(struct waiting_text *x, struct cut c)
{
    static const char *const label[WAITING_NPIECES - 1] = {
        [BEHIND_POSITION] = "\"eta_s\":",
        [BEHIND_ETA] = "\"poll_after_ms\":",
        [BEHIND_POLL] = "-", /* the dash in "ticket":"1-1" */
    };
    const char *text;
    size_t n;

    if (!cut_first(x, &c))
        return false;
    for (unsigned k = 0; k < BEHIND_NUMBER; k++)
        if (!cut(&c, label[k], &text, &n) || !keep(x, (enum waiting_piece)k, text, n))
            return false;
    return keep(x, BEHIND_NUMBER, c.p, (size_t)(c.end - c.p));
}

#define OPENING "{\"token\":\""

static void fill(struct waiting_texts *t, struct waiting_text *x)
{
    const struct route_queue *q = x->owner.queue;
    struct api_ticket sample = { .queue = q, .lane = x->owner.lane, .position = 1, .of = x->name,
                                 .number = 1, .poll_after_ms = 1, .segment = x->owner.seg };
    const struct lane_stats *s = api_lane_stats(&sample);
    const char *body;

    memset(sample.token, 'x', sizeof(sample.token));
    api_ans_reset(&t->sample);
    api_ticket(&t->sample, 200, &sample, false);
    body = (const char *)t->sample.body.data;
    if (t->sample.body.failed ||
        !cut_all(x, (struct cut) { body + sizeof(OPENING) - 1 + TOKEN_TEXT_LEN,
                                   body + t->sample.body.len }))
        return;
    assert(memcmp(body, OPENING, sizeof(OPENING) - 1) == 0);
    x->per_s = eta_per_s(s->rate_milli_per_s);
    x->leave = eta_leave(s->leave_ppm);
    x->counted = s->waiting;
    x->most = q->map.position_cap != 0 ? q->map.position_cap : UINT64_MAX;
}

const struct waiting_text *waiting_text_make(struct waiting_texts *t, const struct routes *r,
                                             seg_id name)
{
    struct waiting_text *x = &t->v[name & (WAITING_NAMES - 1)];

    x->name = ~name; /* a value of another slot: it is not found */
    if (routes_owner(r, name, &x->owner) < 0 || x->owner.lost)
        return NULL;
    x->name = name;
    x->changes = routes_changes(r);
    x->most = 0;
    fill(t, x);
    return x;
}

/* ---- putting together ---- */

_Static_assert(sizeof(OPENING) - 1 + TOKEN_TEXT_LEN + TEXT_FIRST + WAITING_NPIECES * TEXT_PIECE +
                   2 * 20 + 2 * 10 <= WAITING_BODY_MAX, "the longest body");
_Static_assert(TEXT_PIECE <= WAITING_TOUCH, "the last piece");

/* Whole vectors; what is too much is written over. */
static inline char *put_piece(const struct waiting_text *x, char *w, enum waiting_piece k)
{
    memcpy(w, x->piece[k], TEXT_PIECE);
    return w + x->n[k];
}

static inline char *put_first(const struct waiting_text *x, char *w)
{
    memcpy(w, x->first, 80);
    if (SQ_UNLIKELY(x->n_first > 80))
        memcpy(w + 80, x->first + 80, sizeof(x->first) - 80);
    return w + x->n_first;
}

char *waiting_text_put(const struct waiting_text *x, char *w, const char *token, uint32_t number,
                       uint64_t position, uint32_t poll_after_ms)
{
    int64_t eta_s = eta_whole_s(x->per_s, x->leave, position);

    assert(waiting_text_tells(x, position));
    w = PUT(w, OPENING);
    w = text_put(w, token, TOKEN_TEXT_LEN);
    w = put_first(x, w);
    w = text_u64(w, position);
    if (SQ_LIKELY(position <= x->counted))
        w = put_piece(x, w, BEHIND_POSITION);
    else /* a ticket behind all that are counted makes the total greater */
        w = PUT(text_u64(PUT(w, ",\"total\":"), position), ",\"eta_s\":");
    w = eta_s < 0 ? PUT(w, "null") : text_u64(w, (uint64_t)eta_s);
    w = put_piece(x, w, BEHIND_ETA);
    w = text_u64(w, poll_after_ms);
    w = put_piece(x, w, BEHIND_POLL);
    w = text_u64(w, number);
    return put_piece(x, w, BEHIND_NUMBER);
}

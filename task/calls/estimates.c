/* estimates.c: a small table; a full one takes a queue in place of one that nobody looks at any more. */
#include "task/calls/estimates.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/json.h"
#include "common/base/text.h"

#define STALE 3 /* times `every` */

static const char *read_point(const json_t *o, const struct eta_point *before, struct eta_point *to)
{
    const json_t *place = json_object_get(o, "place"), *eta = json_object_get(o, "eta_s");
    double s = json_number_value(eta);

    if (!json_is_integer(place) || json_integer_value(place) < 1 || json_integer_value(place) > ETA_PLACE_MAX)
        return "a place is a whole number from 1 on";
    if (!json_is_number(eta) || !(s >= 0) || s > (double)ETA_MOST_MS / 1000)
        return "eta_s is a number from 0 to 34560000";
    *to = (struct eta_point){ json_integer_value(place), (int64_t)(s * 1000 + 0.5) };
    if (to->place <= before->place)
        return "places must rise";
    return to->ms < before->ms ? "waits must not fall as places rise" : NULL;
}

const char *eta_line_read(struct eta_line *l, const char *p, size_t n)
{
    struct eta_point before = { 0, 0 };
    struct eta_line got = { 0 };
    json_t *o = json_in(p, n, NULL), *v = json_object_get(o, "places");
    size_t points = json_array_size(v);
    const char *wrong = o == NULL    ? "it is no JSON"
                        : points < 1 ? "it has no places"
                                     : points > ETA_POINTS_MAX ? "it has more than 32 places" : NULL;

    for (size_t i = 0; wrong == NULL && i < points; i++) {
        wrong = read_point(json_array_get(v, i), &before, &got.v[i]);
        before = got.v[i];
    }
    json_decref(o);
    if (wrong != NULL)
        return wrong;
    got.n = (unsigned)points;
    *l = got;
    return NULL;
}

int64_t eta_line_at(const struct eta_line *l, uint64_t place)
{
    struct eta_point a = { 0, 0 }, b = l->v[0];
    double ms;

    assert(l->n >= 1 && l->n <= ETA_POINTS_MAX && place >= 1);
    for (unsigned i = 1; i < l->n && (uint64_t)b.place < place; i++) {
        a = b;
        b = l->v[i];
    }
    ms = (double)a.ms + (double)(b.ms - a.ms) * ((double)place - (double)a.place) / (double)(b.place - a.place);
    return ms < (double)ETA_MOST_MS ? (int64_t)(ms + 0.5) : ETA_MOST_MS;
}

void eta_question_write(const struct eta_question *q, struct buf *b)
{
    char text[160];

    buf_str(b, "{\"queue\":\"");
    buf_str(b, q->queue); /* no character of a name is escaped */
    snprintf(text, sizeof(text), "\",\"waiting\":%" PRIu64 ",\"running\":%" PRIu64 ",\"places\":[", q->waiting,
             q->running);
    buf_str(b, text);
    if (q->ms >= 0) {
        snprintf(text, sizeof(text), "{\"place\":%" PRIu64 ",\"eta_s\":%" PRId64 ".%03d}", q->place, q->ms / 1000,
                 (int)(q->ms % 1000));
        buf_str(b, text);
    }
    buf_str(b, "]}");
}

void eta_rules_read(struct eta_rules *r, const struct msg_part_open *m)
{
    memset(r, 0, sizeof(*r));
    if (m->eta_url == NULL || m->eta_url[0] == 0)
        return;
    r->every_ms = u64_max(m->eta_every_ms, 1000);
    r->timeout_ms = m->eta_timeout_ms > 0 ? m->eta_timeout_ms : 1000;
    strncpy(r->url, m->eta_url, sizeof(r->url) - 1);
    for (; r->n_allow < m->n_eta_allow && r->n_allow < ENDPOINT_ALLOW_MAX; r->n_allow++)
        strncpy(r->allow[r->n_allow], m->eta_allow[r->n_allow], ENDPOINT_NET_MAX);
}

int estimates_rule(struct estimates **e, const struct eta_rules *r)
{
    if (*e != NULL && memcmp(&(*e)->rules, r, sizeof(*r)) == 0)
        return 0;
    free(*e);
    *e = r->url[0] != 0 ? calloc(1, sizeof(**e)) : NULL;
    if (*e != NULL)
        (*e)->rules = *r;
    return *e == NULL && r->url[0] != 0 ? SQ_ENOMEM : 0;
}

static uint32_t hash_of(const char *queue) /* FNV-1a: a table of 64, each name compared */
{
    uint32_t h = 2166136261u;

    for (; *queue != 0; queue++)
        h = (h ^ (uint8_t)*queue) * 16777619u;
    return h;
}

static struct eta_asked *find(const struct estimates *e, const char *queue)
{
    uint32_t h = hash_of(queue);

    for (unsigned i = 0; i < e->n; i++)
        if (e->hash[i] == h && strcmp(e->v[i].queue, queue) == 0)
            return (struct eta_asked *)&e->v[i];
    return NULL;
}

static bool is_looked_at(const struct eta_asked *a, msec_t now)
{
    return now - a->looked < ETA_LOOKED_MS;
}

/* NULL: somebody looks at all that are there. */
static struct eta_asked *room(struct estimates *e, msec_t now)
{
    if (e->n < ETA_QUEUES_MAX)
        return &e->v[e->n++];
    for (unsigned i = 0; i < e->n; i++)
        if (!is_looked_at(&e->v[i], now))
            return &e->v[i];
    return NULL;
}

void estimates_look(struct estimates *e, const char *queue, msec_t now)
{
    struct eta_asked *a = find(e, queue);

    if (a == NULL) {
        a = room(e, now);
        if (a == NULL) {
            e->crowded++;
            return;
        }
        *a = (struct eta_asked){ .next = now };
        copy_text(a->queue, sizeof(a->queue), queue);
        e->hash[a - e->v] = hash_of(queue);
    }
    a->looked = now;
}

int64_t estimates_of(const struct estimates *e, const char *queue, uint64_t place, msec_t now)
{
    const struct eta_asked *a = find(e, queue);

    if (a == NULL || a->line.n == 0 || now - a->said >= STALE * (msec_t)e->rules.every_ms)
        return -1;
    return eta_line_at(&a->line, place > 0 ? place : 1);
}

const char *estimates_due(struct estimates *e, msec_t now)
{
    struct eta_asked *first = NULL;

    for (unsigned i = 0; i < e->n; i++) {
        struct eta_asked *a = &e->v[i];

        if (a->next <= now && is_looked_at(a, now) && (first == NULL || a->next < first->next))
            first = a;
    }
    if (first == NULL)
        return NULL;
    first->next = now + (msec_t)e->rules.every_ms;
    return first->queue;
}

const char *estimates_told(struct estimates *e, const char *queue, const char *p, size_t n, msec_t now)
{
    struct eta_asked *a = find(e, queue);
    struct eta_line l;
    const char *wrong = eta_line_read(&l, p, n);

    if (wrong == NULL && a != NULL) {
        a->line = l;
        a->said = now;
    }
    return wrong;
}

/* estimates.c: a small table; a full one takes a queue in place of one that nobody looks at any more. */
#include "task/calls/estimates.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/text.h"

#define STALE 3 /* times `every` */

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

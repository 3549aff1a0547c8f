/* pressure.c: a page at a time; what follows is reckoned when it is asked for. */
#include "task/calls/pressure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/sample_page.h"
#include "common/base/text.h"

#define READ_LABELS 16

static double bound(uint64_t thousandths)
{
    return thousandths == ENDPOINT_ANY ? INFINITY : (double)thousandths / 1000;
}

static int value_of(const struct endpoint_reading *r, const char *text, size_t n, double *value, struct err *e)
{
    char names[READING_LABELS_MAX + 1];
    struct sample_label label[READ_LABELS];
    struct sample_want w = { .name = r->metric, .labels = label, .max = r->max != 0 };
    struct sample_value s = { 0 };
    int rc;

    copy_text(names, sizeof(names), r->labels);
    rc = sample_labels(names, label, READ_LABELS, e);
    if (rc < 0)
        return rc;
    w.n_labels = (size_t)rc;
    rc = sample_page_read(&s, &w, text, n, e);
    *value = s.value;
    return rc;
}

bool pressure_read(struct pressure *p, const struct msg_endpoint *d, const char *text, size_t n, msec_t now)
{
    bool whole = true;

    for (uint32_t i = 0; i < d->n_readings && i < READINGS_MAX; i++) {
        const struct endpoint_reading *r = &d->readings[i];
        struct err e = { 0 };
        double v;

        if (value_of(r, text, n, &v, &e) < 0) {
            pressure_failed(p, e.text, now);
            whole = false;
            continue;
        }
        p->of[i].closed = v > bound(r->close_above) || (p->of[i].closed && v > bound(r->open_below));
        p->of[i].value = v;
        p->of[i].at = now;
    }
    if (whole) {
        p->failing = 0;
        p->why[0] = 0;
    }
    return whole;
}

void pressure_failed(struct pressure *p, const char *why, msec_t now)
{
    copy_text(p->why, sizeof(p->why), why);
    if (p->failing == 0)
        p->failing = now;
}

static bool counts(const struct pressure *p, const struct msg_endpoint *d, uint32_t i, msec_t now)
{
    return p->of[i].at != 0 && now - p->of[i].at < (msec_t)d->reading_stale_ms;
}

bool pressure_closes(const struct pressure *p, const struct msg_endpoint *d, msec_t now)
{
    for (uint32_t i = 0; i < d->n_readings && i < READINGS_MAX; i++)
        if (p->of[i].closed && counts(p, d, i, now))
            return true;
    return false;
}

/* Part of its slots that a reading leaves, 0 to 1. */
static double part(const struct pressure *p, const struct msg_endpoint *d, uint32_t i, msec_t now)
{
    double from = bound(d->readings[i].narrow_from), to = bound(d->readings[i].narrow_to), v = p->of[i].value;

    if (!counts(p, d, i, now) || v <= from)
        return 1;
    return v >= to ? 0 : (to - v) / (to - from);
}

uint64_t pressure_slots(const struct pressure *p, const struct msg_endpoint *d, uint64_t most, msec_t now)
{
    double least = 1;

    for (uint32_t i = 0; i < d->n_readings && i < READINGS_MAX; i++)
        least = fmin(least, part(p, d, i, now));
    return most == 0 || least >= 1 ? most : u64_max((uint64_t)((double)most * least), 1);
}

static void say(const struct pressure *p, const struct msg_endpoint *d, uint32_t i, char *text)
{
    snprintf(text, READING_SAID_MAX + 1, "%s %g", d->readings[i].metric, p->of[i].value);
}

static bool is_blind(const struct pressure *p, const struct msg_endpoint *d, msec_t now)
{
    bool all = true;

    for (uint32_t i = 0; i < d->n_readings && i < READINGS_MAX; i++)
        all = all && counts(p, d, i, now);
    return !all && p->failing != 0 && now - p->failing >= (msec_t)d->reading_stale_ms;
}

enum reading_state pressure_state(const struct pressure *p, const struct msg_endpoint *d, msec_t now,
                                  char text[READING_SAID_MAX + 1])
{
    enum reading_state state = d->n_readings > 0 ? READING_OPEN : READING_NONE;
    double least = 1;

    text[0] = 0;
    for (uint32_t i = 0; i < d->n_readings && i < READINGS_MAX; i++) {
        double left = part(p, d, i, now);

        if (!counts(p, d, i, now) || (state == READING_CLOSED && !p->of[i].closed))
            continue;
        if (p->of[i].closed)
            state = READING_CLOSED;
        else if (left < least)
            state = READING_NARROWED;
        if (p->of[i].closed || left < least || text[0] == 0)
            say(p, d, i, text);
        least = fmin(least, left);
    }
    if (state != READING_CLOSED && is_blind(p, d, now)) {
        copy_text(text, READING_SAID_MAX + 1, p->why);
        return READING_BLIND;
    }
    return state;
}

bool pressure_same(const struct msg_endpoint *a, const struct msg_endpoint *b)
{
    bool same = a->n_readings == b->n_readings;

    for (uint32_t i = 0; same && i < a->n_readings; i++) {
        const struct endpoint_reading *x = &a->readings[i], *y = &b->readings[i];

        same = strcmp(x->metric, y->metric) == 0 && strcmp(x->labels, y->labels) == 0 && x->max == y->max &&
               x->close_above == y->close_above && x->open_below == y->open_below &&
               x->narrow_from == y->narrow_from && x->narrow_to == y->narrow_to;
    }
    return same;
}

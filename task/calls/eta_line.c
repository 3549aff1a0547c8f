/* eta_line.c: see eta_line.h. */
#include "task/calls/eta_line.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "common/base/json_in.h"

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

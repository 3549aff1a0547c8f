/* readings.c: an answer of the Prometheus HTTP API; rates. Pure. */
#include "queuemng/monitor/readings.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json_in.h"

/* [ <unix seconds>, "<value>" ] */
static int pair(struct sample_value *out, const json_t *v, struct err *e)
{
    const json_t *when = json_array_get(v, 0);
    const char *text = json_string_value(json_array_get(v, 1));
    double s = json_number_value(when);
    char *end;

    if (json_array_size(v) != 2 || !json_is_number(when) || text == NULL)
        return err_set(e, SQ_EINVAL, "answer: no [time, \"value\"] pair");
    out->value = strtod(text, &end);
    if (end == text || *end != 0 || strpbrk(text, "xXpP") != NULL)
        return err_set(e, SQ_EINVAL, "answer: the value is not a number");
    if (!isfinite(out->value))
        return err_set(e, SQ_EINVAL, "answer: the value is %g", out->value);
    if (!(s > 0 && s < 1e11))
        return err_set(e, SQ_EINVAL, "answer: the time is %g", s);
    out->wall_ms = (int64_t)(s * 1000.0);
    return 0;
}

static int result(struct sample_value *out, const json_t *data, struct err *e)
{
    const char *type = json_string_value(json_object_get(data, "resultType"));
    const json_t *r = json_object_get(data, "result");

    if (type != NULL && strcmp(type, "scalar") == 0)
        return pair(out, r, e);
    if (type == NULL || strcmp(type, "vector") != 0)
        return err_set(e, SQ_EINVAL, "answer: a vector or a scalar is wanted, not %.20s",
                       type != NULL ? type : "nothing");
    if (json_array_size(r) == 0)
        return err_set(e, SQ_EINVAL, "answer: empty vector (no such series?)");
    if (json_array_size(r) > 1)
        return err_set(e, SQ_EINVAL, "answer: %zu series, one is wanted (sum or max them)",
                       json_array_size(r));
    return pair(out, json_object_get(json_array_get(r, 0), "value"), e);
}

static int status(struct sample_value *out, const json_t *j, struct err *e)
{
    const char *st = json_string_value(json_object_get(j, "status"));
    const char *why = json_string_value(json_object_get(j, "error"));

    if (st == NULL)
        return err_set(e, SQ_EINVAL, "answer: no status");
    if (strcmp(st, "success") != 0)
        return err_set(e, SQ_EINVAL, "answer: status %.20s: %.80s", st,
                       why != NULL ? why : "");
    return result(out, json_object_get(j, "data"), e);
}

int mon_parse_api(struct sample_value *out, const char *text, size_t n, struct err *e)
{
    json_error_t je;
    json_t *j = json_in(text, n, &je);
    int rc;

    if (j == NULL)
        return err_set(e, SQ_EINVAL, "answer is not JSON: line %d: %.80s", je.line, je.text);
    rc = status(out, j, e);
    json_decref(j);
    return rc;
}

int mon_rate_step(struct mon_rate *r, double counter, msec_t taken_ms, double *out)
{
    struct mon_rate old = *r;
    double grown = counter >= old.last ? counter - old.last : counter;

    if (old.known && taken_ms <= old.last_ms)
        return SQ_EBUSY;
    *r = (struct mon_rate){ counter, taken_ms, true };
    if (!old.known)
        return SQ_EBUSY;
    assert(taken_ms > old.last_ms);
    *out = grown * 1000.0 / (double)(taken_ms - old.last_ms);
    return 0;
}

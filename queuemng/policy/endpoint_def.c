/* endpoint_def.c: the table of an endpoint's definition, and what a table cannot say. */
#include "queuemng/policy/endpoint_def.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/base/ip.h"
#include "common/base/metrics.h"
#include "common/base/text.h"
#include "common/task/call.h"
#include "common/task/rules.h"
#include "common/task/url.h"
#include "common/wire/msg_task_manager.h"
#include "queuemng/policy/addresses.h"

#define BREAKER(f) offsetof(struct endpoint_breaker, f)
static const struct cfg_key breaker_keys[] = {
    { "ratio", CFG_NUM, BREAKER(ratio), "0.5", 0, 1, true,
      "share of calls that failed in 10 s at which no more are sent; 0 = never", 0, 0, 0 },
    { "min", CFG_INT, BREAKER(min), "20", 1, 1000000, true, "of at least so many calls", 0, 0, 0 },
    { "open", CFG_MS, BREAKER(open_ms), "5s", 100, 60000, true,
      "time without calls; doubles up to 60s while probes fail", 0, 0, 0 },
    { 0 },
};

#define ADAPTIVE(f) offsetof(struct endpoint_adaptive, f)
static const struct cfg_key adaptive_keys[] = {
    { "min", CFG_INT, ADAPTIVE(min), "1", 1, TASKS_MAX, true, "it begins with, and never goes below",
      0, 0, 0 },
    { "max", CFG_INT, ADAPTIVE(max), "0", 0, TASKS_MAX, true, "and never above; 0 = off", 0, 0, 0 },
    { 0 },
};

#define COST(f) offsetof(struct endpoint_cost, f)
static const struct cfg_key cost_keys[] = {
    { "pointer", CFG_STR, COST(pointer), "", 0, COST_POINTER_MAX, true,
      "where a JSON body says how many units it asks for (/max_tokens); \"\" = nowhere", 0, 0, 0 },
    { "per_byte", CFG_NUM, COST(per_byte), "0", 0, COST_PER_BYTE_MAX, true,
      "units for each byte of the body, to a millionth; added", 0, 0, 0 },
    { "constant", CFG_INT, COST(constant), "0", 0, TASK_COST_MAX, true, "units of each call; added", 0, 0, 0 },
    { "min", CFG_INT, COST(min), "1", 1, TASK_COST_MAX, true,
      "least cost, also of a call whose caller names one", 0, 0, 0 },
    { "max", CFG_INT, COST(max), "1000000000", 1, TASK_COST_MAX, true,
      "most units of an estimate, and of what an answer says", 0, 0, 0 },
    { "used", CFG_STR, COST(used), "", 0, COST_POINTER_MAX, true,
      "where a JSON answer, or an event of a stream, says what was used (/usage/total_tokens); \"\" = "
      "nowhere", 0, 0, 0 },
    { "used_header", CFG_STR, COST(used_header), "", 0, COST_HEADER_MAX, true,
      "field of the answer's head that says it, where its body does not; \"\" = none", 0, 0, 0 },
    { 0 },
};

static const struct cfg_key sign_keys[] = {
    { "secret_file", CFG_STR, offsetof(struct endpoint_sign, secret_file), "", 0, ENDPOINT_FILE_MAX,
      true, "file of each task node (mode 0600) with the keys that sign calls (Standard Webhooks), one "
      "a line, read again when it changes; \"\" = none", 0, 0, 0 },
    { 0 },
};

#define AUTH(f) offsetof(struct endpoint_auth, f)
static const struct cfg_key auth_keys[] = {
    { "secret_file", CFG_STR, AUTH(secret_file), "", 0, ENDPOINT_FILE_MAX, true,
      "file of each task node (mode 0600) with the key that the target wants, one line, read again when "
      "it changes; it replaces what callers send; \"\" = none", 0, 0, 0 },
    { "header", CFG_STR, AUTH(header), "authorization", 1, ENDPOINT_AUTH_WORD, true,
      "name of the header that carries it", 0, 0, 0 },
    { "scheme", CFG_STR, AUTH(scheme), "Bearer", 0, ENDPOINT_AUTH_WORD, true,
      "word before it; \"\" = none (x-api-key)", 0, 0, 0 },
    { 0 },
};

#define TLS(f) offsetof(struct endpoint_tls, f)
static const struct cfg_key tls_keys[] = {
    { "ca_file", CFG_STR, TLS(ca_file), "", 0, ENDPOINT_FILE_MAX, true,
      "file of each task node with the authorities that are trusted; \"\" = the system's", 0, 0, 0 },
    { "cert_file", CFG_STR, TLS(cert_file), "", 0, ENDPOINT_FILE_MAX, true,
      "the client's certificate; \"\" = none", 0, 0, 0 },
    { "key_file", CFG_STR, TLS(key_file), "", 0, ENDPOINT_FILE_MAX, true, "its key (mode 0600)", 0, 0, 0 },
    { 0 },
};

static const char *const discovers[] = { "none", "dns", NULL };

#define DISCOVERY(f) offsetof(struct endpoint_discovery, f)
static const struct cfg_key discovery_keys[] = {
    { "min", CFG_MS, DISCOVERY(min_ms), "5s", 1000, 3600e3, true,
      "time between two questions for a name, at least, whatever its TTL says, and after a failure", 0, 0, 0 },
    { "max", CFG_MS, DISCOVERY(max_ms), "30s", 1000, 86400e3, true, "and at most", 0, 0, 0 },
    { "addresses", CFG_INT, DISCOVERY(addresses), "20", 1, DISCOVER_MOST, true,
      "addresses of a name that are targets; more are left out", 0, 0, 0 },
    { 0 },
};

#define TARGET(f) offsetof(struct endpoint_target, f)
static const struct cfg_key target_keys[] = {
    { "url", CFG_STR, TARGET(url), NULL, 1, ENDPOINT_URL_MAX, true,
      "http or https, host, port, path; a call's path goes behind it", 0, 0, 0 },
    { "max_concurrent", CFG_INT, TARGET(max_concurrent), "0", 0, TASKS_MAX, true,
      "calls under way at it at once; 0 = any", 0, 0, 0 },
    { "weight", CFG_INT, TARGET(weight), "1", 1, TARGET_WEIGHT_MAX, true,
      "its share beside other targets that have slots free", 0, 0, 0 },
    { "draining", CFG_BOOL, TARGET(draining), "false", 0, 0, true,
      "no call to it begins; those under way end", 0, 0, 0 },
    UNIT_RATES_KEY(TARGET(rates), "rates in units (`cost` of a call) of this target; all must let a call begin"),
    { "discover", CFG_ENUM, TARGET(discover), "none", 0, 0, true,
      "dns = each address of the url's host is a target like this; asked for again by its TTL", discovers, 0, 0 },
    { 0 },
};

static const char *const severals[] = { "sum", "max", NULL };

#define BOUND_MAX 1e12
#define WATCH(f) offsetof(struct endpoint_watch, f)
static const struct cfg_key watch_keys[] = {
    { "metric", CFG_STR, WATCH(metric), NULL, 1, READING_METRIC_MAX, true, "name of the sample on the page", 0, 0, 0 },
    { "labels", CFG_STR, WATCH(labels), "", 0, READING_LABELS_MAX, true,
      "name=value,... that the sample must have", 0, 0, 0 },
    { "several", CFG_ENUM, WATCH(several), "sum", 0, 0, true, "how several samples become one value", severals, 0, 0 },
    { "close_above", CFG_NUM, WATCH(close_above), "-1", -1, BOUND_MAX, true,
      "no call to the target begins while it is above; -1 = it never closes", 0, 0, 0 },
    { "open_below", CFG_NUM, WATCH(open_below), "-1", -1, BOUND_MAX, true,
      "until it is no more than this; -1 = close_above", 0, 0, 0 },
    { "narrow_from", CFG_NUM, WATCH(narrow_from), "-1", -1, BOUND_MAX, true,
      "above it the target has fewer slots; -1 = it never narrows", 0, 0, 0 },
    { "narrow_to", CFG_NUM, WATCH(narrow_to), "-1", -1, BOUND_MAX, true,
      "and one slot from here on; between in proportion", 0, 0, 0 },
    { 0 },
};

static const char *const counted[] = { "requests", "units", NULL };

#define REMAINING(f) offsetof(struct endpoint_remaining, f)
static const struct cfg_key remaining_keys[] = {
    { "counts", CFG_ENUM, REMAINING(counts), "requests", 0, 0, true, "requests, or units (`cost` of a call)", counted, 0, 0 },
    { "header", CFG_STR, REMAINING(header), NULL, 1, COST_HEADER_MAX, true,
      "field of the answer's head that says how many are left (x-ratelimit-remaining-requests)", 0, 0, 0 },
    { "reset", CFG_STR, REMAINING(reset), NULL, 1, COST_HEADER_MAX, true,
      "field that says until when: seconds, 1m2s, 6ms, a moment (x-ratelimit-reset-requests)", 0, 0, 0 },
    { 0 },
};

static const char *const affinities[] = { "none", "key", "subkey", NULL };

static const char *const on_quota_words[] = { "wait", "reject", NULL };

#define AT(f) offsetof(struct endpoint_def, f)
const struct cfg_key endpoint_def_keys[] = {
    { "name", CFG_STR, AT(name), NULL, 1, TASK_NAME_MAX, true,
      "name by which pools refer to it", 0, 0, 0 },
    { "url", CFG_STR, AT(url), "", 0, ENDPOINT_URL_MAX, true,
      "http or https, host, port, path; a call's path goes behind it; \"\" = it has targets", 0, 0, 0 },
    { "targets", CFG_OBJS, AT(targets), "", 0, TARGETS_MAX, true,
      "several servers in place of url: a call goes to one that has slots free", 0, target_keys,
      sizeof(struct endpoint_target) },
    { "discovery", CFG_OBJ, AT(discovery), "", 0, 0, true, "how names of targets with discover are asked for",
      0, discovery_keys, 0 },
    { "affinity", CFG_ENUM, AT(affinity), "none", 0, 0, true,
      "calls of one key go to the same target, while that has room: its cache is warm", affinities, 0, 0 },
    { "affinity_bound", CFG_NUM, AT(affinity_bound), "1.25", 1, 100, true,
      "most calls at a target, as a multiple of its part by weight, before another gets those of its keys",
      0, 0, 0 },
    { "readings", CFG_OBJS, AT(readings), "", 0, READINGS_MAX, true,
      "values on the page of metrics of each target that close it, or leave it fewer slots", 0, watch_keys,
      sizeof(struct endpoint_watch) },
    { "readings_path", CFG_STR, AT(readings_path), "/metrics", 1, READING_PATH_MAX, true,
      "that page, behind host and port of the target", 0, 0, 0 },
    { "readings_interval", CFG_MS, AT(readings_interval_ms), "2s", 100, 3600e3, true, "it is read so often", 0, 0, 0 },
    { "readings_stale", CFG_MS, AT(readings_stale_ms), "30s", 1000, 86400e3, true,
      "a value counts for so long; behind that a target whose page cannot be read is as one without readings",
      0, 0, 0 },
    { "allow", CFG_STRS, AT(allow), "", 0, ENDPOINT_ALLOW_MAX, true,
      "networks that it may have its address in although they are not public (10.0.0.0/8)", 0, 0, 0 },
    { "rate_per_s", CFG_NUM, AT(rate_per_s), "0", 0, 1e6, true,
      "calls that begin per second, to a thousandth; 0 = any", 0, 0, 0 },
    { "burst", CFG_INT, AT(burst), "1", 1, RATE_BURST_MAX, true,
      "calls at once after a pause, at least one per task node", 0, 0, 0 },
    UNIT_RATES_KEY(AT(rates), "rates in units (`cost` of a call), over all task nodes; all must let a call begin"),
    { "remaining", CFG_OBJS, AT(remaining), "", 0, TOLD_MAX, true,
      "what the target's answers say is left of its quota: no more begin until then", 0, remaining_keys,
      sizeof(struct endpoint_remaining) },
    { "on_quota", CFG_ENUM, AT(on_quota), "wait", 0, 0, true,
      "a call for which rate_per_s or rates have no room now: wait in line, or reject (429 with Retry-After)",
      on_quota_words, 0, 0 },
    { "max_concurrent", CFG_INT, AT(max_concurrent), "0", 0, TASKS_MAX, true,
      "calls under way at once; 0 = any", 0, 0, 0 },
    { "adaptive", CFG_OBJ, AT(adaptive), "", 0, 0, true,
      "calls under way at once, found out from how long they take and what fails", 0, adaptive_keys, 0 },
    BUDGET_MEMBER_KEYS(AT(budget)),
    { "deadline", CFG_MS, AT(deadline_ms), "30s", 1000, 30 * 60e3, true,
      "longest time of a call, up to the last byte of its answer", 0, 0, 0 },
    { "connect_timeout", CFG_MS, AT(connect_timeout_ms), "3s", 100, 60e3, true,
      "longest time until it is connected", 0, 0, 0 },
    { "max_answer", CFG_BYTES, AT(max_answer), "8m", 0, ANSWER_READ_MAX, true,
      "longest answer that is kept whole; a longer one is cut to max_result; 0 = all are",
      0, 0, 0 },
    { "paused", CFG_BOOL, AT(paused), "false", 0, 0, true, "no call begins; tasks are taken in",
      0, 0, 0 },
    { "breaker", CFG_OBJ, AT(breaker), "", 0, 0, true, "when it counts as down", 0, breaker_keys, 0 },
    { "cost", CFG_OBJ, AT(cost), "", 0, 0, true,
      "units of a call: an estimate where its caller names none, and the truth from its answer", 0, cost_keys,
      0 },
    { "sign", CFG_OBJ, AT(sign), "", 0, 0, true, "how calls are signed", 0, sign_keys, 0 },
    { "auth", CFG_OBJ, AT(auth), "", 0, 0, true, "how calls say who we are, to the target", 0, auth_keys,
      0 },
    { "tls", CFG_OBJ, AT(tls), "", 0, 0, true, "how an https url is spoken to", 0, tls_keys, 0 },
    { "proxy", CFG_STR, AT(proxy), "", 0, ENDPOINT_URL_MAX, true,
      "http://host:port of a proxy; \"\" = none", 0, 0, 0 },
    { 0 },
};

static int url_check(const struct endpoint_def *d, const char *key, const char *url, struct err *e)
{
    const char *wrong = endpoint_url_wrong(url, url != d->proxy);

    return wrong == NULL ? 0 : err_set(e, SQ_EINVAL, "%s %s", key, wrong);
}

const struct endpoint_target *endpoint_target_of(const struct endpoint_def *d, const char *url)
{
    const struct endpoint_target *v = d->targets.v;

    for (size_t i = 0; i < d->targets.n; i++)
        if (strcmp(v[i].url, url) == 0)
            return &v[i];
    return NULL;
}

struct discovery_rules endpoint_discovery_rules(const struct endpoint_def *d)
{
    return (struct discovery_rules){ d->discovery.min_ms, d->discovery.max_ms, (unsigned)d->discovery.addresses };
}

/* NULL, or what is wrong with a target's `discover`. */
static const char *discover_wrong(const struct endpoint_def *d, const struct endpoint_target *t)
{
    struct url u;
    struct ip ip;

    if (t->discover == DISCOVER_NONE)
        return NULL;
    if (d->proxy[0] != 0)
        return "discover=dns and proxy: it is the proxy that knows its address";
    if (url_parse(&u, t->url) != NULL || ip_parse(&ip, u.host, strlen(u.host)))
        return "discover=dns needs a name in its url: this is an address";
    return NULL;
}

static int discovery_check(const struct endpoint_def *d, struct err *e)
{
    const struct endpoint_target *v = d->targets.v;
    size_t most = 0;

    if (d->discovery.min_ms > d->discovery.max_ms)
        return err_set(e, SQ_EINVAL, "discovery: min is above max");
    for (size_t i = 0; i < d->targets.n; i++) {
        const char *wrong = discover_wrong(d, &v[i]);

        if (wrong != NULL)
            return err_set(e, SQ_EINVAL, "targets.%zu: %s", i, wrong);
        most += v[i].discover == DISCOVER_DNS ? (size_t)d->discovery.addresses : 1;
    }
    return most <= TARGET_NO_MAX ? 0 : err_set(e, SQ_EINVAL, "its targets may be %zu, of at most %d: lower "
                                               "discovery.addresses", most, TARGET_NO_MAX);
}

static int targets_check(const struct endpoint_def *d, struct err *e)
{
    const struct endpoint_target *v = d->targets.v;
    int rc = 0;

    if ((d->url[0] != 0) == (d->targets.n > 0))
        return err_set(e, SQ_EINVAL, "%s",
                       d->url[0] != 0 ? "url and targets: one of the two (url=\"\" takes it away)"
                                      : "url is missing, or targets");
    if (d->targets.n > 0 && strlen(d->name) > TARGETED_NAME_MAX)
        return err_set(e, SQ_EINVAL, "with targets its name has at most %d characters", TARGETED_NAME_MAX);
    if (d->affinity != AFFINITY_NONE && d->targets.n == 0)
        return err_set(e, SQ_EINVAL, "affinity chooses among targets, and it has a url");
    for (size_t i = 0; rc == 0 && i < d->targets.n; i++) {
        char key[40];

        snprintf(key, sizeof(key), "targets.%zu.url", i);
        rc = url_check(d, key, v[i].url, e);
        if (rc == 0 && endpoint_target_of(d, v[i].url) != &v[i])
            rc = err_set(e, SQ_EINVAL, "%s: %s is there twice", key, v[i].url);
        if (rc == 0 && d->adaptive.max != 0 && v[i].max_concurrent != 0 &&
            d->adaptive.min > v[i].max_concurrent)
            rc = err_set(e, SQ_EINVAL, "adaptive: min is above max_concurrent of targets.%zu", i);
    }
    return rc;
}

uint64_t endpoint_slots(const struct endpoint_def *d)
{
    uint64_t most = d->max_concurrent != 0 ? (uint64_t)d->max_concurrent : ENDPOINT_ANY;

    return d->adaptive.max != 0 && d->targets.n == 0 ? u64_min(most, (uint64_t)d->adaptive.max) : most;
}

static int adaptive_check(const struct endpoint_def *d, struct err *e)
{
    if (d->adaptive.max == 0 && d->adaptive.min == 1)
        return 0; /* off */
    if (d->adaptive.max == 0)
        return err_set(e, SQ_EINVAL, "adaptive: min without max");
    if ((uint64_t)d->adaptive.min > endpoint_slots(d))
        return err_set(e, SQ_EINVAL, "adaptive: min is above max, or above max_concurrent");
    return 0;
}

static int auth_check(const struct endpoint_def *d, struct err *e)
{
    const char *header = d->auth.header, *scheme = d->auth.scheme;
    const char *wrong = call_header_wrong(header, strlen(header), scheme, strlen(scheme));

    return wrong == NULL ? 0 : err_set(e, SQ_EINVAL, "auth.header, auth.scheme: %s %s", header, wrong);
}

static bool is_metric(const char *name)
{
    return text_is_of(name, strlen(name), "_:") && !(name[0] >= '0' && name[0] <= '9');
}

/* NULL, or what is wrong. */
static const char *watch_wrong(const struct endpoint_def *d, const struct endpoint_watch *w)
{
    bool closes = w->close_above >= 0, narrows = w->narrow_from >= 0;
    char labels[READING_LABELS_MAX + 1];
    struct sample_label v[16];
    struct err e = { 0 };

    snprintf(labels, sizeof(labels), "%s", w->labels);
    if (!is_metric(w->metric))
        return "metric: a name has letters, digits, _ and :";
    if (sample_labels(labels, v, ARRAY_LEN(v), &e) < 0)
        return "labels: name=value,name=value is wanted";
    if (!closes && !narrows)
        return "neither close_above nor narrow_from: it does nothing";
    if (w->open_below >= 0 && (!closes || w->open_below > w->close_above))
        return "open_below is above close_above, or without it";
    if (narrows != (w->narrow_to >= 0) || (narrows && w->narrow_to <= w->narrow_from))
        return "narrow_from and narrow_to go together, and narrow_to is above";
    return narrows && d->targets.n == 0 && d->max_concurrent == 0 && d->adaptive.max == 0
               ? "narrow_from has no slots to narrow: max_concurrent is 0" : NULL;
}

static int readings_check(const struct endpoint_def *d, struct err *e)
{
    const struct endpoint_target *t = d->targets.v;
    const struct endpoint_watch *v = d->readings.v;

    if (d->readings_path[0] != '/' || strpbrk(d->readings_path, " \t\r\n#") != NULL)
        return err_set(e, SQ_EINVAL, "readings_path must begin with /, without blanks");
    for (size_t i = 0; i < d->readings.n; i++) {
        const char *wrong = watch_wrong(d, &v[i]);

        for (size_t k = 0; wrong == NULL && v[i].narrow_from >= 0 && k < d->targets.n; k++)
            if (t[k].max_concurrent == 0 && d->adaptive.max == 0)
                wrong = "narrow_from has no slots to narrow: max_concurrent of a target is 0";
        if (wrong != NULL)
            return err_set(e, SQ_EINVAL, "readings.%zu: %s", i, wrong);
    }
    if (d->readings.n > 0 && d->readings_stale_ms <= d->readings_interval_ms)
        return err_set(e, SQ_EINVAL, "readings_stale must be above readings_interval");
    return 0;
}

struct cost_rule endpoint_cost_rule(const struct endpoint_def *d)
{
    const struct endpoint_cost *c = &d->cost;

    if (c->pointer[0] == 0 && c->per_byte == 0 && c->constant == 0 && c->min == 1)
        return (struct cost_rule){ .pointer = "" };
    return (struct cost_rule){ .pointer = c->pointer,
                               .per_byte = (uint64_t)(c->per_byte * COST_PER_BYTE_PART + 0.5),
                               .constant = (uint64_t)c->constant, .least = (uint64_t)c->min,
                               .most = (uint64_t)c->max };
}

static int cost_check(const struct endpoint_def *d, struct err *e)
{
    const struct endpoint_cost *c = &d->cost;
    const char *wrong = c->pointer[0] != 0 ? cost_pointer_wrong(c->pointer) : NULL;

    if (wrong != NULL)
        return err_set(e, SQ_EINVAL, "cost.pointer: %s", wrong);
    wrong = c->used[0] != 0 ? cost_pointer_wrong(c->used) : NULL;
    if (wrong != NULL)
        return err_set(e, SQ_EINVAL, "cost.used: %s", wrong);
    if (c->used_header[0] != 0 &&
        (wrong = call_header_wrong(c->used_header, strlen(c->used_header), "", 0)) != NULL)
        return err_set(e, SQ_EINVAL, "cost.used_header: %s %s", c->used_header, wrong);
    return c->min <= c->max ? 0 : err_set(e, SQ_EINVAL, "cost.min is above cost.max");
}

void endpoint_told_rows(const struct endpoint_def *d, char out[TOLD_ROWS_MAX + 1])
{
    const struct endpoint_remaining *v = d->remaining.v;
    size_t n = 0;

    out[0] = 0;
    for (size_t i = 0; i < d->remaining.n && i < TOLD_MAX; i++)
        n += (size_t)snprintf(out + n, TOLD_ROWS_MAX + 1 - n, "%s%c %s %s", i > 0 ? " " : "",
                              v[i].counts != 0 ? 'u' : 'r', v[i].header, v[i].reset);
}

static int remaining_check(const struct endpoint_def *d, struct err *e)
{
    const struct endpoint_remaining *v = d->remaining.v;

    for (size_t i = 0; i < d->remaining.n; i++) {
        const char *names[] = { v[i].header, v[i].reset };

        for (size_t k = 0; k < ARRAY_LEN(names); k++) {
            const char *wrong = call_header_wrong(names[k], strlen(names[k]), "", 0);

            if (wrong != NULL)
                return err_set(e, SQ_EINVAL, "remaining.%zu.%s: %s %s", i, k == 0 ? "header" : "reset", names[k],
                               wrong);
        }
        for (size_t k = 0; k < i; k++)
            if (strcasecmp(v[k].header, v[i].header) == 0)
                return err_set(e, SQ_EINVAL, "remaining.%zu: %s is there twice", i, v[i].header);
    }
    return 0;
}

static int rates_check(const struct endpoint_def *d, struct err *e)
{
    const struct endpoint_target *t = d->targets.v;
    int rc = unit_rates_check(&d->rates, e);

    for (size_t i = 0; i < d->targets.n && rc == 0; i++)
        rc = unit_rates_check(&t[i].rates, e);
    return rc;
}

static int name_check(const struct endpoint_def *d, struct err *e)
{
    if (strchr(d->name, '/') != NULL || !queue_name_ok(d->name, strlen(d->name)))
        return err_set(e, SQ_EINVAL, "name: small letters, digits, . _ -");
    return d->url[0] != 0 ? url_check(d, "url", d->url, e) : 0;
}

static int proxy_check(const struct endpoint_def *d, struct err *e)
{
    if (strncmp(d->proxy, "https:", 6) == 0)
        return err_set(e, SQ_EINVAL, "proxy must begin with http://");
    return d->proxy[0] != 0 ? url_check(d, "proxy", d->proxy, e) : 0;
}

static int tls_check(const struct endpoint_def *d, struct err *e)
{
    if ((d->tls.cert_file[0] == 0) != (d->tls.key_file[0] == 0))
        return err_set(e, SQ_EINVAL, "tls: cert_file and key_file go together");
    return d->connect_timeout_ms <= d->deadline_ms ? 0 : err_set(e, SQ_EINVAL, "connect_timeout is above deadline");
}

int endpoint_def_check(const struct endpoint_def *d, struct err *e)
{
    int rc = name_check(d, e)
          ?: targets_check(d, e)
          ?: discovery_check(d, e)
          ?: proxy_check(d, e)
          ?: networks_check(&d->allow, "allow", e)
          ?: auth_check(d, e)
          ?: readings_check(d, e)
          ?: cost_check(d, e)
          ?: remaining_check(d, e)
          ?: rates_check(d, e)
          ?: tls_check(d, e)
          ?: adaptive_check(d, e);

    return rc < 0 ? err_wrap(e, "endpoint %s", d->name) : 0;
}

/* ---- routes ---- */

#define RULE(f) offsetof(struct route_rule, f)
static const struct cfg_key rule_keys[] = {
    { "match", CFG_STRS, RULE(match), "", 0, ROUTE_MATCHES_MAX, true,
      "values of the word, or their beginnings and a star (gpt-*); none = every request, also one "
      "without the word", 0, 0, 0 },
    { "endpoints", CFG_STRS, RULE(endpoints), NULL, 1, ROUTE_ENDPOINTS_MAX, true,
      "where it goes; to the next one if the one before is down or paused, or its line too long", 0, 0, 0 },
    { "max_wait", CFG_MS, RULE(max_wait_ms), "0", 0, 400 * 86400e3, true,
      "estimated wait beyond which the next of `endpoints` gets it; 0 = any", 0, 0, 0 },
    { 0 },
};

#define ROUTE(f) offsetof(struct route_def, f)
const struct cfg_key route_def_keys[] = {
    { "name", CFG_STR, ROUTE(name), NULL, 1, TASK_NAME_MAX, true, "its name in /v1/route/NAME/PATH", 0, 0, 0 },
    { "pointer", CFG_STR, ROUTE(pointer), "/model", 2, ROUTE_TEXT_MAX, true,
      "where the word is in the body, a JSON object: names of members, a slash before each", 0, 0, 0 },
    { "rules", CFG_OBJS, ROUTE(rules), NULL, 1, ROUTE_RULES_MAX, true,
      "the first whose match fits says where a request goes", 0, rule_keys, sizeof(struct route_rule) },
    { 0 },
};

static int rule_check(const struct route_rule *r, size_t i, struct err *e)
{
    char *const *match = r->match.v, *const *to = r->endpoints.v;

    for (size_t k = 0; k < r->match.n; k++) {
        const char *star = strchr(match[k], '*');

        if (match[k][0] == '\0' || strlen(match[k]) > ROUTE_TEXT_MAX)
            return err_set(e, SQ_EINVAL, "rules.%zu: match.%zu has 1 to %d bytes", i, k, ROUTE_TEXT_MAX);
        if (star != NULL && star[1] != '\0')
            return err_set(e, SQ_EINVAL, "rules.%zu: match.%zu: a star stands at the end alone", i, k);
    }
    for (size_t k = 0; k < r->endpoints.n; k++) {
        if (!queue_name_ok(to[k], strlen(to[k])))
            return err_set(e, SQ_EINVAL, "rules.%zu: endpoints.%zu is no name", i, k);
        for (size_t j = 0; j < k; j++)
            if (strcmp(to[j], to[k]) == 0)
                return err_set(e, SQ_EINVAL, "rules.%zu: endpoint %s is there twice", i, to[k]);
    }
    return 0;
}

int route_def_check(const struct route_def *d, struct err *e)
{
    const struct route_rule *r = d->rules.v;
    int rc = 0;

    if (strchr(d->name, '/') != NULL || !queue_name_ok(d->name, strlen(d->name)))
        return err_set(e, SQ_EINVAL, "route %s: name: small letters, digits, . _ -", d->name);
    if (cost_pointer_wrong(d->pointer) != NULL)
        return err_set(e, SQ_EINVAL, "route %s: pointer: %s", d->name, cost_pointer_wrong(d->pointer));
    for (size_t i = 0; rc == 0 && i < d->rules.n; i++) {
        rc = rule_check(&r[i], i, e);
        if (rc == 0 && r[i].match.n == 0 && i + 1 < d->rules.n)
            rc = err_set(e, SQ_EINVAL, "rules.%zu fits every request: none behind it would count", i);
    }
    return rc < 0 ? err_wrap(e, "route %s", d->name) : 0;
}

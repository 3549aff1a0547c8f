/* gate_rules.c: see gate_rules.h. */
#include "router/gate/gate_rules.h"

#include <assert.h>
#include <sodium.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/file.h"
#include "common/config/cfg_key.h"
#include "common/config/gate_def.h"
#include "common/http/request_headers.h"
#include "router/gate/bypass.h"
#include "router/gate/visit.h"

enum fit { NO, YES, UNCLEAR }; /* UNCLEAR: one server reads YES and the next one NO */

struct rule {
    struct gate_rule c;        /* owned texts: the configuration's go at HUP */
    char header[65];               /* in small letters */
    struct ip_net *nets;           /* owned */
    size_t n;
    bool by_address;
};

struct gate_rules {
    struct rule *rule; /* owned */
    size_t n;
    char country[65]; /* header, in small letters */
};

/* ---- reading --------------------------------------------------------------------------- */

static int add_net(struct rule *r, struct slice w, struct err *e)
{
    char text[64];
    struct ip_net *more;

    if (w.n >= sizeof(text))
        return err_set(e, SQ_EINVAL, "\"%.40s...\" is too long for an address", w.p);
    memcpy(text, w.p, w.n);
    text[w.n] = '\0';
    if (r->n == GATE_RULE_NETS_MAX)
        return err_set(e, SQ_EINVAL, "a rule may have at most %d addresses", GATE_RULE_NETS_MAX);
    more = realloc(r->nets, (r->n + 1) * sizeof(*r->nets));
    if (more == NULL)
        return err_set(e, SQ_ENOMEM, "out of memory");
    r->nets = more;
    if (!ip_net_parse(&r->nets[r->n], text))
        return err_set(e, SQ_EINVAL, "\"%s\" is neither an address nor a network in CIDR notation",
                       text);
    r->n++;
    return 0;
}

static int read_addresses(struct rule *r, struct slice list, struct err *e)
{
    struct slice w;
    int rc = 0;

    while (rc == 0 && http_item_next(&list, &w))
        rc = add_net(r, w, e);
    return rc;
}

/* Lines, each with a remark behind #. */
static int read_lines(struct rule *r, char *text, struct err *e)
{
    char *rest = text, *line;
    int rc = 0;

    while (rc == 0 && (line = strsep(&rest, "\r\n")) != NULL)
        rc = read_addresses(r, (struct slice){ line, strcspn(line, "#") }, e);
    return rc;
}

static int read_file(struct rule *r, struct err *e)
{
    char *text = malloc(GATE_RULE_FILE_MAX + 1);
    int64_t n;
    int rc;

    if (text == NULL)
        return err_set(e, SQ_ENOMEM, "out of memory");
    n = file_read(r->c.address_file, FILE_ANY, text, GATE_RULE_FILE_MAX, NULL, e);
    rc = (int)n;
    if (n >= 0) {
        text[n] = '\0';
        rc = read_lines(r, text, e);
        rc = rc < 0 ? err_wrap(e, "%s", r->c.address_file) : 0;
    }
    free(text);
    return rc;
}

#define TEXT(m) offsetof(struct gate_rule, m)
static const size_t texts[] = { TEXT(host),    TEXT(path),         TEXT(method),  TEXT(header),
                                TEXT(value),   TEXT(cookie),       TEXT(address), TEXT(address_file),
                                TEXT(country), TEXT(crawler),      TEXT(queue) };
_Static_assert(sizeof(struct gate_rule) == ARRAY_LEN(texts) * sizeof(char *), "all of them");

static char **text_of(struct gate_rule *c, size_t i)
{
    return (char **)((char *)c + texts[i]);
}

static bool copy_texts(struct gate_rule *to, struct gate_rule from)
{
    bool ok = true;

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        ok &= (*text_of(to, i) = strdup(*text_of(&from, i))) != NULL;
    return ok;
}

static void rule_fini(struct rule *r)
{
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        free(*text_of(&r->c, i));
    free(r->nets);
}

static int read_rule(struct rule *r, const struct gate_rule *c, bool files, struct err *e)
{
    int rc;

    if (!copy_texts(&r->c, *c))
        return err_set(e, SQ_ENOMEM, "out of memory");
    copy_lower(r->header, sizeof(r->header), c->header);
    r->by_address = c->address[0] != '\0' || c->address_file[0] != '\0';
    rc = read_addresses(r, slice_of(c->address), e);
    if (rc == 0 && c->address[0] != '\0' && r->n == 0)
        rc = err_set(e, SQ_EINVAL, "address: write addresses or networks, with commas: 10.0.0.0/8");
    if (rc == 0 && files && c->address_file[0] != '\0')
        rc = read_file(r, e);
    return rc;
}

static struct gate_rules *rules_new(const struct gate_rule *v, size_t n, const char *country_header,
                                    bool files, struct err *e)
{
    struct gate_rules *g = calloc(1, sizeof(*g));
    int rc = 0;

    if (g == NULL || (g->rule = calloc(n + 1, sizeof(*g->rule))) == NULL)
        rc = err_set(e, SQ_ENOMEM, "out of memory");
    for (; rc == 0 && g->n < n; g->n++) {
        rc = read_rule(&g->rule[g->n], &v[g->n], files, e);
        if (rc < 0)
            err_wrap(e, "gate_rules[%zu]", g->n);
    }
    if (rc == 0) {
        copy_lower(g->country, sizeof(g->country), country_header);
        return g;
    }
    gate_rules_free(g);
    return NULL;
}

int gate_rules_load(struct gate_rules **g, const struct gate_rule *v, size_t n,
                    const char *country_header, struct err *e)
{
    struct gate_rules *fresh = NULL;

    if (n > 0 && (fresh = rules_new(v, n, country_header, true, e)) == NULL)
        return e->code;
    gate_rules_free(*g);
    *g = fresh;
    return 0;
}

void gate_rules_free(struct gate_rules *g)
{
    for (size_t i = 0; g != NULL && g->rule != NULL && i <= g->n; i++)
        rule_fini(&g->rule[i]); /* the one at n: its reading failed, or it is empty */
    if (g != NULL)
        free(g->rule);
    free(g);
}

/* ---- checks ---------------------------------------------------------------------------- */

static bool is_token(const char *s, size_t n)
{
    return n > 0 && text_is_of(s, n, "!#$%&'*+-.^_`|~");
}

/* "*.example.com", "example.com" */
static bool host_ok(const char *s)
{
    if (s[0] == '*' && s[1] == '.')
        s += 2;
    return s[0] != '\0' && s[strlen(s) - 1] != '.' &&
           s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-.")] == '\0';
}

/* Words with commas, of len letters each (0: any); or nothing at all. */
static bool words_ok(const char *words, size_t len)
{
    struct slice list = slice_of(words), w;
    unsigned n = 0;

    for (; http_item_next(&list, &w); n++)
        if (!is_token(w.p, w.n) || (len > 0 && w.n != len))
            return false;
    return n > 0 || words[0] == '\0';
}

static const char *fault_of(const struct gate_rule *c, const char *country_header)
{
    size_t name = strcspn(c->cookie, "=");

    if (c->host[0] != '\0' && !host_ok(c->host))
        return "host: write shop.example or *.shop.example, in small letters, without a port";
    if (c->path[0] != '\0' && (!gate_path_ok(c->path) || c->path[strlen(c->path) - 1] == '/'))
        return "path: write /part or /part/part, without escapes, dots, a query or a slash at its end";
    if (!words_ok(c->method, 0))
        return "method: write GET, or GET, HEAD";
    if (c->header[0] != '\0' && !is_token(c->header, strlen(c->header)))
        return "header: this is not the name of a header";
    if (c->header[0] == '\0' && c->value[0] != '\0')
        return "value: name its header, too (header: X-Probe)";
    if (c->cookie[0] != '\0' && !is_token(c->cookie, name))
        return "cookie: write NAME, or NAME=VALUE";
    if (!words_ok(c->country, 2))
        return "country: write two letters each: DE, AT";
    if (c->country[0] != '\0' && country_header[0] == '\0')
        return "country: gate_country_header must name the header of your CDN, too";
    if (!crawlers_names_ok(c->crawler))
        return "crawler: write any, or some of google, bing, apple, yandex, baidu";
    if (c->queue[0] != '\0' && !cfg_name_ok(c->queue))
        return "queue: this is not the name of a queue";
    return NULL;
}

int gate_rules_check(const struct gate_rule *v, size_t n, const char *country_header, struct err *e)
{
    struct gate_rules *g = NULL;

    for (size_t i = 0; i < n; i++) {
        const char *fault = fault_of(&v[i], country_header);

        if (fault != NULL)
            return err_set(e, SQ_EINVAL, "gate_rules[%zu]: %s", i, fault);
    }
    if (n > 0 && (g = rules_new(v, n, country_header, false, e)) == NULL)
        return e->code;
    gate_rules_free(g);
    return 0;
}

/* ---- one request ----------------------------------------------------------------------- */

static bool has_word(const char *words, struct slice s)
{
    struct slice list = slice_of(words), w;

    while (http_item_next(&list, &w))
        if (w.n == s.n && strncasecmp(w.p, s.p, s.n) == 0)
            return true;
    return false;
}

static enum fit by_word(const char *list, struct slice s)
{
    if (list[0] == '\0')
        return YES;
    return s.n == 0 ? UNCLEAR : has_word(list, s) ? YES : NO;
}

static enum fit by_host(const char *want, struct slice host)
{
    const char *colon = host.n > 0 ? memchr(host.p, ':', host.n) : NULL;
    size_t n = strlen(want);

    if (n == 0)
        return YES;
    if (colon != NULL)
        host.n = (size_t)(colon - host.p);
    if (host.n > 0 && host.p[host.n - 1] == '.') /* "shop.example." is the same host */
        host.n--;
    if (host.n == 0)
        return UNCLEAR;
    if (want[0] == '*') {
        want++, n--;
        if (host.n <= n)
            return NO;
        host.p += host.n - n;
        host.n = n;
    }
    return host.n == n && strncasecmp(host.p, want, n) == 0 ? YES : NO;
}

/* past: the rule leads past all rooms. */
static enum fit by_path(const char *want, const struct bypass_reading *path, bool past)
{
    if (want[0] == '\0' || (bypass_is_under(path, want) && (path->plain || !past)))
        return YES;
    return bypass_may_be_under(path, want) ? UNCLEAR : NO;
}

static enum fit by_header(const struct rule *r, const struct http_req *q)
{
    size_t n = strlen(r->c.value);
    struct slice got;
    unsigned times;

    if (r->header[0] == '\0')
        return YES;
    times = http_find(q, r->header, &got);
    if (times != 1)
        return times == 0 ? NO : UNCLEAR;
    return n == 0 || (got.n == n && sodium_memcmp(got.p, r->c.value, n) == 0) ? YES : NO;
}

static enum fit by_cookie(const char *want, const struct http_req *q)
{
    size_t n = strcspn(want, "=");
    const char *value = want[n] == '=' ? want + n + 1 : NULL;
    char name[257];
    struct cookies c = { 0 };
    struct slice got;
    unsigned met = 0, all = 0;

    if (n == 0)
        return YES;
    memcpy(name, want, n);
    name[n] = '\0';
    for (; cookie_next(&c, q, name, &got); all++)
        met += value == NULL || (got.n == strlen(value) && sodium_memcmp(got.p, value, got.n) == 0);
    return met == 0 ? NO : met == all ? YES : UNCLEAR;
}

static enum fit by_address(const struct rule *r, const struct ip *addr)
{
    if (!r->by_address)
        return YES;
    return addr == NULL ? UNCLEAR : ip_in_any(r->nets, r->n, addr) ? YES : NO;
}

static enum fit by_country(const struct gate_rules *g, const char *list, const struct http_req *q)
{
    struct slice got = { 0 };

    if (list[0] != '\0' && (http_find(q, g->country, &got) != 1 || got.n != 2))
        return UNCLEAR;
    return by_word(list, got);
}

static enum fit by_crawler(const char *names, const struct gate_rule_ask *a)
{
    static const enum fit fits[] = { [CRAWLER_NO] = NO, [CRAWLER_YES] = YES, [CRAWLER_UNKNOWN] = UNCLEAR };

    if (names[0] == '\0')
        return YES;
    return fits[crawlers_look(a->crawlers, names, a->q->user_agent, a->addr, a->now_ms)];
}

/* NO of one is NO of all. */
static enum fit both(enum fit a, enum fit b)
{
    return a == NO || b == NO ? NO : a == UNCLEAR || b == UNCLEAR ? UNCLEAR : YES;
}

static enum fit meets(const struct gate_rules *g, const struct rule *r, const struct gate_rule_ask *a,
                      const struct bypass_reading *path)
{
    const struct gate_rule *c = &r->c;
    enum fit f = both(by_host(c->host, a->host), by_word(c->method, a->method));

    if (f != NO)
        f = both(f, by_path(c->path, path, c->queue[0] == '\0'));
    if (f != NO)
        f = both(f, by_header(r, a->q));
    if (f != NO)
        f = both(f, by_cookie(c->cookie, a->q));
    if (f != NO)
        f = both(f, by_address(r, a->addr));
    if (f != NO)
        f = both(f, by_country(g, c->country, a->q));
    return f == NO ? NO : both(f, by_crawler(c->crawler, a)); /* last: it asks name servers */
}

size_t gate_rules_find(const struct gate_rules *g, const struct gate_rule_ask *a, struct gate_rule_doubt *d)
{
    size_t first = GATE_RULE_NONE; /* room that an unclear request may belong to */
    struct bypass_reading path;

    *d = (struct gate_rule_doubt){ .one = GATE_RULE_NONE, .other = GATE_RULE_NONE };
    if (g == NULL)
        return GATE_RULE_NONE;
    bypass_read(&path, a->uri);
    for (size_t i = 0; i <= g->n; i++) { /* the last: the gate's own queue */
        enum fit f = i < g->n ? meets(g, &g->rule[i], a, &path) : YES;
        struct slice to = i < g->n ? slice_of(g->rule[i].c.queue) : a->own;

        d->unclear |= f == UNCLEAR;
        if (f == NO || (f == UNCLEAR && to.n == 0))
            continue;
        if (first != GATE_RULE_NONE && to.n > 0 && !slice_is(to, g->rule[first].c.queue)) {
            d->one = first;
            d->other = i < g->n ? i : GATE_RULE_NONE;
            return GATE_RULE_TWO;
        }
        if (f == YES)
            return first != GATE_RULE_NONE ? first : i < g->n ? i : GATE_RULE_NONE;
        if (first == GATE_RULE_NONE)
            first = i;
    }
    return GATE_RULE_NONE; /* cannot be: the last is met */
}

const char *gate_rules_queue(const struct gate_rules *g, size_t i)
{
    assert(i < g->n);
    return g->rule[i].c.queue;
}

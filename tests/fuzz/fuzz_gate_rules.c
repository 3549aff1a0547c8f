/* fuzz_gate_rules.c: requests of visitors, and the answer of a name server of theirs, before an operator's
 * rules. Who is let past all rooms by a path stays under it; who is let past as a
 * crawler has a name in its owner's domain; and a path that is written in escapes is in no
 * other room than the plain one.
 * Input: lines: the path, the host, the method, the name of the address; then header fields. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "router/gate/bypass.h"
#include "router/gate/gate_rules.h"
#include "router/gate/visit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define T(s) ((char *)(uintptr_t)(s))
#define REST                                                                                              \
    .host = T(""), .path = T(""), .method = T(""), .header = T(""), .value = T(""), .cookie = T(""),          \
    .address = T(""), .address_file = T(""), .country = T(""), .crawler = T(""), .queue = T("")
enum { STATIC, CRAWLER, PROBE, TICKETS, CITY, MOBILE, N };

static const char *name; /* of the visitor's address */
static struct crawler_ask *asked_name, *asked_addrs;
static struct gate_rules *rules;

static void must(bool ok)
{
    if (!ok)
        abort();
}

static bool ask_name(void *ctx, const struct ip *ip, struct crawler_ask *a)
{
    (void)ctx;
    (void)ip;
    asked_name = a;
    return true;
}

static bool ask_addrs(void *ctx, const char *of, struct crawler_ask *a)
{
    (void)ctx;
    must(of == name);
    asked_addrs = a;
    return true;
}

static void load(void)
{
    struct gate_rule v[N] = { { REST }, { REST }, { REST }, { REST }, { REST }, { REST } };
    struct err e = { 0 };

    v[STATIC].path = T("/static");
    v[STATIC].method = T("GET, HEAD");
    v[CRAWLER].crawler = T("google, bing");
    v[PROBE].header = T("X-Probe");
    v[PROBE].value = T("a secret of the operator");
    v[PROBE].host = T("*.shop.example");
    v[TICKETS].path = T("/tickets");
    v[TICKETS].queue = T("tickets");
    v[CITY].country = T("DE, AT");
    v[CITY].queue = T("city");
    v[MOBILE].cookie = T("kind=mobile");
    v[MOBILE].queue = T("tickets");
    must(gate_rules_check(v, N, "X-Country", &e) == 0 && gate_rules_load(&rules, v, N, "X-Country", &e) == 0);
}

/* The answer of the name server comes in between; the address is the name's. */
static size_t find(struct gate_rule_ask *a)
{
    static const struct crawler_io io = { NULL, ask_name, ask_addrs };
    struct crawlers *c = crawlers_new(&io);
    struct gate_rule_doubt doubt;
    size_t i;

    must(c != NULL);
    a->crawlers = c;
    asked_name = asked_addrs = NULL;
    must(gate_rules_find(rules, a, &doubt) != CRAWLER);
    if (asked_name != NULL)
        crawler_named(asked_name, name, 1);
    if (asked_addrs != NULL)
        crawler_has(asked_addrs, a->addr, 1, false, 1);
    i = gate_rules_find(rules, a, &doubt);
    crawlers_free(c);
    must(i < N || i == GATE_RULE_NONE || i == GATE_RULE_TWO);
    return i;
}

static bool ends(const char *s, const char *with)
{
    size_t n = strlen(s), k = strlen(with);

    return n > k && strcasecmp(s + n - k, with) == 0;
}

/* Where letters of the path are escapes, as a client may write them. */
static void escaped(struct gate_rule_ask *a, size_t plain)
{
    size_t n = a->uri.p != NULL ? strcspn(a->uri.p, "?") : 0, other;
    char *p = malloc(3 * a->uri.n + 1), *to = p;

    must(p != NULL);
    for (size_t i = 0; i < n; i++)
        if (isalpha((unsigned char)a->uri.p[i]))
            to += sprintf(to, "%%%02x", (unsigned char)a->uri.p[i]);
        else
            *to++ = a->uri.p[i];
    a->uri = (struct slice){ p, (size_t)(to - p) };
    other = find(a);
    if (plain == TICKETS || plain == CITY || plain == MOBILE)
        must(other == plain || other == GATE_RULE_TWO);
    else if (plain != STATIC) /* past it goes only where every server undoes them */
        must(other == plain);
    free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), *rest = text, *line[4], *head;
    struct http_state st = { 0 };
    struct http_req q;
    struct ip ip = { { 7 } };
    struct gate_rule_ask a = { .q = &q, .addr = &ip, .now_ms = 1, .own = { T("wide"), 4 } };
    size_t i;

    if (rules == NULL)
        load();
    must(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    for (i = 0; i < ARRAY_LEN(line); i++)
        line[i] = rest != NULL ? strsep(&rest, "\n") : T("");
    head = malloc(size + 64 + HTTP_SLACK);
    must(head != NULL);
    i = (size_t)sprintf(head, "GET / HTTP/1.1\r\nHost: a\r\n%s\r\n\r\n", rest != NULL ? rest : "A: b");
    if (http_parse(&st, &q, head, i) > 0) {
        a.uri = (struct slice){ line[0], strlen(line[0]) };
        a.host = (struct slice){ line[1], strlen(line[1]) };
        a.method = (struct slice){ line[2], strlen(line[2]) };
        name = line[3];
        i = find(&a);
        if (i == STATIC)
            must(bypass_path("/static", a.uri)); /* fuzz_bypass.c: it stays there */
        if (i == CRAWLER)
            must(ends(name, ".googlebot.com") || ends(name, ".search.msn.com"));
        if (i == PROBE)
            must(strstr(head, "a secret of the operator") != NULL);
        if (strpbrk(line[0], "%\\;") == NULL)
            escaped(&a, i);
    }
    free(head);
    free(text);
    return 0;
}

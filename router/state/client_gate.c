/* client_gate.c: see client_gate.h. A malformed header of a proxy is counted and not believed:
 * the request then counts for the proxy's own address, which is limited like any other. */
#include "router/state/client_gate.h"

#include <assert.h>
#include <inttypes.h>
#include <sodium.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/log.h"

#define LOG_MODULE     "gate"
#define BEHIND         1u /* in a tag: a trusted proxy */
#define SAY_EVERY_MS   1000

void gate_reload(struct gate *g, const struct router_cfg *c)
{
    limit_set(g->limit, LIMIT_JOIN, c->join_limit_per_s, (uint32_t)c->join_burst);
    limit_set(g->limit, LIMIT_POLL, c->poll_limit_per_s, (uint32_t)c->poll_burst);
    limit_set(g->limit, LIMIT_BAD, c->bad_limit_per_s, (uint32_t)c->bad_burst);
    g->conns_per_addr = (uint32_t)c->conns_per_addr;
    g->ticket_times = (uint32_t)c->ticket_poll_times;
    g->hears |= g->ticket_times != 0;
}

int gate_init(struct gate *g, const struct router_cfg *c, struct err *e)
{
    char **text = c->trusted_proxies.v;
    uint8_t key[LIMIT_KEY_BYTES];

    assert(c->trusted_proxies.n <= GATE_MAX_PROXIES); /* their key says so */
    memset(g, 0, sizeof(*g));
    g->form = (enum forwarded_form)c->proxy_header;
    g->said_ms = -SAY_EVERY_MS;
    for (size_t i = 0; i < c->trusted_proxies.n; i++)
        if (!ip_net_parse(&g->proxies[g->n_proxies++], text[i]))
            return err_set(e, SQ_EINVAL, "trusted_proxies: \"%.60s\"", text[i]);
    randombytes_buf(key, sizeof(key));
    g->limit = limit_new((size_t)c->limit_table_entries, key);
    g->tickets = ticket_polls_new((size_t)c->limit_table_entries);
    if (g->limit == NULL || g->tickets == NULL)
        return err_set(e, SQ_ENOMEM, "no memory for limit_table_entries");
    gate_reload(g, c);
    return 0;
}

void gate_fini(struct gate *g)
{
    limit_free(g->limit);
    g->limit = NULL;
    ticket_polls_free(g->tickets);
    g->tickets = NULL;
}

/* Logs a line a second at most: refusing must stay cheaper than connecting. */
static void say_refused(struct gate *g, const struct net_addr *peer, int64_t now_ms)
{
    char text[NET_TEXT_MAX];

    if (now_ms - g->said_ms < SAY_EVERY_MS)
        return;
    g->said_ms = now_ms;
    net_ip_text(peer, text);
    log_warn("event=connection_refused addr=%s most=%u refused=%" PRIu64, text,
             g->conns_per_addr, limit_counts(g->limit)->conns_refused);
}

bool gate_conn(struct gate *g, const struct net_addr *peer, int64_t now_ms, uint64_t *tag)
{
    struct ip ip;

    *tag = 0;
    if (!net_ip(peer, &ip))
        return true;
    *tag = limit_id_of(g->limit, &ip);
    assert(*tag != 0 && (*tag & BEHIND) == 0);
    if (ip_in_any(g->proxies, g->n_proxies, &ip)) {
        *tag |= BEHIND;
        return true;
    }
    if (limit_conn_open(g->limit, *tag, g->conns_per_addr))
        return true;
    say_refused(g, peer, now_ms);
    return false;
}

void gate_conn_end(struct gate *g, uint64_t tag)
{
    if (tag != 0 && (tag & BEHIND) == 0)
        limit_conn_close(g->limit, tag);
}

/* Whose connections end at a proxy has none here to be counted by. */
limit_id gate_listener(const struct gate *g, uint64_t tag)
{
    return (tag & BEHIND) != 0 ? g->client : 0;
}

bool gate_listen(struct gate *g, limit_id client)
{
    return client == 0 || limit_conn_open(g->limit, client, g->conns_per_addr);
}

void gate_listen_end(struct gate *g, limit_id client)
{
    if (client != 0)
        limit_conn_close(g->limit, client);
}

static int client_of(const struct gate *g, const struct http_req *q, struct ip *out)
{
    const struct http_via *v =
        g->form == FORWARDED_X ? &q->x_forwarded_for : &q->forwarded;

    return forwarded_client(out, g->form, v->line, v->n, g->proxies, g->n_proxies);
}

bool gate_is_trusted(uint64_t tag)
{
    return (tag & BEHIND) != 0;
}

bool gate_client(const struct gate *g, const struct http_req *q, struct ip *out)
{
    return client_of(g, q, out) > 0;
}

static limit_id behind_proxy(struct gate *g, limit_id proxy, const struct http_req *q)
{
    struct ip ip;
    int rc = client_of(g, q, &ip);

    if (rc > 0)
        return limit_id_of(g->limit, &ip);
    g->forwarded_bad += rc < 0;
    g->forwarded_none += rc == 0;
    return proxy;
}

void gate_request(struct gate *g, uint64_t tag, const struct http_req *q)
{
    g->client = tag;
    if ((tag & BEHIND) != 0) /* a request that could not be read names no client */
        g->client = q == NULL ? 0 : behind_proxy(g, tag & ~(uint64_t)BEHIND, q);
}

/* Where a proxy speaks TLS with us, too, only its line (X-Forwarded-Proto) says how the browser came. */
static bool came_by_https(bool sealed, uint64_t tag, const struct http_req *q)
{
    struct slice v;

    if ((tag & BEHIND) == 0 || http_find(q, "x-forwarded-proto", &v) == 0)
        return sealed;
    return v.n >= 5 && memcmp(v.p + v.n - 5, "https", 5) == 0 &&
           (v.n == 5 || v.p[v.n - 6] == ' ' || v.p[v.n - 6] == ',');
}

bool gate_is_secure(const struct router_cfg *c, bool sealed, uint64_t tag, const struct http_req *q)
{
    return c->page_https == HTTPS_ALWAYS ||
           (c->page_https == HTTPS_AUTO && came_by_https(sealed, tag, q));
}

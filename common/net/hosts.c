/* hosts.c: one question is one evdns_getaddrinfo(). */
#include "common/net/hosts.h"

#include <assert.h>
#include <event2/dns.h>
#include <event2/event.h>
#include <event2/util.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/ip.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "common/net/ev.h"

#define LOG_MODULE "net"
#define LAST_TURNS 8    /* a single one is enough for libevent 2.1 */
#define LOOK_MS    1000 /* the files are looked at so often at most */

static const char *conf_path = "/etc/resolv.conf", *names_path = "/etc/hosts";

void hosts_from(const char *resolv_conf, const char *hosts_file)
{
    conf_path = resolv_conf != NULL ? resolv_conf : "/etc/resolv.conf";
    names_path = hosts_file != NULL ? hosts_file : "/etc/hosts";
}

struct host_find {
    struct list_node in; /* member of hosts.finds */
    struct hosts *s;     /* ref */
    host_found_fn fn;    /* NULL: dropped, or a name is asked for */
    host_name_fn name_fn;
    void *arg;
    struct evdns_request *asked[2]; /* NULL: answered, or not asked */
    struct host_found found;
};

struct host_question {
    struct list_node in; /* member of hosts.open, until answered */
    struct list *open;
    struct evdns_getaddrinfo_request *asked;
    host_fn fn; /* NULL: dropped, nobody wants to know any more */
    void *arg;
    bool asking; /* inside hosts_ask(): the answer must not come from there */
    bool answered;
    struct host_answer answer; /* while it waits to be posted */
};

void hosts_init(struct hosts *s, struct ev *ev)
{
    *s = (struct hosts){ .ev = ev };
    list_init(&s->open);
    list_init(&s->finds);
}

/* evdns gives a question back, and frees its own part of it, in a turn of its loop alone. */
static void give_up(struct hosts *s)
{
    list_each_of (&s->open, struct host_question, in, q) {
        q->fn = NULL;
        evdns_getaddrinfo_cancel(q->asked);
    }
    list_each_of (&s->finds, struct host_find, in, f) {
        f->fn = NULL;
        f->name_fn = NULL;
        for (unsigned i = 0; i < 2; i++)
            if (f->asked[i] != NULL)
                evdns_cancel_request(s->dns, f->asked[i]);
    }
    for (unsigned i = 0; i < LAST_TURNS && s->open.n + s->finds.n > 0; i++)
        if (event_base_loop(ev_base(s->ev), EVLOOP_ONCE | EVLOOP_NONBLOCK) < 0)
            break;
}

void hosts_fini(struct hosts *s)
{
    if (s->timer != NULL)
        ev_timer_free(s->timer);
    s->timer = NULL;
    give_up(s);
    if (s->dns != NULL)
        evdns_base_free(s->dns, 0);
    s->dns = NULL;
}

static void tell(void *arg)
{
    struct host_question *q = arg;

    assert(q->answered && !q->asking);
    if (q->fn != NULL)
        q->fn(q->arg, &q->answer);
    free(q);
}

static void add(struct host_answer *a, const struct evutil_addrinfo *found)
{
    struct net_addr *to = &a->addr[a->n];

    if (a->n == HOST_ADDRS || found->ai_addrlen > sizeof(to->in6))
        return;
    memcpy(&to->in6, found->ai_addr, found->ai_addrlen);
    to->len = (socklen_t)found->ai_addrlen;
    a->n++;
}

static void on_answer(int rc, struct evutil_addrinfo *found, void *arg)
{
    struct host_question *q = arg;

    for (const struct evutil_addrinfo *i = rc == 0 ? found : NULL; i != NULL; i = i->ai_next)
        add(&q->answer, i);
    if (q->answer.n == 0)
        snprintf(q->answer.why, sizeof(q->answer.why), "name: %s", evutil_gai_strerror(rc));
    if (found != NULL)
        evutil_freeaddrinfo(found);
    q->answered = true;
    if (q->open != NULL)
        list_remove(q->open, &q->in);
    if (!q->asking)
        tell(q);
}

/* ---- the files ----------------------------------------------------------------------------- */

static struct host_file file_now(const char *path)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return (struct host_file){ 0 };
    return (struct host_file){ (int64_t)st.st_ino, (int64_t)st.st_size,
                               (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec };
}

static bool is_same(const struct host_file *a, const struct host_file *b)
{
    return a->inode == b->inode && a->size == b->size && a->at_ns == b->at_ns;
}

/* Questions that are open go to the servers of now. Without a file, or a server in it, that is this
 * machine (resolv.conf(5)). */
static void read_conf(struct hosts *s)
{
    evdns_base_clear_nameservers_and_suspend(s->dns);
    evdns_base_search_clear(s->dns);
    (void)evdns_base_resolv_conf_parse(s->dns, DNS_OPTIONS_ALL & ~DNS_OPTION_HOSTSFILE, conf_path);
    evdns_base_resume(s->dns);
}

static void read_names(struct hosts *s)
{
    evdns_base_clear_host_addresses(s->dns);
    (void)evdns_base_load_hosts(s->dns, s->names.inode != 0 ? names_path : NULL);
}

static void look_at_files(struct hosts *s)
{
    struct host_file conf = file_now(conf_path), names = file_now(names_path);
    bool first = s->looked_ms == 0;

    if (first || !is_same(&s->conf, &conf)) {
        s->conf = conf;
        read_conf(s);
        if (!first)
            log_info("event=name_servers_changed file=%s servers=%d", conf_path,
                     evdns_base_count_nameservers(s->dns));
    }
    if (first || !is_same(&s->names, &names)) {
        s->names = names;
        read_names(s);
    }
    s->looked_ms = ev_now(s->ev);
}

static void on_timer(void *arg)
{
    struct hosts *s = arg;

    if (s->open.n + s->finds.n == 0)
        return;
    look_at_files(s);
    ev_timer_at(s->timer, ev_now(s->ev) + LOOK_MS);
}

static bool have_dns(struct hosts *s)
{
    struct event_base *base = ev_base(s->ev);

    if (s->dns == NULL && base != NULL)
        s->dns = evdns_base_new(base, EVDNS_BASE_DISABLE_WHEN_INACTIVE);
    if (s->timer == NULL)
        s->timer = ev_timer_new(s->ev, on_timer, s);
    if (s->dns == NULL || s->timer == NULL)
        return false;
    if (s->looked_ms == 0 || ev_now(s->ev) - s->looked_ms >= LOOK_MS)
        look_at_files(s);
    return true;
}

/* ---- questions ----------------------------------------------------------------------------- */

struct host_question *hosts_ask(struct hosts *s, const char *addr, host_fn fn, void *arg)
{
    struct evutil_addrinfo hints = { .ai_family = AF_UNSPEC,
                                     .ai_socktype = SOCK_STREAM,
                                     .ai_protocol = IPPROTO_TCP };
    struct host_question *q = calloc(1, sizeof(*q));
    char host[256], port_text[8];
    uint16_t port;

    if (q == NULL || net_split(addr, host, sizeof(host), &port, NULL) < 0 || !have_dns(s)) {
        free(q);
        return NULL;
    }
    snprintf(port_text, sizeof(port_text), "%u", port);
    *q = (struct host_question){ .fn = fn, .arg = arg, .asking = true };
    q->asked = evdns_getaddrinfo(s->dns, host, port_text, &hints, on_answer, q);
    q->asking = false;
    if (q->answered) { /* from the hosts file, on the spot */
        ev_post(s->ev, tell, q);
    } else {
        if (s->open.n == 0)
            ev_timer_at(s->timer, ev_now(s->ev) + LOOK_MS);
        q->open = &s->open;
        list_push_back(q->open, &q->in);
    }
    return q;
}

void hosts_drop(struct host_question *q)
{
    q->fn = NULL;
}

/* ---- all that is said of a name ------------------------------------------------------------- */

static void find_ends(struct host_find *f)
{
    list_remove(&f->s->finds, &f->in);
    if (f->fn != NULL)
        f->fn(f->arg, &f->found);
    free(f);
}

static void add_found(struct host_part *p, const void *address, bool v6, int n)
{
    for (; p->n < HOST_FOUND && p->n < (unsigned)n; p->n++) {
        struct net_addr *a = &p->addr[p->n];

        if (v6) {
            a->in6 = (struct sockaddr_in6){ .sin6_family = AF_INET6 };
            a->in6.sin6_addr = ((const struct in6_addr *)address)[p->n];
            a->len = sizeof(a->in6);
        } else {
            a->in4 = (struct sockaddr_in){ .sin_family = AF_INET };
            a->in4.sin_addr = ((const struct in_addr *)address)[p->n];
            a->len = sizeof(a->in4);
        }
    }
}

static void set_part(struct host_part *p, int rc, int n, int ttl)
{
    bool none = rc == DNS_ERR_NOTEXIST || rc == DNS_ERR_NODATA || (rc == DNS_ERR_NONE && n <= 0);

    p->how = none ? HOST_HAS_NONE : rc == DNS_ERR_NONE ? HOST_HAS : HOST_FAILED;
    p->ttl_s = ttl > 0 ? (uint32_t)ttl : 0;
    if (none)
        snprintf(p->why, sizeof(p->why), "name: it has no address");
    else if (rc == DNS_ERR_TRUNCATED)
        snprintf(p->why, sizeof(p->why), "name: it has more addresses than go into an answer");
    else if (rc != DNS_ERR_NONE)
        snprintf(p->why, sizeof(p->why), "name: %s", evdns_err_to_string(rc));
}

static void on_found(struct host_find *f, bool v6, int rc, int n, int ttl, const void *addresses)
{
    struct host_part *p = v6 ? &f->found.v6 : &f->found.v4;

    f->asked[v6] = NULL;
    set_part(p, rc, n, ttl);
    if (p->how == HOST_HAS)
        add_found(p, addresses, v6, n);
    if (f->asked[!v6] == NULL)
        find_ends(f);
}

static void on_v4(int rc, char type, int n, int ttl, void *addresses, void *arg)
{
    (void)type;
    on_found(arg, false, rc, n, ttl, addresses);
}

static void on_v6(int rc, char type, int n, int ttl, void *addresses, void *arg)
{
    (void)type;
    on_found(arg, true, rc, n, ttl, addresses);
}

/* NULL: it cannot be asked. */
static struct host_find *find_new(struct hosts *s, void *arg)
{
    struct host_find *f = calloc(1, sizeof(*f));

    if (f == NULL || !have_dns(s)) {
        free(f);
        return NULL;
    }
    f->s = s;
    f->arg = arg;
    if (s->open.n + s->finds.n == 0)
        ev_timer_at(s->timer, ev_now(s->ev) + LOOK_MS);
    list_push_back(&s->finds, &f->in);
    return f;
}

/* False: nobody was asked, and it is no more. */
static bool find_goes_on(struct host_find *f)
{
    if (f->asked[0] != NULL || f->asked[1] != NULL)
        return true;
    list_remove(&f->s->finds, &f->in);
    free(f);
    return false;
}

bool hosts_find(struct hosts *s, const char *name, host_found_fn fn, void *arg)
{
    struct host_find *f = find_new(s, arg);

    if (f == NULL)
        return false;
    f->fn = fn;
    set_part(&f->found.v4, DNS_ERR_UNKNOWN, 0, 0);
    set_part(&f->found.v6, DNS_ERR_UNKNOWN, 0, 0);
    f->asked[0] = evdns_base_resolve_ipv4(s->dns, name, 0, on_v4, f);
    f->asked[1] = evdns_base_resolve_ipv6(s->dns, name, 0, on_v6, f);
    return find_goes_on(f);
}

static void on_name(int rc, char type, int n, int ttl, void *names, void *arg)
{
    struct host_find *f = arg;
    char name[256] = "";

    (void)ttl;
    if (rc == DNS_ERR_NONE && type == DNS_PTR && n > 0)
        copy_text(name, sizeof(name), *(char **)names);
    if (name[0] != '\0' && name[strlen(name) - 1] == '.')
        name[strlen(name) - 1] = '\0';
    list_remove(&f->s->finds, &f->in);
    if (f->name_fn != NULL)
        f->name_fn(f->arg, name);
    free(f);
}

bool hosts_name(struct hosts *s, const struct ip *ip, host_name_fn fn, void *arg)
{
    struct host_find *f = find_new(s, arg);
    struct in_addr v4;
    struct in6_addr v6;

    if (f == NULL)
        return false;
    f->name_fn = fn;
    memcpy(&v4, ip->b + 12, sizeof(v4));
    memcpy(&v6, ip->b, sizeof(v6));
    f->asked[0] = ip_is_v4(ip) ? evdns_base_resolve_reverse(s->dns, &v4, 0, on_name, f)
                               : evdns_base_resolve_reverse_ipv6(s->dns, &v6, 0, on_name, f);
    return find_goes_on(f);
}

/* cfg.c: the table of a router's configuration. */
#include "router/state/cfg.h"
#include "router/state/router.h"

#include <string.h>

#include "common/config/cfg_check.h"
#include "common/config/cfg_key.h"
#include "common/wire/msg_router_manager.h"
#include "router/api/request.h"
#include "router/flow/places.h"
#include "router/gate/gate_rules.h"
#include "router/gate/signed_claim.h"
#include "router/state/client_gate.h"

#define K(name) .key = #name, .offset = offsetof(struct router_cfg, name)

static const char *const proxy_headers[] = { "x-forwarded-for", "forwarded", NULL };

static const char *const uri_headers[] = { "x-original-uri", "x-forwarded-uri", "none", NULL };
static const char *const https_words[] = { "auto", "always", "never", NULL };

static const char *const compat_words[] = { "off", "classic", NULL };
static const char *const page_compat_words[] = { "off", "cloudflare", NULL };

static const char *const claim_algs[] = { "HS256", "EdDSA", NULL };

#define CLAIM(name) .key = #name, .offset = offsetof(struct cfg_claim_key, name)
static const struct cfg_key claim_key_keys[] = {
    { CLAIM(kid), .type = CFG_STR, .min = 1, .max = NAME_MAX_LEN, .reload = true,
      .help = "the key's name in a claim's header" },
    { CLAIM(alg), .type = CFG_ENUM, .words = claim_algs, .reload = true,
      .help = "the only algorithm that the key verifies" },
    { CLAIM(secret_file), .type = CFG_STR, .def = "", .max = 4000, .reload = true,
      .help = "HS256: file (mode 0600) with the secret, one line of 32 or more "
              "characters" },
    { CLAIM(public_key), .type = CFG_STR, .def = "", .max = 100, .reload = true,
      .help = "EdDSA: the Ed25519 public key in base64, or the line of its PEM file" },
    { .key = NULL },
};

const char *const group_others[] = { "give_up", "keep", NULL };

#define GROUP(name) .key = #name, .offset = offsetof(struct cfg_group, name)
static const struct cfg_key group_keys[] = {
    { GROUP(name), .type = CFG_STR, .min = 1, .max = NAME_MAX_LEN, .reload = true,
      .help = "name of the group: its page is /q/NAME, if no queue has that name" },
    { GROUP(queues), .type = CFG_STRS, .min = 2, .max = PLACES_MAX, .reload = true,
      .help = "queues, each once; of two turns at once the first in this order is taken" },
    { GROUP(others), .type = CFG_ENUM, .def = "give_up", .words = group_others, .reload = true,
      .help = "what is done with the other places when one has its turn: give_up, or keep: each turn is "
              "told when it comes" },
    { .key = NULL },
};

#define RULE(name) .key = #name, .offset = offsetof(struct gate_rule, name), .type = CFG_STR, .reload = true
static const struct cfg_key gate_rule_keys[] = {
    { RULE(host), .def = "", .max = 255,
      .help = "host of the request, without its port; *.example.com = all below it" },
    { RULE(path), .def = "", .max = 1000, .help = "path, with everything below it: /tickets" },
    { RULE(method), .def = "", .max = 100, .help = "methods, with commas: GET, HEAD" },
    { RULE(header), .def = "", .max = 64, .help = "name of a header that must be there" },
    { RULE(value), .def = "", .max = 256, .help = "value of that header; \"\" = any" },
    { RULE(cookie), .def = "", .max = 256, .help = "cookie that must be there: NAME, or NAME=VALUE" },
    { RULE(address), .def = "", .max = 2000,
      .help = "client addresses and networks, with commas: 10.0.0.0/8, 2001:db8::1" },
    { RULE(address_file), .def = "", .max = 4000,
      .help = "file of addresses and networks, one a line, read again at HUP" },
    { RULE(country), .def = "", .max = 400,
      .help = "countries, with commas: DE, AT; as gate_country_header names them" },
    { RULE(crawler), .def = "", .max = 100,
      .help = "crawlers, with commas: google, bing, apple, yandex, baidu, or any; by User-Agent and the "
              "name of their address" },
    { RULE(queue), .max = NAME_MAX_LEN,
      .help = "queue whose room these requests go through; \"\" = none: they pass" },
    { .key = NULL },
};

#define EVENT(name) .key = #name, .offset = offsetof(struct cfg_aws_event, name)
static const struct cfg_key aws_event_keys[] = {
    { EVENT(event_id), .type = CFG_STR, .min = 1, .max = NAME_MAX_LEN, .reload = true,
      .help = "id that clients say: letters, digits, . _ -" },
    { EVENT(queue), .type = CFG_STR, .min = 1, .max = NAME_MAX_LEN, .reload = true,
      .help = "queue whose default lane it is" },
    { .key = NULL },
};

#define CERT(name) .key = #name, .offset = offsetof(struct cfg_cert, name)
static const struct cfg_key listen_cert_keys[] = {
    { CERT(cert), .type = CFG_STR, .min = 1, .max = 4000, .reload = true,
      .help = "file with the certificate and those between it and its authority, in PEM form" },
    { CERT(key), .type = CFG_STR, .min = 1, .max = 4000, .reload = true,
      .help = "file (mode 0600) with its private key, in PEM form" },
    { .key = NULL },
};

const struct cfg_key router_keys[] = {
    { K(node), .type = CFG_STR, .def = "router", .min = 1, .max = NAME_MAX_LEN,
      .help = "name of this router (letters, digits, . _ -); each one has its own" },
    { K(listen), .type = CFG_ADDR, .def = "0.0.0.0:8080",
      .help = "address of public HTTP; several routers may share one port" },
    { K(admin), .type = CFG_ADDR, .def = "127.0.0.1:7100",
      .help = "address of /metrics and /healthz, for operators" },
    CFG_PLACE_KEYS(struct router_cfg),
    CFG_MANAGERS_KEY(struct router_cfg),
    CFG_SECRET_KEY(struct router_cfg),
    { K(listen_certs), .type = CFG_OBJS, .def = "", .max = 64, .reload = true,
      .help = "certificates of the public port (and of listen_tasks), chosen by the name that a "
              "client asks for; the first for whom asks for none: the port speaks https alone; "
              "empty = http", .sub = listen_cert_keys, .size = sizeof(struct cfg_cert) },
    { K(listen_hsts), .type = CFG_MS, .def = "0", .min = 0, .max = CFG_HSTS_MAX_MS, .reload = true,
      .help = "with listen_certs: time for which browsers shall come to the host, with all of its "
              "ports, by https alone (Strict-Transport-Security); 0: nothing is said of it" },
    CFG_ADMIN_TLS_KEYS(struct router_cfg),
    CFG_TLS_KEYS(struct router_cfg),
    { K(create_keys), .type = CFG_BOOL, .def = "false",
      .help = "create secret_file if it is missing" },
    { K(max_conns), .type = CFG_INT, .def = "65536", .min = 1, .max = 1000000,
      .help = "public connections at the same time; further ones wait in the backlog" },
    { K(max_listeners), .type = CFG_INT, .def = "32768", .min = 0, .max = 1000000,
      .reload = true,
      .help = "clients told at once (GET .../events) at the same time, at most half of max_conns; "
              "further ones poll; 0 = all poll" },
    { K(conns_per_addr), .type = CFG_INT, .def = "1000", .min = 0, .max = 1000000,
      .reload = true, .help = "connections of one address (IPv4 /32, IPv6 /64); 0 = no "
                              "limit" },
    { K(join_limit_per_s), .type = CFG_NUM, .def = "5", .min = 0, .max = 100000,
      .reload = true, .help = "joins per second of one address; 0 = no limit" },
    { K(join_burst), .type = CFG_INT, .def = "20", .min = 1, .max = 1000000,
      .reload = true, .help = "joins that one address may send at once" },
    { K(poll_limit_per_s), .type = CFG_NUM, .def = "50", .min = 0, .max = 100000,
      .reload = true, .help = "polls, leaves and reads of queues per second of one "
                              "address; 0 = no limit" },
    { K(poll_burst), .type = CFG_INT, .def = "200", .min = 1, .max = 1000000,
      .reload = true, .help = "requests of this kind that one address may send at once" },
    { K(ticket_poll_times), .type = CFG_INT, .def = "0", .min = 0, .max = 1000, .reload = true,
      .help = "a ticket may be polled so many times as often as it is told to, whatever its address; "
              "beyond: 429, and its place stays; 0 = no limit" },
    { K(bad_limit_per_s), .type = CFG_NUM, .def = "5", .min = 0, .max = 100000,
      .reload = true, .help = "forged tokens and malformed requests per second of one "
                              "address; 0 = no limit" },
    { K(bad_burst), .type = CFG_INT, .def = "50", .min = 1, .max = 1000000,
      .reload = true, .help = "requests of this kind that one address may send at once" },
    { K(limit_table_entries), .type = CFG_INT, .def = "65536", .min = 8, .max = 16777216,
      .help = "addresses that the limits remember, 32 bytes each; and tickets, 16 bytes each" },
    { K(join_groups), .type = CFG_BOOL, .def = "false", .reload = true,
      .help = "one person may join several queues at once (POST /v1/places) and takes the first turn; "
              "the other places are given up" },
    { K(groups), .type = CFG_OBJS, .def = "", .max = 64, .reload = true,
      .help = "groups of queues by name: their page /q/NAME shows all places of a person who stands in "
              "each, and takes the first turn, or each", .sub = group_keys, .size = sizeof(struct cfg_group) },
    { K(verify_cache), .type = CFG_INT, .def = "16384", .min = 4, .max = 16777216,
      .help = "verified passes that are remembered, 540 bytes each" },
    { K(claim_keys), .type = CFG_OBJS, .def = "", .max = 16, .reload = true,
      .help = "keys that verify claims: JWTs that let a person join another lane than "
              "the default", .sub = claim_key_keys,
      .size = sizeof(struct cfg_claim_key) },
    { K(claim_max_ttl), .type = CFG_MS, .def = "15m", .min = 1000, .max = 86400000,
      .reload = true, .help = "longest validity of a claim; one that expires later is "
                              "refused" },
    { K(subject_needs_claim), .type = CFG_BOOL, .def = "false", .reload = true,
      .help = "accept a subject only in a claim (sub); refuse one in the body of a join" },
    { K(trusted_proxies), .type = CFG_STRS, .def = "", .min = 0, .max = GATE_MAX_PROXIES,
      .help = "proxies (addresses, networks) whose client-address header is trusted" },
    { K(proxy_header), .type = CFG_ENUM, .def = "x-forwarded-for", .words = proxy_headers,
      .help = "the header in which trusted proxies name the client" },
    { K(allow_origins), .type = CFG_STRS, .def = "", .min = 0, .max = 64,
      .help = "origins whose pages may call the API from a browser; \"*\" = any" },
    { K(gate_uri_header), .type = CFG_ENUM, .def = "x-original-uri", .words = uri_headers,
      .help = "header in which a gate (a trusted proxy) names the path of the request" },
    { K(gate_subject_header), .type = CFG_STR, .def = "", .max = 64,
      .help = "header in which a gate names the logged-in person, for bypass.subjects; "
              "\"\" = none" },
    { K(gate_rules), .type = CFG_OBJS, .def = "", .max = GATE_RULES_MAX, .reload = true,
      .help = "which queue's room a gate's request goes through, or none: the first rule that it "
              "meets decides; without one the gate's own queue=",
      .sub = gate_rule_keys, .size = sizeof(struct gate_rule) },
    { K(gate_country_header), .type = CFG_STR, .def = "", .max = 64, .reload = true,
      .help = "header in which a CDN names the client's country, for gate_rules; \"\" = none" },
    { K(verify_secret_file), .type = CFG_STR, .def = "", .max = 4000,
      .help = "file with the secret of the services of challenge.verify_url, read again at HUP; \"\" = none" },
    { K(gate_secret_file), .type = CFG_STR, .def = "", .max = 4000,
      .help = "file with the secret that permits extend and revoke; \"\" = nobody may" },
    { K(task_tokens), .type = CFG_STR, .def = "", .max = 4000,
      .help = "file with the SHA-256 of the tokens of servers that may submit, take and read "
              "tasks, read again at HUP; \"\" = no tasks here" },
    { K(listen_tasks), .type = CFG_STR, .def = "", .max = 100,
      .help = "a second address, for servers: where it is set, tasks are submitted, taken and "
              "settled there alone; \"\" = at listen" },
    { K(compat), .type = CFG_ENUM, .def = "off", .words = compat_words,
      .help = "classic = submitTask, queryTask, cancelTask of /compat/v1, as other API queues have "
              "them" },
    { K(aws_events), .type = CFG_OBJS, .def = "", .max = AWS_EVENTS_MAX, .reload = true,
      .help = "events of AWS' Virtual Waiting Room, whose clients go on as they are: /assign_queue_num, "
              "/queue_num, /serving_num, /generate_token ...; empty = 404", .sub = aws_event_keys,
      .size = sizeof(struct cfg_aws_event) },
    { K(compat_time), .type = CFG_STR, .def = "rfc3339", .max = 40,
      .help = "times in answers of /compat: rfc3339, unix, or a layout of strftime "
              "(\"%Y-%m-%d %H:%M:%S\", in the zone of TZ); always strings" },
    { K(call_wait), .type = CFG_MS, .def = "30s", .min = 0, .max = 60000,
      .help = "how long /v1/call waits for the target's answer where the request does not say "
              "(Prefer: wait=N); then it is 202" },
    { K(page_dir), .type = CFG_STR, .def = "", .max = 4000,
      .help = "folder of files that replace those of the waiting page, read at the "
              "start; \"\" = none" },
    { K(page_language), .type = CFG_STR, .def = "en", .min = 2, .max = 16,
      .help = "language of the waiting page for browsers that prefer none of its languages" },
    { K(rooms), .type = CFG_STRS, .def = "", .min = 0, .max = 64,
      .help = "queues to which the public page at / links" },
    { K(page_compat), .type = CFG_ENUM, 
      .def = "off", .words = page_compat_words, .reload = true,
      .help = "cloudflare = programs that ask for JSON get the waiting page as that room's JSON" },
    { K(page_https), .type = CFG_ENUM, .def = "auto", .words = https_words,
      .help = "restrict cookies to https; auto = when the browser uses it, as a trusted proxy "
              "says or, without its word, this port sees" },
    { K(max_pipelined), .type = CFG_INT, .def = "64", .min = 1, .max = 10000,
      .help = "requests of one connection in progress at the same time" },
    { K(head_timeout), .type = CFG_MS, .def = "10s", .min = 10, .max = 600000,
      .help = "longest time from the first byte of a request to the end of its head" },
    { K(body_timeout), .type = CFG_MS, .def = "10s", .min = 10, .max = 600000,
      .help = "longest time for a request's body, and for a client to read its answers" },
    { K(idle_timeout), .type = CFG_MS, .def = "75s", .min = 10, .max = 86400000,
      .help = "time after which a connection without a request is closed" },
    { K(request_timeout), .type = CFG_MS, .def = "2s", .min = 50, .max = 60000,
      .help = "time after which a request without an answer from the cluster gets 503" },
    { K(replica_fresh), .type = CFG_MS, .def = "250ms", .min = 0, .max = 1000,
      .help = "answer polls of waiting tickets from what segment nodes have pushed, if it is no "
              "older, the way there and back aside; 0 = ask the node always" },
    { K(replica_keep), .type = CFG_MS, .def = "15s", .min = 0, .max = REPLICA_KEEP_MS,
      .help = "answer them for so long after the node has said anything, while it is down; 0 = "
              "503 at once" },
    { K(coalesce_us), .type = CFG_INT, .def = "0", .min = 0, .max = 10000,
      .help = "has no effect any more, and goes with the next release: take it out" },
    { K(heartbeat), .type = CFG_MS, .def = "1s", .min = 50, .max = 60000,
      .help = "interval of heartbeats on internal links; a peer silent for three of them "
              "is gone" },
    CFG_LOG_KEYS(struct router_cfg),
    { .key = NULL },
};

static int check_refill(const char *name, double per_s, int64_t burst, struct err *e)
{
    if (per_s > 0 && (double)burst / per_s > LIMIT_MAX_REFILL_S)
        return err_set(e, SQ_EINVAL,
                       "%s_burst is more than %s_limit_per_s refills in an hour", name,
                       name);
    return 0;
}

static int check_claim_key(const struct cfg_claim_key *k, struct err *e)
{
    struct claim_key unused;

    if (k->alg == CLAIM_HS256 && (k->secret_file[0] == '\0' || k->public_key[0] != '\0'))
        return err_set(e, SQ_EINVAL, "claim_keys: HS256 key \"%s\" needs secret_file, "
                                     "and no public_key", k->kid);
    if (k->alg == CLAIM_EDDSA && (k->public_key[0] == '\0' || k->secret_file[0] != '\0'))
        return err_set(e, SQ_EINVAL, "claim_keys: EdDSA key \"%s\" needs public_key, and "
                                     "no secret_file", k->kid);
    if (k->alg == CLAIM_EDDSA && claim_public_key(&unused, k->public_key) < 0)
        return err_set(e, SQ_EINVAL, "claim_keys: public_key of \"%s\" is not an Ed25519 "
                                     "key in base64", k->kid);
    return 0;
}

static int check_claim_keys(const struct cfg_list *keys, struct err *e)
{
    const struct cfg_claim_key *k = keys->v;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < keys->n; i++) {
        for (size_t j = 0; rc == 0 && j < i; j++)
            if (strcmp(k[i].kid, k[j].kid) == 0)
                rc = err_set(e, SQ_EINVAL, "claim_keys: kid \"%s\" is listed twice",
                             k[i].kid);
        if (rc == 0)
            rc = check_claim_key(&k[i], e);
    }
    return rc;
}

static bool is_field_name(const char *s)
{
    return s == NULL || text_is_of(s, strlen(s), "-_");
}

static int check_listen_tasks(const struct router_cfg *c, struct err *e)
{
    int rc;

    if (!router_tasks_apart(c))
        return 0;
    if (!cfg_addr_ok(c->listen_tasks))
        return err_set(e, SQ_EINVAL, "listen_tasks: \"%.80s\" is not an address: write host:port",
                       c->listen_tasks);
    if (c->task_tokens[0] == '\0')
        return err_set(e, SQ_EINVAL, "listen_tasks needs task_tokens: there are no tasks here");
    rc = cfg_apart_check("listen_tasks", c->listen_tasks, "listen", c->listen, e);
    return rc < 0 ? rc : cfg_apart_check("listen_tasks", c->listen_tasks, "admin", c->admin, e);
}

static int check_compat(const struct router_cfg *c, struct err *e)
{
    if (c->compat != COMPAT_OFF && c->task_tokens[0] == '\0')
        return err_set(e, SQ_EINVAL, "compat needs task_tokens: there are no tasks here");
    if (strcmp(c->compat_time, "rfc3339") == 0 || strcmp(c->compat_time, "unix") == 0)
        return 0;
    if (strchr(c->compat_time, '%') == NULL || !router_time_fits(c->compat_time))
        return err_set(e, SQ_EINVAL, "compat_time: \"%.40s\" must be rfc3339, unix, or a layout such "
                       "as \"%%Y-%%m-%%d %%H:%%M:%%S\", of 1 to %d bytes on each day of a year",
                       c->compat_time, ROUTER_TIME_LONGEST);
    return 0;
}

static int check_rooms(const struct cfg_list *rooms, struct err *e)
{
    char *const *name = rooms->v;

    for (size_t i = 0; i < rooms->n; i++)
        if (!api_is_name(name[i], strlen(name[i])))
            return err_set(e, SQ_EINVAL, "rooms: \"%.64s\" is not a valid queue name",
                                         name[i]);
    return 0;
}

static int check_group(const struct cfg_group *g, struct err *e)
{
    char *const *queue = g->queues.v;

    if (!api_is_name(g->name, strlen(g->name)))
        return err_set(e, SQ_EINVAL, "groups: \"%.64s\" is not a valid name", g->name);
    if (g->queues.n < 2)
        return err_set(e, SQ_EINVAL, "groups: \"%s\" needs 2 to %d queues", g->name, PLACES_MAX);
    for (size_t i = 0; i < g->queues.n; i++) {
        if (!api_is_name(queue[i], strlen(queue[i])))
            return err_set(e, SQ_EINVAL, "groups: \"%.64s\" in \"%s\" is not a valid queue name", queue[i], g->name);
        for (size_t k = 0; k < i; k++)
            if (strcmp(queue[k], queue[i]) == 0)
                return err_set(e, SQ_EINVAL, "groups: \"%s\" has queue \"%s\" twice", g->name, queue[i]);
    }
    return 0;
}

static int check_groups(const struct cfg_list *groups, struct err *e)
{
    const struct cfg_group *g = groups->v;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < groups->n; i++) {
        rc = check_group(&g[i], e);
        for (size_t k = 0; rc == 0 && k < i; k++)
            if (strcmp(g[k].name, g[i].name) == 0)
                rc = err_set(e, SQ_EINVAL, "groups: \"%s\" is there twice", g[i].name);
    }
    return rc;
}

/* fresh: replica_fresh. */
static int check_aws_events(const struct cfg_list *events, int64_t fresh, struct err *e)
{
    const struct cfg_aws_event *v = events->v;

    for (size_t i = 0; i < events->n; i++) {
        if (cfg_node_check(v[i].event_id, NULL) < 0)
            return err_set(e, SQ_EINVAL, "aws_events: event_id \"%.64s\" must have letters, digits, . _ - alone",
                           v[i].event_id);
        if (!api_is_name(v[i].queue, strlen(v[i].queue)))
            return err_set(e, SQ_EINVAL, "aws_events: \"%.64s\" of \"%s\" is not a valid queue name", v[i].queue,
                           v[i].event_id);
        for (size_t k = 0; k < i; k++)
            if (strcmp(v[k].event_id, v[i].event_id) == 0)
                return err_set(e, SQ_EINVAL, "aws_events: event_id \"%s\" is there twice", v[i].event_id);
            else if (strcmp(v[k].queue, v[i].queue) == 0)
                return err_set(e, SQ_EINVAL, "aws_events: queue \"%s\" is there twice", v[i].queue);
    }
    if (events->n > 0 && fresh == 0)
        return err_set(e, SQ_EINVAL, "aws_events: the number that is served comes from what segment nodes push: "
                       "replica_fresh must not be 0");
    return 0;
}

int router_cfg_check(const void *cfg, struct err *e)
{
    const struct router_cfg *c = cfg;
    char **origin = c->allow_origins.v;
    int rc = cfg_node_check(c->node, e)
          ?: cfg_apart_check("admin", c->admin, "listen", c->listen, e)
          ?: check_listen_tasks(c, e)
          ?: check_compat(c, e)
          ?: cfg_dials_check("managers", &c->managers, e)
          ?: cfg_tls_check(&c->tls, e)
          ?: cfg_admin_tls_check(&c->admin_tls, e)
          ?: check_refill("join", c->join_limit_per_s, c->join_burst, e)
          ?: check_refill("poll", c->poll_limit_per_s, c->poll_burst, e)
          ?: check_refill("bad", c->bad_limit_per_s, c->bad_burst, e)
          ?: check_claim_keys(&c->claim_keys, e)
          ?: check_rooms(&c->rooms, e)
          ?: check_groups(&c->groups, e)
          ?: check_aws_events(&c->aws_events, c->replica_fresh, e);

    if (rc == 0 && !is_field_name(c->gate_subject_header))
        rc = err_set(e, SQ_EINVAL, "gate_subject_header: \"%.64s\" is not a valid header "
                                   "name",
                     c->gate_subject_header);
    if (rc == 0 && !is_field_name(c->gate_country_header))
        rc = err_set(e, SQ_EINVAL, "gate_country_header: \"%.64s\" is not a valid header name",
                     c->gate_country_header);
    if (rc == 0)
        rc = gate_rules_check(c->gate_rules.v, c->gate_rules.n, c->gate_country_header, e);
    if (rc == 0 && c->gate_rules.n > 0 && c->trusted_proxies.n == 0)
        rc = err_set(e, SQ_EINVAL, "gate_rules need trusted_proxies: what others say of a request is not looked at");
    if (rc == 0)
        rc = cfg_nets_check("trusted_proxies", &c->trusted_proxies, e);
    for (size_t i = 0; rc == 0 && i < c->allow_origins.n; i++)
        if (!cors_is_origin(origin[i]))
            rc = err_set(e, SQ_EINVAL,
                         "allow_origins: \"%.60s\" is not an origin: write "
                         "\"https://name\" or \"http://name:port\" in lower case, "
                         "without a path, or \"*\"",
                         origin[i]);
    return rc;
}

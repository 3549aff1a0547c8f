/* opts.c: one table of options. */
#include "tests/bench/swarm/opts.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/numbers.h"

static const char usage[] =
    "swarm: N simulated players against a segq cluster\n"
    "  --router URL           repeat for more; players share connections to all of them\n"
    "  --queue NAME           (login)\n"
    "  --players N            (1000)\n"
    "  --arrive-s S           Poisson arrivals, on average over S seconds (10)\n"
    "  --burst                all at once\n"
    "  --classes G:M:B        weights of game, mobile, browser (1:1:1)\n"
    "  --leave-share X        of players that leave the line (0)\n"
    "  --vanish-share X       of players that are never heard of again (0)\n"
    "  --late-share X         of players that stay away for a while (0)\n"
    "  --late-s S             how long these stay away (20)\n"
    "  --retry X              share of players with a subject that join twice (0)\n"
    "  --reconnect X          share of answers after which the connection is closed (0)\n"
    "  --repeat X             share of admitted ones that ask again (0.05)\n"
    "  --session-s S          admitted players end their session after about S seconds\n"
    "  --stray-s S            excused from the order if served S seconds late (5)\n"
    "  --conns N              connections, shared by all (256)\n"
    "  --short                a new connection per request\n"
    "  --timeout-s S          for an answer (10)\n"
    "  --max-s S              bounded time (60)\n"
    "  --until-admitted       exit 3 if somebody still waits at the end\n"
    "  --wait-only            go on until --max-s\n"
    "  --admin URL            queuemng's admin port, for the allowed rate\n"
    "  --admin-token T | --admin-token-file F\n"
    "  --json FILE            the report as JSON, too (- is standard output)\n"
    "  --seed N               (1)\n"
    "  --quiet                no progress line\n"
    "Exit 0: no violation; 1: violations; 2: usage; 3: not all served in time.\n";

enum {
    O_ROUTER = 256, O_QUEUE, O_PLAYERS, O_ARRIVE, O_BURST, O_CLASSES, O_LEAVE, O_VANISH,
    O_LATE, O_LATE_S, O_RETRY, O_RECONNECT, O_REPEAT, O_SESSION, O_STRAY, O_CONNS, O_SHORT,
    O_TIMEOUT, O_MAX, O_UNTIL, O_WAIT, O_ADMIN, O_TOKEN, O_TOKEN_FILE, O_JSON, O_SEED,
    O_QUIET, O_HELP
};

static const struct option table[] = {
    { "router", 1, NULL, O_ROUTER },       { "queue", 1, NULL, O_QUEUE },
    { "players", 1, NULL, O_PLAYERS },     { "arrive-s", 1, NULL, O_ARRIVE },
    { "burst", 0, NULL, O_BURST },         { "classes", 1, NULL, O_CLASSES },
    { "leave-share", 1, NULL, O_LEAVE },   { "vanish-share", 1, NULL, O_VANISH },
    { "late-share", 1, NULL, O_LATE },     { "late-s", 1, NULL, O_LATE_S },
    { "retry", 1, NULL, O_RETRY },         { "reconnect", 1, NULL, O_RECONNECT },
    { "repeat", 1, NULL, O_REPEAT },       { "session-s", 1, NULL, O_SESSION },
    { "stray-s", 1, NULL, O_STRAY },       { "conns", 1, NULL, O_CONNS },
    { "short", 0, NULL, O_SHORT },         { "timeout-s", 1, NULL, O_TIMEOUT },
    { "max-s", 1, NULL, O_MAX },           { "until-admitted", 0, NULL, O_UNTIL },
    { "wait-only", 0, NULL, O_WAIT },      { "admin", 1, NULL, O_ADMIN },
    { "admin-token", 1, NULL, O_TOKEN },   { "admin-token-file", 1, NULL, O_TOKEN_FILE },
    { "json", 1, NULL, O_JSON },           { "seed", 1, NULL, O_SEED },
    { "quiet", 0, NULL, O_QUIET },         { "help", 0, NULL, O_HELP },
    { NULL, 0, NULL, 0 },
};

/* "http://host:port/" -> "host:port" */
static bool address(char *url, const char **host, struct net_addr *a)
{
    struct err e;

    if (strncmp(url, "http://", 7) == 0)
        url += 7;
    url[strcspn(url, "/")] = '\0';
    if (net_resolve(a, url, &e) < 0) {
        fprintf(stderr, "swarm: %s\n", e.text);
        return false;
    }
    *host = url;
    return true;
}

static bool classes(const char *s, unsigned w[CLIENT_NCLASSES])
{
    return sscanf(s, "%u:%u:%u", &w[CLIENT_GAME], &w[CLIENT_MOBILE], &w[CLIENT_BROWSER]) == 3 &&
           (uint64_t)w[0] + w[1] + w[2] > 0 && (uint64_t)w[0] + w[1] + w[2] < 1000000;
}

static bool token_file(struct opts *o, const char *path)
{
    FILE *f = fopen(path, "re");
    bool ok = f != NULL && fgets(o->admin_token, sizeof(o->admin_token), f) != NULL;

    if (f != NULL)
        fclose(f);
    o->admin_token[strcspn(o->admin_token, "\r\n")] = '\0';
    return ok;
}

static bool set_text(struct opts *o, int which, char *arg)
{
    switch (which) {
    case O_ROUTER:
        if (o->n_routers == OPTS_ROUTERS_MAX ||
            !address(arg, &o->router[o->n_routers], &o->router_addr[o->n_routers]))
            return false;
        o->n_routers++;
        return true;
    case O_ADMIN:
        return address(arg, &o->admin, &o->admin_addr);
    case O_TOKEN:
        return (size_t)snprintf(o->admin_token, sizeof(o->admin_token), "%s", arg) <
               sizeof(o->admin_token);
    case O_TOKEN_FILE:
        return token_file(o, arg);
    case O_QUEUE:
        o->queue = arg;
        return arg[0] != '\0' && strlen(arg) <= NAME_MAX_LEN &&
               strspn(arg, "abcdefghijklmnopqrstuvwxyz0123456789_-") == strlen(arg);
    case O_CLASSES:
        return classes(arg, o->weight);
    default: /* O_JSON */
        o->json_file = arg;
        return true;
    }
}

static bool set_number(struct opts *o, int which, const char *arg)
{
    double v;

    switch (which) {
    case O_PLAYERS:
        return whole(arg, 20000000, &o->players);
    case O_CONNS:
        return whole(arg, 1000000, &o->conns);
    case O_SEED:
        return number(arg, 0, 1e15, &v) && ((o->seed = (uint64_t)v), true);
    case O_ARRIVE:
        return number(arg, 0, 1e6, &o->arrive_s);
    case O_MAX:
        return number(arg, 0.1, 1e7, &o->max_s);
    case O_LATE_S:
        return number(arg, 0, 1e6, &o->late_s);
    case O_SESSION:
        return number(arg, 0, 1e6, &o->session_s);
    case O_STRAY:
        return number(arg, 0, 1e6, &o->stray_s);
    case O_TIMEOUT:
        return number(arg, 0.1, 1e4, &o->timeout_s);
    case O_LEAVE:
        return number(arg, 0, 1, &o->leave_share);
    case O_VANISH:
        return number(arg, 0, 1, &o->vanish_share);
    case O_LATE:
        return number(arg, 0, 1, &o->late_share);
    case O_RETRY:
        return number(arg, 0, 1, &o->retry_share);
    case O_RECONNECT:
        return number(arg, 0, 1, &o->reconnect_share);
    default: /* O_REPEAT */
        return number(arg, 0, 1, &o->repeat_share);
    }
}

static bool set_one(struct opts *o, int which, char *arg)
{
    switch (which) {
    case O_BURST:
        o->arrive_s = 0;
        return true;
    case O_SHORT:
        return o->short_conns = true;
    case O_UNTIL:
        return o->until_admitted = true;
    case O_WAIT:
        return o->wait_only = true;
    case O_QUIET:
        return o->quiet = true;
    case O_ROUTER:
    case O_ADMIN:
    case O_TOKEN:
    case O_TOKEN_FILE:
    case O_QUEUE:
    case O_CLASSES:
    case O_JSON:
        return set_text(o, which, arg);
    default:
        return set_number(o, which, arg);
    }
}

int opts_parse(struct opts *o, int argc, char **argv)
{
    int c;

    *o = (struct opts){ .queue = "login", .players = 1000, .arrive_s = 10, .max_s = 60,
                        .weight = { 1, 1, 1 }, .repeat_share = 0.05, .stray_s = 5,
                        .late_s = 20, .timeout_s = 10, .conns = 256, .seed = 1 };
    while ((c = getopt_long(argc, argv, "", table, NULL)) != -1) {
        if (c == O_HELP) {
            fputs(usage, stdout);
            return 0;
        }
        if (c == '?' || !set_one(o, c, optarg)) {
            if (c != '?')
                fprintf(stderr, "swarm: bad value %s\n", optarg);
            return 2;
        }
    }
    if (optind != argc || o->n_routers == 0) {
        fputs(usage, stderr);
        return 2;
    }
    return -1;
}

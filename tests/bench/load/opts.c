/* opts.c: one table of options. */
#include "tests/bench/load/opts.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/numbers.h"

static const char usage[] =
    "load: HTTP requests over many connections, one thread; one line of JSON at the end\n"
    "  --port P               of the server\n"
    "  --host H               (127.0.0.1)\n"
    "  --tokens FILE          GET /v1/tickets/{random line of FILE}\n"
    "  --path PATH            GET PATH\n"
    "  --join QUEUE           POST /v1/queues/QUEUE/tickets; one of these three\n"
    "  --conns N              connections (64)\n"
    "  --seconds S            counted time (2)\n"
    "  --warmup S             before it, not counted (0.2)\n"
    "  --rate R               open loop: R requests a second over all connections,\n"
    "                         planned beforehand; latency counts from the planned time.\n"
    "                         Without it each connection asks again when answered\n"
    "  --close                a new connection per request\n"
    "  --browser              with a browser's headers: about 680 bytes a request\n"
    "  --header \"NAME: VALUE\" with this field\n"
    "  --timeout S            for an answer (5)\n"
    "  --seed N               of the choice of tokens (1)\n"
    "  --until-stdin-closes   instead of --seconds; a line of JSON per interval, with\n"
    "                         hist_us, its latencies as [at most, how many]\n"
    "  --interval S           of those lines (1)\n"
    "  --idle N               no load: opens N connections, asks once on each, prints\n"
    "                         {\"idle\":N} when all have answered, holds them until\n"
    "                         standard input closes, prints {\"open\":n}: still there\n"
    "The report: requests, ok (2xx), errors by status or kind (connect, closed, timeout,\n"
    "protocol), unanswered (open loop: planned, but not answered a second after the end;\n"
    "in the latencies with what they had waited by then), per_s (2xx that came in the\n"
    "counted time), lat_us, answers (all of them, warm-up included: what the server's CPU\n"
    "was spent on), own_cpu_us per answer.\n"
    "Exit 0: it ran; 1: it could not connect; 2: usage.\n";

enum {
    O_PORT = 256, O_HOST, O_TOKENS, O_PATH, O_JOIN, O_CONNS, O_SECONDS, O_WARMUP, O_RATE,
    O_CLOSE, O_BROWSER, O_TIMEOUT, O_SEED, O_UNTIL, O_INTERVAL, O_IDLE, O_HEADER,
    O_HELP
};

static const struct option table[] = {
    { "port", 1, NULL, O_PORT },         { "host", 1, NULL, O_HOST },
    { "tokens", 1, NULL, O_TOKENS },     { "path", 1, NULL, O_PATH },
    { "join", 1, NULL, O_JOIN },         { "conns", 1, NULL, O_CONNS },
    { "seconds", 1, NULL, O_SECONDS },   { "warmup", 1, NULL, O_WARMUP },
    { "rate", 1, NULL, O_RATE },         { "close", 0, NULL, O_CLOSE },
    { "browser", 0, NULL, O_BROWSER },   { "timeout", 1, NULL, O_TIMEOUT },
    { "seed", 1, NULL, O_SEED },         { "until-stdin-closes", 0, NULL, O_UNTIL },
    { "interval", 1, NULL, O_INTERVAL }, { "idle", 1, NULL, O_IDLE },
    { "header", 1, NULL, O_HEADER },     { "help", 0, NULL, O_HELP },
    { NULL, 0, NULL, 0 },
};

/* What goes into a request must not end its line, and into the first one no part of it:
 * characters from `least` on. */
static bool text(const char *s, char least, const char **out)
{
    *out = s;
    for (; *s != '\0'; s++)
        if (*s < least || *s > '~')
            return false;
    return s != *out && s - *out <= 1024;
}

static bool set_number(struct opts *o, int which, const char *arg)
{
    double v;

    switch (which) {
    case O_PORT:
        return whole(arg, 65535, &o->port);
    case O_CONNS:
        return whole(arg, 100000, &o->conns);
    case O_IDLE:
        return whole(arg, 1000000, &o->idle);
    case O_SEED:
        return number(arg, 0, 1e15, &v) && ((o->seed = (uint64_t)v), true);
    case O_SECONDS:
        return number(arg, 0.01, 1e6, &o->seconds);
    case O_WARMUP:
        return number(arg, 0, 1e4, &o->warmup_s);
    case O_RATE:
        return number(arg, 0.1, 1e7, &o->rate_per_s);
    case O_TIMEOUT:
        return number(arg, 0.1, 1e4, &o->timeout_s);
    default: /* O_INTERVAL */
        return number(arg, 0.05, 1e4, &o->interval_s);
    }
}

static bool set_one(struct opts *o, int which, const char *arg)
{
    switch (which) {
    case O_CLOSE:
        return o->close = true;
    case O_BROWSER:
        return o->browser = true;
    case O_UNTIL:
        return o->until_stdin_closes = true;
    case O_HOST:
        return text(arg, '!', &o->host);
    case O_TOKENS:
        o->tokens = arg;
        return true;
    case O_PATH:
        return text(arg, '!', &o->path) && arg[0] == '/';
    case O_JOIN:
        return text(arg, '!', &o->join);
    case O_HEADER:
        return text(arg, ' ', &o->header) && strchr(arg, ':') != NULL;
    default:
        return set_number(o, which, arg);
    }
}

/* Options that do not go together, and the address. */
static bool complete(struct opts *o)
{
    int what = (o->tokens != NULL) + (o->path != NULL) + (o->join != NULL);
    char at[300];
    struct err e;

    if (o->port == 0 || what != 1) {
        fputs("load: needs --port and one of --tokens, --path, --join (--help)\n", stderr);
        return false;
    }
    snprintf(at, sizeof(at), strchr(o->host, ':') != NULL ? "[%.256s]:%u" : "%.256s:%u",
             o->host, o->port);
    if (net_resolve(&o->addr, at, &e) < 0) {
        fprintf(stderr, "load: %s\n", e.text);
        return false;
    }
    return true;
}

int opts_parse(struct opts *o, int argc, char **argv)
{
    int c;

    *o = (struct opts){ .host = "127.0.0.1", .conns = 64, .seconds = 2, .warmup_s = 0.2,
                        .interval_s = 1, .timeout_s = 5, .seed = 1 };
    while ((c = getopt_long(argc, argv, "", table, NULL)) != -1) {
        if (c == O_HELP) {
            fputs(usage, stdout);
            return 0;
        }
        if (c == '?' || !set_one(o, c, optarg)) {
            if (c != '?')
                fprintf(stderr, "load: bad value %s\n", optarg);
            return 2;
        }
    }
    if (optind != argc) {
        fprintf(stderr, "load: what is %s? (--help)\n", argv[optind]);
        return 2;
    }
    return complete(o) ? -1 : 2;
}

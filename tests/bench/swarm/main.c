/* main.c: swarm: N players against a segq cluster, and whether it kept its promises. */
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/net/ev.h"
#include "tests/bench/swarm/now.h"
#include "tests/bench/swarm/opts.h"
#include "tests/bench/swarm/play.h"
#include "tests/bench/swarm/rate.h"
#include "tests/bench/swarm/report.h"

#define PROGRESS_US      1000000
#define PROGRESS_FILE_S  5 /* a line per that many seconds if nobody is looking */

struct swarm {
    struct opts o;
    struct ev *ev;
    struct play play;
    struct rate *rate;
    struct ev_timer *timer;
    uint64_t last_joins, last_polls;
    unsigned seconds;
};

static void progress(struct swarm *s, bool tty)
{
    const struct tally *t = &s->play.t;
    const uint64_t *in = s->play.players.in_state;

    fprintf(stderr,
            "%s%4us joined %llu waiting %llu admitted %llu gone %llu | joins/s %llu polls/s %llu"
            " | poll p99 %.1f ms | 503 %llu 429 %llu no answer %llu queued %zu | bad %llu%s",
            tty ? "\r\033[K" : "", s->seconds, (unsigned long long)t->joins,
            (unsigned long long)in[PLAYER_WAITING], (unsigned long long)in[PLAYER_ADMITTED],
            (unsigned long long)(in[PLAYER_GONE] + in[PLAYER_LEFT] + in[PLAYER_VANISHED]),
            (unsigned long long)(t->joins - s->last_joins),
            (unsigned long long)(t->polls - s->last_polls),
            (double)lat_at(&t->poll_lat.corrected, 0.99) / 1000,
            (unsigned long long)t->status[503], (unsigned long long)t->status[429],
            (unsigned long long)t->fails, conns_waiting(s->play.conns),
            (unsigned long long)(t->grew + t->double_pass + t->moved_token + t->lost),
            tty ? "" : "\n");
}

static void on_second(void *arg)
{
    struct swarm *s = arg;
    bool tty = isatty(STDERR_FILENO);
    double so_far = (double)(now_us() - s->play.start_us) / 1e6;

    s->seconds++;
    if (!s->o.quiet && (tty || s->seconds % PROGRESS_FILE_S == 0))
        progress(s, tty);
    s->last_joins = s->play.t.joins;
    s->last_polls = s->play.t.polls;
    if (so_far >= s->o.max_s || (!s->o.wait_only && play_done(&s->play)))
        ev_stop(s->ev);
    ev_timer_in_us(s->timer, PROGRESS_US);
}

static void on_signal(void *arg)
{
    ev_stop(((struct swarm *)arg)->ev);
}

/* A connection is a descriptor; take what we may have. */
static void raise_limits(void)
{
    struct rlimit lim;

    if (getrlimit(RLIMIT_NOFILE, &lim) == 0) {
        lim.rlim_cur = lim.rlim_max;
        (void)!setrlimit(RLIMIT_NOFILE, &lim);
    }
}

static int write_json(const char *file, const struct buf *b)
{
    FILE *f = strcmp(file, "-") == 0 ? stdout : fopen(file, "we");
    bool ok;

    if (f == NULL) {
        perror(file);
        return -1;
    }
    ok = fwrite(b->data, 1, b->len, f) == b->len;
    ok = (f == stdout ? fflush(f) : fclose(f)) == 0 && ok;
    if (!ok)
        perror(file);
    return ok ? 0 : -1;
}

static int finish(struct swarm *s)
{
    double seconds = (double)(now_us() - s->play.start_us) / 1e6;
    struct report r;
    struct buf b;
    struct err e;
    int rc;

    if (report_make(&r, &s->play, seconds, &e) < 0) {
        fprintf(stderr, "swarm: %s\n", e.text);
        return 1;
    }
    buf_init(&b);
    report_text(&b, &r, &s->play, rate_view(s->rate));
    fwrite(b.data, 1, b.len, s->o.json_file != NULL && strcmp(s->o.json_file, "-") == 0
                                 ? stderr : stdout);
    rc = report_clean(&r) ? 0 : 1;
    if (rc == 0 && s->o.until_admitted && !r.complete)
        rc = 3;
    if (s->o.json_file != NULL) {
        buf_reset(&b);
        report_json(&b, &r, &s->play, rate_view(s->rate));
        if ((b.failed || write_json(s->o.json_file, &b) < 0) && rc == 0)
            rc = 1;
    }
    buf_fini(&b);
    return rc;
}

static int start(struct swarm *s, struct err *e)
{
    int rc = ev_new(&s->ev, e);

    if (rc < 0 || (rc = rate_new(&s->rate, s->ev, &s->o, e)) < 0 ||
        (rc = play_init(&s->play, s->ev, &s->o, e)) < 0)
        return rc;
    s->timer = ev_timer_new(s->ev, on_second, s);
    if (s->timer == NULL || ev_signal(s->ev, SIGINT, on_signal, s) < 0 ||
        ev_signal(s->ev, SIGTERM, on_signal, s) < 0)
        return err_set(e, SQ_ENOMEM, "no memory");
    ev_timer_in_us(s->timer, PROGRESS_US);
    return 0;
}

int main(int argc, char **argv)
{
    static struct swarm s; /* zeroed, and large */
    struct err e = { .code = 0 };
    int rc = opts_parse(&s.o, argc, argv);

    if (rc >= 0)
        return rc;
    signal(SIGPIPE, SIG_IGN);
    raise_limits();
    if (sodium_init() < 0 || start(&s, &e) < 0) {
        fprintf(stderr, "swarm: cannot start: %s\n", e.text);
        return 1;
    }
    ev_run(s.ev);
    if (!s.o.quiet && isatty(STDERR_FILENO))
        fputc('\n', stderr);
    rc = finish(&s);
    ev_timer_free(s.timer);
    play_fini(&s.play);
    rate_free(s.rate);
    ev_free(s.ev);
    return rc;
}

/* report.c: judges the run, then says the same thing twice. */
#include "tests/bench/swarm/report.h"

#include <stdlib.h>

int report_make(struct report *r, const struct play *p, double seconds, struct err *e)
{
    struct check_rec *rec = calloc(p->players.n, sizeof(*rec));
    uint64_t *h = calloc(p->players.n, sizeof(*h));
    size_t n;

    *r = (struct report){ .seconds = seconds };
    if (rec == NULL || h == NULL) {
        free(rec);
        free(h);
        return err_set(e, SQ_ENOMEM, "no memory for the report");
    }
    n = players_admitted(&p->players, rec);
    r->example = check_order(rec, n); /* sorts by release */
    r->admitted = n;
    r->order = r->example.violations;
    r->grew = p->t.grew;
    r->lost = p->t.lost;
    r->doubled = p->t.double_pass + p->t.moved_token + players_same_token(&p->players, h);
    r->doubled += players_same_pass(&p->players, h);
    r->peak_1s = check_peak(rec, n, 1000);
    r->steady = check_steady(rec, n);
    if (n != 0)
        r->released_s = (double)(rec[n - 1].released_ms - rec[0].released_ms) / 1000;
    r->complete = play_done(p);
    free(rec);
    free(h);
    return 0;
}

bool report_clean(const struct report *r)
{
    return r->order == 0 && r->grew == 0 && r->doubled == 0 && r->lost == 0;
}

static double span_s(int64_t from_us, int64_t to_us)
{
    return to_us > from_us ? (double)(to_us - from_us) / 1e6 : 0;
}

static double per_s(uint64_t n, double s)
{
    return s > 0 ? (double)n / s : 0;
}

static double ms(const struct lat *l, double q)
{
    return (double)lat_at(l, q) / 1000;
}

static void lat_text(struct buf *b, const char *name, const struct lat_pair *p)
{
    const struct lat *c = &p->corrected;

    buf_printf(b,
               "  %-11s p50 %.2f ms, p99 %.2f ms, p99.9 %.2f ms, max %.0f ms from the planned"
               " time (from sending: %.2f, %.2f, %.2f)\n",
               name, ms(c, 0.5), ms(c, 0.99), ms(c, 0.999), ms(c, 1), ms(&p->raw, 0.5),
               ms(&p->raw, 0.99), ms(&p->raw, 0.999));
}

static void violations_text(struct buf *b, const struct report *r, const struct tally *t)
{
    buf_printf(b,
               "order violations %llu, positions that grew %llu, double admissions %llu,"
               " lost tickets %llu\n",
               (unsigned long long)r->order, (unsigned long long)r->grew,
               (unsigned long long)r->doubled, (unsigned long long)r->lost);
    if (r->order != 0)
        buf_printf(b, "  order: player %u was released before player %u\n", r->example.early,
                   r->example.late);
    for (unsigned i = 0; i < ARRAY_LEN(t->example); i++)
        if (t->example[i][0] != '\0')
            buf_printf(b, "  %s: %s\n",
                       (const char *const[]){ "grew", "double", "lost", "not documented" }[i],
                       t->example[i]);
}

static void people_text(struct buf *b, const struct report *r, const struct play *p)
{
    const uint64_t *in = p->players.in_state;
    const struct tally *t = &p->t;

    buf_printf(b, "\n%u players, %u routers, %u %s connections, %.1f s\n", p->o->players,
               p->o->n_routers, p->o->conns, p->o->short_conns ? "short" : "keep-alive",
               r->seconds);
    buf_printf(b, "  people      joined %llu, waiting at most %llu, let in %llu, still waiting"
                  " %llu\n",
               (unsigned long long)t->joins, (unsigned long long)p->players.most_waiting,
               (unsigned long long)r->admitted,
               (unsigned long long)(in[PLAYER_WAITING] + in[PLAYER_JOINING]));
    buf_printf(b, "              place lost %llu, left %llu, vanished %llu, refused %llu\n",
               (unsigned long long)in[PLAYER_GONE], (unsigned long long)in[PLAYER_LEFT],
               (unsigned long long)in[PLAYER_VANISHED],
               (unsigned long long)in[PLAYER_REFUSED]);
}

static void answers_text(struct buf *b, const struct report *r, const struct tally *t)
{
    buf_printf(b, "  answers     %.0f joins/s, %.0f polls/s; too fast (429) %llu, not now (503)"
                  " %llu, none %llu, not documented %llu\n",
               per_s(t->joins, span_s(t->first_join_us, t->last_join_us)),
               per_s(t->polls, r->seconds), (unsigned long long)t->status[429],
               (unsigned long long)t->status[503], (unsigned long long)t->fails,
               (unsigned long long)t->odd);
    buf_printf(b, "              positions not known for a moment %llu, players who were"
                  " answered very late %llu\n",
               (unsigned long long)t->null_positions, (unsigned long long)t->strayed);
    lat_text(b, "joins", &t->join_lat);
    lat_text(b, "polls", &t->poll_lat);
}

static void releases_text(struct buf *b, const struct report *r, const struct tally *t,
                          const struct rate_view *v)
{
    buf_printf(b, "  releases    %.1f/s, best second %llu", per_s(r->admitted, r->released_s),
               (unsigned long long)r->peak_1s);
    if (v->known)
        buf_printf(b, "; allowed %.1f/s on average, at most %.1f (by %s)",
                   v->seconds > 0 ? v->allowed / v->seconds : v->per_s, v->max_per_s,
                   v->source);
    else
        buf_str(b, "; allowed: not known");
    if (v->granted >= 0)
        buf_printf(b, ", %lld in all", (long long)v->granted);
    buf_byte(b, '\n');
    if (t->notice.n != 0)
        buf_printf(b, "  told of it  after %.0f ms (half of them), %.0f ms (99 %%), %.0f ms"
                      " (the last); at most %.2f poll intervals\n",
                   ms(&t->notice, 0.5), ms(&t->notice, 0.99), ms(&t->notice, 1),
                   ms(&t->notice_told, 1));
}

void report_text(struct buf *b, const struct report *r, const struct play *p,
                 const struct rate_view *v)
{
    people_text(b, r, p);
    answers_text(b, r, &p->t);
    releases_text(b, r, &p->t, v);
    violations_text(b, r, &p->t);
}

static void lat_json(struct buf *b, const char *name, const struct lat *l)
{
    buf_printf(b,
               "\"%s\":{\"n\":%llu,\"mean_us\":%.1f,\"p50_us\":%llu,\"p90_us\":%llu,"
               "\"p99_us\":%llu,\"p999_us\":%llu,\"max_us\":%llu}",
               name, (unsigned long long)l->n, lat_mean(l), (unsigned long long)lat_at(l, 0.5),
               (unsigned long long)lat_at(l, 0.9), (unsigned long long)lat_at(l, 0.99),
               (unsigned long long)lat_at(l, 0.999), (unsigned long long)lat_at(l, 1));
}

static void states_json(struct buf *b, const struct play *p)
{
    for (unsigned i = 0; i < PLAYER_NSTATES; i++)
        buf_printf(b, "%s\"%s\":%llu", i == 0 ? "" : ",",
                   player_state_name((enum player_state)i),
                   (unsigned long long)p->players.in_state[i]);
}

static void status_json(struct buf *b, const struct tally *t)
{
    bool first = true;

    for (unsigned i = 0; i < STATUS_MAX; i++)
        if (t->status[i] != 0) {
            buf_printf(b, "%s\"%u\":%llu", first ? "" : ",", i,
                       (unsigned long long)t->status[i]);
            first = false;
        }
}

static void releases_json(struct buf *b, const struct report *r, const struct tally *t)
{
    buf_printf(b,
               "\"releases\":{\"moments\":%llu,\"steady\":%llu,\"steady_ms\":%lld},",
               (unsigned long long)r->steady.moments, (unsigned long long)r->steady.released,
               (long long)r->steady.span_ms);
    lat_json(b, "wait", &t->wait);
    buf_byte(b, ',');
    lat_json(b, "notice", &t->notice);
    buf_printf(b, ",\"notice_of_told\":{\"p50\":%.3f,\"p99\":%.3f,\"max\":%.3f},",
               ms(&t->notice_told, 0.5), ms(&t->notice_told, 0.99), ms(&t->notice_told, 1));
}

static void conns_json(struct buf *b, const struct conns_counts *c)
{
    buf_printf(b,
               "\"connections\":{\"opened\":%llu,\"refused\":%llu,\"broken\":%llu,"
               "\"timeouts\":%llu,\"closed_while_kept\":%llu}",
               (unsigned long long)c->opened, (unsigned long long)c->refused,
               (unsigned long long)c->broken, (unsigned long long)c->timeouts,
               (unsigned long long)c->reused_closed);
}

void report_json(struct buf *b, const struct report *r, const struct play *p,
                 const struct rate_view *v)
{
    const struct tally *t = &p->t;

    buf_printf(b,
               "{\"players\":%u,\"routers\":%u,\"conns\":%u,\"short\":%s,\"seed\":%llu,"
               "\"seconds\":%.3f,\"complete\":%s,",
               p->o->players, p->o->n_routers, p->o->conns,
               p->o->short_conns ? "true" : "false", (unsigned long long)p->o->seed,
               r->seconds, r->complete ? "true" : "false");
    buf_printf(b, "\"joined\":%llu,\"most_waiting\":%llu,\"admitted\":%llu,\"gone\":%llu,"
                  "\"joins\":%llu,\"polls\":%llu,\"leaves\":%llu,\"joins_per_s\":%.1f,\"polls_per_s\":%.1f,"
                  "\"no_answer\":%llu,\"odd\":%llu,\"null_positions\":%llu,"
                  "\"served_late\":%llu,\"states\":{",
               (unsigned long long)t->joins,
               (unsigned long long)p->players.most_waiting, (unsigned long long)r->admitted,
               (unsigned long long)p->players.in_state[PLAYER_GONE],
               (unsigned long long)t->joins, (unsigned long long)t->polls,
               (unsigned long long)t->leaves,
               per_s(t->joins, span_s(t->first_join_us, t->last_join_us)),
               per_s(t->polls, r->seconds), (unsigned long long)t->fails,
               (unsigned long long)t->odd, (unsigned long long)t->null_positions,
               (unsigned long long)t->strayed);
    states_json(b, p);
    buf_str(b, "},\"status\":{");
    status_json(b, t);
    buf_str(b, "},");
    releases_json(b, r, t);
    conns_json(b, conns_counts(p->conns));
    buf_str(b, ",\"latency\":{\"join\":{");
    lat_json(b, "corrected", &t->join_lat.corrected);
    buf_byte(b, ',');
    lat_json(b, "raw", &t->join_lat.raw);
    buf_str(b, "},\"poll\":{");
    lat_json(b, "corrected", &t->poll_lat.corrected);
    buf_byte(b, ',');
    lat_json(b, "raw", &t->poll_lat.raw);
    buf_printf(b,
               "}},\"admissions_per_s\":%.2f,\"admissions_best_second\":%llu,"
               "\"allowed\":{\"known\":%s,\"per_s\":%.2f,\"max_per_s\":%.2f,\"people\":%.1f,"
               "\"seconds\":%.2f,\"granted\":%lld,\"source\":\"%s\"},",
               per_s(r->admitted, r->released_s), (unsigned long long)r->peak_1s,
               v->known ? "true" : "false", v->seconds > 0 ? v->allowed / v->seconds : v->per_s,
               v->max_per_s, v->allowed, v->seconds, (long long)v->granted, v->source);
    buf_printf(b,
               "\"order_violations\":%llu,\"positions_grew\":%llu,\"double_admissions\":%llu,"
               "\"lost_tickets\":%llu}\n",
               (unsigned long long)r->order, (unsigned long long)r->grew,
               (unsigned long long)r->doubled, (unsigned long long)r->lost);
}

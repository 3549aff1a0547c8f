/* figures.c: see the header. Pure. */
#include "rehearse/figures.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define PACE_S 10 /* the budget of polls is judged over so long */

int figures_init(struct figures *f, uint32_t seconds, uint32_t routers, uint32_t procs)
{
    *f = (struct figures){ .n = seconds, .procs = procs, .routers = routers, .boost = 1 };
    f->s = calloc(seconds, sizeof(*f->s));
    f->cpu = calloc((size_t)seconds * procs, sizeof(*f->cpu));
    return f->s != NULL && f->cpu != NULL ? 0 : SQ_ENOMEM;
}

void figures_fini(struct figures *f)
{
    free(f->s);
    free(f->cpu);
    *f = (struct figures){ 0 };
}

unsigned figures_why(struct figures *f, const char *why)
{
    unsigned i = 0;

    while (i < f->n_why && strcmp(f->why[i], why) != 0)
        i++;
    if (i == FIGURES_WHYS)
        return i - 1;
    if (i == f->n_why)
        snprintf(f->why[f->n_why++], sizeof(f->why[0]), "%s", why);
    return i;
}

void figures_mark(struct figures *f, uint32_t ms, const char *fmt, ...)
{
    va_list ap;

    if (f->n_marks == FIGURES_MARKS) {
        f->more_marks++;
        return;
    }
    va_start(ap, fmt);
    vsnprintf(f->mark[f->n_marks].text, sizeof(f->mark[0].text), fmt, ap);
    va_end(ap);
    f->mark[f->n_marks++].ms = ms;
}

/* ---- waits ---- */

static int by_size(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static double share_of(const uint32_t *v, uint32_t n, double share)
{
    return n == 0 ? -1 : v[(uint32_t)(share * (n - 1) + 0.5)] / 1000.0;
}

static void shares_of(struct bin *b, uint32_t *wait)
{
    qsort(wait, b->in, sizeof(*wait), by_size);
    b->p50 = share_of(wait, b->in, 0.5);
    b->p95 = share_of(wait, b->in, 0.95);
    b->p99 = share_of(wait, b->in, 0.99);
    b->most = share_of(wait, b->in, 1);
}

static void past_of(struct bin *b, const struct night_past *v, uint32_t first, uint32_t end, uint32_t *wait)
{
    *b = (struct bin){ .came = end - first, .told_p50 = -1 };
    for (uint32_t i = first; i < end; i++)
        if (v[i].fate == PAST_IN)
            wait[b->in++] = v[i].waited_ms;
    shares_of(b, wait);
}

/* People from first to end, of a lane, of a region (-1: of all); v3: room for three times as many. */
static void waits_of(struct bin *b, const struct person *v, uint32_t first, uint32_t end, int lane, int region,
                     uint32_t *v3)
{
    uint32_t *wait = v3, *told = v3 + (end - first), *off = told + (end - first), n_told = 0;

    *b = (struct bin){ 0 };
    for (uint32_t i = first; i < end; i++) {
        bool counts = v[i].kind == PERSON && (lane < 0 || v[i].lane == lane) && (region < 0 || v[i].region == region);

        b->came += counts;
        if (v[i].in == 0 || !counts)
            continue;
        wait[b->in++] = v[i].in - v[i].came;
        if (v[i].told == UINT32_MAX)
            continue;
        told[n_told] = v[i].told;
        off[n_told++] = (uint32_t)llabs((int64_t)v[i].told - (v[i].in - v[i].came));
    }
    shares_of(b, wait);
    qsort(told, n_told, sizeof(*told), by_size);
    qsort(off, n_told, sizeof(*off), by_size);
    b->told_p50 = share_of(told, n_told, 0.5);
    b->off_p50 = share_of(off, n_told, 0.5);
}

/* wait: of those who are in, by size. */
static void goals(struct figures *f, const uint32_t *wait)
{
    static const double share[] = { 0.5, 0.95, 0.99, 1 };
    uint64_t all = f->all.in + f->still;

    for (unsigned i = 0; i < ARRAY_LEN(share); i++) {
        uint64_t at = all > 0 ? (uint64_t)(share[i] * (double)(all - 1) + 0.5) : 0;

        f->goal[i] = at < f->all.in ? wait[at] / 1000.0 : INFINITY;
    }
}

int figures_waits(struct figures *f, const struct person *v, const struct night_past *past, uint32_t n,
                  unsigned lanes, unsigned regions, uint32_t for_ms)
{
    uint32_t *room = calloc(3 * (size_t)n + 1, sizeof(*room)), first = 0;

    if (room == NULL)
        return SQ_ENOMEM;
    for (unsigned i = 0; i < FIGURES_BINS; i++) {
        uint32_t end = first, until = (uint32_t)((uint64_t)for_ms * (i + 1) / FIGURES_BINS);

        while (end < n && v[end].came < until)
            end++;
        waits_of(&f->bin[i], v, first, end, -1, -1, room);
        if (past != NULL)
            past_of(&f->past[i], past, first, end, room);
        first = end;
    }
    if (past != NULL)
        past_of(&f->past_all, past, 0, n, room);
    for (int i = 0; i < (int)lanes && lanes > 1; i++)
        waits_of(&f->lane[i], v, 0, n, i, -1, room);
    for (int i = 0; i < (int)regions; i++)
        waits_of(&f->region[i], v, 0, n, -1, i, room);
    waits_of(&f->all, v, 0, n, -1, -1, room);
    goals(f, room);
    free(room);
    return 0;
}

void figures_people(struct figures *f, uint32_t k)
{
    uint64_t *const sums[] = { &f->people, &f->joined, &f->refused, &f->admitted, &f->gave_up, &f->timed_out,
                               &f->no_shows, &f->waiting, &f->ready, &f->coming, &f->polls, &f->held, &f->late,
                               &f->thrown_out, &f->overtaken, &f->out_of_order, &f->grew, &f->still,
                               &f->second_places, &f->bots, &f->bots_in, &f->bots_refused };
    struct bin *const bins[] = { &f->all, f->bin, f->lane, f->region };
    const unsigned n[] = { 1, FIGURES_BINS, LANES_MAX, NIGHT_REGIONS_MAX };

    for (size_t i = 0; i < ARRAY_LEN(sums); i++)
        *sums[i] *= k;
    for (size_t i = 0; i < ARRAY_LEN(bins); i++)
        for (unsigned j = 0; j < n[i]; j++) {
            bins[i][j].came *= k;
            bins[i][j].in *= k;
        }
    f->per_row = k;
}

/* ---- promises ---- */

double figures_most_cpu(const struct figures *f, uint32_t first, uint32_t end, uint32_t *proc, uint32_t *at_s)
{
    double most = 0;

    *proc = first;
    *at_s = 0;
    for (uint32_t s = 0; s < f->n; s++)
        for (uint32_t p = first; p < end; p++)
            if (f->cpu[(size_t)s * f->procs + p] > most) {
                most = f->cpu[(size_t)s * f->procs + p];
                *proc = p;
                *at_s = s;
            }
    return most;
}

static double most_polls(const struct figures *f)
{
    uint64_t sum = 0, most = 0;

    for (uint32_t s = 0; s < f->n; s++) {
        sum += f->s[s].polls;
        sum -= s >= PACE_S ? f->s[s - PACE_S].polls : 0;
        most = u64_max(most, sum);
    }
    return (double)most / PACE_S;
}

#define SAY(a_promise, a_kept, ...) do {                        \
        out[n].promise = a_promise;                             \
        out[n].kept = (a_kept);                                 \
        bad += !out[n].kept;                                    \
        snprintf(out[n].said, sizeof(out[n].said), __VA_ARGS__); \
        n++;                                                    \
    } while (0)

unsigned figures_judge(const struct figures *f, const struct night *night, struct verdict out[FIGURES_VERDICTS])
{
    const struct queue_def *d = night_queue(night);
    uint64_t sum = f->admitted + f->gave_up + f->timed_out + f->no_shows + f->waiting + f->ready;
    double bound = night->backend.crash_above > 0 ? night->backend.crash_above : INFINITY, top = 0;
    double polls = most_polls(f), cpu;
    unsigned n = 0, bad = 0;
    uint32_t proc, at;

    for (uint32_t s = 0; s < f->n; s++)
        top = fmax(top, f->s[s].backend);
    cpu = figures_most_cpu(f, 0, f->procs, &proc, &at);
    SAY("order kept", f->out_of_order == 0, "%llu out of order; %llu passed over while a node was away",
        (unsigned long long)f->out_of_order, (unsigned long long)f->overtaken);
    SAY("nobody lost", sum == f->joined, "%llu joined, %llu are in, wait or left",
        (unsigned long long)f->joined, (unsigned long long)sum);
    SAY("no place grew", f->grew == 0, "%llu did", (unsigned long long)f->grew);
    SAY("never above the limit", f->over_limit == 0, "%llu releases beyond it; up to %.2f times the rate, for no-shows",
        (unsigned long long)f->over_limit, f->boost);
    SAY("polls within the budget", polls <= 1.1 * (double)d->poll_budget_per_s,
        "at most %.0f a second over %d s, of %lld", polls, PACE_S, (long long)d->poll_budget_per_s);
    SAY("backend below its bound", top <= bound && f->crashes == 0, "%s at most %.1f; %llu crashes",
        night->backend.metric, top, (unsigned long long)f->crashes);
    SAY("every process within its core", cpu < 1 && f->late == 0,
        "%s %u had most: %.0f %% of its core; %llu requests came again", proc < f->routers ? "router" : "node",
        proc < f->routers ? proc + 1 : proc - f->routers + 1, 100 * cpu, (unsigned long long)f->late);
    return bad;
}

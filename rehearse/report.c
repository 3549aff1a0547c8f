/* report.c: see the header. Pure. */
#include "rehearse/report.h"

#include <stdio.h>

#include "rehearse/limits.h"
#include "rehearse/regions.h"

#define ROWS 12 /* at most, by arrival */

void report_span(char out[24], double s)
{
    long long t = (long long)(s + 0.5);

    if (s < 0)
        snprintf(out, 24, "-");
    else if (s < 10)
        snprintf(out, 24, "%.1fs", s);
    else if (t < 3600)
        snprintf(out, 24, t < 60 ? "%llds" : "%lldm %02llds", t < 60 ? t : t / 60, t % 60);
    else
        snprintf(out, 24, "%lldh %02lldm", t / 3600, t / 60 % 60);
}

/* ---- the table ---- */

static void put_waits(struct buf *b, const struct played *x)
{
    unsigned last = FIGURES_BINS - 1;
    char v[6][24];

    buf_str(b, "  came at         people       in  wait p50       p95       p99   longest  were told"
               "  came true within");
    buf_str(b, x->f.past_all.came > 0 ? "   that night: in       p50       p95\n" : "\n");
    while (last > 0 && x->f.bin[last].came == 0)
        last--;
    for (unsigned i = 0; i <= last; i += last / ROWS + 1) {
        const struct bin *k = &x->f.bin[i];

        report_span(v[0], k->p50);
        report_span(v[1], k->p95);
        report_span(v[2], k->p99);
        report_span(v[3], k->most);
        report_span(v[4], k->told_p50);
        report_span(v[5], k->off_p50);
        buf_printf(b, "  %5.1f m   %10u %8u %9s %9s %9s %9s  %9s  %9s",
                   (double)x->night.for_ms * i / FIGURES_BINS / 60000, k->came, k->in, v[0], v[1], v[2], v[3],
                   v[4], v[5]);
        if (x->f.past_all.came > 0) {
            report_span(v[0], x->f.past[i].p50);
            report_span(v[1], x->f.past[i].p95);
            buf_printf(b, " %20u %9s %9s", x->f.past[i].in, v[0], v[1]);
        }
        buf_byte(b, '\n');
    }
}

static const char *lane_name(const struct played *x, unsigned i)
{
    return ((const struct def_lane *)night_queue(&x->night)->lanes.v)[i].name;
}

static void put_others(struct buf *b, const struct played *x)
{
    const struct figures *f = &x->f;
    unsigned lanes = night_lanes(night_queue(&x->night));
    char s[2][24];

    if (f->second_places > 0)
        buf_printf(b, "%llu of the places were second ones\n", (unsigned long long)f->second_places);
    if (f->bots + f->bots_refused > 0)
        buf_printf(b, "%llu of the places were those of scripts, %llu of them are in; %llu tries were refused for their "
                   "address\n", (unsigned long long)f->bots, (unsigned long long)f->bots_in,
                   (unsigned long long)f->bots_refused);
    for (unsigned i = 0; i < lanes && lanes > 1; i++) {
        report_span(s[0], f->lane[i].p50);
        report_span(s[1], f->lane[i].p95);
        buf_printf(b, "lane %s: %u came, %u are in, wait p50 %s, p95 %s\n", lane_name(x, i), f->lane[i].came,
                   f->lane[i].in, s[0], s[1]);
    }
}

static double mean(double sum, uint64_t n)
{
    return n > 0 ? sum / (double)n : 0;
}

static void put_regions(struct buf *b, const struct played *x)
{
    char s[2][24];

    for (unsigned i = 0; i < x->night.cluster.regions.n; i++) {
        const struct region_times *t = &x->f.times[i];

        report_span(s[0], x->f.region[i].p50);
        report_span(s[1], x->f.region[i].p95);
        buf_printf(b, "region %s: %u came, %u are in, wait p50 %s, p95 %s; joins took %.0f ms (at most %u), in %.0f ms "
                   "behind the release\n", regions_name(&x->night, i), x->f.region[i].came, x->f.region[i].in, s[0], s[1],
                   mean(t->join_ms, t->joins), t->most_join_ms, mean(t->pass_ms, t->passes));
    }
}

static void put_limits(struct buf *b, const struct played *x)
{
    struct limit v[LIMITS];
    unsigned broke = limits_of(&x->f, &x->night, v);
    char at[24];

    if (broke == 0 && v[0].share > 0)
        buf_printf(b, "  nothing breaks: there is room for %.3g times this crowd\n", 1 / v[0].share);
    for (unsigned i = 0; i < LIMITS && (i < 2 || i < broke); i++) {
        report_span(at, v[i].at_s);
        buf_printf(b, "  %-13s %s, %.0f %% after %s; next: %s\n", broke == 0 ? (i == 0 ? "fullest" : "then")
                   : i == 0 ? "breaks first" : i < broke ? "breaks then" : "then", v[i].what, 100 * v[i].share, at, v[i].next);
    }
}

static void put_one(struct buf *b, const struct played *x)
{
    const struct figures *f = &x->f;
    struct verdict v[FIGURES_VERDICTS];
    char s[4][24];

    report_span(s[0], f->all.p50);
    report_span(s[1], f->all.p95);
    report_span(s[2], f->all.p99);
    report_span(s[3], f->all.most);
    buf_printf(b, "%llu came, %llu joined, %llu are in, %llu gave up, %llu timed out, %llu did not come, %llu wait%s\n",
               (unsigned long long)f->people, (unsigned long long)f->joined, (unsigned long long)f->admitted,
               (unsigned long long)f->gave_up, (unsigned long long)f->timed_out, (unsigned long long)f->no_shows,
               (unsigned long long)(f->waiting + f->ready + f->coming), f->refused > 0 ? "; some were refused" : "");
    buf_printf(b, "wait of all who are in: p50 %s, p95 %s, p99 %s, longest %s\n", s[0], s[1], s[2], s[3]);
    if (f->per_row > 1)
        buf_printf(b, "%u people are played as one: waits are true within the time in which so many go in\n", f->per_row);
    put_others(b, x);
    put_regions(b, x);
    if (f->past_all.came > 0) {
        report_span(s[0], f->past_all.p50);
        report_span(s[1], f->past_all.p95);
        report_span(s[2], f->past_all.p99);
        report_span(s[3], f->past_all.most);
        buf_printf(b, "that night %u were in:  p50 %s, p95 %s, p99 %s, longest %s\n", f->past_all.in, s[0], s[1], s[2], s[3]);
    }
    put_waits(b, x);
    buf_str(b, "  limited by:");
    for (unsigned i = 0; i < f->n_why; i++) {
        report_span(s[0], f->why_s[i]);
        if (f->why_s[i] > 0)
            buf_printf(b, " %s %s;", f->why[i], s[0]);
    }
    buf_byte(b, '\n');
    for (unsigned i = 0; i < f->n_marks; i++) {
        report_span(s[0], f->mark[i].ms / 1000.0);
        buf_printf(b, "  after %s: %s\n", s[0], f->mark[i].text);
    }
    if (f->more_marks > 0)
        buf_printf(b, "  and %u events more\n", f->more_marks);
    put_limits(b, x);
    (void)figures_judge(f, &x->night, v);
    for (unsigned i = 0; i < FIGURES_VERDICTS; i++)
        buf_printf(b, "  %-4s %-30s %s\n", v[i].kept ? "ok" : "NOT", v[i].promise, v[i].said);
}

static void put_side_by_side(struct buf *b, const struct played *v, size_t n)
{
    struct verdict judged[FIGURES_VERDICTS];

    buf_str(b, "variant                    in  wait p50       p95   longest  line at most  backend  router CPU"
               "  node CPU  promises\n");
    for (size_t i = 0; i < n; i++) {
        const struct figures *f = &v[i].f;
        double backend = 0;
        uint32_t line = 0, proc, at;
        char s[3][24];
        unsigned bad = figures_judge(f, &v[i].night, judged);

        for (uint32_t k = 0; k < f->n; k++) {
            backend = f->s[k].backend > backend ? f->s[k].backend : backend;
            line = f->s[k].waiting > line ? f->s[k].waiting : line;
        }
        report_span(s[0], f->all.p50);
        report_span(s[1], f->all.p95);
        report_span(s[2], f->all.most);
        buf_printf(b, "%-20s %8llu %9s %9s %9s %13u %8.1f %9.1f %% %7.1f %%  %s", v[i].name,
                   (unsigned long long)f->admitted, s[0], s[1], s[2], line, backend,
                   100 * figures_most_cpu(f, 0, f->routers, &proc, &at),
                   100 * figures_most_cpu(f, f->routers, f->procs, &proc, &at), bad == 0 ? "kept" : "");
        for (unsigned k = 0; bad > 0 && k < FIGURES_VERDICTS; k++)
            if (!judged[k].kept)
                buf_printf(b, "NOT %s; ", judged[k].promise);
        buf_byte(b, '\n');
    }
}

void report_table(struct buf *b, const struct played *v, size_t n)
{
    if (n == 1)
        put_one(b, v);
    else
        put_side_by_side(b, v, n);
}

/* ---- JSON ---- */

static void put_bin(struct buf *b, double from_s, const struct bin *k, const struct bin *past)
{
    buf_printf(b, "{\"from_s\":%g,\"came\":%u,\"in\":%u", from_s, k->came, k->in);
    if (k->in > 0)
        buf_printf(b, ",\"wait_p50_s\":%g,\"wait_p95_s\":%g,\"wait_p99_s\":%g,\"wait_max_s\":%g", k->p50, k->p95,
                   k->p99, k->most);
    if (k->told_p50 >= 0)
        buf_printf(b, ",\"told_p50_s\":%g,\"told_off_p50_s\":%g", k->told_p50, k->off_p50);
    if (past != NULL) {
        buf_str(b, ",\"past\":");
        put_bin(b, from_s, past, NULL);
    }
    buf_byte(b, '}');
}

static void put_seconds(struct buf *b, const struct figures *f)
{
    buf_str(b, ",\"seconds\":[");
    for (uint32_t i = 0; i < f->n; i++) {
        const struct second *s = &f->s[i];

        buf_printf(b, "%s{\"waiting\":%u,\"joined\":%u,\"released\":%u,\"inside\":%u,\"polls\":%u,"
                      "\"allowed_per_s\":%g,\"backend\":%g,\"limited_by\":\"%s\",\"cpu\":[", i > 0 ? ",\n" : "", s->waiting, s->joined,
                   s->released, s->inside, s->polls, (double)s->allowed, (double)s->backend, f->why[s->why]);
        for (uint32_t k = 0; k < f->procs; k++)
            buf_printf(b, "%s%.4f", k > 0 ? "," : "", (double)f->cpu[(size_t)i * f->procs + k]);
        buf_str(b, "]}");
    }
    buf_byte(b, ']');
}

/* Operators type it: a value may have quotes. */
static void put_text(struct buf *b, const char *s)
{
    buf_byte(b, '"');
    for (; *s != '\0'; s++) {
        if (*s == '"' || *s == '\\')
            buf_byte(b, '\\');
        buf_byte(b, (unsigned char)*s < ' ' ? ' ' : (uint8_t)*s);
    }
    buf_byte(b, '"');
}

static void put_json(struct buf *b, const struct played *x)
{
    const struct figures *f = &x->f;
    unsigned lanes = night_lanes(night_queue(&x->night));
    struct verdict v[FIGURES_VERDICTS];
    struct limit full[LIMITS];

    buf_str(b, "{\"variant\":");
    put_text(b, x->name);
    buf_printf(b, ",\"routers\":%u,\"segment_nodes\":%u,\"people\":%llu,\"joined\":%llu,"
                  "\"admitted\":%llu,\"waiting\":%llu,\"gave_up\":%llu,\"timed_out\":%llu,\"no_shows\":%llu,\"refused\":%llu,\"polls\":%llu,"
                  "\"crashes\":%llu,\"slowest_answer_s\":%g,\"people_per_row\":%u",
               f->routers, f->procs - f->routers, (unsigned long long)f->people, (unsigned long long)f->joined,
               (unsigned long long)f->admitted, (unsigned long long)(f->waiting + f->ready + f->coming),
               (unsigned long long)f->gave_up, (unsigned long long)f->timed_out, (unsigned long long)f->no_shows,
               (unsigned long long)f->refused, (unsigned long long)f->polls, (unsigned long long)f->crashes,
               f->slowest_s, f->per_row);
    buf_str(b, ",\"all\":");
    put_bin(b, 0, &f->all, f->past_all.came > 0 ? &f->past_all : NULL);
    buf_printf(b, ",\"second_places\":%llu,\"bots\":%llu,\"bots_in\":%llu,\"bots_refused\":%llu,\"lanes\":[",
               (unsigned long long)f->second_places, (unsigned long long)f->bots, (unsigned long long)f->bots_in,
               (unsigned long long)f->bots_refused);
    for (unsigned i = 0; i < lanes && lanes > 1; i++) {
        buf_printf(b, "%s{\"lane\":\"%s\",\"all\":", i > 0 ? "," : "", lane_name(x, i));
        put_bin(b, 0, &f->lane[i], NULL);
        buf_byte(b, '}');
    }
    buf_str(b, "],\"regions\":[");
    for (unsigned i = 0; i < x->night.cluster.regions.n; i++) {
        buf_printf(b, "%s{\"region\":\"%s\",\"join_ms\":%.1f,\"join_max_ms\":%u,\"pass_ms\":%.1f,\"all\":", i > 0 ? "," : "",
                   regions_name(&x->night, i), mean(f->times[i].join_ms, f->times[i].joins), f->times[i].most_join_ms,
                   mean(f->times[i].pass_ms, f->times[i].passes));
        put_bin(b, 0, &f->region[i], NULL);
        buf_byte(b, '}');
    }
    buf_str(b, "],\"by_arrival\":[");
    for (unsigned i = 0; i < FIGURES_BINS; i++) {
        buf_str(b, i > 0 ? ",\n" : "");
        put_bin(b, (double)x->night.for_ms * i / FIGURES_BINS / 1000, &f->bin[i],
                f->past_all.came > 0 ? &f->past[i] : NULL);
    }
    buf_str(b, "],\"events\":[");
    for (unsigned i = 0; i < f->n_marks; i++)
        buf_printf(b, "%s{\"at_s\":%g,\"text\":\"%s\"}", i > 0 ? "," : "", f->mark[i].ms / 1000.0, f->mark[i].text);
    buf_str(b, "],\"limits\":[");
    (void)limits_of(f, &x->night, full);
    for (unsigned i = 0; i < LIMITS; i++)
        buf_printf(b, "%s{\"what\":\"%s\",\"share\":%.4g,\"at_s\":%u,\"next\":\"%s\"}", i > 0 ? "," : "", full[i].what,
                   full[i].share, full[i].at_s, full[i].next);
    buf_str(b, "],\"promises\":[");
    (void)figures_judge(f, &x->night, v);
    for (unsigned i = 0; i < FIGURES_VERDICTS; i++)
        buf_printf(b, "%s{\"promise\":\"%s\",\"kept\":%s,\"said\":\"%s\"}", i > 0 ? "," : "", v[i].promise,
                   v[i].kept ? "true" : "false", v[i].said);
    buf_byte(b, ']');
    put_seconds(b, f);
    buf_byte(b, '}');
}

void report_json(struct buf *b, const struct played *v, size_t n)
{
    buf_str(b, "{\"rehearsals\":[");
    for (size_t i = 0; i < n; i++) {
        buf_str(b, i > 0 ? ",\n" : "");
        put_json(b, &v[i]);
    }
    buf_str(b, "]}\n");
}

/* figures.h: what came of a night: a row per second, marks, sums, waits by time of arrival.
 * Pure. */
#ifndef SEGQ_REHEARSE_FIGURES_H
#define SEGQ_REHEARSE_FIGURES_H

#include "rehearse/calendar.h"
#include "rehearse/night.h"

#define FIGURES_BINS  60 /* parts of the night, by arrival */
#define FIGURES_WHYS  16
#define FIGURES_MARKS 256

struct second {
    uint32_t waiting, joined, released, inside, polls, gave_up;
    float allowed, backend;
    float tail; /* share of a core that the busiest lane's tail takes */
    uint8_t why; /* place in figures.why: it limited */
};

struct mark {
    uint32_t ms;
    char text[60];
};

struct bin { /* people who came in a part of the night; in s; -1: nobody of them is in */
    uint32_t came, in;
    double p50, p95, p99, most;
    double told_p50; /* time that they were told as they joined; -1: none */
    double off_p50;  /* |told - came true| */
};

struct figures {
    struct second *s; /* owned: n */
    float *cpu;       /* owned: n times procs: share of a core; routers, then nodes */
    uint32_t n, procs, routers;
    uint32_t per_row; /* people of a row */
    char why[FIGURES_WHYS][NAME_MAX_LEN + 1];
    uint32_t why_s[FIGURES_WHYS], n_why;
    struct mark mark[FIGURES_MARKS];
    uint32_t n_marks, more_marks; /* more: there was no room for them */
    /* sums */
    uint64_t people, joined, refused, admitted, gave_up, timed_out, no_shows, waiting, ready, coming;
    uint64_t polls, held, late, thrown_out, crashes, overtaken, out_of_order, grew, over_limit;
    uint64_t still; /* people, none of whose places is in yet */
    uint64_t second_places, bots, bots_in, bots_refused;
    double boost;     /* the most that no-shows added to the rate: a factor, from 1 */
    double slowest_s; /* the longest that an answer took, for lack of CPU */
    struct bin bin[FIGURES_BINS], all;
    struct bin lane[LANES_MAX];
    struct bin region[NIGHT_REGIONS_MAX];
    struct region_times {
        uint64_t joins, passes;
        double join_ms, pass_ms; /* sums: from coming to the answer; from the release to being in */
        uint32_t most_join_ms;
    } times[NIGHT_REGIONS_MAX];
    struct bin past[FIGURES_BINS], past_all; /* the same people, that night (night.past) */
    double goal[4]; /* p50, p95, p99, longest: who still waits waits without end (INFINITY) */
};

SQ_CHECK int figures_init(struct figures *f, uint32_t seconds, uint32_t routers, uint32_t procs);
void figures_fini(struct figures *f);
unsigned figures_why(struct figures *f, const char *why);
void figures_mark(struct figures *f, uint32_t ms, const char *fmt, ...) SQ_PRINTF(3, 4);
/* Waits, of the rows; past: NULL, or what the same people had. SQ_ENOMEM. */
SQ_CHECK int figures_waits(struct figures *f, const struct person *v, const struct night_past *past, uint32_t n,
                           unsigned lanes, unsigned regions, uint32_t for_ms);

/* From rows to people, of which each has k. */
void figures_people(struct figures *f, uint32_t k);

/* A promise, judged. */
struct verdict {
    const char *promise;
    bool kept;
    char said[160];
};
#define FIGURES_VERDICTS 7
/* Returns how many are not kept. */
unsigned figures_judge(const struct figures *f, const struct night *n, struct verdict out[FIGURES_VERDICTS]);
double figures_most_cpu(const struct figures *f, uint32_t first, uint32_t end, uint32_t *proc, uint32_t *at_s);

#endif

/* nights.h: a night of a text, played; for tests of rehearsals. */
#ifndef SEGQ_TEST_NIGHTS_H
#define SEGQ_TEST_NIGHTS_H

#include <criterion/criterion.h>
#include <stdio.h>

#include "common/config/cfg.h"
#include "rehearse/play.h"
#include "rehearse/report.h"

#define CROWD  "crowd: {arrivals: [{at: 0s, per_s: 1000}, {at: 10s, per_s: 1000}], patience: {kind: none}, no_shows: 0, "
#define STAY   "stay: {kind: fixed, mean: 1m}}"

/* queue: keys of its definition; rest: of the night. */
static inline struct played *night(const char *queue, const char *rest)
{
    struct played *x = calloc(1, sizeof(*x));
    struct cfg_node *doc = NULL;
    struct err e = { 0 };
    char text[2000];

    snprintf(text, sizeof(text),
             "%squeues: [{name: q, direct_entry: false, %s}]\n%s\n%s\n",
             strncmp(rest, "for: ", 5) == 0 ? "" : "for: 20m\n", queue, strstr(rest, "backend:") != NULL ? "" : "backend: {per_person: 0, per_release: 0}", rest);
    cr_assert_eq(cfg_parse_yaml(&doc, text, strlen(text), "night.yaml", &e), 0, "%s", e.text);
    cr_assert_eq(cfg_bind(&x->night, sizeof(x->night), night_keys, doc, "night.yaml", &e), 0, "%s", e.text);
    cfg_node_free(doc);
    cr_assert_eq(night_check(&x->night, &e), 0, "%s", e.text);
    cr_assert_eq(play_night(&x->f, &x->night, (struct play_watch){ 0 }), 0);
    return x;
}

static inline void over(struct played *x)
{
    figures_fini(&x->f);
    cfg_clear(&x->night, night_keys);
    free(x);
}

static inline void all_kept(const struct played *x)
{
    struct verdict v[FIGURES_VERDICTS];

    (void)figures_judge(&x->f, &x->night, v);
    for (unsigned i = 0; i < FIGURES_VERDICTS; i++)
        cr_assert(v[i].kept, "%s: %s", v[i].promise, v[i].said);
}

#endif

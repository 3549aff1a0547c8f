/* suspects.h: address prefixes whose joins look like a script's, by what a router sees of them anyway.
 * Pure; times are milliseconds of a clock that does not jump.
 *
 * Counted for a queue and a prefix (/24 of IPv4, /56 and /48 of IPv6), in slots of 15 s, for two
 * minutes:
 *   places   places that are new
 *   silent   places that were to be polled soon, and were not when they were a minute old. Polls are
 *            counted by ticket, and each stands for two places: people who close the page at once are no
 *            script, and polls may come to another router than their joins. Where a balancer sends all
 *            polls of the queue elsewhere, none is silent: suspects_heard()
 *   posing   joins that call themselves a browser and lack what each browser says
 *   refused  joins that were asked for work, or sent away, since it is a suspect
 * The score is silent + posing, an eighth of refused (so that a flood goes on being one, while a few who
 * come again do not keep it up), and a tenth of the places beyond what is usual. A prefix is a suspect
 * from the queue's bound on, until it is below half of that. By its places alone, which many honest
 * people of one network make, too, it is to work, and never refused.
 *
 * Rows lie in sets of four, in fixed memory; a newcomer takes the place of the row that came longest ago
 * and is no suspect, if there is one. No row has an address, but a suspect's has its prefix: those who
 * act on it have to see it. */
#ifndef SEGQ_SUSPECTS_H
#define SEGQ_SUSPECTS_H

#include "common/base/ip.h"
#include "common/wire/msg.h"

#define SUSPECT_SLOT_MS 15000
#define SUSPECT_DUE     4  /* slots after which a place must have been polled */
#define SUSPECT_SLOTS   12 /* slots that are known: a minute that is due, and two more */
/* Places whose first poll was to come later than this owe none. */
#define SUSPECT_POLL_MS 40000
#define SUSPECT_YOUNG_S 60 /* polls of tickets that are not older count */
#define SUSPECT_WIDE    8  /* a /48 has so many times the places that are usual */

struct suspects;

enum suspect_what { SUSPECT_PLACES, SUSPECT_OWED, SUSPECT_POLLS, SUSPECT_POSING, SUSPECT_REFUSED, SUSPECT_NWHAT };
enum suspect_act { SUSPECT_WORKS, SUSPECT_SENT_AWAY, SUSPECT_SPARED, SUSPECT_WATCHED, SUSPECT_NACTS };
enum suspect_grade { SUSPECT_NONE, SUSPECT_MANY, SUSPECT_SCRIPT };

struct suspect_of { /* a queue's address: both rows are counted, the higher grade holds */
    queue_id queue;
    uint32_t prefix;
    uint64_t site; /* limit_site() */
    uint32_t from, places; /* the queue's bound, and what is usual; 0: no number of places counts */
};

/* NULL: no memory. */
struct suspects *suspects_new(void);
void suspects_free(struct suspects *s);
void suspects_count(struct suspects *s, const struct suspect_of *of, enum suspect_what what, msec_t now_ms);
/* A poll of any ticket of the queue has come: so this router hears polls. */
void suspects_heard(struct suspects *s, queue_id q, msec_t now_ms);
/* Counts SUSPECT_POLLS, of a ticket: once in two minutes, and only if its prefix is known. */
void suspects_polled(struct suspects *s, const struct suspect_of *of, uint64_t seg, uint32_t number,
                     msec_t now_ms);
/* wall_s: for the moment since when it is one. *nameless: a row of it has no prefix to be shown yet. */
enum suspect_grade suspects_grade(struct suspects *s, const struct suspect_of *of, msec_t now_ms,
                                  int64_t wall_s, bool *nameless);
void suspects_name(struct suspects *s, const struct suspect_of *of, const struct ip *ip);
/* The suspects by now, whatever their number; as many rows as have room, those with a prefix. */
uint32_t suspects_rows(struct suspects *s, msec_t now_ms, int64_t wall_s,
                       struct suspect_row rows[MSG_SUSPECTS_MAX], uint32_t *n);

#endif

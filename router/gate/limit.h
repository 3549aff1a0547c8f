/* limit.h: how often one address may ask, and how often it may be connected; how often one ticket
 * may be polled. Pure (crypto only). Time arrives with each call.
 *
 * An address is an IPv4 address or the /64 of an IPv6 address: what one household or one
 * rented server has. It is known by a keyed hash alone: nobody outside can aim at a place
 * in the tables, and no table holds an address. The upper half of it is a hash of the prefix.
 *
 * A token bucket per address and kind, in fixed memory: sets of eight, the address's hash
 * says which. A bucket that has filled up again says nothing and costs nothing to lose.
 * If a set is full, the newcomer takes the place of the bucket that will be full soonest;
 * that of an address at its limit only when all eight are. So with more addresses at once
 * than the table has room for, some get a fresh burst too early (counted: forgotten). The
 * limits then let too much through; they never refuse a client that did nothing.
 *
 * A refused request is told when to come: those sent away stand in a line of their own, at
 * the rate of the limit, so the told time grows with the excess and they do not come back
 * together. Being refused costs nothing else: an address that is shared by many keeps its
 * rate, whatever one of them does.
 *
 * Tickets (ticket_polls_...): each answer of a poll charges its ticket told / times of the time that
 * passes; a ticket that is ahead of the time by more than it was told is refused until it is not
 * (GCRA). So `times` polls may come at once, then `times` in each told interval: a reload of a page,
 * or a second tab, is no matter. Who is told a shorter interval, since its turn is near, owes no more
 * than that one. The place is kept whatever is refused. A ticket that polls as it is told is never
 * ahead, and costs nothing to lose: the table needs room only for those that poll too often, in sets
 * of four. If a set is full, who is least ahead is lost. */
#ifndef SEGQ_LIMIT_H
#define SEGQ_LIMIT_H

#include "common/base/base.h"
#include "common/base/ip.h"
#include "common/ticket/token.h"

struct limit;
typedef uint64_t limit_id; /* never 0; the lowest bit is 0: the user's own; the second: it is IPv6 */

enum limit_kind { LIMIT_JOIN, LIMIT_POLL, LIMIT_BAD, LIMIT_NKINDS };

#define LIMIT_KEY_BYTES    16
#define LIMIT_MAX_TOLD_MS  60000
#define LIMIT_MAX_REFILL_S 3600 /* burst / rate */

struct limit_counts {
    uint64_t refused[LIMIT_NKINDS];
    uint64_t addresses;     /* buckets in use, also those that have filled up again */
    uint64_t forgotten;     /* buckets lost to a newcomer before they were full again */
    uint64_t conns_refused; /* too many of one address */
};

/* entries: rounded up to a power of two, 32 bytes each, touched as they are used.
 * NULL: no memory. Nothing is limited before limit_set(). */
struct limit *limit_new(size_t entries, const uint8_t key[LIMIT_KEY_BYTES]);
void limit_free(struct limit *l);
/* per_s 0: not limited. A refill longer than LIMIT_MAX_REFILL_S is cut to it. */
void limit_set(struct limit *l, enum limit_kind k, double per_s, uint32_t burst);

limit_id limit_id_of(const struct limit *l, const struct ip *ip);
/* Under which secret prefixes are hashed: of the cluster, so that all routers have one name for one
 * prefix. Before the first address. */
void limit_prefix_key(struct limit *l, const uint64_t key[2]);
uint32_t limit_prefix_of(const uint64_t key[2], const struct ip *ip);
/* A name for the address's /24 (IPv4) or /56, the same at all routers; 0: the id is 0. */
static inline uint32_t limit_prefix(limit_id id)
{
    return (uint32_t)(id >> 32);
}
/* A name for the /48 of an IPv6 address, likewise: a customer of a data centre has one. IPv4: the
 * prefix. */
static inline uint64_t limit_site(limit_id id)
{
    return (id & 2) != 0 ? id >> 40 << 40 : id >> 32;
}
/* 0: go on; else it is too fast: the ms after which it may come again. */
SQ_CHECK uint32_t limit_take(struct limit *l, limit_id id, enum limit_kind k,
                             int64_t now_us);
/* n more beside the one that was just taken: all or none, so that who comes again as told has not spent on
 * half of them what it waited for. More than a full bucket holds cost a full one. */
SQ_CHECK uint32_t limit_take_more(struct limit *l, limit_id id, enum limit_kind k, unsigned n,
                                  int64_t now_us);

/* A connection came: false if the address has `max` already (0: any number), or if there
 * is no memory to count it; then it must be closed. After each true comes one close. */
SQ_CHECK bool limit_conn_open(struct limit *l, limit_id id, uint32_t max);
void limit_conn_close(struct limit *l, limit_id id);

const struct limit_counts *limit_counts(const struct limit *l);

/* ---- tickets ---- */

struct ticket_polls;

/* entries: rounded up to a power of two, 16 bytes each, touched as they are used. NULL: no memory. */
struct ticket_polls *ticket_polls_new(size_t entries);
void ticket_polls_free(struct ticket_polls *p);

/* 0: go on; else it polls too often: the ms after which it may again. */
SQ_CHECK uint32_t ticket_polls_over_ms(const struct ticket_polls *p, const struct token *t, msec_t now_ms);
/* A poll was answered; told_ms: when the next one is due. times: from 1 on. */
void ticket_polls_told(struct ticket_polls *p, const struct token *t, uint32_t told_ms, uint32_t times,
                       msec_t now_ms);

#endif

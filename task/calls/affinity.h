/* affinity.h: which of an endpoint's targets gets the calls of a key, so that what a target keeps of a key's
 * earlier calls (prompts of a language model, say) is used again. Pure.
 *
 * Each key has an order of all targets, by what both are called alone, so each task node finds the same one
 * without asking: the highest of -weight / ln(hash(key, url) in 0..1) is first. That is rendezvous hashing
 * (Thaler, Ravishankar: Using Name-Based Mappings to Increase Hit Rates, 1998), with weights (Schindelhauer,
 * Schomaker: Weighted Distributed Hash Tables, 2005). A target that goes, dies or drains drops out: its keys
 * go to the next of their orders, those of others stay.
 *
 * A call goes to the first of the order that has a slot free and is within its bound: with it, no more than
 * `bound` times its part, by weight, of the calls under way at those that have a slot free, rounded up. What
 * is beyond overflows to the next (Mirrokni, Thorup, Zadimoghaddam: Consistent Hashing with Bounded Loads,
 * 2016). As bound >= 1, one is always within it. Nothing waits for the first choice. Calls under way are those
 * of this node, and so are slots: where a node has no slot of a target, the next one gets its calls, until the
 * manager has given it some. */
#ifndef SEGQ_CALLS_AFFINITY_H
#define SEGQ_CALLS_AFFINITY_H

#include "task/calls/target_pick.h"

#define AFFINITY_PERCENT 100 /* a bound of 1 */

/* Hashes n bytes, the same on every machine; never 0. */
uint64_t affinity_hash(const char *p, size_t n);

struct affine {
    uint64_t url; /* hash of it, and of its address, if it is one of several of its name */
    bool there;   /* well, and not drained: it may be a first choice although it has no slot free */
};

struct affine_choice {
    size_t at;    /* TARGET_NONE: none has a slot free */
    size_t first; /* first choice of those that are there; TARGET_NONE: none is */
};

/* Picks a target for the next call of this key, from v[i], at[i]. bound: percent, at least 100. */
struct affine_choice affinity_pick(const struct target_room *v, const struct affine *at, size_t n,
                                   uint64_t key, uint32_t bound);

#endif

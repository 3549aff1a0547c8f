/* directory.h: a share of the directory: which holder has which subject. Pure.
 * PROTOCOL.md, "One place per person" says why this is enough; here is only the table.
 *
 * A holder is a segment node, by its place in the list of members. An entry is one
 * holder's word: that a ticket of this subject is there (seg != 0), or that it was allowed
 * to give one (seg == 0). One subject may have two entries for a while: its ticket is
 * being moved from one node to another. It is free when it has none.
 *
 * The share is complete, and only then anything is granted, when every holder has once
 * said all that it holds (begin, put ..., end). After that the entries of a holder are
 * never fewer than what it holds, also while its link is down: it gets nothing but what
 * was granted or put here.
 *
 * Memory: 40 bytes an entry, and its slot in the map. */
#ifndef SEGQ_DIRECTORY_H
#define SEGQ_DIRECTORY_H

#include "common/base/map.h"
#include "common/wire/msg.h"
#include "segment/line/ticket_idx.h"

struct dir_entry {
    uint64_t hash;
    seg_id seg; /* 0: granted, no ticket yet; a free entry: not in use */
    uint32_t number, issued_s;
    uint32_t next; /* next of the same hash, or the next free one: index + 1 */
    uint16_t holder;
    uint16_t turn; /* the holder's turn when it was last said */
    uint8_t client;
    bool used;
};

struct dir_holder {
    bool heard;    /* has said everything once */
    bool saying;   /* has begun to */
    uint16_t turn; /* how often it has begun */
};

struct directory {
    struct dir_entry *v; /* owned */
    uint32_t n, cap, free;
    struct map by_hash;    /* hash -> index of the first */
    struct dir_holder *h;  /* owned */
    uint32_t n_holders, n_heard;
};

void directory_init(struct directory *d);
void directory_fini(struct directory *d);
/* Everything is forgotten; of these holders nothing has been heard. SQ_ENOMEM: no holders,
 * and it is never complete. */
SQ_CHECK int directory_reset(struct directory *d, uint32_t n_holders);
bool directory_is_complete(const struct directory *d);

void directory_begin(struct directory *d, uint16_t holder);
/* Entries that it did not say this time are gone. */
void directory_end(struct directory *d, uint16_t holder);
/* Keeps the later of two tickets of one subject there: it replaces the other. */
SQ_CHECK int directory_put(struct directory *d, uint16_t holder, const struct dir_row *r);
void directory_free(struct directory *d, uint16_t holder, uint64_t hash);
/* May this holder give a ticket? One that replaces the ticket old (seg 0: none) is not hindered
 * by it. DIR_GRANTED: it is noted; DIR_EXISTS: *has is another
 * holder's ticket; DIR_BUSY: not certain, no memory, or another was granted it. *other:
 * whose entry it met, or UINT16_MAX. */
enum dir_word directory_claim(struct directory *d, uint16_t holder, uint64_t hash,
                              struct ticket_id old, struct dir_row *has,
                              uint16_t *other);

/* The owner of this subject's share. Rendezvous: each member is weighed with the hash; a
 * member that comes or goes moves only its own share. */
uint16_t directory_owner(uint64_t hash, const node_no *members, uint32_t n);

#endif

/* node_links.h: one link to each node of a map, segment nodes or task nodes: dialled and dropped
 * as the map says. Shell.
 *
 *   what fails                               what follows
 *   link breaks, or cannot be made           everything asked on it is lost; rpc dials again,
 *                                            meanwhile nobody waits for it
 *   another node answers at the address      the link is closed, and an error is logged
 *   an answer that is damaged, or not ours   the link is closed */
#ifndef SEGQ_NODE_LINKS_H
#define SEGQ_NODE_LINKS_H

#include "common/base/log.h"
#include "common/base/map.h"
#include "router/state/router.h"

struct node_link { /* begins the struct of its user */
    struct node_links *of; /* ref */
    struct rpc_link *link;
    struct rpc_chan *ch; /* NULL: down */
    node_no no;
    bool failed; /* since it was last up: do not let anybody wait for it */
    bool stays;  /* in the newest map */
    char name[NAME_MAX_LEN + 1], addr[64];
    struct log_limit refused; /* lines that an older node causes for each batch */
};

struct node_links_kind {
    enum rpc_role role; /* role of the nodes */
    size_t size;        /* bytes of the user's struct; zeroed */
    void (*init)(struct node_link *l);
    void (*up)(struct node_link *l);
    /* < 0: the link is closed. The message lives during the call. */
    int (*msg)(struct node_link *l, const struct msg *m, uint64_t rid);
    /* The node refuses what we asked under rid. True: that was to be expected. */
    bool (*refused)(struct node_link *l, const struct msg_error *m, uint64_t rid);
    /* All that was asked; was_up: on a link that was up. */
    void (*lost)(struct node_link *l, bool was_up);
    void (*removed)(struct router *r, node_no no); /* NULL; it is in no map any more, and freed */
};

struct node_links {
    struct router *r; /* ref */
    const struct node_links_kind *kind;
    struct map by_no; /* node_no -> the user's struct, owned */
};

void node_links_init(struct node_links *s, struct router *r, const struct node_links_kind *kind);
void node_links_free(struct node_links *s);
/* A newer map: begin, want() for each of its nodes, end. */
void node_links_begin(struct node_links *s);
void node_links_want(struct node_links *s, node_no no, const char *name, const char *addr);
void node_links_end(struct node_links *s);
/* Nodes that are reached, and nodes in the map. */
void node_links_count(const struct node_links *s, size_t *up, size_t *of);

/* A node that is reached, or is dialled for the first time; NULL: it cannot be asked now. */
static inline void *node_links_reach(const struct node_links *s, node_no no)
{
    struct node_link *l = map_get_ptr(&s->by_no, no);

    return l == NULL || (l->ch == NULL && l->failed) ? NULL : l;
}

/* The next one, *i = 0 before the first; NULL: that was the last. */
static inline void *node_links_next(const struct node_links *s, size_t *i)
{
    uint64_t no, val;

    *i = map_next(&s->by_no, *i, &no, &val);
    return *i != 0 ? (void *)(uintptr_t)val : NULL;
}

/* l: a pointer to the user's struct. None may go meanwhile. */
#define each_node_link(s, l) \
    for (size_t i_ = 0; ((l) = node_links_next((s), &i_)) != NULL;)

#endif

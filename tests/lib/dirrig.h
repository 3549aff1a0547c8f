/* dirrig.h: the two nodes of segrig.h as members of one directory. */
#ifndef SEGQ_TESTS_DIRRIG_H
#define SEGQ_TESTS_DIRRIG_H

#include "segment/line/directory.h"
#include "tests/lib/segrig.h"

static const node_no dirrig_nodes[] = { 1, 2 };

static inline uint64_t dirrig_hash(const char *name) /* as rig_join_as does */
{
    uint64_t h = 0;

    for (; *name != 0; name++)
        h = h * 31 + (uint8_t)*name + 1;
    return h;
}

/* A name whose share the second node keeps. */
static inline const char *dirrig_others_name(void)
{
    static char name[16];

    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), "p%d", i);
        if (directory_owner(dirrig_hash(name), dirrig_nodes, 2) == 1)
            return name;
    }
    cr_assert(false);
    return NULL;
}

/* Both know the members, and have said everything. */
static inline void dirrig_members(struct rig *r)
{
    struct member_row v[] = { { .no = 1, .name = "node0", .addr = "127.0.0.1:1" },
                              { .no = 2, .name = "node1", .addr = "127.0.0.1:2" } };

    for (int i = 0; i < 2; i++)
        rig_order(r, i, (struct msg){ .type = MSG_MEMBERS,
                                      .members = { .epoch = 1, .version = 5,
                                                   .self = dirrig_nodes[i], .n = 2, .v = v } });
    rig_link(r);
    rig_run(r, 500);
}

#endif

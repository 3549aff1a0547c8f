/* page_room_int.h: what page_room.c keeps. Private. */
#ifndef SEGQ_ROUTER_PAGE_ROOM_INT_H
#define SEGQ_ROUTER_PAGE_ROOM_INT_H

#include "common/base/map.h"
#include "router/page/page.h"

struct kept_def {
    uint32_t version; /* of the text that it was read from */
    bool good;
    struct page_def def;
};

struct page_room {
    struct page *page;
    struct map defs; /* queue_id -> kept_def, owned */
};

#endif

/* codec_flat.c: fill and take of the messages of MSG_FLATS. */
#include "common/wire/codec_flat.h"

#include "proto/common.pb-c.h"
#include "proto/router_manager.pb-c.h"
#include "proto/segment_manager.pb-c.h"
#include "proto/segment_segment.pb-c.h"
#include "proto/why.pb-c.h"

#define X(NAME, name, Pb)                                                                \
    bool codec_fill_##name(const struct msg *m, void *pb, struct arena *a)               \
    {                                                                                    \
        const struct msg_##name *s = &m->name;                                           \
        Segq__##Pb *p = pb;                                                              \
        bool ok = true;                                                                  \
                                                                                         \
        (void)a;                                                                         \
        CODEC_PUT_ALL(NAME##_FIELDS)                                                     \
        return ok;                                                                       \
    }                                                                                    \
    bool codec_take_##name(const void *pb, struct arena *a, struct msg *m)               \
    {                                                                                    \
        const Segq__##Pb *p = pb;                                                        \
        struct msg_##name *s = &m->name;                                                 \
        bool ok = true;                                                                  \
                                                                                         \
        (void)a;                                                                         \
        CODEC_GET_ALL(NAME##_FIELDS)                                                     \
        return ok;                                                                       \
    }
MSG_FLATS(X)
#undef X

/* msg.c: names of message types, for logs. */
#include "common/msg.h"

const char *msg_name(enum msg_type t)
{
    switch (t) {
#define X(name, number)                                                                  \
    case MSG_##name:                                                                     \
        return #name;
        MSG_TYPES(X)
#undef X
    case MSG_NONE:
        break;
    }
    return "?";
}

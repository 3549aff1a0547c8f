/* msg.c: names: of message types, for logs; of queue states, for people. */
#include "common/wire/msg.h"

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

const char *queue_state_name(enum queue_phase phase, enum queue_state state)
{
    switch (phase) {
    case PHASE_PREQUEUE:
        return "prequeue";
    case PHASE_PASSTHROUGH:
        return "passthrough";
    case PHASE_REJECT:
        return "reject";
    default:
        break;
    }
    switch (state) {
    case QUEUE_PAUSED:
        return "paused";
    case QUEUE_CLOSED:
        return "closed";
    case QUEUE_FULL:
        return "full";
    default:
        return "open";
    }
}

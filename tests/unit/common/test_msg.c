/* test_msg.c: the list of messages: names, and who may say what to whom. */
#include "tests/lib/criterion.h"

#include "common/wire/msg.h"

static const enum msg_type bodies[] = {
#define X(name, ...) MSG_##name,
    MSG_BODIES(X)
#undef X
};

Test(msg, each_type_has_a_name_and_somebody_who_may_say_it)
{
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        unsigned ways = 0;

        for (int from = RPC_ROUTER; from < RPC_NROLES; from++)
            for (int to = RPC_ROUTER; to < RPC_NROLES; to++)
                ways += msg_may(from, to, bodies[i]);
        cr_expect_gt(ways, 0, "%s", msg_name(bodies[i]));
        cr_expect_str_neq(msg_name(bodies[i]), "?");
    }
}

Test(msg, only_managers_order_and_only_nodes_report_and_copy)
{
#define X(name, ...) cr_expect(!msg_may(RPC_ROUTER, RPC_SEGMENT, MSG_##name), #name);
    MSG_ORDERS(X)
    MSG_COPIES(X)
#undef X
#define X(name, ...) cr_expect(!msg_may(RPC_SEGMENT, RPC_SEGMENT, MSG_##name), #name);
    MSG_ORDERS(X)
    MSG_BATCHES(X)
#undef X
#define X(name, ...)                                                                     \
    cr_expect(msg_may(RPC_SEGMENT, RPC_MANAGER, MSG_##name), #name);                     \
    cr_expect(!msg_may(RPC_ROUTER, RPC_MANAGER, MSG_##name), #name);
    MSG_REPORTS(X)
#undef X
}

Test(msg, nobody_says_the_hello_or_an_unknown_type)
{
    cr_expect(!msg_may(RPC_ROUTER, RPC_SEGMENT, MSG_HELLO));
    cr_expect(!msg_may(RPC_ROUTER, RPC_SEGMENT, (enum msg_type)60001));
    cr_expect(!msg_may(RPC_ROUTER, RPC_SEGMENT, (enum msg_type)60000));
    cr_expect(!msg_may(0, RPC_SEGMENT, MSG_PLACE));
    cr_expect_str_eq(msg_name((enum msg_type)60001), "?");
}

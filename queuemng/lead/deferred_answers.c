/* deferred_answers.c: "it is done" is answered when what was done is kept. With a file that is
 * before the handler returns; with Redis the answer waits here for a moment. If the term
 * ends first, nobody knows whether the next leader will have it: 503. */
#include "queuemng/lead/deferred_answers.h"

#include <stdlib.h>

#define HELD_MAX 1000 /* operators are few */

struct held {
    struct list_node in; /* mng_service.held */
    struct admin_held *answer;
    uint64_t need;
};

static void not_sure(struct admin_ans *a)
{
    a->etag = NULL;
    admin_problem(
        a, 503, "queue_unavailable",
        "the store did not confirm the change; read it back before you retry");
}

void mng_hold(struct mng_service *s, struct admin_ans *a, uint64_t need)
{
    struct held *h = s->held.n < HELD_MAX ? calloc(1, sizeof(*h)) : NULL;

    if (h == NULL || (h->answer = admin_hold(a)) == NULL) {
        free(h);
        not_sure(a);
        return;
    }
    h->need = need;
    list_push_back(&s->held, &h->in);
}

static void end(struct mng_service *s, struct held *h)
{
    struct admin_held *answer = h->answer;

    list_remove(&s->held, &h->in);
    free(h);
    admin_send(answer);
}

void mng_held_answer(struct mng_service *s)
{
    list_each (&s->held, it) {
        struct held *h = container_of(it, struct held, in);

        if (h->need <= store_done(s->store))
            end(s, h);
    }
}

void mng_held_end(struct mng_service *s)
{
    list_each (&s->held, it) {
        struct held *h = container_of(it, struct held, in);

        not_sure(admin_held_ans(h->answer));
        end(s, h);
    }
}

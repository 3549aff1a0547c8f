/* deferred_answers.c: answers in the order in which their changes were made. */
#include "queuemng/lead/deferred_answers.h"

#include <assert.h>
#include <stdlib.h>

#define DEFERRED_MAX 1000 /* operators are few */

struct deferred {
    struct list_node in; /* mng_service.deferred */
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

void mng_defer(struct mng_service *s, struct admin_ans *a, uint64_t need)
{
    struct deferred *h = s->deferred.n < DEFERRED_MAX ? calloc(1, sizeof(*h)) : NULL;

    if (h == NULL || (h->answer = admin_hold(a)) == NULL) {
        free(h);
        not_sure(a);
        return;
    }
    h->need = need;
    list_push_back(&s->deferred, &h->in);
}

static void end(struct mng_service *s, struct deferred *h)
{
    struct admin_held *answer = h->answer;

    assert(answer != NULL && list_linked(&h->in));
    list_remove(&s->deferred, &h->in);
    free(h);
    admin_send(answer);
}

void mng_deferred_send(struct mng_service *s)
{
    list_each (&s->deferred, it) {
        struct deferred *h = container_of(it, struct deferred, in);

        if (h->need <= store_done(s->store))
            end(s, h);
    }
}

void mng_deferred_fail(struct mng_service *s)
{
    list_each (&s->deferred, it) {
        struct deferred *h = container_of(it, struct deferred, in);

        not_sure(admin_held_ans(h->answer));
        end(s, h);
    }
}

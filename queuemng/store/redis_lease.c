#include "queuemng/store/redis_lease.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queuemng/store/redis_store_int.h"

#define REPLICAS_MS 60000 /* time between questions of a leader for Redis' replicas */

static void lease_answer(struct redis_store *s, const struct redis_ans *a,
                         enum redis_lease_answer good)
{
    struct redis_lease r = { .is = REDIS_NO_ANSWER, .holder = "" };
    int64_t v[4]; /* granted?, rev, epoch, time left */
    const char *p;
    size_t n;

    r.serial = s->asked[s->first_asked]; /* answers come in the order of the questions */
    s->first_asked = (s->first_asked + 1) % ASKED_MAX;
    s->n_asked--;
    if (redis_numbers(s->link, a, v, 4)) {
        r.is = v[0] == 1 ? good : REDIS_HELD;
        r.rev = (uint64_t)v[1];
        r.epoch = (uint64_t)v[2];
        r.left_ms = v[3];
        if (redis_ans_text(a, 4, &p, &n) && strchr(p, ' ') != NULL)
            r.holder = strchr(p, ' ') + 1;
        if (v[0] == 1)
            redis_link_fault(s->link, REDIS_NONE, NULL);
    }
    s->calls.on_lease(s->ctx, &r);
}

static void on_take(void *ctx, const struct redis_ans *a)
{
    lease_answer(ctx, a, REDIS_GRANTED);
}

static void on_renew(void *ctx, const struct redis_ans *a)
{
    lease_answer(ctx, a, REDIS_RENEWED);
}

static int ask(struct redis_store *s, struct redis_command *c, uint64_t serial, redis_fn fn)
{
    int rc = s->n_asked < ASKED_MAX ? redis_send(s->link, &c->a, fn, s) : SQ_EBUSY;

    redis_args_fini(&c->a);
    if (rc < 0)
        return rc;
    s->asked[(s->first_asked + s->n_asked++) % ASKED_MAX] = serial;
    return 0;
}

int redis_store_take(struct redis_store *s, uint64_t serial, uint64_t above)
{
    struct redis_command c;

    redis_eval(&c, REDIS_SCRIPT_TAKE, s->key, ARRAY_LEN(s->key));
    redis_arg_str(&c.a, s->owner);
    redis_arg_str(&c.a, s->info);
    redis_arg_u64(&c, s->ttl_ms);
    redis_arg_u64(&c, above);
    return ask(s, &c, serial, on_take);
}

int redis_store_renew(struct redis_store *s, uint64_t serial, uint64_t epoch)
{
    struct redis_command c;

    if (ev_now(s->ev) - s->replicas_ms >= REPLICAS_MS)
        redis_store_ask_replicas(s);
    redis_eval(&c, REDIS_SCRIPT_RENEW, s->key, ARRAY_LEN(s->key));
    redis_arg_str(&c.a, s->owner);
    redis_arg_u64(&c, s->ttl_ms);
    redis_arg_u64(&c, epoch);
    return ask(s, &c, serial, on_renew);
}

static void on_freed(void *ctx, const struct redis_ans *a)
{
    (void)ctx; /* if it was not heard, the lease ends by itself */
    (void)a;
}

void redis_store_free_lease(struct redis_store *s)
{
    struct redis_command c;

    redis_eval(&c, REDIS_SCRIPT_FREE, s->key, ARRAY_LEN(s->key));
    redis_arg_str(&c.a, s->owner);
    if (redis_run(s->link, &c, on_freed, s) < 0)
        redis_link_fault(s->link, REDIS_GONE, "the lease was not given back");
}

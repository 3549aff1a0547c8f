#include "queuemng/store/redis_script.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void redis_arg_u64(struct command *c, uint64_t v)
{
    char *t = c->text[c->n_text++];

    assert(c->n_text <= ARRAY_LEN(c->text));
    snprintf(t, sizeof(c->text[0]), "%" PRIu64, v);
    redis_arg_str(&c->a, t);
}

void redis_eval(struct command *c, const struct redis_store *s, const char *script)
{
    memset(c, 0, sizeof(*c));
    redis_arg_str(&c->a, "EVAL");
    redis_arg_str(&c->a, script);
    redis_arg_str(&c->a, "3");
    redis_arg_str(&c->a, s->lease);
    redis_arg_str(&c->a, s->head);
    redis_arg_str(&c->a, s->kv);
}

int redis_run(struct redis_store *s, struct command *c, redis_fn fn)
{
    int rc = redis_send(s->link, &c->a, fn, s);

    redis_args_fini(&c->a);
    return rc;
}

bool redis_numbers(struct redis_store *s, const struct redis_ans *a, int64_t *v, size_t n)
{
    if (a->fault != REDIS_NONE) {
        redis_link_fault(s->link, a->fault, a->text);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        if (!redis_ans_int(a, i, &v[i]) || v[i] < 0) {
            redis_link_fault(s->link, REDIS_TYPE, "an answer of another shape");
            return false;
        }
    return true;
}

/* redis_ans.c: looks into hiredis' replies. */
#include "common/redis/redis_ans.h"

#include <hiredis/hiredis.h>
struct redis_ans redis_ans_of(const void *reply)
{
    const redisReply *r = reply;

    if (r->type == REDIS_REPLY_ERROR)
        return (struct redis_ans) { .fault = redis_fault_of(r->str), .text = r->str };
    return (struct redis_ans) { .reply = r, .text = "" };
}

size_t redis_ans_n(const struct redis_ans *a)
{
    const redisReply *r = a->reply;

    if (r == NULL)
        return 0;
    return r->type == REDIS_REPLY_ARRAY ? r->elements : 1;
}

static const redisReply *element(const struct redis_ans *a, size_t i)
{
    const redisReply *r = a->reply;

    if (i >= redis_ans_n(a))
        return NULL;
    return r->type == REDIS_REPLY_ARRAY ? r->element[i] : r;
}

bool redis_ans_int(const struct redis_ans *a, size_t i, int64_t *out)
{
    const redisReply *r = element(a, i);

    if (r == NULL || r->type != REDIS_REPLY_INTEGER)
        return false;
    *out = r->integer;
    return true;
}

bool redis_ans_text(const struct redis_ans *a, size_t i, const char **p, size_t *n)
{
    const redisReply *r = element(a, i);

    if (r == NULL || (r->type != REDIS_REPLY_STRING && r->type != REDIS_REPLY_STATUS))
        return false;
    *p = r->str;
    *n = (size_t)r->len;
    return true;
}

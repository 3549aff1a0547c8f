/* redis_ans.c: see redis_ans.h. */
#include "common/redis/redis_ans.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

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

void redis_args_fini(struct redis_args *a)
{
    free(a->v);
    free(a->len);
    memset(a, 0, sizeof(*a));
}

static bool args_grow(struct redis_args *a)
{
    size_t cap = a->cap != 0 ? a->cap * 2 : 16;
    const char **v = realloc(a->v, cap * sizeof(*v));
    size_t *len;

    if (v == NULL)
        return false;
    a->v = v;
    len = realloc(a->len, cap * sizeof(*len));
    if (len == NULL)
        return false;
    a->len = len;
    a->cap = cap;
    return true;
}

void redis_arg(struct redis_args *a, const char *p, size_t n)
{
    if (a->failed || (a->n == a->cap && !args_grow(a))) {
        a->failed = true;
        return;
    }
    assert(a->n < a->cap);
    a->v[a->n] = p;
    a->len[a->n++] = n;
}

void redis_arg_str(struct redis_args *a, const char *s)
{
    redis_arg(a, s, strlen(s));
}

/* ---- faults, by their first word ---- */

const char *redis_fault_name(enum redis_fault f)
{
    static const char *const names[] = {
#define X(name, text, fatal, hint) text,
        REDIS_FAULTS(X)
#undef X
    };

    return (unsigned)f < REDIS_NFAULTS ? names[f] : "?";
}

bool redis_fault_ends_link(enum redis_fault f)
{
    static const bool is[] = {
#define X(name, text, fatal, hint) fatal,
        REDIS_FAULTS(X)
#undef X
    };

    assert((unsigned)f < REDIS_NFAULTS);
    return is[f] && f != REDIS_AUTH; /* the hello was good: this one command is not allowed */
}

const char *redis_fault_hint(enum redis_fault f)
{
    static const char *const hints[] = {
#define X(name, text, fatal, hint) hint,
        REDIS_FAULTS(X)
#undef X
    };

    assert((unsigned)f < REDIS_NFAULTS);
    return hints[f];
}

static enum redis_fault fault_of_word(const char *text)
{
    static const struct {
        const char *word;
        enum redis_fault fault;
    } words[] = {
        { "NOAUTH", REDIS_AUTH },
        { "WRONGPASS", REDIS_AUTH },
        { "NOPERM", REDIS_AUTH },
        { "ERR invalid password", REDIS_AUTH },
        { "ERR Client sent AUTH", REDIS_AUTH },
        { "LOADING", REDIS_LOADING },
        { "READONLY", REDIS_READONLY },
        { "MASTERDOWN", REDIS_MASTER },
        { "MOVED", REDIS_MOVED },
        { "ASK ", REDIS_ASK },
        { "TRYAGAIN", REDIS_ASK },
        { "CLUSTERDOWN", REDIS_BUSY },
        { "BUSY", REDIS_BUSY },
        { "MISCONF", REDIS_MISCONF },
        { "OOM", REDIS_OOM },
        { "NOREPLICAS", REDIS_NOREPLICAS },
        { "NOSCRIPT", REDIS_NOSCRIPT },
        { "WRONGTYPE", REDIS_TYPE },
    };

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strncmp(text, words[i].word, strlen(words[i].word)) == 0)
            return words[i].fault;
    return REDIS_OTHER;
}

/* Before version 7 what goes wrong inside a script is wrapped:
 * "ERR Error running script (call to f_1): @user_script:1: -READONLY You can't ..." */
enum redis_fault redis_fault_of(const char *text)
{
    static const char wrap[] = "ERR Error running script";
    enum redis_fault f = fault_of_word(text);

    if (strncmp(text, wrap, sizeof(wrap) - 1) != 0)
        return f;
    while (f == REDIS_OTHER && (text = strstr(text, ": ")) != NULL) {
        text += 2;
        f = fault_of_word(text + (*text == '-'));
    }
    return f;
}

bool redis_fault_note(struct redis_faults *v, enum redis_fault f, msec_t now_ms)
{
    assert((unsigned)f < REDIS_NFAULTS);
    if (v->logged_ms[f] != 0 && now_ms - v->logged_ms[f] < REDIS_FAULT_AGAIN_MS)
        return false;
    v->logged_ms[f] = now_ms;
    return true;
}

bool redis_faults_over(struct redis_faults *v, bool of_link)
{
    bool logged = false;

    for (unsigned f = 0; f < REDIS_NFAULTS; f++)
        if (redis_fault_ends_link((enum redis_fault)f) == of_link) {
            logged |= v->logged_ms[f] != 0;
            v->logged_ms[f] = 0;
        }
    return logged;
}

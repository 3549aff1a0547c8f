/* redis_fault.c: faults by their first word. */
#include "common/redis/redis_fault.h"

#include <assert.h>
#include <string.h>

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

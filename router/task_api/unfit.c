/* unfit.c: see unfit.h. */
#include "router/task_api/unfit.h"

#include <assert.h>
#include <string.h>

#include "common/base/text.h"
#include "common/config/near.h"

#define NAME_SHOWN 40

bool task_body_say(struct body_error *e, const char *before, struct slice name, const char *after)
{
    char *w = e->text;

    w = text_str(w, before);
    for (size_t i = 0; i < name.n && i < 40; i++)
        *w++ = (char)(name.p[i] > 0x20 && name.p[i] < 0x7f ? name.p[i] : '?');
    w = text_str(w, after);
    *w = '\0';
    assert((size_t)(w - e->text) < sizeof(e->text));
    return false;
}

/* In the largest unit that has no rest. */
static char *put_time(char *w, int64_t ms)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = { { "d", 86400000 }, { "h", 3600000 }, { "m", 60000 }, { "s", 1000 }, { "ms", 1 } };
    size_t i = 0;

    if (ms == 0)
        return text_str(w, "0");
    while (ms % units[i].ms != 0)
        i++;
    return text_str(text_u64(w, (uint64_t)(ms / units[i].ms)), units[i].name);
}

static char *put_range(char *w, enum unfit_range kind, int64_t least, int64_t most)
{
    if (kind == UNFIT_NUMBER && least == INT64_MIN)
        return text_str(w, " of 64 bits");
    if (kind == UNFIT_NUMBER) {
        w = text_u64(text_str(w, " from "), (uint64_t)least);
        return text_u64(text_str(w, " to "), (uint64_t)most);
    }
    if (kind == UNFIT_TIME)
        return put_time(text_str(put_time(text_str(w, " from "), least), " to "), most);
    w = text_u64(text_str(w, " of "), (uint64_t)least);
    return text_str(text_u64(text_str(w, " to "), (uint64_t)most), " bytes");
}

bool unfit_member(struct body_error *e, struct slice name, const char *must, enum unfit_range kind,
                  int64_t least, int64_t most)
{
    char all[200]; /* a number may touch DECIMAL_ROOM bytes */

    if (kind == UNFIT_PLAIN)
        return task_body_say(e, "", name, must);
    *put_range(text_str(all, must), kind, least, most) = '\0';
    return task_body_say(e, "", name, all);
}

/* Names of other queues for a member of ours. */
static const char *meant(const char *typed)
{
    static const char *const words[][2] = {
        { "url", "path" },      { "uri", "path" },      { "target", "path" },  { "data", "payload" },
        { "args", "payload" },  { "message", "payload" }, { "run_at", "at" },  { "eta", "at" },
        { "retries", "max_attempts" }, { "attempts", "max_attempts" }, { "id", "name" },
    };

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcmp(words[i][0], typed) == 0)
            return words[i][1];
    return typed;
}

bool unfit_unknown(struct body_error *e, struct slice name, const char *const *names, size_t n)
{
    char typed[NAME_SHOWN + 1], all[64], *w = all;
    struct near near;

    *w = '\0';
    *text_put(typed, name.p, name.n < NAME_SHOWN ? name.n : NAME_SHOWN) = '\0';
    near = near_to(meant(typed));
    for (size_t i = 0; i < n; i++)
        near_try(&near, names[i]);
    if (near.name != NULL && strlen(near.name) < 40) {
        w = text_str(text_str(text_str(w, "; did you mean "), near.name), "?");
        *w = '\0';
    }
    return task_body_say(e, "unknown member ", name, all);
}

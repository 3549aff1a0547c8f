/* schedule_body.c: see schedule_body.h. */
#include "common/submit/schedule_body.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "common/base/text.h"

bool schedule_name_ok(struct slice name)
{
    for (size_t i = 0; i < name.n; i++)
        if (!isalnum((unsigned char)name.p[i]) && (i == 0 || strchr("_-.", name.p[i]) == NULL))
            return false;
    return name.n > 0 && name.n <= SCHEDULE_NAME_MAX;
}

enum { CRON, EVERY, ZONE, JITTER, OVERLAP, CATCH_UP, CATCH_UP_MOST, FROM, UNTIL, PAUSED, TASK };

/* Says of what is wrong in the task that it is there. Always false. */
static bool within_task(struct body_error *e)
{
    char text[sizeof(e->text)];

    if (e->text[0] == '\0')
        return false;
    snprintf(text, sizeof(text), "task: %.*s", (int)sizeof(text) - 7, e->text);
    memcpy(e->text, text, sizeof(text));
    return false;
}

/* Reads with the bound that schedule_body_read() has noted. */
static bool read_task(const struct json_member *m, struct json_scan *s, void *to)
{
    struct schedule_body *b = container_of(to, struct schedule_body, task);

    (void)m;
    if (json_scan_peek(s) == '{')
        return task_body_read(&b->task, s, b->may, b->e) || within_task(b->e);
    (void)json_scan_value(s, &(struct slice){ 0 });
    return false;
}

static const char *const overlaps[OVERLAP_NKINDS] = { "allow", "skip", "cancel_old" };
static const char *const catch_ups[CATCH_UP_NKINDS] = { "none", "last", "all" };

#define M(name, member, least, most, how, words, must) \
    { name, offsetof(struct schedule_body, member), least, most, how, RANGE_UNSAID, words, must }

static const struct json_member members[] = {
    [CRON] = M("cron", cron, 1, CRON_TEXT_MAX, json_text, NULL,
               " must be a string of five fields, or @daily and its like"),
    [EVERY] = M("every", every, RECUR_EVERY_MIN, RECUR_EVERY_MAX, json_span, NULL,
                " must be a time such as \"15m\", of 1 second to 400 days"),
    [ZONE] = M("zone", zone, 1, ZONE_NAME_MAX, json_visible, NULL,
               " must be a time zone's name, such as \"Europe/Berlin\""),
    [JITTER] = M("jitter", jitter, 0, 86400000, json_span, NULL,
                 " must be a time such as \"30s\", of a day at most"),
    [OVERLAP] = M("overlap", overlap, 0, OVERLAP_NKINDS, json_word, overlaps,
                  " must be \"allow\", \"skip\" or \"cancel_old\""),
    [CATCH_UP] = M("catch_up", catch_up, 0, CATCH_UP_NKINDS, json_word, catch_ups,
                   " must be \"none\", \"last\" or \"all\""),
    [CATCH_UP_MOST] = M("catch_up_max", catch_up_max, 1, RECUR_MAKE_UP, json_whole, NULL,
                        " must be a whole number, 1 to 100"),
    [FROM] = M("from", from, 1, RECUR_AT_MAX, json_moment, NULL, " must be a moment in Unix seconds"),
    [UNTIL] = M("until", until, 1, RECUR_AT_MAX, json_moment, NULL, " must be a moment in Unix seconds"),
    [PAUSED] = M("paused", paused, 0, 0, json_truth, NULL, " must be true or false"),
    [TASK] = M("task", task, 0, 0, read_task, NULL, " must be an object"),
};

static void copy_slice(char *to, struct slice from)
{
    *text_put(to, from.p, from.n) = '\0';
}

static bool wrong(struct body_error *e, const char *why)
{
    return json_say(e, why, (struct slice){ 0 }, "");
}

/* Checks what only all members together say. */
static const char *whole_wrong(const struct schedule_body *b, uint64_t has, struct body_error *e)
{
    struct recur r = { .every_ms = b->every, .from_ms = b->from, .until_ms = b->until };
    char text[CRON_TEXT_MAX + 1], zone[ZONE_NAME_MAX + 1];
    struct cron_error ce;

    if (((has >> CRON ^ has >> EVERY) & 1) == 0)
        return "a schedule needs cron or every, and not both";
    if ((has >> TASK & 1) == 0)
        return "task is missing";
    if ((has >> ZONE & 1) != 0 && (has >> CRON & 1) == 0)
        return "a zone is for cron; every counts in UTC";
    copy_slice(zone, b->zone);
    if (b->zone.n > 0 && !zone_name_ok(zone))
        return "zone must be a time zone's name, such as \"Europe/Berlin\"";
    copy_slice(text, b->cron);
    if (b->cron.n == 0 || cron_read(&r.cron, text, &ce))
        return recur_wrong(&r);
    snprintf(e->text, sizeof(e->text), "cron: %s", ce.text);
    return e->text;
}

bool schedule_body_read(struct schedule_body *b, struct slice text, uint64_t may,
                        struct body_error *e)
{
    uint64_t has = 0;
    const char *why;

    *b = (struct schedule_body){ .catch_up_max = SCHEDULE_CATCH_UP_MAX, .may = may, .e = e };
    if (!json_members_whole(members, ARRAY_LEN(members), UINT64_MAX, text, b, &has, e))
        return false;
    why = whole_wrong(b, has, e);
    return why == NULL || why == e->text ? why == NULL : wrong(e, why);
}

void schedule_numbers(struct msg_task_schedule *m, const struct schedule_body *b)
{
    m->every_ms = b->every;
    m->jitter_ms = b->jitter;
    m->overlap = (uint8_t)b->overlap;
    m->catch_up = (uint8_t)b->catch_up;
    m->catch_up_max = (uint32_t)b->catch_up_max;
    m->from_ms = b->from;
    m->until_ms = b->until;
    m->paused = b->paused;
}

uint64_t schedule_version(const void *text, size_t n)
{
    return (submit_digest((struct slice){ (char *)(uintptr_t)text, n }, false) >> 16) + SCHEDULE_ABSENT + 1;
}

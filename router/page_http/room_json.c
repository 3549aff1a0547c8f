/* room_json.c: see room_json.h. */
#include "router/page_http/room_json.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static void put_bool(struct buf *b, const char *name, bool v)
{
    buf_str(b, name);
    buf_str(b, v ? "true" : "false");
}

static void put_minutes(struct buf *b, const char *name, int64_t minutes)
{
    char number[24];

    snprintf(number, sizeof(number), "%lld", (long long)minutes);
    buf_str(b, ",\"");
    buf_str(b, name);
    buf_str(b, "\":");
    buf_str(b, number);
    buf_str(b, ",\"");
    buf_str(b, name);
    buf_str(b, "Formatted\":\"");
    buf_str(b, number);
    buf_str(b, minutes == 1 ? " minute\"" : " minutes\"");
}

static void put_wait(struct buf *b, const struct page_view *v)
{
    bool known = v->state == PAGE_WAITING && v->eta_s >= 0;

    put_bool(b, ",\"waitTimeKnown\":", known);
    if (known)
        put_minutes(b, "waitTime", (v->eta_s + 59) / 60);
    else
        buf_str(b, ",\"waitTime\":0,\"waitTimeFormatted\":\"unknown\"");
    /* none of these: the estimate is this visitor's own */
    buf_str(b, ",\"waitTime25Percentile\":0,\"waitTime50Percentile\":0,\"waitTime75Percentile\":0");
}

static void put_opening(struct buf *b, const struct page_view *v)
{
    int64_t left_ms = v->opens_ms - v->wall_ms;

    put_bool(b, ",\"isEventActive\":", false);
    put_bool(b, ",\"isEventPrequeueing\":", v->opens_ms != 0);
    put_bool(b, ",\"shuffleAtEventStart\":", v->draw != NULL && v->draw[0] != '\0');
    if (v->opens_ms != 0)
        put_minutes(b, "timeUntilEventStart", left_ms > 0 ? (left_ms + 59999) / 60000 : 0);
}

static void put_time(struct buf *b, int64_t wall_ms)
{
    time_t at = (time_t)(wall_ms / 1000);
    char text[40];
    struct tm t;

    if (gmtime_r(&at, &t) != NULL && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &t) > 0)
        buf_printf(b, ",\"lastUpdated\":\"%s.%03dZ\"", text, (int)(wall_ms % 1000));
}

static bool has_form(enum page_state s)
{
    switch (s) {
    case PAGE_WAITING:
    case PAGE_EXPIRED:
    case PAGE_NO_SHOW:
    case PAGE_LOST:
    case PAGE_CLOSED:
    case PAGE_EARLY:
    case PAGE_REJECT:
    case PAGE_FULL:
    case PAGE_UNAVAILABLE:
    case PAGE_TOO_FAST:
    case PAGE_LEFT:
    case PAGE_WORK:
    case PAGE_CHECK:
        return true;
    default:
        return false;
    }
}

bool room_json_show(struct router *r, const struct page_view *v)
{
    struct buf *b = &r->ans.body;
    uint32_t again_s = (v->poll_after_ms + 999) / 1000;
    bool shut = v->state == PAGE_REJECT || v->state == PAGE_CLOSED;

    if (!has_form(v->state))
        return false;
    r->counts.pages++;
    r->ans.status = page_status(v->state);
    r->ans.type = "application/json";
    buf_str(&r->ans.headers, "Cache-Control: no-store\r\nVary: Accept, Cookie\r\n");
    if (r->ans.status == 429 || r->ans.status == 503)
        buf_printf(&r->ans.headers, "Retry-After: %u\r\n", again_s > 0 ? again_s : 1);
    put_bool(b, "{\"cfWaitingRoom\":{\"inWaitingRoom\":", true);
    put_wait(b, v);
    put_bool(b, ",\"queueIsFull\":", v->state == PAGE_FULL);
    put_bool(b, ",\"queueAll\":", v->paused);
    put_time(b, v->wall_ms);
    buf_printf(b, ",\"refreshIntervalSeconds\":%u", again_s > 0 ? again_s : 1);
    buf_printf(b, ",\"queueingMethod\":\"%s\"", shut ? "reject" : "fifo");
    put_bool(b, ",\"isFIFOQueue\":", !shut);
    put_bool(b, ",\"isRandomQueue\":", false);
    put_bool(b, ",\"isPassthroughQueue\":", false);
    put_bool(b, ",\"isRejectQueue\":", shut);
    put_opening(b, v);
    buf_str(b, "}}\n");
    return true;
}

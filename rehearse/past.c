/* past.c: see the header. Pure. */
#include "rehearse/past.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "queuemng/policy/schedule.h"

/* ---- arrivals, line by line ---- */

enum form { FORM_NONE, FORM_SECONDS, FORM_CLOCK, FORM_DATE };

static bool clock_of(const char *s, int64_t *ms)
{
    unsigned h, m, sec = 0;
    int n = 0;

    if (sscanf(s, "%2u:%2u%n", &h, &m, &n) != 2)
        return false;
    if (s[n] == ':') {
        s += n;
        n = 0;
        if (sscanf(s, ":%2u%n", &sec, &n) != 1)
            return false;
    }
    *ms = ((h * 60ll + m) * 60 + sec) * 1000;
    return s[n] == '\0' && h < 24 && m < 60 && sec < 60;
}

static bool number_of(const char *s, double most, double *v)
{
    char *end;

    *v = strtod(s, &end);
    return end != s && *end == '\0' && *v >= 0 && *v <= most;
}

static enum form time_of(const char *s, int64_t *ms)
{
    double v;

    if (number_of(s, 1e11, &v)) {
        *ms = (int64_t)llround(v * 1000);
        return FORM_SECONDS;
    }
    return clock_of(s, ms) ? FORM_CLOCK : schedule_parse(s, ms) == 0 ? FORM_DATE : FORM_NONE;
}

static char *trim(char *s)
{
    size_t n;

    s += strspn(s, " \t\"");
    for (n = strlen(s); n > 0 && strchr(" \t\r\"", s[n - 1]) != NULL;)
        s[--n] = '\0';
    return s;
}

#define EDGES 4

struct csv {
    const char *file;
    unsigned line;
    bool begun; /* a line of data, or the names of the columns, has been */
    enum form form;
    struct night_point *v; /* owned: EDGES of each line: up, level, down */
    uint32_t n, cap;
    int64_t step_ms;
};

static int csv_line(struct csv *c, char *line, struct err *e)
{
    static const char *const forms[] = { "", "seconds", "HH:MM", "dates" };
    char *comma = strpbrk(line, ",;"), *time;
    enum form form;
    int64_t ms;
    double count;

    if (comma == NULL)
        return err_set(e, SQ_EINVAL, "%s:%u: time,count is expected, as 20:00,1500", c->file, c->line);
    *comma = '\0';
    time = trim(line);
    form = time_of(time, &ms);
    if (form == FORM_NONE && !c->begun && !number_of(trim(comma + 1), INFINITY, &count)) {
        c->begun = true;
        return 0; /* names of the columns */
    }
    c->begun = true;
    if (form == FORM_NONE)
        return err_set(e, SQ_EINVAL, "%s:%u: \"%.40s\" is no time: seconds, HH:MM[:SS], or a date and time with a "
                       "zone, like 2027-01-31T20:00:00Z", c->file, c->line, time);
    if (!number_of(trim(comma + 1), 1e9, &count))
        return err_set(e, SQ_EINVAL, "%s:%u: \"%.40s\" is no count of people from 0 to 1000000000", c->file, c->line,
                       trim(comma + 1));
    if (c->n > 0 && form != c->form)
        return err_set(e, SQ_EINVAL, "%s:%u: times must be %s, as in the lines before", c->file, c->line,
                       forms[c->form]);
    if (c->n > 0 && ms <= c->v[c->n - EDGES].at_ms)
        return err_set(e, SQ_EINVAL, "%s:%u: not later than the line before it%s", c->file, c->line,
                       form == FORM_CLOCK ? "; a night over midnight needs dates, or seconds" : "");
    if (c->n >= EDGES * PAST_LINES_MAX)
        return err_set(e, SQ_EINVAL, "%s:%u: more than %d lines", c->file, c->line, PAST_LINES_MAX);
    if (!GROW_BY(c->v, c->n, EDGES, c->cap, 256))
        return err_set(e, SQ_ENOMEM, "out of memory");
    c->form = form;
    if (c->n > 0)
        c->step_ms = ms_min(c->step_ms, ms - c->v[c->n - EDGES].at_ms);
    c->v[c->n] = (struct night_point){ .at_ms = ms, .per_s = count };
    c->n += EDGES;
    return 0;
}

static int csv_lines(struct csv *c, char *text, struct err *e)
{
    static const char mark[] = "\xef\xbb\xbf"; /* a byte order mark, as spreadsheets write */
    int rc = 0;

    if (strncmp(text, mark, 3) == 0)
        text += 3;
    for (char *next; rc == 0 && text != NULL; text = next) {
        next = strchr(text, '\n');
        if (next != NULL)
            *next++ = '\0';
        c->line++;
        text = trim(text);
        if (*text != '\0' && *text != '#')
            rc = csv_line(c, text, e);
    }
    if (rc == 0 && c->n < 2 * EDGES)
        rc = err_set(e, SQ_EINVAL, "%s:%u: two lines at least are expected: their distance says how long one is",
                     c->file, c->line);
    return rc;
}

int past_csv(struct cfg_list *arrivals, char *text, const char *file, struct err *e)
{
    struct csv c = { .file = file, .step_ms = INT64_MAX };
    int rc = csv_lines(&c, text, e);
    int64_t from = c.n > 0 ? c.v[0].at_ms : 0;

    for (uint32_t i = 0; i < c.n; i += EDGES) {
        int64_t at = c.v[i].at_ms - from;
        double per_s = c.v[i].per_s / ((double)c.step_ms / 1000);
        const struct night_point line[EDGES] = { { at, 0, 0 }, { at, per_s, 0 }, { at + c.step_ms, per_s, 0 },
                                                 { at + c.step_ms, 0, 0 } };

        memcpy(&c.v[i], line, sizeof(line));
    }
    if (rc < 0) {
        free(c.v);
        return rc;
    }
    *arrivals = (struct cfg_list){ c.v, c.n };
    return 0;
}

/* ---- the audit trail ---- */

enum what { JOINED, ADMITTED, NO_SHOW, LEFT, EXPIRED, FINISHED, REVOKED, WHATS };

struct past_event {
    uint64_t seg;
    int64_t ms;
    uint32_t number;
    uint8_t what, lane;
    bool waiting; /* was in line as it happened */
};

/* The text of a member; escaped ones have no bare quotes. */
static const char *member(const char *line, const char *key, size_t *n)
{
    const char *p = strstr(line, key), *end;

    if (p == NULL)
        return NULL;
    p += strlen(key);
    end = strchr(p, '"');
    *n = end != NULL ? (size_t)(end - p) : 0;
    return end != NULL ? p : NULL;
}

static bool member_is(const char *line, const char *key, const char *word)
{
    size_t n;
    const char *p = member(line, key, &n);

    return p != NULL && n == strlen(word) && memcmp(p, word, n) == 0;
}

void past_line(struct past *p, const char *line, const struct queue_def *d)
{
    static const char *const words[] = { "joined", "admitted", "no_show", "left", "expired", "finished", "revoked" };
    struct past_event x = { .what = WHATS };
    char time[40];
    size_t n;
    const char *at = member(line, "\"time\":\"", &n);
    size_t len = strcspn(line, "\r\n");
    unsigned lane;
    char *end;

    if (len > 0 && line[len - 1] != '}') {
        p->missing++;
        return;
    }
    if (member_is(line, "\"event\":\"", "gap") && (end = strstr(line, "\"n\":")) != NULL)
        p->missing += strtoull(end + 4, NULL, 10);
    if (at == NULL || n >= sizeof(time) || !member_is(line, "\"queue\":\"", d->name))
        return;
    memcpy(time, at, n);
    time[n] = '\0';
    for (unsigned i = 0; i < WHATS; i++)
        if (member_is(line, "\"event\":\"", words[i]))
            x.what = (uint8_t)i;
    at = member(line, "\"ticket\":\"", &n);
    if (x.what == WHATS || at == NULL || schedule_parse(time, &x.ms) < 0)
        return;
    x.seg = strtoull(at, &end, 10);
    if (*end != '-')
        return;
    x.number = (uint32_t)strtoul(end + 1, NULL, 10);
    at = member(line, "\"lane\":\"", &n);
    lane = at != NULL ? night_lane(d, at, n) : 0;
    x.lane = (uint8_t)(lane < LANES_MAX ? lane : 0); /* unknown to the file: the first */
    x.waiting = member_is(line, "\"state\":\"", "waiting");
    if (p->no_memory || !GROW(p->v, p->n, p->cap, 4096))
        p->no_memory = true;
    else
        p->v[p->n++] = x;
}

static int by_ticket(const void *a, const void *b)
{
    const struct past_event *x = a, *y = b;

    if (x->seg != y->seg)
        return x->seg < y->seg ? -1 : 1;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return x->ms != y->ms ? (x->ms < y->ms ? -1 : 1) : x->what - y->what;
}

static int by_coming(const void *a, const void *b)
{
    const struct night_past *x = a, *y = b;

    if (x->came_ms != y->came_ms)
        return x->came_ms < y->came_ms ? -1 : 1;
    return x->waited_ms < y->waited_ms ? -1 : x->waited_ms > y->waited_ms;
}

static void happened(struct night_past *x, const struct past_event *e, int64_t joined)
{
    uint32_t since = (uint32_t)ms_min(e->ms - joined, UINT32_MAX - 1);

    switch ((enum what)e->what) {
    case ADMITTED:
        if (x->fate != PAST_IN)
            *x = (struct night_past){ x->came_ms, since, UINT32_MAX, PAST_IN, x->lane };
        break;
    case NO_SHOW:
        if (x->fate == PAST_WAITS)
            x->fate = PAST_NO_SHOW;
        break;
    case LEFT:
    case EXPIRED:
    case FINISHED:
    case REVOKED:
        if (x->fate == PAST_IN && x->stay_ms == UINT32_MAX)
            x->stay_ms = since - x->waited_ms;
        else if (x->fate == PAST_WAITS && e->waiting) {
            x->fate = e->what == EXPIRED ? PAST_SILENT : PAST_LEFT;
            x->waited_ms = since;
        } else if (x->fate == PAST_WAITS)
            x->fate = PAST_NO_SHOW; /* was let in, and left */
        break;
    case JOINED:
    case WHATS:
        break;
    }
}

/* Events of a ticket, from v on; how many. */
static size_t take_ticket(struct past *p, const struct past_event *v, size_t n, int64_t for_ms)
{
    struct night_past *x = &p->people[p->n_people];
    size_t end = 1;
    bool in_it = v->what == JOINED && v->ms >= p->from_ms && v->ms - p->from_ms < for_ms;

    while (end < n && v[end].seg == v->seg && v[end].number == v->number)
        end++;
    p->before += v->what != JOINED || v->ms < p->from_ms;
    p->after += v->what == JOINED && v->ms >= p->from_ms && !in_it;
    if (!in_it)
        return end;
    *x = (struct night_past){ (uint32_t)(v->ms - p->from_ms), UINT32_MAX, UINT32_MAX, PAST_WAITS,
                              v->lane };
    for (size_t i = 1; i < end; i++)
        happened(x, &v[i], v->ms);
    p->n_people++;
    return end;
}

int past_end(struct past *p, int64_t from_ms, int64_t for_ms)
{
    size_t joins = 0;

    p->from_ms = from_ms > 0 ? from_ms : INT64_MAX;
    for (size_t i = 0; i < p->n; i++) {
        joins += p->v[i].what == JOINED;
        if (p->v[i].what == JOINED && from_ms <= 0)
            p->from_ms = ms_min(p->from_ms, p->v[i].ms);
    }
    if (joins == 0)
        return p->no_memory ? SQ_ENOMEM : SQ_EUNKNOWN;
    p->people = calloc(joins + 1, sizeof(*p->people));
    if (p->no_memory || p->people == NULL)
        return SQ_ENOMEM;
    qsort(p->v, p->n, sizeof(*p->v), by_ticket);
    for (size_t i = 0; i < p->n;)
        i += take_ticket(p, &p->v[i], p->n - i, for_ms);
    free(p->v);
    p->v = NULL;
    p->n = p->cap = 0;
    qsort(p->people, p->n_people, sizeof(*p->people), by_coming);
    return p->n_people > 0 ? 0 : SQ_EUNKNOWN;
}

void past_fini(struct past *p)
{
    free(p->v);
    free(p->people);
    *p = (struct past){ 0 };
}

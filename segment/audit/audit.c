/* audit.c: events as lines of a trail; questions about its files. */
#define _GNU_SOURCE /* memmem, memrchr */
#include "segment/audit/audit.h"

#include <stdatomic.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/trail/trail_files.h"

/* ---- audit find --------------------------------------------------------------------------- */

/* Files are read from their end, window by window. */

#define WINDOW_BYTES (256u << 10) /* a line is much shorter */

/* ---- the files ------------------------------------------------------------------- */

static int by_day(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

bool audit_find_init(struct audit_find *f, int dir, struct ticket_id id, size_t max)
{
    *f = (struct audit_find) { .dir = dir, .fd = -1, .max = max, .whole = true };
    buf_init(&f->lines);
    snprintf(f->needle, sizeof(f->needle), "\"ticket\":\"%" PRIu64 "-%" PRIu32 "\"", id.seg,
             id.number);
    f->window = malloc(WINDOW_BYTES);
    if (f->window == NULL || !trail_files_days(dir, "audit", &f->day, &f->n)) {
        audit_find_fini(f);
        return false;
    }
    if (f->n > 0)
        qsort(f->day, f->n, sizeof(*f->day), by_day);
    return true;
}

static void close_file(struct audit_find *f)
{
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
}

void audit_find_fini(struct audit_find *f)
{
    close_file(f);
    free(f->day);
    free(f->window);
    buf_fini(&f->lines);
    f->day = NULL;
    f->window = NULL;
    f->n = 0;
}

/* A file that is gone meanwhile was too old. */
static void open_file(struct audit_find *f)
{
    char name[TRAIL_FILE_NAME_MAX + 1];
    struct stat st;

    trail_file_name("audit", f->day[f->n - 1], name);
    f->fd = openat(f->dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (f->fd >= 0 && fstat(f->fd, &st) == 0 && S_ISREG(st.st_mode)) {
        f->end = (uint64_t)st.st_size;
        return;
    }
    f->whole &= f->fd < 0 && errno == ENOENT;
    close_file(f);
    f->n--;
}

/* ---- lines ----------------------------------------------------------------------- */

/* false: enough. */
static bool take_line(struct audit_find *f, const char *p, size_t n)
{
    static const char begun[] = "\"event\":\"joined\"";

    if (f->lines.len + n > f->max) {
        f->whole = false;
        return false;
    }
    buf_append(&f->lines, p, n);
    f->whole &= !f->lines.failed;
    return !f->lines.failed && memmem(p, n, begun, sizeof(begun) - 1) == NULL;
}

/* Lines of p .. p + n, whole ones, from the last to the first. */
static bool take_lines(struct audit_find *f, const char *p, size_t n)
{
    while (n > 0 && memmem(p, n, f->needle, strlen(f->needle)) != NULL) {
        const char *before = n > 1 ? memrchr(p, '\n', n - 1) : NULL;
        const char *line = before == NULL ? p : before + 1;
        size_t len = (size_t)(p + n - line);

        if (memmem(line, len, f->needle, strlen(f->needle)) != NULL &&
            !take_line(f, line, len))
            return false;
        n -= len;
    }
    return true;
}

/* The window that ends at f->end; what has no beginning in it is left for the next one. */
static bool read_window(struct audit_find *f)
{
    size_t want = f->end < WINDOW_BYTES ? (size_t)f->end : WINDOW_BYTES;
    ssize_t n = pread(f->fd, f->window, want, (off_t)(f->end - want));
    const char *p = f->window, *first, *last;

    assert(f->fd >= 0 && f->n > 0 && want > 0);
    if (n <= 0)
        return false;
    f->read += (uint64_t)n;
    last = memrchr(p, '\n', (size_t)n); /* half a line at the end: being written */
    first = f->end == want ? p - 1 : memchr(p, '\n', (size_t)n);
    if (last == NULL || first == NULL || (first == last && f->end > want)) {
        f->end -= want; /* bytes of no line of ours */
        return true;
    }
    f->end -= want;
    f->end += (uint64_t)(first + 1 - p);
    if (!take_lines(f, first + 1, (size_t)(last - first))) {
        f->n = 0;
        f->end = 0;
    }
    return true;
}

bool audit_find_step(struct audit_find *f)
{
    uint64_t until = f->read + AUDIT_SLICE_BYTES;

    while (f->n > 0 && f->read < until) {
        if (f->read >= AUDIT_FIND_BYTES) {
            f->whole = false;
            return false;
        }
        if (f->fd < 0)
            open_file(f);
        if (f->fd < 0)
            continue;
        if (f->end > 0 && read_window(f) && f->end > 0)
            continue;
        f->whole &= f->end == 0;
        close_file(f);
        f->n -= f->n > 0;
    }
    return f->n > 0;
}

/* ---- questions: a few places; they are rare, and those beyond are told so ------------------ */

enum { FREE, ASKED, DONE };

/* ---- questions about tickets, from the loop's thread to the trail's, and what was found, back --
 *
 *   FREE --ask--> ASKED --work, slice by slice--> DONE --take--> FREE
 *
 * Each state is left by one thread only, so no lock is needed. */

#define AUDIT_DESK_PLACES 8

struct audit_desk {
    struct {
        atomic_int state;
        struct audit_found f;
    } place[AUDIT_DESK_PLACES];
    struct audit_find at_work; /* search for place[busy] */
    unsigned busy;
    bool working;
};

static int state_of(const struct audit_desk *d, unsigned i)
{
    return atomic_load_explicit(&d->place[i].state, memory_order_acquire);
}

static void set_state(struct audit_desk *d, unsigned i, int state)
{
    atomic_store_explicit(&d->place[i].state, state, memory_order_release);
}

static void audit_desk_fini(struct audit_desk *d)
{
    if (d->working)
        audit_find_fini(&d->at_work);
    for (unsigned i = 0; i < AUDIT_DESK_PLACES; i++)
        if (state_of(d, i) == DONE)
            buf_fini(&d->place[i].f.lines);
}

static bool audit_desk_ask(struct audit_desk *d, const struct audit_ask *q)
{
    for (unsigned i = 0; i < AUDIT_DESK_PLACES; i++) {
        if (state_of(d, i) != FREE)
            continue;
        d->place[i].f = (struct audit_found) { .ask = *q };
        set_state(d, i, ASKED);
        return true;
    }
    return false;
}

static bool audit_desk_take(struct audit_desk *d, struct audit_found *f)
{
    for (unsigned i = 0; i < AUDIT_DESK_PLACES; i++) {
        if (state_of(d, i) != DONE)
            continue;
        *f = d->place[i].f;
        set_state(d, i, FREE);
        return true;
    }
    return false;
}

static void finish(struct audit_desk *d)
{
    struct audit_found *f = &d->place[d->busy].f;

    assert(d->working && state_of(d, d->busy) == ASKED);
    f->lines = d->at_work.lines;
    f->whole = d->at_work.whole;
    f->read = d->at_work.read;
    buf_init(&d->at_work.lines);
    audit_find_fini(&d->at_work);
    d->working = false;
    set_state(d, d->busy, DONE);
}

/* The next question; false: there is none. */
static bool begin(struct audit_desk *d, int dir)
{
    for (unsigned i = 0; i < AUDIT_DESK_PLACES; i++) {
        struct audit_found *f = &d->place[i].f;

        if (state_of(d, i) != ASKED)
            continue;
        d->busy = i;
        d->working = audit_find_init(&d->at_work, dir, f->ask.id, f->ask.max);
        if (!d->working)
            set_state(d, i, DONE); /* nothing, and not the whole of it */
        return true;
    }
    return false;
}

/* The trail's thread. false: nothing (more) to do. */
static bool audit_desk_work(struct audit_desk *d, int dir)
{
    if (!d->working)
        return begin(d, dir);
    if (!audit_find_step(&d->at_work))
        finish(d);
    return true;
}

struct audit {
    struct trail *trail; /* owned */
    char node[NAME_MAX_LEN + 1];
    enum audit_subject subject;
    struct audit_desk desk; /* both threads', see there */
};

void audit_put(void *audit, const struct audit_event *e)
{
    struct audit *a = audit;
    char *to = trail_room(a->trail, e->wall_ms);

    if (to != NULL)
        trail_put(a->trail, audit_line(e, a->node, a->subject, to));
}

static size_t gap(void *audit, const struct trail_gap *g, char *out)
{
    const struct audit *a = audit;
    struct audit_event e = { .kind = AUDIT_GAP, .wall_ms = g->wall_ms, .n = g->n, .has_n = true,
                             .since_ms = g->since_ms };

    return audit_line(&e, a->node, a->subject, out);
}

static bool work(void *audit, int dir)
{
    return audit_desk_work(&((struct audit *)audit)->desk, dir);
}

void audit_tick(struct audit *a, int64_t wall_ms)
{
    if (a != NULL)
        trail_tick(a->trail, wall_ms);
}

/* Lines that were handed over by now are written before the search. */
bool audit_look(struct audit *a, const struct audit_ask *q, int64_t wall_ms)
{
    audit_tick(a, wall_ms);
    if (!audit_desk_ask(&a->desk, q))
        return false;
    trail_wake(a->trail);
    return true;
}

bool audit_found(struct audit *a, struct audit_found *f)
{
    return a != NULL && audit_desk_take(&a->desk, f);
}

void audit_count(const struct audit *a, struct trail_counts *n)
{
    trail_count(a != NULL ? a->trail : NULL, n);
}

static void mark(struct audit *a, enum audit_kind kind, int64_t wall_ms)
{
    audit_put(a, &(struct audit_event) { .kind = kind, .wall_ms = wall_ms });
}

int audit_new(struct audit **out, const struct audit_opts *o, struct err *e)
{
    struct audit *a = calloc(1, sizeof(*a));
    struct trail_opts t = { .name = "audit", .dir = o->dir, .node = o->node,
                            .keep_days = o->keep_days, .buffer_bytes = o->buffer_bytes,
                            .line_max = AUDIT_LINE_MAX, .gap = gap, .work = work, .ctx = a };
    int rc;

    if (a == NULL)
        return err_set(e, SQ_ENOMEM, "audit");
    a->subject = o->subject;
    snprintf(a->node, sizeof(a->node), "%s", o->node);
    rc = trail_new(&a->trail, &t, e);
    if (rc < 0) {
        free(a);
        return rc;
    }
    mark(a, AUDIT_STARTED, o->wall_ms);
    *out = a;
    return 0;
}

void audit_free(struct audit *a, int64_t wall_ms)
{
    if (a == NULL)
        return;
    mark(a, AUDIT_STOPPED, wall_ms);
    trail_free(a->trail);
    audit_desk_fini(&a->desk);
    free(a);
}

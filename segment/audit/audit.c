/* audit.c: chunks from the loop's thread to the one that writes, and back.
 *
 * `full` is how many chunks were ever handed over, `done` how many were ever written; each
 * is written by one thread only. Chunk i belongs to the writing thread while
 * done <= i < full, else to the loop's. */
#define _GNU_SOURCE /* sem_clockwait */
#include "segment/audit/audit.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/log.h"
#include "segment/audit/audit_files.h"

#define LOG_MODULE "audit"
#define RETRY_S    1
#define DAY_MS     86400000ll
#define MIN_CHUNKS 4u

struct chunk { /* lines of one day */
    char *data; /* in audit.mem */
    size_t len;
    int64_t day;
};

struct audit {
    char node[NAME_MAX_LEN + 1];
    enum audit_subject subject;
    uint32_t keep_days;
    /* the loop's thread: */
    struct chunk *chunk; /* owned; n of them */
    char *mem;           /* owned */
    uint32_t n;
    bool open; /* chunk[full % n] is being filled */
    uint64_t lines, dropped;
    uint64_t gap; /* lines that found no room since the last one that did */
    int64_t gap_since_ms;
    int told_failing; /* errno in the log */
    /* both: */
    atomic_uint_fast64_t full, done;
    atomic_int_fast64_t today; /* days since 1970 */
    atomic_int failing;        /* errno of the last write; 0: it went well */
    atomic_bool stop;
    atomic_uint_fast64_t bytes, failures, removed, cut_bytes;
    sem_t wake;
    /* the writing thread: */
    pthread_t thread;
    bool has_thread;
    struct audit_files files;
    struct audit_desk desk; /* both threads', see there */
    int64_t cleaned; /* the day */
};

/* ---- the writing thread ---------------------------------------------------------- */

static void clean(struct audit *a)
{
    int64_t today = atomic_load(&a->today);

    if (a->keep_days == 0 || today == a->cleaned)
        return;
    a->cleaned = today;
    atomic_fetch_add(&a->removed, audit_files_clean(&a->files, today - a->keep_days + 1));
}

static void look_at_all(struct audit *a)
{
    while (!atomic_load(&a->stop) && audit_desk_work(&a->desk, a->files.dir))
        ;
}

/* Waits for a second, or for the end; questions are answered while the disk is full, too. */
static void wait_a_little(struct audit *a)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += RETRY_S;
    do
        look_at_all(a);
    while (!atomic_load(&a->stop) &&
           (sem_clockwait(&a->wake, CLOCK_MONOTONIC, &until) == 0 || errno == EINTR));
}

/* Until it is written; at the end, one try is enough. */
static void write_chunk(struct audit *a, const struct chunk *c)
{
    for (size_t at = 0, done; at < c->len; at += done) {
        int rc = audit_files_put(&a->files, c->data + at, c->len - at, &done);

        atomic_fetch_add(&a->bytes, done);
        atomic_store(&a->cut_bytes, a->files.cut_bytes);
        atomic_store(&a->failing, -rc);
        if (rc == 0)
            continue;
        atomic_fetch_add(&a->failures, 1);
        if (atomic_load(&a->stop))
            return;
        wait_a_little(a);
    }
}

static void write_all(struct audit *a)
{
    for (uint64_t i = atomic_load(&a->done);
         i < atomic_load_explicit(&a->full, memory_order_acquire); i++) {
        write_chunk(a, &a->chunk[i % a->n]);
        atomic_store_explicit(&a->done, i + 1, memory_order_release);
    }
}

/* Nothing is handed over after `stop`: a look at the chunks that comes after seeing it sees
 * them all. (Its wake-up may have ended a wait for the disk.) */
static void *run(void *arg)
{
    struct audit *a = arg;
    bool stop;

    for (;;) {
        stop = atomic_load(&a->stop);
        clean(a);
        write_all(a);
        if (stop)
            return NULL;
        if (audit_desk_work(&a->desk, a->files.dir))
            continue; /* a slice of it; then what there is to write */
        while (!atomic_load(&a->stop) && sem_wait(&a->wake) < 0)
            ; /* EINTR */
    }
}

/* ---- lines ----------------------------------------------------------------------- */

static void hand_over(struct audit *a)
{
    if (!a->open)
        return;
    a->open = false;
    assert(a->chunk[atomic_load(&a->full) % a->n].len > 0); /* a chunk is opened for a line */
    atomic_fetch_add_explicit(&a->full, 1, memory_order_release);
    sem_post(&a->wake);
}

/* A chunk with room for two lines (a gap may have to be told first), or NULL. */
static struct chunk *room(struct audit *a, int64_t wall_ms)
{
    uint64_t full = atomic_load_explicit(&a->full, memory_order_relaxed);
    struct chunk *c = &a->chunk[full % a->n];

    if (a->open && c->day == wall_ms / DAY_MS &&
        c->len + 2 * AUDIT_LINE_MAX <= AUDIT_CHUNK_BYTES)
        return c;
    hand_over(a);
    full = atomic_load_explicit(&a->full, memory_order_relaxed);
    assert(full - atomic_load(&a->done) <= a->n); /* the writer never overtakes, nor do we */
    if (full - atomic_load_explicit(&a->done, memory_order_acquire) >= a->n)
        return NULL;
    c = &a->chunk[full % a->n];
    c->len = 0;
    c->day = wall_ms / DAY_MS;
    a->open = true;
    return c;
}

static void put(struct audit *a, struct chunk *c, const struct audit_event *e)
{
    assert(a->open && c->len + AUDIT_LINE_MAX <= AUDIT_CHUNK_BYTES);
    c->len += audit_line(e, a->node, a->subject, c->data + c->len);
    a->lines++;
}

static void tell_gap(struct audit *a, struct chunk *c, int64_t wall_ms)
{
    put(a, c,
        &(struct audit_event) { .kind = AUDIT_GAP,
                                .wall_ms = wall_ms,
                                .n = a->gap,
                                .has_n = true,
                                .since_ms = a->gap_since_ms });
    log_warn("event=trail_gap lines=%" PRIu64, a->gap);
    a->gap = 0;
}

void audit_put(void *audit, const struct audit_event *e)
{
    struct audit *a = audit;
    struct chunk *c = room(a, e->wall_ms);

    if (c != NULL) {
        if (SQ_UNLIKELY(a->gap > 0))
            tell_gap(a, c, e->wall_ms);
        put(a, c, e);
        return;
    }
    a->dropped++;
    if (a->gap++ == 0) {
        a->gap_since_ms = e->wall_ms;
        log_warn("event=trail_full note=\"the disk is too slow: lines are left out and counted\"");
    }
}

/* ---- time ------------------------------------------------------------------------ */

static void tell_failing(struct audit *a)
{
    int failing = atomic_load(&a->failing);

    if (failing == a->told_failing)
        return;
    if (failing != 0)
        log_error("event=trail_failed error=\"%s\" note=\"lines are kept while there is room\"",
                  strerror(failing));
    else
        log_info("event=trail_resumed");
    a->told_failing = failing;
}

void audit_tick(struct audit *a, int64_t wall_ms)
{
    uint64_t full, done;

    if (a == NULL)
        return;
    if (wall_ms / DAY_MS != atomic_load(&a->today)) {
        atomic_store(&a->today, wall_ms / DAY_MS);
        sem_post(&a->wake);
    }
    full = atomic_load_explicit(&a->full, memory_order_relaxed);
    done = atomic_load_explicit(&a->done, memory_order_acquire);
    if (a->gap > 0 && full - done < a->n) {
        struct chunk *c = room(a, wall_ms);

        if (c != NULL)
            tell_gap(a, c, wall_ms);
    }
    /* While the thread is behind, a chunk that is not full would only take room. */
    if (full == done)
        hand_over(a);
    tell_failing(a);
}

static void mark(struct audit *a, enum audit_kind kind, int64_t wall_ms)
{
    audit_put(a, &(struct audit_event) { .kind = kind, .wall_ms = wall_ms });
}

/* Lines that were handed over by now are written before the search. */
bool audit_look(struct audit *a, const struct audit_ask *q, int64_t wall_ms)
{
    audit_tick(a, wall_ms);
    if (!audit_desk_ask(&a->desk, q))
        return false;
    sem_post(&a->wake);
    return true;
}

bool audit_found(struct audit *a, struct audit_found *f)
{
    return a != NULL && audit_desk_take(&a->desk, f);
}

void audit_count(const struct audit *a, struct audit_counts *n)
{
    uint64_t full, done;

    memset(n, 0, sizeof(*n));
    if (a == NULL)
        return;
    full = atomic_load(&a->full);
    done = atomic_load(&a->done);
    n->lines = a->lines;
    n->dropped = a->dropped;
    n->bytes = atomic_load(&a->bytes);
    n->failures = atomic_load(&a->failures);
    n->removed = atomic_load(&a->removed);
    n->cut_bytes = atomic_load(&a->cut_bytes);
    n->waiting_bytes = (full - done) * AUDIT_CHUNK_BYTES;
    n->failing = atomic_load(&a->failing) != 0;
}

/* ---- life ------------------------------------------------------------------------ */

/* Signals are for the loop's thread. */
static int begin_thread(struct audit *a, struct err *e)
{
    sigset_t all, was;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &was);
    rc = pthread_create(&a->thread, NULL, run, a);
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    if (rc != 0)
        return err_set(e, SQ_ESYS, "audit: a thread: %s", strerror(rc));
    a->has_thread = true;
    return 0;
}

static int make_chunks(struct audit *a, uint64_t bytes, struct err *e)
{
    uint64_t n = bytes / AUDIT_CHUNK_BYTES;

    a->n = n < MIN_CHUNKS ? MIN_CHUNKS : (uint32_t)n;
    a->chunk = calloc(a->n, sizeof(*a->chunk));
    a->mem = malloc((size_t)a->n * AUDIT_CHUNK_BYTES);
    if (a->chunk == NULL || a->mem == NULL)
        return err_set(e, SQ_ENOMEM, "audit_buffer");
    for (uint32_t i = 0; i < a->n; i++)
        a->chunk[i].data = a->mem + (size_t)i * AUDIT_CHUNK_BYTES;
    return 0;
}

int audit_new(struct audit **out, const struct audit_opts *o, struct err *e)
{
    struct audit *a = calloc(1, sizeof(*a));
    int rc;

    if (a == NULL)
        return err_set(e, SQ_ENOMEM, "audit");
    a->files = (struct audit_files) { .dir = -1, .fd = -1 };
    a->subject = o->subject;
    a->keep_days = o->keep_days;
    a->cleaned = -1;
    snprintf(a->node, sizeof(a->node), "%s", o->node);
    sem_init(&a->wake, 0, 0);
    rc = make_chunks(a, o->buffer_bytes, e);
    if (rc == 0)
        rc = audit_files_init(&a->files, o->dir, o->node, e);
    if (rc == 0)
        rc = begin_thread(a, e);
    if (rc < 0) {
        audit_free(a, 0);
        return rc;
    }
    mark(a, AUDIT_STARTED, o->wall_ms);
    *out = a;
    return 0;
}

/* Also of a half-built one. */
void audit_free(struct audit *a, int64_t wall_ms)
{
    if (a == NULL)
        return;
    if (a->has_thread) {
        mark(a, AUDIT_STOPPED, wall_ms);
        hand_over(a);
        atomic_store(&a->stop, true);
        sem_post(&a->wake);
        pthread_join(a->thread, NULL);
        tell_failing(a);
        if (a->gap > 0 || atomic_load(&a->failing) != 0)
            log_error("event=trail_cut left_out=%" PRIu64 " note=\"its end was not written\"",
                      a->gap);
    }
    audit_desk_fini(&a->desk);
    audit_files_fini(&a->files);
    sem_destroy(&a->wake);
    free(a->chunk);
    free(a->mem);
    free(a);
}

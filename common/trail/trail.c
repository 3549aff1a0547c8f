/* trail.c: chunks from the loop's thread to the one that writes, and back.
 *
 * `full` is how many chunks were ever handed over, `done` how many were ever written; each
 * is written by one thread only. Chunk i belongs to the writing thread while
 * done <= i < full, else to the loop's. */
#define _GNU_SOURCE /* sem_clockwait */
#include "common/trail/trail.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/log.h"
#include "common/trail/trail_files.h"

#define LOG_MODULE "trail"
#define RETRY_S    1
#define MIN_CHUNKS 4u

struct chunk { /* lines of one day */
    char *data; /* in trail.mem */
    size_t len;
    int64_t day;
};

struct trail {
    struct trail_opts o;
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
    struct trail_files files;
    int64_t cleaned; /* the day */
};

/* ---- the writing thread ---------------------------------------------------------- */

static void clean(struct trail *t)
{
    int64_t today = atomic_load(&t->today);

    if (t->o.keep_days == 0 || today == t->cleaned)
        return;
    t->cleaned = today;
    atomic_fetch_add(&t->removed, trail_files_clean(&t->files, today - t->o.keep_days + 1));
}

/* A slice of what else there is to do; false: nothing. */
static bool work(struct trail *t)
{
    return t->o.work != NULL && t->o.work(t->o.ctx, t->files.dir);
}

static void work_at_all(struct trail *t)
{
    while (!atomic_load(&t->stop) && work(t))
        ;
}

/* Waits for a second, or for the end; other work goes on while the disk is full, too. */
static void wait_a_little(struct trail *t)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += RETRY_S;
    do
        work_at_all(t);
    while (!atomic_load(&t->stop) &&
           (sem_clockwait(&t->wake, CLOCK_MONOTONIC, &until) == 0 || errno == EINTR));
}

/* Until it is written; at the end, one try is enough. */
static void write_chunk(struct trail *t, const struct chunk *c)
{
    for (size_t at = 0, done; at < c->len; at += done) {
        int rc = trail_files_put(&t->files, c->day, c->data + at, c->len - at, &done);

        atomic_fetch_add(&t->bytes, done);
        atomic_store(&t->cut_bytes, t->files.cut_bytes);
        atomic_store(&t->failing, -rc);
        if (rc == 0)
            continue;
        atomic_fetch_add(&t->failures, 1);
        if (atomic_load(&t->stop))
            return;
        wait_a_little(t);
    }
}

static void write_all(struct trail *t)
{
    for (uint64_t i = atomic_load(&t->done);
         i < atomic_load_explicit(&t->full, memory_order_acquire); i++) {
        write_chunk(t, &t->chunk[i % t->n]);
        atomic_store_explicit(&t->done, i + 1, memory_order_release);
    }
}

/* Nothing is handed over after `stop`: a look at the chunks that comes after seeing it sees
 * them all. (Its wake-up may have ended a wait for the disk.) */
static void *run(void *arg)
{
    struct trail *t = arg;
    bool stop;

    for (;;) {
        stop = atomic_load(&t->stop);
        clean(t);
        write_all(t);
        if (stop)
            return NULL;
        if (work(t))
            continue; /* a slice of it; then what there is to write */
        while (!atomic_load(&t->stop) && sem_wait(&t->wake) < 0)
            ; /* EINTR */
    }
}

/* ---- lines ----------------------------------------------------------------------- */

static void hand_over(struct trail *t)
{
    if (!t->open)
        return;
    t->open = false;
    assert(t->chunk[atomic_load(&t->full) % t->n].len > 0); /* a chunk is opened for a line */
    atomic_fetch_add_explicit(&t->full, 1, memory_order_release);
    sem_post(&t->wake);
}

/* A chunk with room for two lines (a gap may have to be told first), or NULL. */
static struct chunk *room(struct trail *t, int64_t wall_ms)
{
    uint64_t full = atomic_load_explicit(&t->full, memory_order_relaxed);
    struct chunk *c = &t->chunk[full % t->n];

    if (t->open && c->day == wall_ms / TRAIL_DAY_MS &&
        c->len + 2 * t->o.line_max <= TRAIL_CHUNK_BYTES)
        return c;
    hand_over(t);
    full = atomic_load_explicit(&t->full, memory_order_relaxed);
    assert(full - atomic_load(&t->done) <= t->n); /* the writer never overtakes, nor do we */
    if (full - atomic_load_explicit(&t->done, memory_order_acquire) >= t->n)
        return NULL;
    c = &t->chunk[full % t->n];
    c->len = 0;
    c->day = wall_ms / TRAIL_DAY_MS;
    t->open = true;
    return c;
}

static void put(struct trail *t, struct chunk *c, size_t n)
{
    assert(t->open && n <= t->o.line_max && c->len + n <= TRAIL_CHUNK_BYTES);
    c->len += n;
    t->lines++;
}

static void tell_gap(struct trail *t, struct chunk *c, int64_t wall_ms)
{
    struct trail_gap gap = { t->gap, t->gap_since_ms, wall_ms };

    put(t, c, t->o.gap(t->o.ctx, &gap, c->data + c->len));
    log_warn("event=trail_gap trail=%s lines=%" PRIu64, t->o.name, t->gap);
    t->gap = 0;
}

void trail_leave_out(struct trail *t, int64_t wall_ms)
{
    t->dropped++;
    if (t->gap++ == 0) {
        t->gap_since_ms = wall_ms;
        log_warn("event=trail_full trail=%s note=\"lines are left out and counted\"", t->o.name);
    }
}

char *trail_room(struct trail *t, int64_t wall_ms)
{
    struct chunk *c = room(t, wall_ms);

    if (c == NULL) {
        trail_leave_out(t, wall_ms);
        return NULL;
    }
    if (SQ_UNLIKELY(t->gap > 0))
        tell_gap(t, c, wall_ms);
    return c->data + c->len;
}

void trail_put(struct trail *t, size_t n)
{
    put(t, &t->chunk[atomic_load_explicit(&t->full, memory_order_relaxed) % t->n], n);
}

/* ---- time ------------------------------------------------------------------------ */

static void tell_failing(struct trail *t)
{
    int failing = atomic_load(&t->failing);

    if (failing == t->told_failing)
        return;
    if (failing != 0)
        log_error("event=trail_failed trail=%s error=\"%s\" note=\"lines are kept while there is "
                  "room\"",
                  t->o.name, strerror(failing));
    else
        log_info("event=trail_resumed trail=%s", t->o.name);
    t->told_failing = failing;
}

void trail_tick(struct trail *t, int64_t wall_ms)
{
    uint64_t full, done;

    if (t == NULL)
        return;
    if (wall_ms / TRAIL_DAY_MS != atomic_load(&t->today)) {
        atomic_store(&t->today, wall_ms / TRAIL_DAY_MS);
        sem_post(&t->wake);
    }
    full = atomic_load_explicit(&t->full, memory_order_relaxed);
    done = atomic_load_explicit(&t->done, memory_order_acquire);
    if (t->gap > 0 && full - done < t->n) {
        struct chunk *c = room(t, wall_ms);

        if (c != NULL)
            tell_gap(t, c, wall_ms);
    }
    /* While the thread is behind, a chunk that is not full would only take room. */
    if (full == done)
        hand_over(t);
    tell_failing(t);
}

void trail_wake(struct trail *t)
{
    sem_post(&t->wake);
}

void trail_count(const struct trail *t, struct trail_counts *n)
{
    uint64_t full, done;

    memset(n, 0, sizeof(*n));
    if (t == NULL)
        return;
    full = atomic_load(&t->full);
    done = atomic_load(&t->done);
    n->lines = t->lines;
    n->dropped = t->dropped;
    n->bytes = atomic_load(&t->bytes);
    n->failures = atomic_load(&t->failures);
    n->removed = atomic_load(&t->removed);
    n->cut_bytes = atomic_load(&t->cut_bytes);
    n->waiting_bytes = (full - done) * TRAIL_CHUNK_BYTES;
    n->failing = atomic_load(&t->failing) != 0;
}

/* ---- life ------------------------------------------------------------------------ */

/* Signals are for the loop's thread. */
static int begin_thread(struct trail *t, struct err *e)
{
    sigset_t all, was;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &was);
    rc = pthread_create(&t->thread, NULL, run, t);
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    if (rc != 0)
        return err_set(e, SQ_ESYS, "%s: a thread: %s", t->o.name, strerror(rc));
    t->has_thread = true;
    return 0;
}

static int make_chunks(struct trail *t, uint64_t bytes, struct err *e)
{
    uint64_t n = bytes / TRAIL_CHUNK_BYTES;

    t->n = n < MIN_CHUNKS ? MIN_CHUNKS : (uint32_t)n;
    t->chunk = calloc(t->n, sizeof(*t->chunk));
    t->mem = malloc((size_t)t->n * TRAIL_CHUNK_BYTES);
    if (t->chunk == NULL || t->mem == NULL)
        return err_set(e, SQ_ENOMEM, "%s_buffer", t->o.name);
    for (uint32_t i = 0; i < t->n; i++)
        t->chunk[i].data = t->mem + (size_t)i * TRAIL_CHUNK_BYTES;
    return 0;
}

int trail_new(struct trail **out, const struct trail_opts *o, struct err *e)
{
    struct trail *t = calloc(1, sizeof(*t));
    int rc;

    if (t == NULL)
        return err_set(e, SQ_ENOMEM, "%s", o->name);
    t->files = (struct trail_files) { .dir = -1, .fd = -1 };
    t->o = *o;
    t->o.dir = t->o.node = NULL; /* not copied */
    t->cleaned = -1;
    sem_init(&t->wake, 0, 0);
    rc = make_chunks(t, o->buffer_bytes, e)
        ?: trail_files_init(&t->files, o->name, o->dir, o->node, e)
        ?: begin_thread(t, e);
    if (rc < 0) {
        trail_free(t);
        return rc;
    }
    *out = t;
    return 0;
}

/* Also of a half-built one. */
void trail_free(struct trail *t)
{
    if (t == NULL)
        return;
    if (t->has_thread) {
        hand_over(t);
        atomic_store(&t->stop, true);
        sem_post(&t->wake);
        pthread_join(t->thread, NULL);
        tell_failing(t);
        if (t->gap > 0 || atomic_load(&t->failing) != 0)
            log_error("event=trail_cut trail=%s left_out=%" PRIu64
                      " note=\"its end was not written\"",
                      t->o.name, t->gap);
    }
    trail_files_fini(&t->files);
    sem_destroy(&t->wake);
    free(t->chunk);
    free(t->mem);
    free(t);
}

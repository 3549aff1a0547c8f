/* op_log.c: the file of operators' changes, and the last of them in memory. */
#include "queuemng/logbook/op_log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/file.h"
#include "common/base/log.h"

#define LOG_MODULE "oplog"
#define TAIL_BYTES (512 << 10) /* read back at the start */
#define DAY_CHARS  10          /* 2026-11-21 */

struct op_log {
    char dir[440], path[460];
    json_t *entry[OP_LOG_KEPT]; /* a ring; owned */
    uint64_t n, written;        /* entries ever; of them, in the file */
    bool broken;                /* the last try failed: logged once */
    bool unsynced;
    struct op_log_counts counts;
};

/* ---- the ring -------------------------------------------------------------------- */

static json_t **slot(struct op_log *l, uint64_t i)
{
    return &l->entry[i % OP_LOG_KEPT];
}

static uint64_t first(const struct op_log *l)
{
    return l->n > OP_LOG_KEPT ? l->n - OP_LOG_KEPT : 0;
}

static void push(struct op_log *l, json_t *entry)
{
    json_t **at = slot(l, l->n++);

    assert(json_is_object(entry));
    json_decref(*at);
    *at = entry;
    if (l->written < first(l)) {
        l->counts.lost += first(l) - l->written;
        l->written = first(l);
    }
}

/* ---- the file -------------------------------------------------------------------- */

static void day_of(int64_t wall_ms, char out[DAY_CHARS + 1])
{
    time_t t = (time_t)(wall_ms / 1000);
    struct tm tm;

    gmtime_r(&t, &tm);
    strftime(out, DAY_CHARS + 1, "%Y-%m-%d", &tm);
}

/* The day of the last entry in the file, or NULL if that is not known. Not the file's own
 * time: a copy has another one, and the clock may have been set meanwhile. */
static const char *day_of_file(const struct op_log *l)
{
    const json_t *last = l->written > first(l) ? l->entry[(l->written - 1) % OP_LOG_KEPT] : NULL;
    const char *at = json_string_value(json_object_get(last, "at"));

    return at != NULL && strspn(at, "0123456789-") == DAY_CHARS ? at : NULL;
}

/* The file of another day gets that day's name. If it cannot, it is gone on with: rather a
 * file of two days than none. */
static void rotate(const struct op_log *l, int64_t wall_ms)
{
    const char *day = day_of_file(l);
    char today[DAY_CHARS + 1], old[480];
    struct stat st;

    day_of(wall_ms, today);
    if (day == NULL || strncmp(today, day, DAY_CHARS) == 0)
        return;
    if (stat(l->path, &st) < 0 || st.st_size == 0) /* somebody has moved it away */
        return;
    snprintf(old, sizeof(old), "%s/audit-%.*s.jsonl", l->dir, DAY_CHARS, day);
    if (access(old, F_OK) == 0) /* clocks jump: nothing is written over */
        return;
    if (rename(l->path, old) < 0)
        log_warn("event=op_log_not_rotated file=%s why=\"%s\"", l->path, strerror(errno));
}

/* A line that was written by half (disk full) is ended by the next one's new line: it is no
 * JSON, and readers of the file leave it out. */
static int append(const struct op_log *l, const char *text)
{
    struct stat st;
    char last = '\n';
    int fd = open(l->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0640), rc = 0;

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && st.st_size > 0 && pread(fd, &last, 1, st.st_size - 1) == 1 &&
        last != '\n')
        rc = file_write_all(fd, "\n", 1);
    if (rc == 0)
        rc = file_write_all(fd, text, strlen(text));
    if (rc == 0)
        rc = file_write_all(fd, "\n", 1);
    if (close(fd) < 0)
        rc = -1;
    return rc;
}

/* Syncs what was written before, for a power cut, too. */
static int sync_file(const struct op_log *l)
{
    int fd = open(l->path, O_WRONLY | O_CLOEXEC), rc = fd < 0 ? -1 : fdatasync(fd);

    if (fd >= 0)
        close(fd);
    return rc;
}

static void failed(struct op_log *l, int error)
{
    l->counts.failures++;
    if (!l->broken)
        log_error("event=op_log_not_written file=%s unwritten=%llu why=\"%s\"", l->path,
                  (unsigned long long)(l->n - l->written), strerror(error));
    l->broken = true;
}

static void flush(struct op_log *l, int64_t wall_ms)
{
    if (l->written < l->n) {
        (void)mkdir(l->dir, 0750); /* exists already, or open() fails, too */
        rotate(l, wall_ms);
    }
    assert(l->written >= first(l)); /* unwritten lines are still there */
    while (l->written < l->n) {
        char *text = json_dumps(*slot(l, l->written), JSON_COMPACT | JSON_ENSURE_ASCII);
        int rc = text != NULL ? append(l, text) : -1;
        int error = text != NULL ? errno : ENOMEM;

        free(text);
        if (rc < 0) {
            failed(l, error);
            return;
        }
        l->written++;
        l->unsynced = true;
    }
    if (l->broken)
        log_info("event=op_log_written file=%s", l->path);
    l->broken = false;
}

/* ---- start ----------------------------------------------------------------------- */

static void read_lines(struct op_log *l, char *text)
{
    for (char *at = text, *end; (end = strchr(at, '\n')) != NULL; at = end + 1) {
        json_t *j = json_loadb(at, (size_t)(end - at), 0, NULL);

        if (json_is_object(j))
            push(l, j);
        else
            json_decref(j);
    }
    l->written = l->n;
    l->counts.lost = 0;
}

static void read_back(struct op_log *l)
{
    int fd = open(l->path, O_RDONLY | O_CLOEXEC);
    char *text = fd >= 0 ? calloc(1, TAIL_BYTES + 1) : NULL;
    struct stat st;

    if (text != NULL && fstat(fd, &st) == 0) {
        off_t from = st.st_size > TAIL_BYTES ? st.st_size - TAIL_BYTES : 0;

        if (pread(fd, text, TAIL_BYTES, from) > 0)
            read_lines(l, text);
    }
    free(text);
    if (fd >= 0)
        close(fd);
}

struct op_log *op_log_new(const char *dir)
{
    struct op_log *l = calloc(1, sizeof(*l));

    if (l == NULL)
        return NULL;
    snprintf(l->dir, sizeof(l->dir), "%s", dir);
    snprintf(l->path, sizeof(l->path), "%s/audit.jsonl", l->dir);
    read_back(l);
    return l;
}

void op_log_free(struct op_log *l, int64_t wall_ms)
{
    if (l == NULL)
        return;
    op_log_tick(l, wall_ms);
    for (size_t i = 0; i < OP_LOG_KEPT; i++)
        json_decref(l->entry[i]);
    free(l);
}

/* ---- use ------------------------------------------------------------------------- */

static json_t *time_json(int64_t wall_ms)
{
    char text[40];
    time_t t = (time_t)(wall_ms / 1000);
    struct tm tm;
    size_t n;

    gmtime_r(&t, &tm);
    n = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text + n, sizeof(text) - n, ".%03dZ", (int)(wall_ms % 1000));
    return json_string(text);
}

void op_log_add(struct op_log *l, json_t *entry, int64_t wall_ms)
{
    l->counts.entries++;
    if (entry == NULL || json_object_set_new(entry, "at", time_json(wall_ms)) < 0) {
        json_decref(entry);
        l->counts.lost++;
        failed(l, ENOMEM);
        return;
    }
    push(l, entry);
    flush(l, wall_ms);
}

void op_log_tick(struct op_log *l, int64_t wall_ms)
{
    if (l->written < l->n)
        flush(l, wall_ms);
    if (l->unsynced && sync_file(l) < 0)
        failed(l, errno);
    l->unsynced = false;
}

json_t *op_log_last(const struct op_log *l, size_t n)
{
    json_t *list = json_array();

    for (uint64_t i = l->n; list != NULL && i > first(l) && n > 0; i--, n--)
        if (json_array_append(list, l->entry[(i - 1) % OP_LOG_KEPT]) < 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

void op_log_count(const struct op_log *l, struct op_log_counts *c)
{
    *c = l->counts;
    c->unwritten = l->n - l->written;
}

/* ---- two rings, read as one ---- */

static bool begins(const char *text, const char *what)
{
    return strncmp(text, what, strlen(what)) == 0;
}

/* True: a metric goes from tier to tier: on a busy night every few seconds. */
static bool is_tier_change(const char *text)
{
    const char *by = strstr(text, " by="), *was = strstr(text, " was_by=");
    size_t n;

    if (!begins(text, "event=rate_limit_changed ") || by == NULL || was == NULL)
        return false;
    n = strcspn(by + 4, " ");
    return strncmp(by + 4, was + 8, n + 1) == 0;
}

/* Normal work: many of them, and none needs an operator. */
static bool is_routine(const char *text)
{
    return is_tier_change(text) || begins(text, "event=move_state ") ||
           begins(text, "event=segment_opened ") ||
           begins(text, "event=segment_unused ") || begins(text, "event=segment_sealed ") ||
           begins(text, "event=segment_removed ") || begins(text, "event=segment_dropped ");
}

/* Another event says the same, and more. */
static bool is_double(const char *text)
{
    return begins(text, "event=peer_up ") || begins(text, "event=node_up ") ||
           begins(text, "event=link_");
}

void events_add(struct events *v, int64_t wall_ms, int level, const char *line)
{
    const char *text = strstr(line, "event=");
    struct event *e;

    if (text == NULL || (text != line && text[-1] != ' ') || is_double(text))
        return;
    e = is_routine(text) ? &v->routine[v->n_routine++ % EVENTS_KEPT]
                         : &v->notable[v->n_notable++ % EVENTS_KEPT];
    *e = (struct event){ .seq = ++v->last, .wall_ms = wall_ms, .level = level };
    snprintf(e->text, sizeof(e->text), "%s", text);
}

/* The ring's n-th youngest, 0 = the youngest; NULL: there is none, or not after `since`. */
static const struct event *nth(const struct event *ring, uint64_t n_ever, size_t n,
                               uint64_t since)
{
    const struct event *e;

    if (n >= n_ever || n >= EVENTS_KEPT)
        return NULL;
    e = &ring[(n_ever - 1 - n) % EVENTS_KEPT];
    assert(e->seq != 0);
    return e->seq > since ? e : NULL;
}

size_t events_since(const struct events *v, uint64_t since, const struct event **out,
                    size_t max)
{
    size_t n = 0, a = 0, b = 0;

    while (n < max) {
        const struct event *x = nth(v->notable, v->n_notable, a, since),
                           *y = nth(v->routine, v->n_routine, b, since);

        if (x == NULL && y == NULL)
            break;
        if (y == NULL || (x != NULL && x->seq > y->seq)) {
            out[n++] = x;
            a++;
        } else {
            out[n++] = y;
            b++;
        }
    }
    for (size_t i = 0; i < n / 2; i++) {
        const struct event *t = out[i];

        out[i] = out[n - 1 - i];
        out[n - 1 - i] = t;
    }
    return n;
}

/* carry.c: a file begins with a line that says what it is, and ends with one that says how many tasks it
 * has: one that was cut is noticed. Each line between has a submission, with an Idempotency-Key made of the
 * task's id and its cluster: submitted again it is the same task, as long as the pool's `dedup`
 * remembers it. So whatever breaks an import, it is run again. A submission whose payload has breaks of lines
 * stands as a string: as JSON what a stranger has submitted would be lines of the file. */
#include "queuemng/ctl/carry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/json/json_scan.h"
#include "common/task/rules.h"
#include "queuemng/ctl/confirm.h"
#include "queuemng/ctl/request.h"
#include "queuemng/ctl_view/text.h"

#define FORMAT      1
#define ID_MAX      40
#define BATCH_ROWS  100u
#define BATCH_BYTES (TASK_BODY_MAX / 2) /* a longer submission goes alone */
#define TRIES       60                  /* a second each: while a queue is full, or nobody has it */

/* ---- export ---- */

struct line { /* a task's, in the file of all of them */
    char *queue; /* owned */
    double entered;
    uint64_t place;
    unsigned kind; /* 0: it runs, 1: in line, 2: later */
    long at;
    size_t n;
};

struct lines {
    FILE *f; /* owned */
    struct line *v; /* owned */
    size_t n, cap;
    uint64_t named, unread;
};

static bool line_add(struct lines *all, const json_t *t, const struct buf *text)
{
    const char *state = ctl_str(t, "state");
    size_t cap = all->cap > 0 ? 2 * all->cap : 1024;
    struct line *v = all->n < all->cap ? all->v : realloc(all->v, cap * sizeof(*v));

    if (v == NULL)
        return false;
    all->cap = all->n < all->cap ? all->cap : cap;
    all->v = v;
    v += all->n;
    *v = (struct line){ strdup(ctl_str(t, "queue")), ctl_f64(t, "entered_at"), ctl_u64(t, "place"),
                        strcmp(state, "running") == 0 ? 0 : strcmp(state, "waiting") == 0 ? 1 : 2,
                        ftell(all->f), text->len };
    all->n += v->queue != NULL;
    return v->queue != NULL && v->at >= 0 && fwrite(text->data, 1, text->len, all->f) == text->len;
}

/* The row with its submission as JSON in place of a text, if that is one line. */
static bool row_add(struct lines *all, json_t *t)
{
    const char *submit = json_string_value(json_object_get(t, "submit"));
    bool plain = submit != NULL && submit[strcspn(submit, "\r\n")] == '\0';
    struct buf b;
    char *text;
    bool ok;

    all->named += json_is_true(json_object_get(t, "named"));
    if (submit == NULL) {
        all->unread++;
        (void)ctl_fail(CTL_REFUSED, "task %s: %s", ctl_str(t, "id"), ctl_str(t, "why"));
    }
    buf_init(&b);
    text = json_dumps(t, JSON_COMPACT | JSON_REAL_PRECISION(16));
    if (plain) {
        json_t *rest = json_copy(t);

        (void)json_object_del(rest, "submit");
        free(text);
        text = json_dumps(rest, JSON_COMPACT | JSON_REAL_PRECISION(16));
        json_decref(rest);
    }
    buf_str(&b, text != NULL ? text : "{}");
    b.failed |= text == NULL;
    free(text);
    if (plain) {
        b.len--;
        buf_str(&b, ",\"submit\":");
        buf_str(&b, submit);
        buf_byte(&b, '}');
    }
    buf_byte(&b, '\n');
    ok = !b.failed && line_add(all, t, &b);
    buf_fini(&b);
    return ok;
}

/* All of a pool, as they come. */
static int fetch(struct ctl *c, const char *pool, struct lines *all)
{
    char path[QUERY_MAX] = "/v1/admin/task-queues/export", first[QUERY_MAX];
    const char *next;
    json_t *doc, *t;
    int rc = CTL_OK;
    size_t i;

    if (!query_add(path, "pool", pool) || !query_add(path, "n", "1000") ||
        !query_add(path, "state", c->running ? "scheduled,waiting,retrying,running" : "scheduled,waiting,retrying"))
        return CTL_USAGE;
    memcpy(first, path, sizeof(first));
    do {
        doc = ctl_fetch(c, (struct ctl_call){ .method = "POST", .path = path }, &rc);
        if (rc != CTL_OK)
            break;
        json_array_foreach(json_object_get(doc, "tasks"), i, t)
            if (rc == CTL_OK && !row_add(all, t))
                rc = ctl_fail(CTL_REFUSED, "no memory, or no room for a temporary file");
        if (rc == CTL_OK && json_array_size(json_object_get(doc, "away")) > 0)
            rc = ctl_fail(CTL_REFUSED, "a task node of the pool is away, or of an older release: the list would "
                                       "not be whole");
        next = json_string_value(json_object_get(doc, "next"));
        memcpy(path, first, sizeof(path));
        if (next != NULL && !query_add(path, "after", next))
            rc = CTL_REFUSED;
        if (next == NULL)
            path[0] = '\0';
        json_decref(doc);
    } while (rc == CTL_OK && path[0] != '\0');
    return rc;
}

static int compare(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    int queue = strcmp(x->queue, y->queue);

    if (queue != 0)
        return queue;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return x->entered < y->entered ? -1 : x->entered > y->entered;
}

static int print(const char *pool, struct lines *all)
{
    json_t *head = json_pack("{s:i,s:s,s:I}", "segq_tasks", FORMAT, "pool", pool, "at", (json_int_t)time(NULL));
    char *text = json_dumps(head, JSON_COMPACT);
    bool ok = text != NULL && printf("%s\n", text) > 0;
    struct buf b;

    buf_init(&b);
    for (size_t i = 0; ok && i < all->n; i++) {
        buf_reset(&b);
        ok = fseek(all->f, all->v[i].at, SEEK_SET) == 0 && buf_reserve(&b, all->v[i].n) != NULL &&
             fread(b.data, 1, all->v[i].n, all->f) == all->v[i].n &&
             fwrite(b.data, 1, all->v[i].n, stdout) == all->v[i].n;
    }
    if (ok)
        printf("{\"end\":true,\"tasks\":%zu}\n", all->n);
    free(text);
    json_decref(head);
    buf_fini(&b);
    ctl_put_end();
    return ok ? CTL_OK : ctl_fail(CTL_REFUSED, "the tasks cannot be written");
}

static void say_running(struct ctl *c, const char *pool)
{
    json_t *doc = ctl_look(c, "/v1/admin/task-queues");
    const json_t *p = ctl_find(doc, "pools", "pool", pool);

    if (p != NULL && !json_is_true(json_object_get(p, "paused")))
        fprintf(stderr, "segqctl: the pool is not paused (task pause): what starts or comes meanwhile may be in the "
                        "file, or not\n");
    json_decref(doc);
}

int cmd_task_export(struct ctl *c, char **argv)
{
    struct lines all = { .f = tmpfile() };
    int rc = all.f != NULL ? fetch(c, argv[0], &all)
                           : ctl_fail(CTL_REFUSED, "no temporary file: %s", strerror(errno));

    if (rc == CTL_OK) {
        say_running(c, argv[0]);
        qsort(all.v, all.n, sizeof(*all.v), compare);
        rc = print(argv[0], &all);
    }
    if (all.named > 0)
        fprintf(stderr, "segqctl: %llu tasks have names, Idempotency-Keys or unique keys; these are kept as hashes, "
                        "and are not in the file\n", (unsigned long long)all.named);
    for (size_t i = 0; i < all.n; i++)
        free(all.v[i].queue);
    free(all.v);
    if (all.f != NULL)
        fclose(all.f);
    return rc == CTL_OK && all.unread > 0 ? CTL_REFUSED : rc;
}

/* ---- import ---- */

struct import {
    struct ctl *c;
    const char *pool, *file;
    char token[200];
    char queue[TASK_NAME_MAX + 1];
    struct buf rows[BATCH_ROWS]; /* submissions of one queue */
    uint64_t line[BATCH_ROWS];
    char id[BATCH_ROWS][ID_MAX + 1];
    unsigned n;
    size_t bytes;
    uint64_t at, tasks, made, same, bad, ended; /* at: line; tasks: lines of them; ended: as the last line says, + 1 */
};

/* True: it goes on behind it. */
static bool bad_line(struct import *m, uint64_t line, const char *why)
{
    m->bad++;
    (void)ctl_fail(CTL_REFUSED, "%s:%llu: %s", m->file, (unsigned long long)line, why);
    return m->c->keep_going;
}

/* Submits rows from the i-th on. Each has its answer in *a, in order. */
static int submit(struct import *m, unsigned i, struct ctl_answer *a)
{
    struct buf text;
    int rc;

    buf_init(&text);
    for (unsigned k = i; k < m->n; k++) {
        buf_byte(&text, k == i ? '[' : ',');
        buf_append(&text, m->rows[k].data, m->rows[k].len);
    }
    buf_append(&text, "]", 2);
    *a = (struct ctl_answer){ 0 };
    rc = text.failed ? ctl_fail(CTL_REFUSED, "out of memory")
                     : ctl_ask(m->c, (struct ctl_call){ .method = "POST", .path = "/v1/queues/*/tasks/batch",
                                                        .name = m->queue, .bearer = m->token,
                                                        .text = (const char *)text.data }, a);
    buf_fini(&text);
    return rc;
}

static bool is_later(int status)
{
    return status == 429 || status == 503;
}

/* Reads the answers from the i-th on. How many rows are settled: one that is to be submitted later ends
 * them, so that those behind it do not go before it. *stop: a bad one ends all. */
static unsigned read_rows(struct import *m, unsigned i, const json_t *list, bool *stop)
{
    unsigned done = 0;

    for (; i + done < m->n && !*stop; done++) {
        const json_t *row = json_array_get(list, done);
        int status = (int)json_integer_value(json_object_get(row, "status"));

        if (row == NULL || is_later(status))
            break;
        m->made += status == 201;
        m->same += status == 200;
        if (m->c->ids && status < 400)
            puts(m->id[i + done]);
        if (status >= 400)
            *stop = !bad_line(m, m->line[i + done], ctl_str(row, "detail"));
    }
    return done;
}

/* Submits what has been collected. */
static int flush(struct import *m)
{
    unsigned i = 0, tries = 0;
    bool stop = false;
    int rc = CTL_OK;

    while (rc == CTL_OK && !stop && i < m->n) {
        struct ctl_answer a;
        unsigned done = 0;

        rc = submit(m, i, &a);
        if (rc == CTL_OK && a.status == 207) {
            json_t *list = ctl_json(&a);

            done = read_rows(m, i, list, &stop);
            json_decref(list);
        } else if (rc == CTL_OK && !is_later(a.status)) {
            rc = ctl_say_answer(m->c, &a, NULL);
            rc = rc == CTL_OK ? CTL_REFUSED : rc;
        }
        buf_fini(&a.body);
        if (m->c->ids)
            ctl_put_end();
        i += done;
        tries = done > 0 ? 0 : tries + 1;
        if (rc == CTL_OK && !stop && i < m->n && tries == TRIES)
            rc = ctl_fail(CTL_REFUSED, "%s:%llu: %s takes no tasks now; run this again", m->file,
                          (unsigned long long)m->line[i], m->queue);
        else if (rc == CTL_OK && !stop && i < m->n)
            sleep(1);
    }
    m->n = 0;
    m->bytes = 0;
    return stop ? CTL_REFUSED : rc;
}

struct said { /* a line */
    struct slice queue, id, submit;
    json_int_t format;
    bool ends;
    uint64_t tasks;
};

static struct slice json_of(struct slice submit)
{
    struct slice text = submit;
    struct json_scan s;

    json_scan_init(&s, submit);
    return submit.p[0] == '"' && json_scan_text(&s, &text) && json_scan_is_whole(text) ? text : submit;
}

/* NULL, or what is wrong. */
static const char *read_line(struct said *l, char *text, size_t n)
{
    struct json_scan s;
    struct slice name, value;
    bool first = true;

    *l = (struct said){ .ends = false };
    json_scan_init(&s, (struct slice){ text, n });
    if (!json_scan_enter(&s, '{'))
        return "that is no JSON object";
    while (json_scan_member(&s, &first, &name)) {
        if (slice_is(name, "queue") || slice_is(name, "id")) {
            (void)json_scan_text(&s, slice_is(name, "id") ? &l->id : &l->queue);
            continue;
        }
        if (!json_scan_value(&s, &value))
            break;
        if (slice_is(name, "submit"))
            l->submit = json_of(value);
        else if (slice_is(name, "segq_tasks"))
            l->format = strtoll(value.p, NULL, 10);
        else if (slice_is(name, "tasks"))
            l->tasks = strtoull(value.p, NULL, 10);
        l->ends |= slice_is(name, "end");
    }
    return json_scan_ends(&s) ? NULL : "that is no JSON object";
}

static const char *unfit(const struct import *m, const struct said *l)
{
    if (l->queue.n == 0 || !queue_name_ok(l->queue.p, l->queue.n))
        return "it names no queue";
    if (!queue_matches(m->pool, l->queue.p, l->queue.n))
        return "its queue is none of this pool";
    if (l->id.n == 0 || l->id.n > ID_MAX)
        return "it has no id";
    return l->submit.n == 0 || l->submit.p[0] != '{' ? "it has no submission" : NULL;
}

static int take_line(struct import *m, char *text, size_t n)
{
    struct said l;
    const char *why = read_line(&l, text, n);
    int rc = CTL_OK;

    if (m->at == 1) {
        if (why != NULL || l.format == 0)
            return ctl_fail(CTL_USAGE, "%s: that is no file of task export", m->file);
        return l.format <= FORMAT ? CTL_OK
                                  : ctl_fail(CTL_USAGE, "%s: a newer segqctl wrote it (format %lld)", m->file,
                                             (long long)l.format);
    }
    if (why == NULL && l.ends) {
        m->ended = l.tasks + 1;
        return CTL_OK;
    }
    m->tasks++;
    if (why == NULL)
        why = unfit(m, &l);
    if (why != NULL)
        return bad_line(m, m->at, why) ? CTL_OK : CTL_REFUSED;
    if (m->n > 0 && (m->n == BATCH_ROWS || m->bytes + l.submit.n > BATCH_BYTES ||
                     strlen(m->queue) != l.queue.n || memcmp(m->queue, l.queue.p, l.queue.n) != 0))
        rc = flush(m);
    if (m->c->dry_run) {
        m->made++;
        return rc;
    }
    memcpy(m->queue, l.queue.p, l.queue.n);
    m->queue[l.queue.n] = '\0';
    buf_reset(&m->rows[m->n]);
    buf_append(&m->rows[m->n], l.submit.p, l.submit.n);
    memcpy(m->id[m->n], l.id.p, l.id.n);
    m->id[m->n][l.id.n] = '\0';
    m->line[m->n++] = m->at;
    m->bytes += l.submit.n;
    return rc;
}

static int read_token(struct import *m)
{
    FILE *f = m->c->server_token != NULL ? fopen(m->c->server_token, "re") : NULL;
    bool ok = f != NULL && fgets(m->token, sizeof(m->token), f) != NULL;

    if (f != NULL)
        fclose(f);
    m->token[strcspn(m->token, " \t\r\n")] = '\0';
    if (ok && m->token[0] != '\0')
        return CTL_OK;
    return ctl_fail(CTL_USAGE, "no token of a server that may submit is given: --server-token-file F, or --dir D "
                               "with secrets/task.token");
}

static int read_all(struct import *m, FILE *f)
{
    char *text = NULL;
    size_t room = 0;
    ssize_t n;
    int rc = CTL_OK;

    while (rc == CTL_OK && (n = getline(&text, &room, f)) >= 0) {
        m->at++;
        rc = take_line(m, text, (size_t)n);
    }
    if (rc == CTL_OK)
        rc = flush(m);
    free(text);
    if (rc == CTL_OK && m->at == 0)
        return ctl_fail(CTL_USAGE, "%s: that is no file of task export", m->file);
    if (rc == CTL_OK && m->ended == 0)
        rc = ctl_fail(CTL_REFUSED, "%s: it is cut: the line that says how many tasks it has is missing", m->file);
    else if (rc == CTL_OK && m->ended != m->tasks + 1)
        rc = ctl_fail(CTL_REFUSED, "%s: its last line says %llu tasks, and it has %llu", m->file,
                      (unsigned long long)m->ended - 1, (unsigned long long)m->tasks);
    return rc;
}

int cmd_task_import(struct ctl *c, char **argv)
{
    const char *file = argv[1] != NULL ? argv[1] : c->file != NULL ? c->file : "-";
    bool from_stdin = strcmp(file, "-") == 0;
    struct import *m = calloc(1, sizeof(*m));
    FILE *f = from_stdin ? stdin : fopen(file, "re");
    int rc;

    if (m == NULL || f == NULL) {
        free(m);
        return ctl_fail(CTL_USAGE, "%s: %s", file, strerror(errno));
    }
    m->c = c;
    m->pool = argv[0];
    m->file = from_stdin ? "stdin" : file;
    for (unsigned i = 0; i < BATCH_ROWS; i++)
        buf_init(&m->rows[i]);
    rc = c->dry_run ? CTL_OK : read_token(m);
    if (rc == CTL_OK)
        rc = read_all(m, f);
    if (c->dry_run && rc != CTL_USAGE)
        printf("%llu tasks would be submitted, %llu lines are refused\n", (unsigned long long)m->made,
               (unsigned long long)m->bad);
    else if (rc != CTL_USAGE)
        fprintf(c->ids ? stderr : stdout,
                "%llu tasks are new, %llu were there already, %llu lines were refused\n", (unsigned long long)m->made,
                (unsigned long long)m->same, (unsigned long long)m->bad);
    for (unsigned i = 0; i < BATCH_ROWS; i++)
        buf_fini(&m->rows[i]);
    if (!from_stdin)
        fclose(f);
    rc = rc == CTL_OK && m->bad > 0 ? CTL_REFUSED : rc;
    free(m);
    return rc;
}

/* ---- and away where they were ---- */

struct cancelled {
    unsigned long long n, run, over;
};

static int cancel_one(struct ctl *c, const char *id, struct cancelled *n)
{
    struct ctl_answer a = { 0 };
    int rc = ctl_ask(c, (struct ctl_call){ .method = "POST", .name = id,
                                           .path = c->force ? "/v1/admin/tasks/*/cancel?force=true"
                                                            : "/v1/admin/tasks/*/cancel" }, &a);
    json_t *doc = rc == CTL_OK && a.status == 200 ? ctl_json(&a) : NULL;

    if (doc != NULL && strcmp(ctl_str(doc, "state"), "running") == 0)
        n->run++;
    else if (doc != NULL)
        n->n++;
    else if (rc == CTL_OK && (a.status == 404 || a.status == 409))
        n->over++;
    else if (rc == CTL_OK)
        rc = ctl_say_answer(c, &a, NULL);
    json_decref(doc);
    buf_fini(&a.body);
    return rc;
}

static int cancel_all(struct ctl *c, FILE *f)
{
    struct cancelled n = { 0 };
    char *id = NULL;
    size_t room = 0;
    int rc = CTL_OK;

    while (rc == CTL_OK && getline(&id, &room, f) >= 0) {
        id[strcspn(id, " \t\r\n")] = '\0';
        if (*id != '\0')
            rc = cancel_one(c, id, &n);
    }
    free(id);
    printf("%llu tasks are cancelled, %llu run their last attempt, %llu were over or are not here\n", n.n, n.run, n.over);
    return rc;
}

int cmd_task_cancel(struct ctl *c, char **argv)
{
    bool from_stdin = c->file != NULL && strcmp(c->file, "-") == 0;
    json_t *none;
    FILE *f;
    int rc;

    if ((argv[0] == NULL) == (c->file == NULL))
        return ctl_fail(CTL_USAGE, "task cancel TASK, or task cancel --file FILE");
    if (c->file == NULL)
        return cmd_request(c, argv);
    if (from_stdin && !c->yes)
        return ctl_fail(CTL_USAGE, "ids from standard input need --yes: nobody can be asked there");
    none = json_object();
    rc = ctl_sure(c, none, "The tasks of the file are cancelled.", c->file);
    json_decref(none);
    f = rc != CTL_OK ? NULL : from_stdin ? stdin : fopen(c->file, "re");
    if (f == NULL)
        return rc != CTL_OK ? rc : ctl_fail(CTL_USAGE, "%s: %s", c->file, strerror(errno));
    rc = cancel_all(c, f);
    if (!from_stdin)
        fclose(f);
    return rc;
}

/* movelarge.h: large bodies of calls in the simulation of nodes: what the router sends for them, piece by piece, as
 * router/task_requests/pieces.c does it, and the folders of the nodes, real ones (task/bodies/large.h), whose disks
 * are full, fail, or cannot be read now and then. J37 is judged here and in callnodes.h:
 *   each try of a call sends the bytes that its caller sent, or none
 *   each task that may be called has its file, and each file has its task, or is one that comes
 *   the files of a node have at most the bytes that it may have */
#ifndef SEGQ_TESTS_MOVELARGE_H
#define SEGQ_TESTS_MOVELARGE_H

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/task/call.h"
#include "common/task/sha256.h"
#include "task/bodies/large.h"
#include "tests/lib/movenodes.h"

#define ML_MOST 3000000u /* more than is on its way at once in a copy */

static inline bool mv_is_large(const struct mv *w, unsigned task)
{
    return w->larges && task % 5 == 1;
}

static inline uint32_t ml_length(unsigned task)
{
    return 1 + task * 7919 % 5 * 65536 + task * 104729 % 65536 + (task % 25 == 1 ? 2400000 : 0);
}

/* The bytes of a task's body: of the same noise, from another place on. */
static inline const uint8_t *ml_bytes(unsigned task)
{
    static uint64_t v[ML_MOST / 8 + 8 * MV_TASKS];
    uint64_t x = 1;

    for (size_t i = 0; v[0] == 0 && i < ARRAY_LEN(v); i++)
        v[ARRAY_LEN(v) - 1 - i] = x += x << 7 ^ x >> 9;
    return (const uint8_t *)(v + 7 * (task + 1));
}

/* ---- the router ---------------------------------------------------------------------- */

/* Gives up what has come, and begins with the first byte. The node is told, whoever has the partition by now. */
static inline void ml_again(struct mv *w, struct mv_ask *k)
{
    w->again_uploads += k->upload != 0;
    k->upload = k->at = 0;
    k->whole = false;
    k->again_ms = w->r->now + 500 + (msec_t)rng_below(&w->r->rng, 2000);
}

static inline void ml_look_at_link(struct mv *w, struct mv_ask *k, peer_no link)
{
    if (k->link != link && k->upload != 0 && (!k->whole || rng_chance(&w->r->rng, 0.5)))
        ml_again(w, k); /* else the submission alone is said again, and may have been heard */
}

static inline void ml_send_piece(struct mv *w, struct mv_ask *k, const struct map_part *p, int to)
{
    struct rng *g = &w->r->rng;
    peer_no link = w->link[MV_ROUTER][to].no;
    uint32_t length = ml_length(k->task), n = 1 + (uint32_t)rng_below(g, TASK_UPLOAD_MAX);
    struct msg m = { .type = MSG_TASK_UPLOAD, .task_upload = { .part = p->part, .epoch = p->epoch } };

    if (k->upload != 0 && rng_chance(g, 0.02)) { /* its client goes, and comes again */
        m.task_upload.upload = k->upload;
        m.task_upload.left = true;
        mv_send(w, link, to, ++w->last_rid, &m);
        ml_again(w, k);
    }
    if (w->r->now < k->again_ms)
        return;
    if (k->upload == 0)
        k->upload = ++w->last_upload;
    n = n < length - k->at ? n : (uint32_t)(length - k->at);
    m.task_upload.upload = k->upload;
    m.task_upload.at = k->at;
    m.task_upload.length = k->task % 2 == 0 ? length : 0;
    m.task_upload.data = (struct bytes_of){ n, ml_bytes(k->task) + k->at };
    m.task_upload.last = k->at + n == length;
    k->until = n; /* of this piece */
    k->sent = true;
    k->link = link;
    k->rid = ++w->last_rid;
    mv_send(w, link, to, k->rid, &m);
}

static inline void ml_answer(struct mv *w, struct mv_ask *k, const struct msg_task_upload_ans *a)
{
    uint8_t want[RESULT_SHA256];

    if (a->code == CODE_STALE)
        return; /* the same again, to who has the partition by then */
    if (a->code != CODE_DONE) {
        if (a->code != CODE_BUSY && a->code != CODE_UNKNOWN && a->code != CODE_FULL)
            MV_BAD(w, "a piece of task %u is answered %u", k->task, a->code);
        ml_again(w, k);
        return;
    }
    k->at += (uint64_t)k->until;
    if (k->at < ml_length(k->task))
        return;
    sha256_of(want, ml_bytes(k->task), ml_length(k->task));
    if (a->sha256.n != sizeof(want) || memcmp(a->sha256.p, want, sizeof(want)) != 0)
        MV_BAD(w, "J37: the body of task %u has come, and is another one", k->task);
    memcpy(k->sha256, want, sizeof(want));
    k->whole = true;
    w->uploads++;
}

static inline void ml_form(const struct mv_ask *k, struct buf *b)
{
    struct call_file f = { .length = k->at, .upload = k->upload };
    char path[20];
    size_t n = (size_t)snprintf(path, sizeof(path), "/%u", k->task);

    memcpy(f.sha256, k->sha256, sizeof(f.sha256));
    call_pack_begin(b, (struct call_span){ "POST", 4 }, (struct call_span){ path, n });
    call_pack_file(b);
    call_pack_file_end(b->data, b->len, &f);
}

/* Whose form that is; false: it is none. */
static inline bool ml_task_of(const uint8_t *p, size_t n, unsigned *task)
{
    struct call c;
    char path[20] = "";

    if (call_unpack(p, n, &c) < 0 || c.file.length == 0 || c.path.n >= sizeof(path))
        return false;
    memcpy(path, c.path.p, c.path.n);
    return sscanf(path, "/%u", task) == 1 && c.file.length == ml_length(*task);
}

/* ---- the nodes ----------------------------------------------------------------------- */

struct ml { /* folders of the nodes */
    struct large *large[PR_NODES];
    char dir[40];
    uint64_t most;
    double fails; /* chance that the disk does */
    struct rng rng;
    uint64_t failed, calls, moves;
};
static struct ml *ml_of; /* NULL: nodes take none */

static inline void ml_path(char path[80], int i)
{
    snprintf(path, 80, "%s/%d", ml_of->dir, i);
}

static inline bool ml_fails(void)
{
    bool yes = rng_chance(&ml_of->rng, ml_of->fails);

    ml_of->failed += yes;
    return yes;
}

static inline int ml_add(struct large *l, uint64_t link, const struct large_piece *q, uint8_t sha256[RESULT_SHA256])
{
    if (!ml_fails())
        return large_add(l, link, q, sha256);
    large_drop(l, link, q->upload);
    return SQ_EFULL;
}

static inline int ml_keep(struct large *l, uint64_t link, const struct call_file *f, uint32_t part, task_no no)
{
    return f->length > 0 && ml_fails() ? SQ_EFULL : large_keep(l, link, f, part, no);
}

static inline int64_t ml_read_at(struct large *l, const struct call_file *f, uint32_t part, task_no no, uint64_t at,
                                 uint8_t *p, size_t n)
{
    ml_of->moves++;
    return ml_fails() ? SQ_ESYS : large_read_at(l, f, part, no, at, p, n);
}

static inline void ml_begins(struct mv *w, int i)
{
    struct err e = { 0 };
    char path[80];

    if (ml_of == NULL)
        return;
    ml_path(path, i);
    if (large_open(&ml_of->large[i], path, ml_of->most, false, &e) < 0)
        MV_BAD(w, "%s", e.text);
    w->node[i].large = (struct tab_large){ ml_add, large_has, ml_keep, large_drop, ml_read_at, ml_of->large[i] };
}

static inline void ml_dies(int i)
{
    if (ml_of == NULL)
        return;
    large_close(ml_of->large[i]);
    ml_of->large[i] = NULL;
}

static inline enum answer_life ml_needs(void *ctx, uint32_t part, task_no no)
{
    const struct mv_node *d = ctx;

    return large_life(tasktab_state_of(d->t, part, no));
}

/* Of each file there: does its task need it? Its bytes go to *bytes. still: all is over, and none is on its way. */
static inline void ml_look_at_files(struct mv *w, int i, bool still, uint64_t *bytes)
{
    char path[80];
    struct dirent *x;
    struct stat s;
    DIR *d;

    ml_path(path, i);
    d = opendir(path);
    *bytes = 0;
    while (d != NULL && (x = readdir(d)) != NULL) {
        unsigned part = 0;
        unsigned long no = 0;

        if (x->d_name[0] == '.' || fstatat(dirfd(d), x->d_name, &s, 0) < 0)
            continue;
        *bytes += (uint64_t)s.st_size;
        if (still && (sscanf(x->d_name, "%u-%lu-", &part, &no) != 2 || w->node[i].t == NULL ||
                      tasktab_state_of(w->node[i].t, part, no) != TASK_DEAD))
            MV_BAD(w, "J37: node %d has a file without a task: %s", i, x->d_name);
    }
    if (d != NULL)
        closedir(d);
}

/* Each task that may be called has its file. */
static inline void ml_look_at_tasks(struct mv *w, int i)
{
    struct mv_node *d = &w->node[i];
    char path[80], hex[2 * RESULT_SHA256 + 1], name[200];
    struct call_file f;
    struct stat s;

    ml_path(path, i);
    each_part (d->t, p)
        for (task_slot k = 0; p->life == PART_OWNED && k < p->e.store.n_slots; k++) {
            const struct task *x = task_at(&p->e.store, k);

            if (x->state == TASK_FREE || task_state_is_final((enum task_state)x->state) ||
                !call_has_file(d->body[x->body].data, d->body[x->body].len, &f))
                continue;
            for (size_t n = 0; n < RESULT_SHA256; n++)
                snprintf(hex + 2 * n, 3, "%02x", f.sha256[n]);
            snprintf(name, sizeof(name), "%s/%u-%lu-%lu-%s", path, p->no, task_number(&p->e.store, k), f.length, hex);
            if (stat(name, &s) < 0 || (uint64_t)s.st_size != f.length)
                MV_BAD(w, "J37: node %d has a task without its file: %s", i, name);
        }
}

static inline void ml_look(struct mv *w, bool still)
{
    uint64_t bytes;

    for (int i = 0; ml_of != NULL && i < PR_NODES; i++) {
        ml_look_at_files(w, i, still, &bytes);
        if (bytes > ml_of->most)
            MV_BAD(w, "J37: node %d has %lu bytes of large bodies, of %lu", i, bytes, ml_of->most);
        if (w->node[i].t != NULL)
            ml_look_at_tasks(w, i);
    }
}

/* The bytes that a try sends. */
static inline void ml_look_at_sent(struct mv *w, int fd, unsigned task)
{
    static uint8_t got[ML_MOST + 1];
    ssize_t n = pread(fd, got, sizeof(got), 0);

    if (n != (ssize_t)ml_length(task) || memcmp(got, ml_bytes(task), (size_t)n) != 0)
        MV_BAD(w, "J37: a try of task %u sends other bytes", task);
    ml_of->calls++;
}

static inline void ml_new(struct mv *w, uint64_t seed)
{
    struct ml *m = calloc(1, sizeof(*m));
    char path[80];

    if (m == NULL)
        abort();
    ml_of = m;
    rng_seed(&m->rng, seed + 99);
    strcpy(m->dir, "/tmp/segq-sim-large.XXXXXX");
    if (mkdtemp(m->dir) == NULL)
        abort();
    m->fails = seed % 3 == 0 ? 0.03 : 0;
    m->most = seed % 2 == 0 ? 6000000 : 1u << 30;
    for (int i = 0; i < PR_NODES; i++) {
        ml_path(path, i);
        if (mkdir(path, 0700) < 0)
            abort();
    }
    w->larges = true;
}

static inline void ml_free(void)
{
    char path[80], file[400];
    struct dirent *x;

    for (int i = 0; ml_of != NULL && i < PR_NODES; i++) {
        DIR *d;

        large_close(ml_of->large[i]);
        ml_path(path, i);
        d = opendir(path);
        while (d != NULL && (x = readdir(d)) != NULL) {
            snprintf(file, sizeof(file), "%s/%s", path, x->d_name);
            (void)unlink(file);
        }
        if (d != NULL)
            closedir(d);
        (void)rmdir(path);
    }
    if (ml_of != NULL)
        (void)rmdir(ml_of->dir);
    free(ml_of);
    ml_of = NULL;
}

#endif

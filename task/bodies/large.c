/* large.c: see large.h. */
#include "task/bodies/large.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/list.h"
#include "common/task/sha256.h"
#include "task/bodies/bodies.h"

#define COMING_MOST 1024        /* files that come: each has a descriptor */
#define QUIET_MS    60000       /* a router hears of a piece that stays away before that; its partition may have moved */
#define SYNC_EACH   (1u << 20)  /* bytes: the disk begins to write them, so that the end has little to wait for */

struct coming {
    struct list_node in;
    uint64_t link, upload;
    struct answer_file *file; /* owned */
    struct sha256 hash;
    uint64_t length;
    uint64_t seen;     /* length that large_step() has seen, */
    msec_t seen_ms;    /* at first at this moment; 0: never */
    bool whole;
    uint8_t sha256[RESULT_SHA256];
};

struct large {
    struct answers *files; /* owned */
    struct list coming;
    bool synced;
    uint64_t max_bytes, given_up, lost;
};

int large_open(struct large **out, const char *dir, uint64_t max_bytes, bool synced, struct err *e)
{
    struct large *l = calloc(1, sizeof(*l));
    int rc;

    if (l == NULL)
        return err_set(e, SQ_ENOMEM, "out of memory");
    list_init(&l->coming);
    l->synced = synced;
    l->max_bytes = max_bytes;
    rc = answers_open(&l->files, dir, max_bytes, BODIES_LINGER_MS, e);
    if (rc < 0)
        free(l);
    else
        *out = l;
    return rc;
}

static void forget(struct large *l, struct coming *c)
{
    list_remove(&l->coming, &c->in);
    sha256_drop(&c->hash);
    free(c);
}

static void give_up(struct large *l, struct coming *c)
{
    answers_give_up(c->file);
    l->given_up++;
    forget(l, c);
}

void large_close(struct large *l)
{
    if (l == NULL)
        return;
    large_drop(l, 0, 0);
    answers_close(l->files);
    free(l);
}

static struct coming *find(const struct large *l, uint64_t link, uint64_t upload)
{
    list_each_of (&l->coming, struct coming, in, c) {
        if (c->link == link && c->upload == upload)
            return c;
    }
    return NULL;
}

static int begin(struct large *l, uint64_t link, const struct large_piece *q)
{
    struct coming *c;

    if (q->length > CALL_BODY_MAX)
        return SQ_ETOOBIG;
    if (!answers_has_room(l->files, q->length))
        return SQ_EFULL;
    c = calloc(1, sizeof(*c));
    if (c == NULL || !sha256_begin(&c->hash)) {
        free(c);
        return SQ_ENOMEM;
    }
    c->link = link;
    c->upload = q->upload;
    list_push_front(&l->coming, &c->in);
    c->file = answers_begin(l->files, COMING_MOST);
    if (c->file != NULL)
        return 0;
    forget(l, c);
    return SQ_EFULL;
}

static int end(struct large *l, struct coming *c, uint8_t sha256[RESULT_SHA256])
{
    sha256_end(&c->hash, c->sha256);
    memcpy(sha256, c->sha256, RESULT_SHA256);
    c->whole = true;
    if (!l->synced || answers_sync(c->file, true))
        return 0;
    give_up(l, c);
    return SQ_EFULL;
}

int large_add(struct large *l, uint64_t link, const struct large_piece *q, uint8_t sha256[RESULT_SHA256])
{
    struct coming *c = find(l, link, q->upload);
    int rc = c == NULL && q->at == 0 ? begin(l, link, q) : 0;

    if (rc < 0)
        return rc;
    c = c != NULL ? c : find(l, link, q->upload);
    if (c == NULL)
        return SQ_EUNKNOWN;
    if (c->length != q->at || c->whole || q->at + q->n > CALL_BODY_MAX) {
        rc = c->length == q->at && !c->whole ? SQ_ETOOBIG : SQ_EUNKNOWN;
        give_up(l, c);
        return rc;
    }
    if (!answers_add(c->file, q->p, q->n)) { /* and the file has gone */
        l->given_up++;
        forget(l, c);
        return SQ_EFULL;
    }
    sha256_add(&c->hash, q->p, q->n);
    c->length += q->n;
    if (l->synced && c->length % SYNC_EACH < q->n)
        (void)!answers_sync(c->file, false); /* the end says how that went */
    return q->last ? end(l, c, sha256) : 0;
}

bool large_has(const struct large *l, uint64_t link, const struct call_file *f)
{
    const struct coming *c = find(l, link, f->upload);

    return c != NULL && c->whole && c->length == f->length &&
           memcmp(c->sha256, f->sha256, sizeof(c->sha256)) == 0;
}

static struct answer_id id_of(const struct call_file *f, uint32_t part, task_no no)
{
    struct answer_id id = { .part = part, .no = no, .length = f->length };

    memcpy(id.sha256, f->sha256, sizeof(id.sha256));
    return id;
}

int large_keep(struct large *l, uint64_t link, const struct call_file *f, uint32_t part, task_no no)
{
    struct coming *c = find(l, link, f->upload);
    struct answer_id id = id_of(f, part, no);
    bool kept = answers_keep(c->file, &id) && (!l->synced || answers_sync_dir(l->files));

    l->given_up += !kept;
    forget(l, c);
    return kept ? 0 : SQ_EFULL;
}

void large_drop(struct large *l, uint64_t link, uint64_t upload)
{
    list_each_of (&l->coming, struct coming, in, c)
        if ((link == 0 || c->link == link) && (upload == 0 || c->upload == upload))
            give_up(l, c);
}

int large_read(struct large *l, const struct call_file *f, uint32_t part, task_no no)
{
    struct answer_id id = id_of(f, part, no);
    int fd = answers_have(l->files, &id) ? answers_open_one(l->files, &id) : SQ_EUNKNOWN;

    l->lost += fd == SQ_EUNKNOWN;
    return fd;
}

int64_t large_read_at(struct large *l, const struct call_file *f, uint32_t part, task_no no, uint64_t at,
                      uint8_t *p, size_t n)
{
    struct answer_id id = id_of(f, part, no);

    return answers_read(l->files, &id, at, p, n);
}

void large_step(struct large *l, msec_t now_ms, answer_lives needs, void *ctx)
{
    answers_step(l->files, now_ms, needs, ctx);
    list_each_of (&l->coming, struct coming, in, c) {
        if (c->seen_ms == 0 || c->seen != c->length) {
            c->seen = c->length;
            c->seen_ms = now_ms;
        } else if (now_ms - c->seen_ms >= QUIET_MS) {
            give_up(l, c);
        }
    }
}

void large_counts(const struct large *l, struct large_counts *n)
{
    const struct answers_counts *c = answers_counts(l->files);

    *n = (struct large_counts){ .files = c->files + c->writing, .bytes = c->bytes, .kept = c->kept,
                                .no_room = c->no_room, .given_up = l->given_up, .lost = l->lost,
                                .failures = c->failures, .max_bytes = l->max_bytes };
}

#include "common/journal/walk.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "common/base/log.h"

#define LOG_MODULE "journal"

int jreplay_damage(struct jreplay *r, const char *name, uint64_t at, const char *what,
                   struct err *e)
{
    if (!r->allow)
        return err_set(e, SQ_EPROTO, "%s at offset %" PRIu64 ": %s", name, at, what);
    log_error("event=journal_damage_skipped dir=%s file=%s offset=%" PRIu64 " what=\"%s\"",
              r->j->where, name, at, what);
    return 0;
}

/* ---- one file ----------------------------------------------------------------------- */
int jreplay_head(struct jreplay *r, struct jreader *f, const char *name, enum jkind kind,
                 uint64_t seq, struct jhead *h, struct err *e)
{
    const uint8_t *p;
    int rc;

    if (f->size < JHEAD_BYTES)
        return 0;
    rc = jreader_get(f, 0, JHEAD_BYTES, &p, e);
    if (rc < 0)
        return rc;
    if (!jhead_parse(p, h))
        return 0;
    if (h->version > r->j->format)
        return err_set(e, SQ_EPROTO,
                       "%s was written by a newer segq (format %u, this one reads up to %u)",
                       name, h->version, r->j->format);
    if (h->kind != kind || h->seq != seq)
        return err_set(e, SQ_EPROTO, "%s is another file under a wrong name", name);
    if (strcmp(h->node, r->j->node) != 0)
        return err_set(e, SQ_EPROTO, "%s belongs to node %s", name,
                       log_q(h->node, strlen(h->node)));
    return 1;
}

static int deliver(struct jreplay *r, enum jkind kind, const struct jgroup *g, struct err *e)
{
    struct journal_counts *c = &r->j->c;
    struct jrecord rec;
    uint32_t pos = 0;
    int rc = 0;

    while (rc >= 0 && jgroup_next(g, &pos, &rec)) {
        if (kind == JLOG) {
            rc = r->to->on_record(r->to->ctx, rec.type, rec.p, rec.len, e);
            c->replay_records++;
        } else {
            rc = r->to->on_chunk(r->to->ctx, rec.p, rec.len, e);
            c->replay_chunks++;
        }
    }
    c->replay_bytes += JGROUP_BYTES + g->len;
    return rc < 0 ? rc : 0;
}

int jwalk_group(struct jreplay *r, struct jwalk *w, const struct jgroup *g, struct err *e)
{
    uint64_t at = w->at;

    assert(g->at == at && at >= JHEAD_BYTES && at + JGROUP_BYTES + g->len <= w->f.size);
    w->at += JGROUP_BYTES + g->len;
    w->synced = u64_max(w->synced, g->synced);
    w->ended = g->kind != JG_RECORDS;
    if (w->kind == JSNAP && g->kind == JG_END && g->len == JRECORD_BYTES + 8) {
        w->end_word = le64_get(g->body + JRECORD_BYTES);
        return 0;
    }
    if (deliver(r, w->kind, g, e) == 0)
        return 0;
    return err_wrap(e, "%s at offset %" PRIu64, w->name, at);
}

int jwalk_groups(struct jreplay *r, struct jwalk *w, struct err *e)
{
    struct jgroup g;
    int rc;

    while ((rc = jreader_group(&w->f, &w->key, w->at, &g, e)) == 1) {
        rc = jwalk_group(r, w, &g, e);
        if (rc < 0)
            return rc;
    }
    return rc < 0 ? err_wrap(e, "%s", w->name) : 0;
}

int jwalk_skip(struct jreplay *r, struct jwalk *w, struct err *e)
{
    struct jgroup g;
    int rc = jreader_find(&w->f, &w->key, w->at + 1, &g, e);
    uint64_t to = rc == 1 ? g.at : w->f.size;

    assert(r->allow);
    if (rc < 0)
        return rc;
    r->j->c.damaged_bytes += to - w->at;
    w->at = to;
    return rc;
}

int jwalk_open(struct jreplay *r, struct jwalk *w, const char *name, enum jkind kind,
               uint64_t seq, struct err *e)
{
    struct jhead h;
    int rc = jreader_open(&w->f, r->j->disk, name, e);

    if (rc < 0)
        return rc;
    w->name = name;
    w->kind = kind;
    w->at = JHEAD_BYTES;
    jkey_make(&w->key, r->j->node, kind, seq);
    rc = jreplay_head(r, &w->f, name, kind, seq, &h, e);
    if (rc == 0)
        rc = jreplay_damage(r, name, 0, "the head is damaged", e);
    return rc < 0 ? rc : 0;
}

/* ---- the snapshot -------------------------------------------------------------------- */
static int snap_rest(struct jreplay *r, struct jwalk *w, struct err *e)
{
    int rc;

    while ((rc = jreader_is_zero(&w->f, w->at, e)) == 0) {
        rc = jreplay_damage(r, w->name, w->at, "the snapshot is damaged", e);
        if (rc == 0)
            rc = jwalk_skip(r, w, e);
        if (rc == 1)
            rc = jwalk_groups(r, w, e);
        if (rc < 0)
            return rc;
    }
    if (rc < 0 || (w->ended && w->end_word == r->j->c.replay_chunks))
        return rc < 0 ? rc : 0;
    return jreplay_damage(r, w->name, w->at, "the snapshot is not whole", e);
}

int jwalk_snapshot(struct jreplay *r, uint64_t base, struct err *e)
{
    struct jwalk w = { .f.h = -1 };
    char name[JNAME_MAX];
    int rc;

    if (base == 0)
        return 0;
    jname_text(name, JNAME_SNAP, base);
    rc = jwalk_open(r, &w, name, JSNAP, base, e);
    if (rc == 0)
        rc = jwalk_groups(r, &w, e);
    if (rc == 0)
        rc = snap_rest(r, &w, e);
    r->j->base_bytes = w.at;
    jwalk_close(&w);
    return rc;
}

void jwalk_close(struct jwalk *w)
{
    if (w->f.d != NULL)
        jreader_close(&w->f);
}

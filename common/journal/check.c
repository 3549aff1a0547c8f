#include "common/journal/check.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/journal/disk.h"
#include "common/journal/reader.h"

struct check {
    struct disk *d; /* ref */
    uint32_t format;
    const char *(*name)(uint8_t type);
    FILE *out;
    struct jdir dir; /* owned */
    uint64_t base, last; /* newest snapshot, newest log that holds a group */
    uint64_t records[256];
    bool bad;
};

static void say_bad(struct check *c, const char *what, const char *why)
{
    fprintf(c->out, "    DAMAGED: %s%s%s\n", what, why[0] != '\0' ? ": " : "", why);
    c->bad = true;
}

static void say_head(struct check *c, const char *name, const struct jhead *h, uint64_t size)
{
    fprintf(c->out, "%s: %s %" PRIu64 ", format %u, node %s, created %" PRIu64
            " ms, %" PRIu64 " bytes%s\n", name, h->kind == JLOG ? "log" : "snapshot", h->seq,
            h->version, h->node, h->created_ms, size,
            h->flags & JHEAD_FRESH ? ", void without its snapshot" : "");
}

/* The head, or false with the reason said. */
static bool check_head(struct check *c, struct jreader *f, const char *name,
                       const struct jname *n, struct jhead *h)
{
    const uint8_t *p;
    struct err e = { 0 };

    if (f->size < JHEAD_BYTES || jreader_get(f, 0, JHEAD_BYTES, &p, &e) < 0 ||
        !jhead_parse(p, h)) {
        fprintf(c->out, "%s: %" PRIu64 " bytes\n", name, f->size);
        if (n->kind == JNAME_LOG && n->seq > c->last)
            fprintf(c->out, "    made, but never used\n");
        else
            say_bad(c, "the head at offset 0", e.text);
        return false;
    }
    say_head(c, name, h, f->size);
    if (h->version > c->format)
        say_bad(c, "written by a newer segq", "");
    else if (h->seq != n->seq || (h->kind == JLOG) != (n->kind == JNAME_LOG))
        say_bad(c, "another file under a wrong name", "");
    else
        return true;
    return false;
}

static void count_records(struct check *c, const struct jgroup *g, enum jkind kind,
                          uint64_t *n)
{
    struct jrecord r;
    uint32_t pos = 0;

    while (jgroup_next(g, &pos, &r)) {
        *n += 1;
        if (kind == JLOG)
            c->records[r.type]++;
    }
}

static void say_at(struct check *c, uint64_t at, const char *what)
{
    char text[64];

    snprintf(text, sizeof(text), "at offset %" PRIu64, at);
    say_bad(c, text, what);
}

/* Checks the bytes behind the last group, from `at`; the last log may be torn. True: groups
 * follow. */
static bool check_rest(struct check *c, struct jreader *f, const struct jkey *key,
                       enum jkind kind, bool last, bool ended, uint64_t at, struct jgroup *g)
{
    struct err e = { 0 };
    int rc = jreader_tail(f, key, at, &e);

    if (rc < 0) {
        say_at(c, at, e.text);
        return false;
    }
    if (rc == JTAIL_ZEROS) {
        if (!ended && (kind == JSNAP || !last))
            say_at(c, at, "ends without its end mark");
        return false;
    }
    if (rc == JTAIL_TORN && kind == JLOG && last) {
        fprintf(c->out, "    torn tail at offset %" PRIu64 ": %" PRIu64
                " bytes that the next start cuts off\n", at, f->size - at);
        return false;
    }
    say_at(c, at, "no whole group where one must be");
    return jreader_find(f, key, at + 1, g, &e) == 1;
}

static void check_groups(struct check *c, struct jreader *f, const struct jhead *h, bool last)
{
    uint64_t at = JHEAD_BYTES, groups = 0, records = 0;
    struct err e = { 0 };
    struct jgroup g;
    struct jkey key;
    bool ended = false;
    int rc;

    jkey_make(&key, h->node, h->kind, h->seq);
    do {
        while ((rc = jreader_group(f, &key, at, &g, &e)) == 1) {
            count_records(c, &g, h->kind, &records);
            groups += g.kind == JG_RECORDS;
            records -= g.kind == JG_END ? g.count : 0;
            ended = g.kind != JG_RECORDS;
            at += JGROUP_BYTES + g.len;
        }
        if (rc < 0)
            say_at(c, at, e.text);
        if (rc < 0 || !check_rest(c, f, &key, h->kind, last, ended, at, &g))
            break;
        at = g.at;
    } while (true);
    fprintf(c->out, "    %" PRIu64 " groups, %" PRIu64 " %s%s\n", groups, records,
            h->kind == JLOG ? "records" : "chunks", ended ? ", closed" : "");
}

static void check_file(struct check *c, const struct jname *n)
{
    char name[JNAME_MAX];
    struct jreader f;
    struct jhead h;
    struct err e = { 0 };

    jname_text(name, n->kind, n->seq);
    if (jreader_open(&f, c->d, name, &e) < 0) {
        say_bad(c, name, e.text);
        return;
    }
    if (n->kind == JNAME_TMP || n->kind == JNAME_TORN || n->seq < c->base)
        fprintf(c->out, "%s: %" PRIu64 " bytes, %s\n", name, f.size,
                n->kind == JNAME_TMP    ? "a snapshot that was not finished"
                : n->kind == JNAME_TORN ? "cut off by a recovery, kept for you"
                                        : "replaced by the snapshot");
    else if (check_head(c, &f, name, n, &h))
        check_groups(c, &f, &h, n->seq >= c->last);
    jreader_close(&f);
}

/* Does log `seq` hold a group? Its node is known from any head. */
static bool has_groups(struct check *c, uint64_t seq)
{
    char name[JNAME_MAX];
    struct jreader f;
    struct jgroup g;
    struct jkey key;
    struct jhead h;
    const uint8_t *p;
    bool found;

    jname_text(name, JNAME_LOG, seq);
    if (jreader_open(&f, c->d, name, NULL) < 0)
        return false;
    found = f.size >= JHEAD_BYTES && jreader_get(&f, 0, JHEAD_BYTES, &p, NULL) == 0 &&
            jhead_parse(p, &h) && h.version <= c->format;
    if (found && (h.flags & JHEAD_FRESH) && seq != c->base) {
        found = false; /* void: the next start removes it */
    } else if (found) {
        jkey_make(&key, h.node, JLOG, seq);
        found = jreader_find(&f, &key, JHEAD_BYTES, &g, NULL) == 1;
    } else { /* a log whose head was damaged is longer than a head */
        found = f.size > JHEAD_BYTES && jreader_is_zero(&f, JHEAD_BYTES, NULL) == 0;
    }
    jreader_close(&f);
    return found;
}

static void check_gaps(struct check *c)
{
    uint64_t want = c->base > 0 ? c->base : 1;
    char name[JNAME_MAX];

    for (size_t i = 0; i < c->dir.n; i++)
        if (c->dir.v[i].kind == JNAME_LOG && c->dir.v[i].seq >= want) {
            jname_text(name, JNAME_LOG, want);
            if (want < c->dir.v[i].seq)
                say_bad(c, "missing, and perhaps more", name);
            want = c->dir.v[i].seq + 1;
        }
    if (c->base > 0 && want == c->base) {
        jname_text(name, JNAME_LOG, want);
        say_bad(c, "missing", name);
    }
}

static void say_records(struct check *c)
{
    for (unsigned t = 0; t < ARRAY_LEN(c->records); t++) {
        const char *text = c->name != NULL ? c->name((uint8_t)t) : NULL;

        if (c->records[t] > 0 && text != NULL)
            fprintf(c->out, "%12" PRIu64 " %s\n", c->records[t], text);
        else if (c->records[t] > 0)
            fprintf(c->out, "%12" PRIu64 " of type %u\n", c->records[t], t);
    }
}

static void check_all(struct check *c)
{
    for (size_t i = 0; i < c->dir.n; i++)
        if (c->dir.v[i].kind == JNAME_SNAP)
            c->base = u64_max(c->base, c->dir.v[i].seq);
    for (size_t i = 0; i < c->dir.n; i++)
        if (c->dir.v[i].kind == JNAME_LOG && has_groups(c, c->dir.v[i].seq))
            c->last = u64_max(c->last, c->dir.v[i].seq);
    for (size_t i = 0; i < c->dir.n; i++)
        check_file(c, &c->dir.v[i]);
    check_gaps(c);
    say_records(c);
}

int journal_check_disk(struct disk *d, uint32_t format, const char *(*name)(uint8_t type),
                       FILE *out)
{
    struct check c = { .d = d, .format = format, .name = name, .out = out };
    struct err e = { 0 };

    if (jdir_read(&c.dir, d, &e) < 0)
        say_bad(&c, "the folder", e.text);
    else if (c.dir.n == 0)
        fprintf(out, "no journal here\n");
    else
        check_all(&c);
    fprintf(out, "%s\n", c.bad ? "damaged" : "fine");
    jdir_fini(&c.dir);
    return c.bad ? 1 : 0;
}

int journal_check(const char *dir, uint32_t format, const char *(*name)(uint8_t type), FILE *out)
{
    struct err e = { 0 };
    struct disk *d;
    int rc;

    if (disk_posix_open(&d, dir, "disk", false, &e) < 0) {
        fprintf(out, "%s\n", e.text);
        return 1;
    }
    rc = journal_check_disk(d, format, name, out);
    d->ops->free(d);
    return rc;
}

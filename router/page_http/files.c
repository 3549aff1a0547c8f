/* files.c: see files.h. */
#include "router/page_http/files.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/file.h"
#include "common/base/log.h"
#include "common/base/map.h"

#define LOG_MODULE "page"

struct kept_def {
    uint32_t version; /* version of the text that it was read from */
    bool good;
    struct page_def def;
    struct gzip_ready style; /* style of it, packed */
};

struct page_room {
    struct page *page;
    struct map defs; /* queue_id -> kept_def, owned */
};

#define DEFS_MAX 4096 /* kept; then all are read again as they are wanted */

/* ---- files ---- */

struct files {
    struct page_file v[PAGE_FILES_MAX];
    char *own[PAGE_FILES_MAX]; /* content of a folder; owned */
    size_t n;
};

static int read_file(const char *path, char **text, size_t *n, struct err *e)
{
    char *p = malloc(PAGE_FILE_MAX);
    int64_t rc = p != NULL ? file_read(path, FILE_ANY, p, PAGE_FILE_MAX, NULL, e)
                           : err_set(e, SQ_ENOMEM, "%s: out of memory", path);

    if (rc < 0) {
        free(p);
        return rc == SQ_EGONE ? 0 : (int)rc;
    }
    *text = p;
    *n = (size_t)rc;
    return 0;
}

/* The folder's file of this name, if there is one. */
static int replace(struct files *f, size_t i, const char *dir, struct err *e)
{
    char path[4200];
    size_t n = 0;
    int rc;

    snprintf(path, sizeof(path), "%s/%s", dir, f->v[i].name);
    rc = read_file(path, &f->own[i], &n, e);
    if (rc < 0 || f->own[i] == NULL)
        return rc;
    log_info("event=page_file_replaced file=%s", path);
    f->v[i].p = f->own[i];
    f->v[i].n = n;
    return 0;
}

/* The names are those that the program has: no folder is listed, no path is joined from
 * anything that came from outside. */
static int collect(struct files *f, const char *dir, struct err *e)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < page_blobs_n && f->n < PAGE_FILES_MAX; i++) {
        f->v[f->n] = (struct page_file) { page_blobs[i].name, page_blobs[i].begin,
                                          (size_t)(page_blobs[i].end - page_blobs[i].begin) };
        f->n++;
        if (dir != NULL && dir[0] != '\0')
            rc = replace(f, f->n - 1, dir, e);
    }
    return rc;
}

static void files_fini(struct files *f)
{
    for (size_t i = 0; i < f->n; i++)
        free(f->own[i]);
}

int page_room_new(struct page_room **out, const struct router_cfg *cfg, struct err *e)
{
    struct page_room *p = calloc(1, sizeof(*p));
    struct files f = { .n = 0 };
    int rc;

    if (p == NULL)
        return err_set(e, SQ_ENOMEM, "out of memory");
    map_init(&p->defs, 0);
    rc = collect(&f, cfg->page_dir, e);
    if (rc == 0)
        rc = page_new(&p->page, f.v, f.n, e);
    if (rc == 0 && cfg->page_language != NULL &&
        !page_lang_default(p->page, cfg->page_language))
        rc = err_set(e, SQ_EINVAL, "page_language: there is no \"%.20s\" among the waiting page's "
                                   "languages",
                     cfg->page_language);
    files_fini(&f);
    if (rc < 0) {
        page_room_free(p);
        return rc;
    }
    *out = p;
    return 0;
}

/* ---- definitions ---- */

static void defs_clear(struct page_room *p)
{
    uint64_t key, val;

    for (size_t i = 0; (i = map_next(&p->defs, i, &key, &val)) != 0;) {
        struct kept_def *k = (struct kept_def *)(uintptr_t)val;

        cfg_clear(&k->def, page_def_keys);
        gzip_ready_fini(&k->style);
        free(k);
    }
    map_fini(&p->defs);
    map_init(&p->defs, 0);
}

void page_room_free(struct page_room *p)
{
    if (p == NULL)
        return;
    defs_clear(p);
    page_free(p->page);
    free(p);
}

static struct kept_def *kept_for(struct page_room *p, queue_id id)
{
    struct kept_def *k = map_get_ptr(&p->defs, id);

    if (k != NULL)
        return k;
    if (p->defs.n >= DEFS_MAX)
        defs_clear(p);
    assert(p->defs.n < DEFS_MAX);
    k = calloc(1, sizeof(*k));
    if (k == NULL || map_set_ptr(&p->defs, id, k) < 0) {
        free(k);
        return NULL;
    }
    return k;
}

/* Once for all pages, until the definition changes. */
static int pack_style(struct kept_def *k, struct err *e)
{
    gzip_ready_fini(&k->style);
    k->style = (struct gzip_ready) { .crc = 0 };
    if (k->def.style == NULL || k->def.style[0] == '\0')
        return 0;
    buf_str(&k->style.text, k->def.style);
    return gzip_ready_pack(&k->style, e);
}

const struct page_def *page_room_def(struct router *r, const struct route_queue *q)
{
    struct err e = { 0 };
    struct kept_def *k;

    if (q->map.page[0] == '\0')
        return NULL;
    k = kept_for(r->page, q->map.id);
    if (k == NULL)
        return NULL;
    if (k->version != q->page_version) {
        k->good = page_def_read(&k->def, q->map.page, strlen(q->map.page), &e) == 0 &&
                  pack_style(k, &e) == 0;
        k->version = q->page_version;
        if (!k->good)
            log_warn("event=page_definition_refused queue=%s why=%s", q->map.name,
                     log_q(e.text, strlen(e.text)));
    }
    return k->good ? &k->def : NULL;
}

const struct gzip_ready *page_room_style(struct router *r, const struct route_queue *q)
{
    const struct kept_def *k;

    if (page_room_def(r, q) == NULL)
        return NULL;
    k = map_get_ptr(&r->page->defs, q->map.id);
    assert(k != NULL && k->good);
    return k->style.text.len > 0 ? &k->style : NULL;
}

const struct page *page_room_page(const struct router *r)
{
    return r->page->page;
}

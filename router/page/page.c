/* page.c: the page's files put together; the answer's status, headers and words. Pure. */
#define _GNU_SOURCE /* memmem */
#include "router/page/page.h"
#include "router/page/page_state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define VALUE(name) [PS_##name] = { #name, false },
#define RAW(name) [PS_##name] = { #name, true },
#define TEXT(name) [PS_t_##name] = { "t_" #name, false },
static const struct page_slot slots[PS_COUNT] = { PAGE_SLOTS(VALUE, RAW)
                                                    PAGE_TEXTS(TEXT, TEXT) };

/* ---- files ---- */

static const struct page_file *find(const struct page_file *files, size_t n,
                                    const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(files[i].name, name) == 0)
            return &files[i];
    return NULL;
}

static int need(const struct page_file **out, const struct page_file *files, size_t n,
                const char *name, struct err *e)
{
    *out = find(files, n, name);
    if (*out == NULL)
        return err_set(e, SQ_EINVAL, "page: no %s", name);
    if ((*out)->n > PAGE_FILE_MAX)
        return err_set(e, SQ_EINVAL, "page: %s is longer than %d bytes", name,
                       PAGE_FILE_MAX);
    return 0;
}

/* What stands inside <style> or <script> must not end it. */
static int add_inside(struct buf *b, const struct page_file *f, const char *end,
                      struct err *e)
{
    if (memmem(f->p, f->n, end, strlen(end)) != NULL ||
        memmem(f->p, f->n, "<!--", 4) != NULL)
        return err_set(e, SQ_EINVAL, "page: %s must not have \"%s\" or \"<!--\" in it",
                       f->name, end);
    buf_append(b, f->p, f->n);
    return b->failed ? err_set(e, SQ_ENOMEM, "out of memory") : 0;
}

static int read_inside(struct buf *b, const struct page_file *files, size_t n,
                       const char *name, const char *end, struct err *e)
{
    const struct page_file *f;
    int rc = need(&f, files, n, name, e);

    return rc < 0 ? rc : add_inside(b, f, end, e);
}

static bool is_tag(const char *name, size_t len)
{
    if (len < 2 || len > 16)
        return false;
    for (size_t i = 0; i < len; i++)
        if (!(name[i] >= 'a' && name[i] <= 'z') && name[i] != '-')
            return false;
    return true;
}

static int read_langs(struct page *p, const struct page_file *files, size_t n, struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(files[i].name);
        char tag[17] = "";
        int rc;

        if (len < 5 || strcmp(files[i].name + len - 5, ".json") != 0)
            continue;
        if (!is_tag(files[i].name, len - 5) || p->n_langs == PAGE_LANGS_MAX)
            return err_set(e, SQ_EINVAL, "page: %s: not a language, or too many",
                           files[i].name);
        memcpy(tag, files[i].name, len - 5);
        rc = page_lang_read(&p->lang[p->n_langs], tag, files[i].p, files[i].n, e);
        if (rc < 0)
            return err_wrap(e, "page");
        p->tags[p->n_langs] = p->lang[p->n_langs].tag;
        if (strcmp(tag, "en") == 0)
            p->other = p->n_langs;
        p->n_langs++;
    }
    return find(files, n, "en.json") != NULL ? 0 : err_set(e, SQ_EINVAL, "page: no en.json");
}

static int read_all(struct page *p, const struct page_file *files, size_t n, struct err *e)
{
    const struct page_file *html;
    int rc = need(&html, files, n, "page.html", e);

    if (rc == 0) {
        rc = page_tmpl_new(&p->tmpl, html->p, html->n, slots, PS_COUNT, e);
        if (rc < 0)
            return err_wrap(e, "page.html");
    }
    if (rc == 0)
        rc = read_inside(&p->style, files, n, "page.css", "</", e);
    if (rc == 0)
        rc = read_inside(&p->script, files, n, "segq.js", "</script", e);
    if (rc == 0)
        rc = read_inside(&p->script, files, n, "segq_events.js", "</script", e);
    if (rc == 0)
        rc = read_inside(&p->script, files, n, "page.js", "</script", e);
    return rc < 0 ? rc : read_langs(p, files, n, e);
}

int page_new(struct page **out, const struct page_file *files, size_t n, struct err *e)
{
    struct page *p = calloc(1, sizeof(*p));
    int rc;

    if (p == NULL)
        return err_set(e, SQ_ENOMEM, "out of memory");
    buf_init(&p->style);
    buf_init(&p->script);
    rc = read_all(p, files, n, e);
    if (rc < 0) {
        page_free(p);
        return rc;
    }
    *out = p;
    return 0;
}

void page_free(struct page *p)
{
    if (p == NULL)
        return;
    assert(p->n_langs <= PAGE_LANGS_MAX);
    for (size_t i = 0; i < p->n_langs; i++)
        page_lang_fini(&p->lang[i]);
    page_tmpl_free(p->tmpl);
    buf_fini(&p->style);
    buf_fini(&p->script);
    free(p);
}

size_t page_lang_for(const struct page *p, struct slice accept)
{
    return page_language(accept, p->tags, p->n_langs, p->other);
}

/* ---- status and headers ---- */

int page_status(enum page_state s)
{
    switch (s) {
    case PAGE_CLOSED:
    case PAGE_REFUSED:
    case PAGE_EARLY:
    case PAGE_REJECT:
        return 403;
    case PAGE_NO_QUEUE:
        return 404;
    case PAGE_TOO_FAST:
        return 429;
    case PAGE_FULL:
    case PAGE_UNAVAILABLE:
        return 503;
    default:
        return 200;
    }
}

/* A form's answer may redirect to the target, which browsers check against form-action. */
static void put_policy(struct buf *b, const struct page_view *v)
{
    buf_str(b, "Content-Security-Policy: default-src 'none'; script-src 'nonce-");
    buf_str(b, v->nonce);
    buf_str(b, "'; style-src 'nonce-");
    buf_str(b, v->nonce);
    buf_str(b, "'; img-src 'self' data:; connect-src 'self'; form-action 'self'");
    if (page_target_origin(v->target) > 0) {
        buf_byte(b, ' ');
        buf_append(b, v->target, page_target_origin(v->target));
    }
    buf_str(b, "; base-uri 'none'; frame-ancestors 'none'\r\n");
}

void page_put_headers(const struct page *p, struct buf *b, const struct page_view *v)
{
    put_policy(b, v);
    buf_str(b, "Referrer-Policy: no-referrer\r\nX-Frame-Options: DENY\r\n"
               "Cross-Origin-Opener-Policy: same-origin\r\nContent-Language: ");
    buf_str(b, p->lang[v->lang].tag);
    buf_str(b, "\r\n");
    if (page_status(v->state) == 503 || page_status(v->state) == 429) {
        buf_str(b, "Retry-After: ");
        buf_u64(b, (v->poll_after_ms + 999) / 1000);
        buf_str(b, "\r\n");
    }
}

/* ---- the operator's words ---- */

/* The text of this very language, of its main language (zh for zh-tw), else the general. */
struct page_words page_words_for(const struct page_def *d, const char *tag)
{
    struct page_words w = { "", "" };
    const struct page_text *t;
    const char *dash = strchr(tag, '-');
    size_t main_len = dash != NULL ? (size_t)(dash - tag) : strlen(tag);
    unsigned best = 0;

    if (d == NULL)
        return w;
    t = d->texts.v;
    w = (struct page_words) { d->title, d->message };
    for (size_t i = 0; i < d->texts.n; i++) {
        unsigned fit = strcmp(t[i].lang, tag) == 0 ? 2
                       : strlen(t[i].lang) == main_len &&
                               memcmp(t[i].lang, tag, main_len) == 0
                           ? 1
                           : 0;

        if (fit <= best)
            continue;
        best = fit;
        w = (struct page_words) { t[i].title[0] != '\0' ? t[i].title : d->title,
                                  t[i].message[0] != '\0' ? t[i].message : d->message };
    }
    return w;
}

void page_put_message(struct buf *b, const char *now, const char *always)
{
    bool is_now = now != NULL && now[0] != '\0';

    if (is_now)
        buf_str(b, now);
    if (is_now && always[0] != '\0')
        buf_str(b, "\n\n");
    buf_str(b, always);
}

void page_put_words(const struct page *p, struct buf *b, size_t lang,
                    const struct page_def *def, const char *message, uint32_t version)
{
    struct buf said;
    struct page_words w = page_words_for(def, p->lang[lang].tag);

    assert(lang < p->n_langs);
    if (w.title[0] == '\0')
        w.title = p->lang[lang].text[PT_title];
    buf_str(b, "{\"page\":");
    buf_u64(b, version);
    buf_str(b, ",\"title\":");
    page_put_json(b, w.title, strlen(w.title));
    buf_str(b, ",\"message\":");
    buf_init(&said);
    page_put_message(&said, message, w.message);
    page_put_json(b, (const char *)said.data, said.len);
    b->failed |= said.failed;
    buf_fini(&said);
    buf_byte(b, '}');
}

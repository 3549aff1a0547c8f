/* page.c: see page.h. */
#define _GNU_SOURCE /* memmem */
#include "router/page/page.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/text.h"

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

/* Checks that text inside <style> or <script> does not end it. */
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
        if (!((name[i] | 0x20) >= 'a' && (name[i] | 0x20) <= 'z') && name[i] != '-')
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

/* Each text has the numbers that it has in English. */
static int compare_langs(const struct page *p, struct err *e)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < p->n_langs; i++)
        rc = page_lang_like(&p->lang[i], &p->lang[p->other], e);
    return rc < 0 ? err_wrap(e, "page") : 0;
}

static void put_languages(struct page *p)
{
    struct buf *b = &p->languages;

    for (size_t i = 0; i < p->n_langs; i++) {
        const struct page_lang *l = &p->lang[i];
        const char *name = page_text(l, PT_name);

        buf_str(b, "<button name=lang value=");
        buf_str(b, l->tag);
        buf_str(b, " lang=");
        buf_str(b, l->tag);
        buf_str(b, ">");
        page_put_html(b, name, strlen(name));
        buf_str(b, "</button>\n");
    }
}

/* ---- for the script ---- */

static void put_name(struct buf *b, const char *name, bool first)
{
    buf_str(b, first ? "\"" : ",\"");
    buf_str(b, name);
    buf_str(b, "\":");
}

static void put_text(struct buf *b, const struct page_lang *l, int id)
{
    static const char *const forms[PLURAL_COUNT] = { "other", "one", "two", "few", "many" };
    bool plain = true;

    for (int i = 1; i < PLURAL_COUNT; i++)
        plain = plain && l->text[id][i] == NULL;
    if (!plain)
        buf_byte(b, '{');
    for (int i = 0; i < PLURAL_COUNT; i++) {
        if (l->text[id][i] == NULL)
            continue;
        if (!plain)
            put_name(b, forms[i], i == 0);
        page_put_json(b, l->text[id][i], strlen(l->text[id][i]));
    }
    if (!plain)
        buf_byte(b, '}');
}

/* The texts that the script shows: the last member of its data, and the data's end. */
static void put_script_texts(struct buf *b, const struct page_lang *l)
{
    bool first = true;

    buf_str(b, ",\"t\":{");
    for (int i = 0; i < PT_COUNT; i++)
        if (page_text_script[i]) {
            put_name(b, page_text_names[i], first);
            put_text(b, l, i);
            first = false;
        }
    buf_str(b, "}}");
}

/* ---- all of it ---- */

/* Compresses now what is the same for all readers, or for those of a language. */
static int pack_all(struct page *p, struct err *e)
{
    int rc = gzip_ready_pack(&p->style, e)
          ?: gzip_ready_pack(&p->script, e)
          ?: gzip_ready_pack(&p->work, e)
          ?: gzip_ready_pack(&p->check, e)
          ?: gzip_ready_pack(&p->places, e)
          ?: gzip_ready_pack(&p->tell, e)
          ?: gzip_ready_pack(&p->prover, e);

    for (size_t i = 0; rc == 0 && i < p->n_langs; i++) {
        put_script_texts(&p->texts[i].text, &p->lang[i]);
        rc = gzip_ready_pack(&p->texts[i], e);
    }
    if (rc == 0)
        rc = gzip_new(&p->gzip, e);
    return rc;
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
    rc = rc
        ?: read_inside(&p->style.text, files, n, "page.css", "</", e)
        ?: read_inside(&p->script.text, files, n, "segq.js", "</script", e)
        ?: read_inside(&p->script.text, files, n, "segq_events.js", "</script", e)
        ?: read_inside(&p->script.text, files, n, "page.js", "</script", e)
        ?: read_inside(&p->work.text, files, n, "work.js", "</script", e)
        ?: read_inside(&p->check.text, files, n, "check.js", "</script", e)
        ?: read_inside(&p->places.text, files, n, "places.js", "</script", e)
        ?: read_inside(&p->tell.text, files, n, "tell.js", "</script", e)
        ?: read_inside(&p->worker, files, n, "worker.js", "</script", e)
        ?: read_inside(&p->prover.text, files, n, "key.js", "</script", e)
        ?: read_langs(p, files, n, e)
        ?: compare_langs(p, e);
    if (rc < 0)
        return rc;
    put_languages(p);
    if (p->languages.failed)
        return err_set(e, SQ_ENOMEM, "out of memory");
    return pack_all(p, e);
}

int page_new(struct page **out, const struct page_file *files, size_t n, struct err *e)
{
    struct page *p = calloc(1, sizeof(*p));
    int rc;

    if (p == NULL)
        return err_set(e, SQ_ENOMEM, "out of memory");
    buf_init(&p->languages);
    buf_init(&p->worker);
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
    for (size_t i = 0; i < PAGE_LANGS_MAX; i++)
        gzip_ready_fini(&p->texts[i]);
    gzip_ready_fini(&p->style);
    gzip_ready_fini(&p->script);
    gzip_ready_fini(&p->work);
    gzip_ready_fini(&p->check);
    gzip_ready_fini(&p->places);
    gzip_ready_fini(&p->tell);
    buf_fini(&p->worker);
    gzip_ready_fini(&p->prover);
    gzip_free(p->gzip);
    buf_fini(&p->languages);
    free(p);
}

size_t page_lang_for(const struct page *p, struct slice accept, const char *other)
{
    size_t none = p->other;

    if (other != NULL)
        (void)page_lang_known(p, slice_of(other), &none);
    return page_language(accept, p->tags, p->n_langs, none);
}

bool page_lang_known(const struct page *p, struct slice tag, size_t *lang)
{
    size_t at = page_language_named(tag, p->tags, p->n_langs);

    if (at < p->n_langs)
        *lang = at;
    return at < p->n_langs;
}

bool page_lang_default(struct page *p, const char *tag)
{
    return page_lang_known(p, slice_of(tag), &p->other);
}

const char *page_lang_tag(const struct page *p, size_t lang)
{
    assert(lang < p->n_langs);
    return p->tags[lang];
}

struct slice page_worker(const struct page *p)
{
    return (struct slice){ (char *)p->worker.data, p->worker.len };
}

/* ---- status and headers ---- */

int page_status(enum page_state s)
{
    switch (s) {
    case PAGE_CLOSED:
    case PAGE_REFUSED:
    case PAGE_OTHER_DEVICE:
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

/* A widget's script loads more of them, frames and styles, from where it is. */
static void put_sources(struct buf *b, const struct page_view *v)
{
    struct page_widget w;

    if (v->state != PAGE_CHECK || v->preview != NULL || !page_widget_of(v->def, &w))
        return;
    if (w.sources[0] == '\0')
        buf_byte(b, ' ');
    buf_append(b, w.sources[0] == '\0' ? w.script : w.sources,
               w.sources[0] == '\0' ? page_target_origin(w.script) : strlen(w.sources));
}

/* A form's answer may redirect to the target, which browsers check against form-action. */
static void put_policy(struct buf *b, const struct page_view *v)
{
    buf_str(b, "Content-Security-Policy: default-src 'none'; script-src 'nonce-");
    buf_str(b, v->nonce);
    buf_byte(b, '\'');
    put_sources(b, v);
    buf_str(b, v->state == PAGE_WORK ? "; worker-src blob:; style-src 'nonce-" : "; style-src 'nonce-");
    buf_str(b, v->nonce);
    buf_byte(b, '\'');
    put_sources(b, v);
    if (v->state == PAGE_CHECK) {
        buf_str(b, "; frame-src 'self'");
        put_sources(b, v);
    }
    buf_str(b, v->preview != NULL ? "; sandbox allow-scripts; img-src 'self' data:" : "; img-src 'self' data:");
    put_sources(b, v);
    if (v->preview == NULL) {
        buf_str(b, "; connect-src 'self'");
        put_sources(b, v);
    }
    buf_str(b, v->preview != NULL ? "; form-action 'none'" : "; form-action 'self'");
    if (v->forms_to != NULL) {
        buf_str(b, v->forms_to);
    } else if (v->preview == NULL && page_target_origin(v->target) > 0) {
        buf_byte(b, ' ');
        buf_append(b, v->target, page_target_origin(v->target));
    }
    if (v->push_key != NULL && v->push_key[0] != 0)
        buf_str(b, "; worker-src 'self'");
    buf_str(b, "; base-uri 'none'; frame-ancestors 'none'\r\n");
}

void page_put_headers(const struct page *p, struct buf *b, const struct page_view *v)
{
    put_policy(b, v);
    buf_str(b, "Referrer-Policy: no-referrer\r\nX-Frame-Options: DENY\r\n"
               "Cross-Origin-Opener-Policy: same-origin\r\nContent-Language: ");
    buf_str(b, p->lang[v->lang].tag);
    buf_str(b, "\r\n");
    if (v->preview != NULL)
        return;
    if (page_status(v->state) == 503 || page_status(v->state) == 429) {
        buf_str(b, "Retry-After: ");
        buf_u64(b, (v->poll_after_ms + 999) / 1000);
        buf_str(b, "\r\n");
    }
}

/* Texts for a reader: the operator's in place of ours; those for the script. Pure. */

/* ---- the operator's words ---- */

/* 2: this very language; 1: its main language (zh for zh-tw); 0: another one. */
static unsigned fits(const char *lang, const char *tag)
{
    size_t main_len = strcspn(tag, "-");

    if (strcasecmp(lang, tag) == 0)
        return 2;
    return text_is(tag, main_len, lang);
}

static const char *message_for(const struct page_def *d, const char *tag)
{
    const struct page_message *m = d->messages.v;
    const char *best_text = "";
    unsigned best = 0;

    for (size_t i = 0; i < d->messages.n; i++)
        if (fits(m[i].lang, tag) > best) {
            best = fits(m[i].lang, tag);
            best_text = m[i].text;
        }
    return best_text;
}

struct page_words page_words_for(const struct page_def *d, const char *tag)
{
    struct page_words w = { "", "", "" };
    const struct page_text *t;
    unsigned best = 0;

    if (d == NULL)
        return w;
    t = d->texts.v;
    w = (struct page_words) { d->title, d->message, message_for(d, tag) };
    for (size_t i = 0; i < d->texts.n; i++) {
        if (fits(t[i].lang, tag) <= best)
            continue;
        best = fits(t[i].lang, tag);
        w.title = t[i].title[0] != '\0' ? t[i].title : d->title;
        w.message = t[i].message[0] != '\0' ? t[i].message : d->message;
    }
    return w;
}

void page_put_message(struct buf *b, const char *now, const struct page_words *w)
{
    bool is_now = now != NULL && now[0] != '\0';

    if (is_now)
        buf_str(b, w->now[0] != '\0' ? w->now : now);
    if (is_now && w->message[0] != '\0')
        buf_str(b, "\n\n");
    buf_str(b, w->message);
}

void page_put_words(const struct page *p, struct buf *b, size_t lang,
                    const struct page_def *def, const char *message, uint32_t version)
{
    struct buf said;
    struct page_words w = page_words_for(def, p->lang[lang].tag);

    assert(lang < p->n_langs);
    if (w.title[0] == '\0')
        w.title = page_text(&p->lang[lang], PT_title);
    buf_str(b, "{\"page\":");
    buf_u64(b, version);
    buf_str(b, ",\"title\":");
    page_put_json(b, w.title, strlen(w.title));
    buf_str(b, ",\"message\":");
    buf_init(&said);
    page_put_message(&said, message, &w);
    page_put_json(b, (const char *)said.data, said.len);
    b->failed |= said.failed;
    buf_fini(&said);
    buf_byte(b, '}');
}

/* words.c: texts for a reader: the operator's in place of ours; those for the script. Pure. */
#include "router/page/words.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "router/page/page_state.h"

/* ---- the operator's words ---- */

/* 2: this very language; 1: its main language (zh for zh-tw); 0: another one. */
static unsigned fits(const char *lang, const char *tag)
{
    size_t main_len = strcspn(tag, "-");

    if (strcasecmp(lang, tag) == 0)
        return 2;
    return strlen(lang) == main_len && memcmp(lang, tag, main_len) == 0;
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

void page_put_script_texts(struct buf *b, const struct page_lang *l)
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

/* page_def.c: the table, and what a table cannot say. Pure. */
#include "common/config/page_def.h"

#include <string.h>

#include "common/base/text.h"

#define TEXT(f) offsetof(struct page_text, f)
static const struct cfg_key text_keys[] = {
    { "lang", CFG_STR, TEXT(lang), NULL, 2, 16, true,
      "language of these texts: zh, pt-br", 0, 0, 0 },
    { "title", CFG_STR, TEXT(title), "", 0, 120, true, "title in this language",
                                                       0, 0, 0 },
    { "message", CFG_STR, TEXT(message), "", 0, 1000, true, "message in this language",
                                                            0, 0, 0 },
    { 0 },
};

#define MESSAGE(f) offsetof(struct page_message, f)
static const struct cfg_key message_keys[] = {
    { "lang", CFG_STR, MESSAGE(lang), NULL, 2, 16, true, "language of this text: zh, pt-br", 0, 0, 0 },
    { "text", CFG_STR, MESSAGE(text), NULL, 1, 1000, true, "the queue's message in this language", 0, 0,
      0 },
    { 0 },
};

#define PAGE(f) offsetof(struct page_def, f)
const struct cfg_key page_def_keys[] = {
    { "title", CFG_STR, PAGE(title), "", 0, 120, true, "title of the page; \"\" = the built-in one", 0, 0, 0 },
    { "message", CFG_STR, PAGE(message), "", 0, 1000, true,
      "notice on the page; a change appears while people wait", 0, 0, 0 },
    { "accent", CFG_STR, PAGE(accent), "", 0, 7, true, "colour of buttons and progress, #rrggbb", 0, 0, 0 },
    { "logo", CFG_STR, PAGE(logo), "", 0, 12000, true, "logo, as data:image/... or a path on this site", 0, 0, 0 },
    { "return", CFG_STRS, PAGE(ret), "", 0, PAGE_RETURN_MAX, true,
      "origins besides this site to which `return` may lead: [https://shop.example]", 0, 0, 0 },
    { "texts", CFG_OBJS, PAGE(texts), "", 0, PAGE_TEXTS_MAX, true, "title and message in other languages", 0,
      text_keys, sizeof(struct page_text) },
    { "image", CFG_STR, PAGE(image), "", 0, 12000, true,
      "picture above the card, as data:image/... or a path on this site", 0, 0, 0 },
    { "style", CFG_STR, PAGE(style), "", 0, PAGE_STYLE_MAX, true,
      "style sheet (CSS) behind the built-in one; pictures only from this site, or data:", 0, 0,
      0 },
    { "lang", CFG_STR, PAGE(lang), "", 0, 16, true,
      "language for browsers that prefer none of the page's; \"\" = page_language of the routers",
      0, 0, 0 },
    { "messages", CFG_OBJS, PAGE(messages), "", 0, PAGE_MESSAGES_MAX, true,
      "the queue's `message` in other languages; a new message takes them away", 0, message_keys,
      sizeof(struct page_message) },
    { "check", CFG_STR, PAGE(check), "", 0, PAGE_CHECK_MAX, true,
      "widget that visitors pass in place of work, with challenge.verify_url: turnstile, hcaptcha, recaptcha, "
      "friendly, or the address of a script; \"\" = none", 0, 0, 0 },
    { "check_key", CFG_STR, PAGE(check_key), "", 0, 100, true, "site key of that widget", 0, 0, 0 },
    { 0 },
};

bool page_accent_ok(const char *s)
{
    if (s[0] != '#' || strlen(s) != 7)
        return false;
    for (int i = 1; i < 7; i++)
        if (hex_value(s[i]) < 0)
            return false;
    return true;
}

static bool host_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
}

static bool port_ok(const char *s)
{
    return s[0] != '0' && decimal_read(s, strlen(s), 65535) > 0;
}

/* Text in a CSP and before a path must not be able to be anything else. */
bool page_origin_ok(const char *s)
{
    size_t at = strncmp(s, "https://", 8) == 0 ? 8 : strncmp(s, "http://", 7) == 0 ? 7 : 0;
    size_t i = at;

    if (at == 0 || strlen(s) > 255)
        return false;
    while (host_char(s[i]))
        i++;
    if (i == at || s[at] == '.' || s[at] == '-')
        return false;
    return s[i] == '\0' || (s[i] == ':' && port_ok(s + i + 1));
}

/* ---- the widget of a check ---- */

static const struct page_widget widgets[] = {
    { "turnstile", "https://challenges.cloudflare.com/turnstile/v0/api.js", "cf-turnstile",
      " https://challenges.cloudflare.com" },
    { "hcaptcha", "https://js.hcaptcha.com/1/api.js", "h-captcha", " https://hcaptcha.com https://*.hcaptcha.com" },
    { "recaptcha", "https://www.google.com/recaptcha/api.js", "g-recaptcha",
      " https://www.google.com https://www.gstatic.com https://recaptcha.google.com" },
    { "friendly", "https://cdn.jsdelivr.net/npm/@friendlycaptcha/sdk@0.1/site.compat.min.js", "frc-captcha",
      " https://cdn.jsdelivr.net https://*.frcapi.com" },
};

/* An address of a script, whose origin stands in the page's policy. */
static bool script_ok(const char *s)
{
    char origin[PAGE_CHECK_MAX + 1];
    const char *host = strstr(s, "://"), *path = host != NULL ? strchr(host + 3, '/') : NULL;

    if (path == NULL || (size_t)(path - s) >= sizeof(origin))
        return false;
    memcpy(origin, s, (size_t)(path - s));
    origin[path - s] = '\0';
    return page_origin_ok(origin) && text_is_of(path, strlen(path), "/-._~@%?=&");
}

bool page_widget_of(const struct page_def *d, struct page_widget *out)
{
    if (d == NULL || d->check == NULL || d->check[0] == '\0')
        return false;
    for (size_t i = 0; i < ARRAY_LEN(widgets); i++)
        if (strcmp(widgets[i].name, d->check) == 0) {
            *out = widgets[i];
            return true;
        }
    *out = (struct page_widget){ "", d->check, "captcha", "" };
    return true;
}

static int check_check(const struct page_def *d, struct err *e)
{
    bool keyed = d->check_key != NULL && d->check_key[0] != '\0';
    struct page_widget w;

    if (!page_widget_of(d, &w))
        return keyed ? err_set(e, SQ_EINVAL, "page: check_key is the site key of a check: say which `check`") : 0;
    if (w.script == d->check && !script_ok(d->check))
        return err_set(e, SQ_EINVAL, "page: check is turnstile, hcaptcha, recaptcha, friendly, or the address of a "
                       "script, like https://host/widget.js");
    if (!keyed || !text_is_of(d->check_key, strlen(d->check_key), "-._"))
        return err_set(e, SQ_EINVAL, "page: check needs check_key, the site key of the widget: letters, digits, -._");
    return 0;
}

/* A path of this site, or a picture in the text itself. */
static bool logo_ok(const char *s)
{
    if (strncmp(s, "data:image/", 11) == 0) {
        for (s += 11; *s > ' ' && *s < 0x7f && strchr("\"'<>\\`", *s) == NULL; s++)
            continue;
        return *s == '\0';
    }
    if (s[0] != '/' || s[1] == '/')
        return false;
    for (; *s > ' ' && *s < 0x7f && strchr("\"'<>\\`", *s) == NULL; s++)
        continue;
    return *s == '\0';
}

static bool lang_ok(const char *s, bool capitals)
{
    for (size_t i = 0; s[i] != '\0'; i++) {
        bool alnum = (s[i] >= 'a' && s[i] <= 'z') || (s[i] >= '0' && s[i] <= '9') ||
                     (capitals && s[i] >= 'A' && s[i] <= 'Z');

        if (!alnum && (i == 0 || s[i] != '-'))
            return false;
    }
    return s[0] != '\0';
}

/* Lines may end; other control characters have no business in a sentence. */
bool page_text_ok(const char *s)
{
    for (; s != NULL && *s != '\0'; s++)
        if (((unsigned char)*s < 0x20 && *s != '\n') || *s == 0x7f)
            return false;
    return true;
}

/* True: stays inside of <style>; or NULL */
static bool page_style_ok(const char *s)
{
    for (const char *p = s; p != NULL && *p != '\0'; p++)
        if (((unsigned char)*p < 0x20 && *p != '\n' && *p != '\t' && *p != '\r') || *p == 0x7f)
            return false;
    return s == NULL || (strstr(s, "</") == NULL && strstr(s, "<!--") == NULL);
}

static int texts_check(const struct page_def *d, struct err *e)
{
    const struct page_text *t = d->texts.v;

    for (size_t i = 0; i < d->texts.n; i++) {
        if (!lang_ok(t[i].lang, false))
            return err_set(e, SQ_EINVAL, "page: texts: lang must be like zh or pt-br");
        if (!page_text_ok(t[i].title) || !page_text_ok(t[i].message))
            return err_set(e, SQ_EINVAL, "page: texts: control characters are not allowed");
    }
    return 0;
}

static int messages_check(const struct page_def *d, struct err *e)
{
    const struct page_message *m = d->messages.v;

    for (size_t i = 0; i < d->messages.n; i++) {
        if (!lang_ok(m[i].lang, false))
            return err_set(e, SQ_EINVAL, "page: messages[%zu].lang must be like zh or pt-br", i);
        if (!page_text_ok(m[i].text))
            return err_set(e, SQ_EINVAL, "page: messages[%zu].text: control characters are not "
                           "allowed", i);
        for (size_t k = 0; k < i; k++)
            if (strcmp(m[i].lang, m[k].lang) == 0)
                return err_set(e, SQ_EINVAL, "page: messages[%zu].lang: \"%s\" is listed twice", i,
                               m[i].lang);
    }
    return 0;
}

static bool is_text(const char *s)
{
    return s != NULL && s[0] != '\0';
}

/* Routers get it whole, or no map. */
static int size_check(const struct page_def *d, struct err *e)
{
    struct buf b;
    int rc = 0;

    buf_init(&b);
    if (!page_def_write(&b, d))
        rc = b.failed ? err_set(e, SQ_ENOMEM, "out of memory")
                      : err_set(e, SQ_EINVAL, "page: texts, pictures and style together have more than %d bytes as JSON",
                                PAGE_JSON_MAX);
    buf_fini(&b);
    return rc;
}

int page_def_check(const struct page_def *d, struct err *e)
{
    char *const *ret = d->ret.v;

    if (!page_text_ok(d->title) || !page_text_ok(d->message))
        return err_set(e, SQ_EINVAL, "page: control characters are not allowed");
    if (is_text(d->accent) && !page_accent_ok(d->accent))
        return err_set(e, SQ_EINVAL, "page: accent must be a colour like #0a58ca");
    if (is_text(d->logo) && !logo_ok(d->logo))
        return err_set(e, SQ_EINVAL,
                       "page: logo must be data:image/... or a path on this site");
    if (is_text(d->image) && !logo_ok(d->image))
        return err_set(e, SQ_EINVAL,
                       "page: image must be data:image/... or a path on this site");
    if (!page_style_ok(d->style))
        return err_set(e, SQ_EINVAL, "page: style must not have \"</\", \"<!--\" or control "
                                     "characters in it");
    if (is_text(d->lang) && !lang_ok(d->lang, true))
        return err_set(e, SQ_EINVAL, "page: lang must be like zh or zh-Hant");
    for (size_t i = 0; i < d->ret.n; i++)
        if (!page_origin_ok(ret[i]))
            return err_set(e, SQ_EINVAL,
                           "page: return: \"%.60s\" is not an origin; write https://host "
                           "or https://host:port, without a path",
                           ret[i]);
    return texts_check(d, e)
        ?: check_check(d, e)
        ?: messages_check(d, e)
        ?: size_check(d, e);
}

bool page_def_is_empty(const struct page_def *d)
{
    static const struct page_def none;

    return cfg_equal(d, &none, page_def_keys);
}

bool page_def_write(struct buf *b, const struct page_def *d)
{
    size_t from = b->len;

    if (page_def_is_empty(d))
        return true;
    cfg_dump_json(b, d, page_def_keys);
    return !b->failed && b->len - from <= PAGE_JSON_MAX;
}

int page_def_read(struct page_def *d, const char *json, size_t n, struct err *e)
{
    int rc = n > PAGE_JSON_MAX ? err_set(e, SQ_ETOOBIG, "page: too long")
                               : cfg_read_json(d, sizeof(*d), page_def_keys, json, n, NULL, e);

    return rc < 0 ? rc : page_def_check(d, e);
}

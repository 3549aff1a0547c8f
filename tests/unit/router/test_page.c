/* test_page.c: the waiting page's pure parts: templates, languages, and documents that
 * hostile values cannot leave. */
#define _GNU_SOURCE /* memmem */
#include "router/page/page.h"
#include "router/page/render.h"
#include "router/page/texts.h"

#include "tests/lib/criterion.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct slice slice(const char *s)
{
    static char mem[8][3000];
    static unsigned at;
    char *p = mem[at++ % 8];

    strcpy(p, s);
    return (struct slice) { p, strlen(s) };
}

/* ---- templates ---- */

static const struct page_slot slots[] = { { "a", false }, { "b", false }, { "raw", true } };

static const char *put(const char *text, const char *a, const char *b)
{
    static struct buf out;
    struct page_str v[3] = { { .p = a, .n = strlen(a) },
                             { .p = b, .n = strlen(b) },
                             { .p = "<i>", .n = 3 } };
    struct page_tmpl *t = NULL;
    static struct err e;

    if (page_tmpl_new(&t, text, strlen(text), slots, 3, &e) < 0)
        return e.text;
    buf_reset(&out);
    page_tmpl_put(t, &out, v, NULL);
    buf_byte(&out, 0);
    page_tmpl_free(t);
    return (char *)out.data;
}

Test(page, templates)
{
    cr_expect_str_eq(put("x{{a}}y{{b}}z", "<&>\"'`", "\n2"),
                     "x&lt;&amp;&gt;&quot;&#39;&#96;y 2z");
    cr_expect_str_eq(put("{{{raw}}}", "", ""), "<i>");
    cr_expect_str_eq(put("{{#a}}A{{#b}}B{{/b}}{{^b}}C{{/b}}{{/a}}{{^a}}D{{/a}}.", "1", ""),
                     "AC.");
    cr_expect_str_eq(put("{{#a}}A{{#b}}B{{/b}}{{/a}}{{^a}}D{{/a}}.", "", "1"), "D.");
    cr_expect_str_eq(put("{{#a}}{{a}}{{/a}}", "v", ""), "v");
}

Test(page, wrong_templates_are_refused)
{
    static const char *const bad[] = {
        "{{x}}",          "{{a",        "{{{raw}}",   "{{raw}}",       "{{{a}}}",
        "{{#a}}",         "{{/a}}",     "{{#a}}{{/b}}", "{{#a}}{{#b}}{{/a}}{{/b}}",
        "{{}}",           "{{ a }}",    "\n\n{{zzz}}",
    };
    char many[9 * 401 + 1] = "";

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        cr_expect(strncmp(put(bad[i], "", ""), "line ", 5) == 0, "%s", bad[i]);
    cr_expect(strncmp(put("\n\n{{zzz}}", "", ""), "line 3: ", 8) == 0);
    for (int i = 0; i < 401; i++)
        strcat(many, "{{a}}");
    cr_expect(strncmp(put(many, "", ""), "line ", 5) == 0);
}

/* Whatever stands in a JSON string: it reads back the same, and no byte of it can end the
 * script that it is in. */
Test(page, json_inside_a_script)
{
    char all[256 + 20];
    struct buf b;
    json_t *j;
    size_t n = 0;

    for (int c = 1; c < 128; c++)
        all[n++] = (char)c;
    strcpy(all + n, "</script><!--\xe2\x80\xa8\xe2\x80\xa9\xe4\xb8\xad");
    buf_init(&b);
    page_put_json(&b, all, strlen(all));
    j = json_loadb((char *)b.data, b.len, JSON_DECODE_ANY, NULL);
    cr_assert(j != NULL);
    cr_expect_str_eq(json_string_value(j), all);
    for (size_t i = 0; i < b.len; i++)
        cr_expect(strchr("<>&'\n\r", b.data[i]) == NULL);
    cr_expect(memmem(b.data, b.len, "\xe2\x80\xa8", 3) == NULL);
    json_decref(j);
    buf_fini(&b);
}

/* ---- the whole page ---- */

static size_t own_files(struct page_file *f)
{
    for (size_t i = 0; i < page_blobs_n; i++)
        f[i] = (struct page_file) { page_blobs[i].name, page_blobs[i].begin,
                                    (size_t)(page_blobs[i].end - page_blobs[i].begin) };
    return page_blobs_n;
}

static struct page *own_page(void)
{
    struct page_file f[PAGE_FILES_MAX];
    struct err e = { 0 };
    struct page *p;

    cr_assert_eq(page_new(&p, f, own_files(f), &e), 0, "%s", e.text);
    return p;
}

static char *text_of(struct buf *b)
{
    buf_byte(b, 0);
    cr_assert_not(b->failed);
    return (char *)b->data;
}

static const char *const a_token = "0123456789012345678901234567890123456789012345678901234";

static struct page_view view_of(enum page_state s)
{
    return (struct page_view) { .state = s,
                                .queue = "login",
                                .target = "/shop",
                                .nonce = "NONCE",
                                .token = a_token,
                                .position = 1234,
                                .total = 5678,
                                .start = 2468,
                                .eta_s = 600,
                                .poll_after_ms = 5000 };
}

/* The script's data, parsed. */
static json_t *data_in(const char *html)
{
    const char *at = strstr(html, "id=\"data\">"), *end;
    json_t *j;

    cr_assert(at != NULL);
    at += strlen("id=\"data\">");
    end = strstr(at, "</script>");
    j = json_loadb(at, (size_t)(end - at), 0, NULL);
    cr_assert(j != NULL, "%.200s", at);
    return j;
}

static const char *const all_tags[] = { "ar", "de", "en", "es", "fr", "it", "ja", "ko", "nl",
                                        "pl", "pt", "ru", "tr", "zh", "zh-Hant" };

static size_t lang_of(const struct page *p, const char *tag)
{
    size_t lang = 0;

    cr_assert(page_lang_known(p, slice(tag), &lang), "%s", tag);
    cr_assert_str_eq(page_lang_tag(p, lang), tag);
    return lang;
}

Test(page, every_state_in_every_language)
{
    struct page *p = own_page();
    struct buf b;

    buf_init(&b);
    for (size_t lang = 0; lang < ARRAY_LEN(all_tags); lang++) {
        for (int s = 0; s < PAGE_NSTATES; s++) {
            struct page_view v = view_of((enum page_state)s);
            char *t;
            json_t *j;

            v.lang = lang_of(p, all_tags[lang]);
            buf_reset(&b);
            page_put(p, &b, &v);
            t = text_of(&b);
            cr_expect_lt(strlen(t), 30 * 1024, "less than 30 KB in all");
            cr_expect(strstr(t, "{{") == NULL && strstr(t, "}}}") == NULL);
            cr_expect(strstr(t, "<h1") != NULL && strstr(t, "<main") != NULL);
            cr_expect(strstr(t, "http://") == NULL && strstr(t, "src=\"//") == NULL);
            j = data_in(t);
            cr_expect_str_eq(json_string_value(json_object_get(j, "queue")), "login");
            json_decref(j);
        }
    }
    buf_fini(&b);
    page_free(p);
}

Test(page, a_waiting_visitor_sees_position_and_eta)
{
    struct page *p = own_page();
    struct page_view v = view_of(PAGE_WAITING);
    struct buf b;
    char *t;

    buf_init(&b);
    v.lang = page_lang_for(p, slice("en"), NULL);
    page_put(p, &b, &v);
    t = text_of(&b);
    cr_expect(strstr(t, "<html lang=\"en\" dir=\"ltr\">"));
    cr_expect(strstr(t, ">1,234<") && strstr(t, "of 5,678 waiting"));
    cr_expect(strstr(t, "about 10 minutes"));
    cr_expect(strstr(t, "value=\"50\""));
    cr_expect(strstr(t, "<noscript><meta http-equiv=\"refresh\" "
                        "content=\"5; url=/q/login?r=1&amp;return=%2Fshop\"></noscript>"));
    cr_expect(strstr(t, "action=\"/q/login/leave\""));
    cr_expect(strstr(t, "aria-live=\"polite\""));
    cr_expect(strstr(t, "\"eta_steps\":[[1,1,1,\"eta_soon\"],"));
    buf_reset(&b);
    v.position = 0;
    v.paused = true;
    v.lang = page_lang_for(p, slice("zh-CN"), NULL);
    page_put(p, &b, &v);
    t = text_of(&b);
    cr_expect(strstr(t, "<html lang=\"zh\" dir=\"ltr\">"));
    cr_expect(strstr(t, ">排队已暂停</h1>") && strstr(t, "暂时停止放行"));
    cr_expect(strstr(t, "1,234") == NULL);
    buf_fini(&b);
    page_free(p);
}

Test(page, estimates_in_words)
{
    static const struct {
        int64_t s;
        const char *want;
    } v[] = {
        { -1, "not known yet" },        { 0, "less than a minute" },
        { 29, "less than a minute" },   { 30, "about 1 minute" },
        { 89, "about 1 minute" },       { 90, "about 2 minutes" },
        { 569, "about 9 minutes" },     { 570, "about 10 minutes" },
        { 13 * 60, "about 15 minutes" }, { 57 * 60, "about 55 minutes" },
        { 58 * 60, "about 1 hour" },     { 3600, "about 1 hour" },
        { 89 * 60, "about 1 hour" },    { 90 * 60, "about 2 hours" },
        { 7200, "about 2 hours" },
        { 400000000, "about 111,111 hours" },
    };
    struct page_file f[PAGE_FILES_MAX];
    struct page_lang l = { .tag = "" };
    struct err e = { 0 };
    struct buf b;

    for (size_t i = 0, n = own_files(f); i < n; i++)
        if (strcmp(f[i].name, "en.json") == 0)
            cr_assert_eq(page_lang_read(&l, "en", f[i].p, f[i].n, &e), 0);
    buf_init(&b);
    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        buf_reset(&b);
        page_put_eta(&l, &b, v[i].s);
        cr_expect_str_eq(text_of(&b), v[i].want, "%lld: %s", (long long)v[i].s, b.data);
    }
    free(l.text[PT_thousands][PLURAL_OTHER]); /* as other languages write numbers */
    l.text[PT_thousands][PLURAL_OTHER] = strdup("\u202f");
    buf_reset(&b);
    page_put_eta(&l, &b, 400000000);
    cr_expect_str_eq(text_of(&b), "about 111\u202f111 hours");
    buf_fini(&b);
    page_lang_fini(&l);
}

/* In words of each language: its plurals, its numbers. */
Test(page, plurals)
{
    static const struct {
        const char *tag;
        int64_t s;
        const char *want;
    } v[] = {
        { "de", 60, "etwa 1 Minute" },          { "de", 120, "etwa 2 Minuten" },
        { "de", 1234 * 3600, "etwa 1.234 Stunden" },
        { "es", 1234 * 3600, "unas 1234 horas" },
        { "es", 12345 * 3600, "unas 12.345 horas" },
        { "fr", 60, "environ 1 minute" },       { "fr", 2 * 3600, "environ 2 heures" },
        { "ru", 60, "около 1 минуты" },         { "ru", 1500, "около 25 минут" },
        { "ru", 3600, "около 1 часа" },         { "ru", 3 * 3600, "около 3 часов" },
        { "ru", 11 * 3600, "около 11 часов" },  { "ru", 21 * 3600, "около 21 часа" },
        { "ru", 111 * 3600, "около 111 часов" },
        { "pl", 60, "około 1 minuty" },         { "pl", 3 * 3600, "około 3 godzin" },
        { "ar", 60, "نحو دقيقة واحدة" },        { "ar", 120, "نحو دقيقتين" },
        { "ar", 180, "نحو 3 دقائق" },           { "ar", 600, "نحو 10 دقائق" },
        { "ar", 900, "نحو 15 دقيقة" },          { "ar", 7200, "نحو ساعتين" },
        { "ar", 100 * 3600, "نحو 100 ساعة" },   { "ar", 103 * 3600, "نحو 103 ساعات" },
        { "zh", 60, "约 1 分钟" },              { "zh-Hant", 7200, "約 2 小時" },
    };
    struct page_file f[PAGE_FILES_MAX];
    size_t n = own_files(f);
    struct buf b;

    buf_init(&b);
    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        struct page_lang l = { .tag = "" };
        struct err e = { 0 };
        char name[32];

        snprintf(name, sizeof(name), "%s.json", v[i].tag);
        for (size_t k = 0; k < n; k++)
            if (strcmp(f[k].name, name) == 0)
                cr_assert_eq(page_lang_read(&l, v[i].tag, f[k].p, f[k].n, &e), 0, "%s", e.text);
        buf_reset(&b);
        page_put_eta(&l, &b, v[i].s);
        cr_expect_str_eq(text_of(&b), v[i].want, "%s: %s", v[i].want, b.data);
        page_lang_fini(&l);
    }
    buf_fini(&b);
}

/* For how long a place is kept is never said to be more than it is. */
Test(page, how_long_a_place_is_kept)
{
    static const struct {
        uint32_t s;
        const char *want; /* NULL: nothing is said */
    } v[] = {
        { 0, NULL }, { 59, NULL }, { 60, "about 1 minute." }, { 179, "about 2 minutes." },
        { 180, "about 3 minutes." }, { 599, "about 9 minutes." }, { 899, "about 10 minutes." },
        { 3599, "about 55 minutes." }, { 7199, "about 1 hour." }, { 7200, "about 2 hours." },
    };
    struct page *p = own_page();
    struct buf b;

    buf_init(&b);
    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        struct page_view w = view_of(PAGE_WAITING);
        const char *at;

        cr_assert(page_lang_known(p, (struct slice){ "en", 2 }, &w.lang));
        w.kept_s = v[i].s;
        buf_reset(&b);
        page_put(p, &b, &w);
        at = strstr(text_of(&b), "your place is kept for ");
        cr_expect_eq(at != NULL, v[i].want != NULL, "%u", v[i].s);
        cr_expect(at == NULL || strncmp(at + 23, v[i].want, strlen(v[i].want)) == 0, "%u: %.60s", v[i].s, at);
    }
    buf_fini(&b);
    page_free(p);
}

/* Whatever an operator or a visitor could put in: it shows as text, in its place. */
Test(page, hostile_values_stay_text)
{
    static const char evil[] = "\"><script>alert(1)</script><img src=x onerror=alert(1)>'";
    struct page_text texts[1] = { { "en", (char *)evil, (char *)evil } };
    struct page_def d = { (char *)evil, (char *)evil, "#12345g", "\"><script>", { 0 }, { 0 },
                          (char *)evil, NULL, NULL, { 0 }, NULL, NULL };
    struct page *p = own_page();
    struct page_view v = view_of(PAGE_WAITING);
    struct buf b;
    char *t;
    json_t *j;

    buf_init(&b);
    d.texts = (struct cfg_list) { texts, 1 };
    v.def = &d;
    v.target = "/x?\"><script>alert(2)</script>&'";
    page_put(p, &b, &v);
    t = text_of(&b);
    for (const char *s = strstr(t, "<body"); (s = strstr(s, "<script")) != NULL; s += 7)
        cr_expect(strncmp(s, "<script nonce=\"NONCE\">", 22) == 0 ||
                      strncmp(s, "<script type=\"application/json\"", 31) == 0,
                  "%.60s", s);
    cr_expect(strstr(t, "<img src=x") == NULL);
    cr_expect(strstr(t, "#12345g") == NULL, "no colour is put into the style unseen");
    cr_expect(strstr(t, "&lt;script&gt;alert(1)"));
    j = data_in(t);
    json_decref(j);
    buf_reset(&b);
    page_put_headers(p, &b, &v);
    t = text_of(&b);
    cr_expect(strstr(t, "script") != NULL && strstr(t, "alert") == NULL);
    cr_expect(strstr(t, "form-action 'self';"));
    v.target = "https://shop.example/x;script-src *";
    buf_reset(&b);
    page_put_headers(p, &b, &v);
    cr_expect(strstr(text_of(&b), "form-action 'self' https://shop.example;"));
    buf_fini(&b);
    page_free(p);
}

/* The text of en.json with this end. */
static char *another_language(const struct page_file *f, size_t n, const char *end)
{
    static char t[PAGE_FILE_MAX];

    for (size_t i = 0; i < n; i++)
        if (strcmp(f[i].name, "en.json") == 0)
            snprintf(t, sizeof(t), "%.*s", (int)f[i].n, f[i].p);
    cr_assert(strstr(t, "\"thousands\"") != NULL);
    strcpy(strstr(t, "\"thousands\""), end);
    return t;
}

/* One more language is one more file, whichever way it is written. */
Test(page, a_language_by_adding_a_file)
{
    struct page_file f[PAGE_FILES_MAX];
    size_t n = own_files(f);
    struct page_view v = view_of(PAGE_WAITING);
    struct err e = { 0 };
    struct page *p;
    struct buf b;
    char *t;

    t = another_language(f, n, "\"thousands\": \".\", \"group\": \"4\", \"plural\": \"one\", "
                               "\"dir\": \"rtl\"}");
    f[n] = (struct page_file) { "fa.json", t, strlen(t) };
    cr_assert_eq(page_new(&p, f, n + 1, &e), 0, "%s", e.text);
    buf_init(&b);
    v.lang = page_lang_for(p, slice("fa-IR, en;q=0.5"), NULL);
    page_put(p, &b, &v);
    t = text_of(&b);
    cr_expect(strstr(t, "<html lang=\"fa\" dir=\"rtl\">"));
    cr_expect(strstr(t, ">1.234<") && strstr(t, "of 5.678 waiting"));
    buf_fini(&b);
    page_free(p);
}

/* ---- files that are wrong ---- */

static int with_file(const char *name, const char *text, struct err *e)
{
    struct page_file f[PAGE_FILES_MAX];
    size_t n = own_files(f);
    struct page *p = NULL;
    int rc;

    for (size_t i = 0; i < n; i++)
        if (strcmp(f[i].name, name) == 0) {
            f[i].p = text;
            f[i].n = strlen(text);
        }
    rc = page_new(&p, f, n, e);
    page_free(p);
    return rc;
}

/* The file, with a text in place of another. */
static char *changed(const char *name, const char *was, const char *is)
{
    static char t[PAGE_FILE_MAX];
    struct page_file f[PAGE_FILES_MAX];
    size_t n = own_files(f);
    const char *at;

    for (size_t i = 0; i < n; i++)
        if (strcmp(f[i].name, name) == 0) {
            at = memmem(f[i].p, f[i].n, was, strlen(was));
            cr_assert(at != NULL, "%s", was);
            snprintf(t, sizeof(t), "%.*s%s%.*s", (int)(at - f[i].p), f[i].p, is,
                     (int)(f[i].p + f[i].n - at - strlen(was)), at + strlen(was));
        }
    return t;
}

Test(page, wrong_files_are_refused)
{
    static const struct {
        const char *was, *is, *why;
    } broken[] = {
        { "von {n} Wartenden", "von allen", "of must have {n}" },
        { "gegen {t} Uhr", "gegen Mittag", "at must have {t}" },
        { "\"Weiter\"", "\"Weiter {n}\"", "enter must not have {n}" },
        { "etwa {n} Stunden", "Stunden", "eta_hours must have {n}" },
        { "\"other\": \"etwa {n} Stunden\"", "\"two\": \"x\"", "eta_hours must be a text" },
        { "\"plural\": \"one\"", "\"plural\": \"two\"", "plural must be" },
        { "\"group\": \"4\"", "\"group\": \"x\"", "group must be" },
        { "\"dir\": \"ltr\"", "\"dir\": \"up\"", "dir must be" },
        { "\"enter\"", "\"entry\"", "unknown text \"entry\"" },
    };
    static char big[PAGE_FILE_MAX + 2];
    struct err e = { 0 };

    memset(big, ' ', PAGE_FILE_MAX + 1);
    cr_expect_lt(with_file("page.html", "{{nonsense}}", &e), 0);
    cr_expect(strstr(e.text, "page.html") && strstr(e.text, "nonsense"), "%s", e.text);
    cr_expect_lt(with_file("page.css", "a{}</style><script>", &e), 0);
    cr_expect_lt(with_file("page.js", "'</script>'", &e), 0);
    cr_expect_lt(with_file("segq.js", "<!-- x", &e), 0);
    cr_expect_lt(with_file("page.css", big, &e), 0);
    cr_expect_lt(with_file("en.json", "{}", &e), 0);
    cr_expect(strstr(e.text, "missing"), "%s", e.text);
    cr_expect_lt(with_file("zh.json", "{\"nonsense\":\"\"}", &e), 0);
    cr_expect_lt(with_file("zh.json", "[]", &e), 0);
    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        char *t = changed("de.json", broken[i].was, broken[i].is);

        cr_expect_lt(with_file("de.json", t, &e), 0, "%s", broken[i].is);
        cr_expect(strstr(e.text, "de.json") && strstr(e.text, broken[i].why), "%s", e.text);
    }
    cr_expect_eq(with_file("de.json", changed("de.json", "etwa 1 Minute", "eine Minute"), &e), 0);
    cr_expect_lt(with_file("zh.json", "{\"title\":1}", &e), 0);
    cr_expect_lt(with_file("zh.json", "{", &e), 0);
    cr_expect_eq(with_file("page.css", "b{}", &e), 0);
}

Test(page, a_queue_has_a_language_for_readers_of_none)
{
    static const struct {
        const char *accept, *other, *want;
    } v[] = {
        { "", "ja", "ja" },           { "fi", "zh-Hant", "zh-Hant" }, { "fi, *;q=0.1", "zh-TW", "zh-Hant" },
        { "fi, de;q=0.1", "ja", "de" }, { "fi", "", "pl" },           { "fi", NULL, "pl" },
        { "fi", "sv", "pl" },         { "en", "ja", "en" },
    };
    struct page *p = own_page();

    cr_assert(page_lang_default(p, "pl"));
    for (size_t i = 0; i < ARRAY_LEN(v); i++)
        cr_expect_str_eq(page_lang_tag(p, page_lang_for(p, slice(v[i].accept), v[i].other)), v[i].want,
                         "%zu", i);
    page_free(p);
}

/* ---- the operator's definition ---- */

static int def_of(const char *json, struct page_def *d, struct err *e)
{
    return page_def_read(d, json, strlen(json), e);
}

Test(page, definitions_travel_whole)
{
    static const char json[] =
        "{\"title\":\"T \\\"q\\\" <b>\",\"message\":\"one\\ntwo\",\"accent\":\"#0a58CA\","
        "\"logo\":\"/logo.svg\",\"return\":[\"https://shop.example\"],"
        "\"texts\":[{\"lang\":\"zh\",\"title\":\"标题\",\"message\":\"消息\"}]}";
    struct page_def d = { 0 }, back = { 0 };
    struct page *p = own_page();
    struct err e = { 0 };
    struct buf b;

    buf_init(&b);
    cr_assert_eq(def_of(json, &d, &e), 0, "%s", e.text);
    cr_expect(page_def_write(&b, &d));
    cr_assert_eq(def_of(text_of(&b), &back, &e), 0, "%s", e.text);
    cr_expect(cfg_equal(&d, &back, page_def_keys));
    cr_assert_eq(def_of("{\"style\":\"b{}\\n\\ta{}\",\"image\":\"/x.jpg\"}", &back, &e), 0);
    buf_reset(&b);
    cr_expect(page_def_write(&b, &back));
    cr_expect(strstr(text_of(&b), "\"lang\":\"\""));
    cr_expect(strstr(text_of(&b), "\"style\":\"b{}\\u000a\\u0009a{}\""), "%s", b.data);
    cr_assert_eq(def_of("{\"lang\":\"zh-Hant\",\"newer\":[1]}", &back, &e), 0, "a newer manager's key is passed over");
    cr_expect_not(page_def_is_empty(&back));
    buf_reset(&b);
    cr_expect(page_def_write(&b, &back));
    cr_expect(strstr(text_of(&b), "\"lang\":\"zh-Hant\""), "%s", b.data);
    buf_reset(&b);
    page_put_words(p, &b, page_lang_for(p, slice("zh-SG"), NULL), &d, "", 77);
    cr_expect_str_eq(text_of(&b),
                     "{\"page\":77,\"title\":\"标题\",\"message\":\"消息\"}");
    buf_reset(&b);
    page_put_words(p, &b, page_lang_for(p, slice("en"), NULL), NULL, "now", 0);
    cr_expect_str_eq(text_of(&b),
                     "{\"page\":0,\"title\":\"Waiting room\",\"message\":\"now\"}");
    buf_reset(&b);
    page_put_message(&b, "Soon", &(struct page_words){ "", "Always", "" });
    cr_expect_str_eq(text_of(&b), "Soon\n\nAlways");
    buf_fini(&b);
    cfg_clear(&d, page_def_keys);
    cfg_clear(&back, page_def_keys);
    page_free(p);
}

/* What an operator says now, in the reader's language, or in the one that it has. */
Test(page, the_message_of_the_moment_is_told_in_each_language)
{
    struct page *p = own_page();
    struct page_def d = { 0 };
    struct err e = { 0 };
    struct buf b;

    buf_init(&b);
    cr_assert_eq(def_of("{\"message\":\"Always\",\"messages\":[{\"lang\":\"de\",\"text\":\"Gleich\"},"
                        "{\"lang\":\"zh\",\"text\":\"稍后\"}]}", &d, &e), 0, "%s", e.text);
    page_put_words(p, &b, page_lang_for(p, slice("zh-SG"), NULL), &d, "Soon", 1);
    cr_expect(strstr(text_of(&b), "\"message\":\"稍后\\u000a\\u000aAlways\""), "%s", text_of(&b));
    buf_reset(&b);
    page_put_words(p, &b, page_lang_for(p, slice("fr"), NULL), &d, "Soon", 1);
    cr_expect(strstr(text_of(&b), "\"message\":\"Soon\\u000a"), "%s", text_of(&b));
    buf_reset(&b);
    page_put_words(p, &b, page_lang_for(p, slice("de"), NULL), &d, "", 1);
    cr_expect(strstr(text_of(&b), "\"message\":\"Always\""), "nothing is said now: %s", text_of(&b));
    buf_reset(&b);
    cr_expect(page_def_write(&b, &d));
    cr_expect(strstr(text_of(&b), "\"messages\":["));
    buf_fini(&b);
    cfg_clear(&d, page_def_keys);
    page_free(p);
}

Test(page, wrong_definitions_are_refused)
{
    static const char *const bad[] = {
        "{\"accent\":\"red\"}",
        "{\"accent\":\"#12345g\"}",
        "{\"accent\":\"#123;}\"}",
        "{\"logo\":\"https://elsewhere.example/x.png\"}",
        "{\"logo\":\"//elsewhere.example/x.png\"}",
        "{\"logo\":\"javascript:alert(1)\"}",
        "{\"logo\":\"data:text/html,x\"}",
        "{\"logo\":\"/x\\\"onerror=\"}",
        "{\"image\":\"https://elsewhere.example/x.png\"}",
        "{\"image\":\"data:text/html,x\"}",
        "{\"style\":\"a{}</style><script>\"}",
        "{\"style\":\"a{}<!-- \"}",
        "{\"style\":\"a{}\\u0007\"}",
        "{\"return\":[\"https://shop.example/path\"]}",
        "{\"return\":[\"javascript:x\"]}",
        "{\"return\":[\"https://a; script-src *\"]}",
        "{\"title\":\"a\\u0007b\"}",
        "{\"texts\":[{\"lang\":\"Z H\",\"title\":\"x\"}]}",
        "{\"texts\":[{\"title\":\"x\"}]}",
        "{\"lang\":\"de\\u0022\"}",
        "{\"lang\":\"-de\"}",
        "{\"messages\":[{\"lang\":\"d e\",\"text\":\"x\"}]}",
        "{\"messages\":[{\"lang\":\"de\"}]}",
        "{\"messages\":[{\"lang\":\"de\",\"text\":\"a\\u0007\"}]}",
        "{\"messages\":[{\"lang\":\"de\",\"text\":\"a\"},{\"lang\":\"de\",\"text\":\"b\"}]}",
        "{\"lang\":\"Chinese (Taiwan)\"}",
        "[]",
        "",
    };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct page_def d = { 0 };
        struct err e = { 0 };

        cr_expect_lt(def_of(bad[i], &d, &e), 0, "%s", bad[i]);
        cfg_clear(&d, page_def_keys);
    }
}

/* Each of its texts may be so long, but the map has no room for all of them: no router would get a map any more. */
Test(page, a_definition_that_no_map_has_room_for_is_refused)
{
    struct page_def d = { 0 };
    struct err e = { 0 };
    struct buf b, lines;

    buf_init(&b);
    buf_init(&lines);
    for (unsigned n = 4000; n <= PAGE_STYLE_MAX; n += 2000) {
        buf_reset(&b);
        buf_reset(&lines);
        while (lines.len < 2 * n)
            buf_str(&lines, "\\n"); /* six bytes in the map */
        buf_printf(&b, "{\"logo\":\"/%0*d\",\"image\":\"/%0*d\",\"style\":\"%s\"}", 11990, 0, 11990, 0, text_of(&lines));
        cr_assert_eq(def_of(text_of(&b), &d, &e), n < 8000 ? 0 : SQ_EINVAL, "%u: %s", n, e.text);
        buf_reset(&b);
        cr_expect_eq(page_def_write(&b, &d), n < 8000);
    }
    cr_expect_str_eq(e.text, "page: texts, pictures and style together have more than 65536 bytes as JSON");
    buf_fini(&lines);
    buf_fini(&b);
    cfg_clear(&d, page_def_keys);
}

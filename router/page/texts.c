/* texts.c: one language's texts. Pure. */
#include "router/page/texts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"

#define NAME(name) [PT_##name] = #name,
const char *const page_text_names[PT_COUNT] = { PAGE_TEXTS(NAME, NAME) };
#define NOT(name) [PT_##name] = false,
#define YES(name) [PT_##name] = true,
const bool page_text_script[PT_COUNT] = { PAGE_TEXTS(NOT, YES) };

static int id_of(const char *name)
{
    for (int i = 0; i < PT_COUNT; i++)
        if (strcmp(page_text_names[i], name) == 0)
            return i;
    return -1;
}

/* ---- plurals: those of CLDR for whole numbers, by families of languages ---- */

static enum page_plural never(uint64_t n)
{
    (void)n;
    return PLURAL_OTHER;
}

static enum page_plural one(uint64_t n)
{
    return n == 1 ? PLURAL_ONE : PLURAL_OTHER;
}

static enum page_plural zero_one(uint64_t n)
{
    return n <= 1 ? PLURAL_ONE : PLURAL_OTHER;
}

static bool is_few(uint64_t n) /* 2 .. 4, 22 .. 24, not 12 .. 14 */
{
    return n % 10 >= 2 && n % 10 <= 4 && n / 10 % 10 != 1;
}

static enum page_plural russian(uint64_t n)
{
    return n % 10 == 1 && n % 100 != 11 ? PLURAL_ONE : is_few(n) ? PLURAL_FEW : PLURAL_MANY;
}

static enum page_plural polish(uint64_t n)
{
    return n == 1 ? PLURAL_ONE : is_few(n) ? PLURAL_FEW : PLURAL_MANY;
}

static enum page_plural czech(uint64_t n)
{
    return n == 1 ? PLURAL_ONE : n >= 2 && n <= 4 ? PLURAL_FEW : PLURAL_OTHER;
}

static enum page_plural arabic(uint64_t n)
{
    return n == 1                               ? PLURAL_ONE
           : n == 2                             ? PLURAL_TWO
           : n % 100 >= 3 && n % 100 <= 10      ? PLURAL_FEW
           : n % 100 >= 11                      ? PLURAL_MANY
                                                : PLURAL_OTHER;
}

static const struct {
    const char *name;
    enum page_plural (*of)(uint64_t n);
} families[] = { { "none", never },      { "one", one },     { "zero_one", zero_one },
                 { "russian", russian }, { "polish", polish }, { "czech", czech },
                 { "arabic", arabic } };

static const char *const form_names[PLURAL_COUNT] = { "other", "one", "two", "few", "many" };

/* ---- reading ---- */

static int take_form(struct page_lang *l, int id, enum page_plural form, const json_t *v,
                     struct err *e)
{
    if (!json_is_string(v) || json_string_length(v) > PAGE_TEXT_MAX)
        return err_set(e, SQ_EINVAL, "%s.json: %s must be a text of at most %d bytes", l->tag,
                       page_text_names[id], PAGE_TEXT_MAX);
    l->text[id][form] = strdup(json_string_value(v));
    return l->text[id][form] != NULL ? 0 : err_set(e, SQ_ENOMEM, "out of memory");
}

static int take_forms(struct page_lang *l, int id, const json_t *v, struct err *e)
{
    int rc = 0;

    for (int form = 0; rc == 0 && form < PLURAL_COUNT; form++)
        if (form == PLURAL_OTHER || json_object_get(v, form_names[form]) != NULL)
            rc = take_form(l, id, (enum page_plural)form, json_object_get(v, form_names[form]),
                           e);
    return rc;
}

static int take(struct page_lang *l, const json_t *o, struct err *e)
{
    const char *key;
    json_t *v;

    json_object_foreach ((json_t *)(uintptr_t)o, key, v) {
        int id = id_of(key), rc;

        if (id < 0)
            return err_set(e, SQ_EINVAL, "%s.json: unknown text \"%.40s\"", l->tag, key);
        rc = json_is_object(v) ? take_forms(l, id, v, e) : take_form(l, id, PLURAL_OTHER, v, e);
        if (rc < 0)
            return rc;
    }
    for (int i = 0; i < PT_COUNT; i++)
        if (l->text[i][PLURAL_OTHER] == NULL)
            return err_set(e, SQ_EINVAL, "%s.json: the text \"%s\" is missing", l->tag,
                           page_text_names[i]);
    return 0;
}

/* The texts that say how the language is written. */
static int take_rules(struct page_lang *l, struct err *e)
{
    const char *group = page_text(l, PT_group);

    for (size_t i = 0; i < ARRAY_LEN(families); i++)
        if (strcmp(page_text(l, PT_plural), families[i].name) == 0)
            l->plural = families[i].of;
    if (l->plural == NULL)
        return err_set(e, SQ_EINVAL,
                       "%s.json: plural must be none, one, zero_one, russian, polish, czech or "
                       "arabic",
                       l->tag);
    if (strcmp(group, "4") != 0 && strcmp(group, "5") != 0)
        return err_set(e, SQ_EINVAL, "%s.json: group must be \"4\" or \"5\"", l->tag);
    l->group = (unsigned)(group[0] - '0');
    if (strcmp(page_text(l, PT_dir), "ltr") != 0 && strcmp(page_text(l, PT_dir), "rtl") != 0)
        return err_set(e, SQ_EINVAL, "%s.json: dir must be ltr or rtl", l->tag);
    return 0;
}

int page_lang_read(struct page_lang *l, const char *tag, const char *json, size_t n,
                   struct err *e)
{
    json_error_t je;
    json_t *o = json_in(json, n, &je);
    int rc;

    memset(l, 0, sizeof(*l));
    strncpy(l->tag, tag, sizeof(l->tag) - 1);
    if (json_is_object(o))
        rc = take(l, o, e);
    else
        rc = err_set(e, SQ_EINVAL, "%s.json: line %d: %s", l->tag, je.line,
                     o == NULL ? je.text : "one object of texts is wanted");
    if (rc == 0)
        rc = take_rules(l, e);
    json_decref(o);
    if (rc < 0)
        page_lang_fini(l);
    return rc;
}

int page_lang_like(const struct page_lang *l, const struct page_lang *of, struct err *e)
{
    static const char *const marks[] = { "{n}", "{t}", "{eta}" };

    for (int i = 0; i < PT_COUNT; i++)
        for (size_t m = 0; m < ARRAY_LEN(marks); m++) {
            bool here = strstr(l->text[i][PLURAL_OTHER], marks[m]) != NULL;
            bool there = strstr(of->text[i][PLURAL_OTHER], marks[m]) != NULL;

            if (here != there)
                return err_set(e, SQ_EINVAL, "%s.json: %s %s %s in it", l->tag,
                               page_text_names[i], there ? "must have" : "must not have",
                               marks[m]);
        }
    return 0;
}

void page_lang_fini(struct page_lang *l)
{
    for (int i = 0; i < PT_COUNT; i++)
        for (int form = 0; form < PLURAL_COUNT; form++)
            free(l->text[i][form]);
    memset(l, 0, sizeof(*l));
}

const char *page_text(const struct page_lang *l, enum page_text_id id)
{
    return l->text[id][PLURAL_OTHER];
}

static const char *page_text_for(const struct page_lang *l, enum page_text_id id, uint64_t n)
{
    const char *form = l->text[id][l->plural(n)];

    return form != NULL ? form : page_text(l, id);
}

void page_put_number(const struct page_lang *l, struct buf *b, uint64_t v)
{
    char t[32];
    int n = snprintf(t, sizeof(t), "%llu", (unsigned long long)v);

    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0 && n >= (int)l->group)
            buf_str(b, page_text(l, PT_thousands));
        buf_byte(b, (uint8_t)t[i]);
    }
}

void page_put_filled(const struct page_lang *l, struct buf *b, enum page_text_id id, uint64_t n)
{
    const char *text = page_text_for(l, id, n);

    while (*text != '\0') {
        if (strncmp(text, "{n}", 3) == 0) {
            page_put_number(l, b, n);
            text += 3;
        } else {
            buf_byte(b, (uint8_t)*text++);
        }
    }
}

/* The steps of an estimate, in minutes: below `below` (0: the rest), rounded to `step`, said in
 * units of `unit`. */
static const struct {
    unsigned below, step, unit;
    enum page_text_id text;
} eta_steps[] = {
    { 1, 1, 1, PT_eta_soon },
    { 10, 1, 1, PT_eta_minutes },
    { 58, 5, 1, PT_eta_minutes },
    { 0, 60, 60, PT_eta_hours },
};

void page_put_eta(const struct page_lang *l, struct buf *b, int64_t eta_s)
{
    uint64_t minutes = eta_s > 0 ? ((uint64_t)eta_s + 30) / 60 : 0, n;
    size_t i = 0;

    if (eta_s < 0) {
        buf_str(b, page_text(l, PT_eta_unknown));
        return;
    }
    while (eta_steps[i].below != 0 && minutes >= eta_steps[i].below)
        i++;
    n = (minutes + eta_steps[i].step / 2) / eta_steps[i].step * eta_steps[i].step;
    page_put_filled(l, b, eta_steps[i].text, n / eta_steps[i].unit);
}

/* Never more than it is: rounded down to what page_put_eta() says exactly. */
static uint32_t kept_s(uint32_t s)
{
    uint32_t step = s < 600 ? 60 : s < 3600 ? 300 : 3600;

    return s - s % step;
}

void page_put_kept(const struct page_lang *l, struct buf *b, uint32_t s)
{
    const char *text = page_text(l, PT_kept), *t = strstr(text, "{t}");

    if (kept_s(s) == 0)
        return;
    buf_append(b, text, t != NULL ? (size_t)(t - text) : strlen(text));
    if (t == NULL)
        return;
    page_put_eta(l, b, kept_s(s));
    buf_str(b, t + 3);
}

void page_put_eta_steps(struct buf *b)
{
    for (size_t i = 0; i < ARRAY_LEN(eta_steps); i++)
        buf_printf(b, "%s[%u,%u,%u,\"%s\"]", i > 0 ? "," : "", eta_steps[i].below,
                   eta_steps[i].step, eta_steps[i].unit, page_text_names[eta_steps[i].text]);
}

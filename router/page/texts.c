/* texts.c: one language's texts. Pure. */
#include "router/page/texts.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/json_in.h"

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

static int take(struct page_lang *l, const json_t *o, struct err *e)
{
    const char *key;
    json_t *v;

    json_object_foreach ((json_t *)(uintptr_t)o, key, v) {
        int id = id_of(key);

        if (id < 0)
            return err_set(e, SQ_EINVAL, "%s.json: unknown text \"%.40s\"", l->tag, key);
        if (!json_is_string(v) || json_string_length(v) > PAGE_TEXT_MAX)
            return err_set(e, SQ_EINVAL, "%s.json: %s must be a text of at most %d bytes",
                           l->tag, key, PAGE_TEXT_MAX);
        l->text[id] = strdup(json_string_value(v));
        if (l->text[id] == NULL)
            return err_set(e, SQ_ENOMEM, "out of memory");
    }
    for (int i = 0; i < PT_COUNT; i++)
        if (l->text[i] == NULL)
            return err_set(e, SQ_EINVAL, "%s.json: the text \"%s\" is missing", l->tag,
                           page_text_names[i]);
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
    json_decref(o);
    if (rc < 0)
        page_lang_fini(l);
    return rc;
}

void page_lang_fini(struct page_lang *l)
{
    for (int i = 0; i < PT_COUNT; i++)
        free(l->text[i]);
    memset(l, 0, sizeof(*l));
}

/* meant.c: see the header. */
#include "queuemng/ctl_ask/meant.h"

#include <stdio.h>
#include <string.h>

#include "common/config/near.h"
#include "queuemng/ctl_ask/ask.h"
#include "queuemng/ctl_ask/def_change.h"
#include "queuemng/ctl_view/text.h"

static const struct def_kind *kind_of(const char *code)
{
    for (const struct def_kind *k = def_kinds; k->word != NULL; k++) {
        size_t n = strlen(k->word);

        if (strncmp(code, k->word, n) == 0 && strcmp(code + n, "_not_found") == 0)
            return k;
    }
    return NULL;
}

/* The answer; NULL: it cannot be had. An error stays unsaid: there is one already. */
static json_t *all_of(const struct ctl *c, const struct def_kind *kind)
{
    struct ctl_answer a = { 0 };
    json_t *doc = NULL;

    if (c->admins.n > 0 && c->token != NULL &&
        ctl_try(c, (struct ctl_call){ .method = "GET", .path = kind->all }, &a, NULL) == CTL_OK)
        doc = json_loadb((const char *)a.body.data, a.body.len, 0, NULL);
    buf_fini(&a.body);
    return doc;
}

void ctl_put_meant(const struct ctl *c, struct buf *b, const char *code, const char *name)
{
    const struct def_kind *kind = kind_of(code);
    json_t *doc = kind != NULL ? all_of(c, kind) : NULL, *x;
    struct near near = near_to(name);
    size_t i;

    json_array_foreach(json_object_get(doc, kind != NULL ? kind->words : ""), i, x)
        near_try(&near, ctl_str(x, kind->name));
    if (near.name != NULL) {
        buf_str(b, "; did you mean ");
        ctl_clean(b, near.name);
        buf_byte(b, '?');
    }
    json_decref(doc);
}

int ctl_say_no_queue(const struct ctl *c, const char *name)
{
    struct buf b;

    buf_init(&b);
    buf_str(&b, "segqctl: there is no queue '");
    ctl_clean(&b, name);
    buf_byte(&b, '\'');
    ctl_put_meant(c, &b, "queue_not_found", name);
    fprintf(stderr, "%.*s\n", (int)b.len, b.data != NULL ? (char *)b.data : "");
    buf_fini(&b);
    return CTL_REFUSED;
}

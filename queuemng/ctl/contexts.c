/* contexts.c: see the header. No cluster is asked. */
#include "queuemng/ctl/contexts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/config/near.h"
#include "queuemng/ctl_ask/context.h"
#include "queuemng/ctl_ask/round_trip.h"
#include "queuemng/ctl_ask/where.h"
#include "queuemng/ctl_view/answer_view.h"
#include "queuemng/ctl_view/columns.h"
#include "queuemng/ctl_view/text.h"
#include "queuemng/ctl/words.h"

static int say_no_context(const struct contexts *c, const char *name)
{
    struct near near = near_to(name);

    for (size_t i = 0; i < c->v.n; i++)
        near_try(&near, ((struct context *)c->v.v)[i].name);
    if (near.name != NULL)
        fprintf(stderr, "segqctl: no context '%s'; did you mean %s?\n", name, near.name);
    else
        fprintf(stderr, "segqctl: no context '%s'; segqctl context list shows them\n", name);
    return CTL_USAGE;
}

/* NULL: no memory. New reference. */
static json_t *as_json(const struct context *x)
{
    json_t *doc = NULL;
    struct buf b;

    buf_init(&b);
    cfg_dump_json(&b, x, context_keys);
    if (!b.failed)
        doc = json_loadb((const char *)b.data, b.len, 0, NULL);
    buf_fini(&b);
    return doc;
}

static void put_where(struct buf *b, const json_t *x, const char *path)
{
    const json_t *admin = json_object_get(x, path);

    if (json_array_size(admin) == 0)
        put_text(b, x, "dir");
    else
        ctl_clean(b, json_string_value(json_array_get(admin, 0)));
    buf_str(b, json_array_size(admin) > 1 ? " ..." : "");
}

static void view_contexts(struct buf *b, const json_t *doc)
{
    static const struct col cols[] = {
        COL("CURRENT", "{?is_current:*}"), COL("NAME", "{name}"), COL("WHERE", "admin", put_where),
        COL("TOKEN_FILE", "{token_file}"), COL("OPERATOR", "{operator}"),
    };
    struct table t;
    const json_t *x;
    size_t i;

    table_init(&t, cols, ARRAY_LEN(cols));
    json_array_foreach(json_object_get(doc, "contexts"), i, x)
        table_row_with(&t, x, "is_current", json_boolean(ctl_equals(x, "name", ctl_str(doc, "current"))));
    table_put(b, &t, 0, "no contexts; segqctl context add NAME admin=URL token_file=F makes one\n");
}

int cmd_context_list(struct ctl *c, int argc, char **argv)
{
    json_t *doc, *list = json_array();
    struct contexts all;
    struct err e = { 0 };

    (void)argc;
    (void)argv;
    if (contexts_load(&all, &e) < 0) {
        json_decref(list);
        return ctl_say_err(&e, CTL_USAGE);
    }
    for (size_t i = 0; i < all.v.n; i++)
        (void)json_array_append_new(list, as_json(&((struct context *)all.v.v)[i]));
    doc = json_pack("{s:s,s:s,s:o}", "file", all.file, "current", all.current, "contexts", list);
    (void)ctl_say_doc(c, doc, view_contexts);
    json_decref(doc);
    contexts_free(&all);
    return CTL_OK;
}

int cmd_context_show(struct ctl *c, int argc, char **argv)
{
    struct contexts all;
    struct err e = { 0 };
    const struct context *x;
    const char *name;
    int rc = CTL_OK;
    json_t *doc;

    if (contexts_load(&all, &e) < 0)
        return ctl_say_err(&e, CTL_USAGE);
    name = argc > 0 ? argv[0] : all.current;
    x = contexts_find(&all, name);
    if (x == NULL && argc == 0)
        fputs("segqctl: no context is in use; segqctl context list shows them\n", stderr);
    if (x == NULL) {
        rc = argc == 0 ? CTL_REFUSED : say_no_context(&all, name);
    } else {
        doc = as_json(x);
        (void)ctl_say_doc(c, doc, view_pretty);
        json_decref(doc);
    }
    contexts_free(&all);
    return rc;
}

/* ---- changes ---- */

static int save(struct contexts *all, int rc)
{
    struct err e = { 0 };

    if (rc == CTL_OK && contexts_save(all, &e) < 0)
        rc = ctl_say_err(&e, CTL_REFUSED);
    if (rc == CTL_OK)
        puts("ok");
    contexts_free(all);
    return rc;
}

static int use(struct contexts *all, const char *name)
{
    char *copy = strdup(name);

    if (copy == NULL)
        return ctl_say_err(&(struct err){ .text = "out of memory" }, CTL_REFUSED);
    free(all->current);
    all->current = copy;
    return CTL_OK;
}

int cmd_context_use(struct ctl *c, int argc, char **argv)
{
    struct contexts all;
    struct err e = { 0 };

    (void)c;
    (void)argc;
    if (contexts_load(&all, &e) < 0)
        return ctl_say_err(&e, CTL_USAGE);
    return save(&all, contexts_find(&all, argv[0]) == NULL ? say_no_context(&all, argv[0])
                                                           : use(&all, argv[0]));
}

/* "a,b" of a list, and the whole path of a file, which holds in any folder. */
static int tidy(json_t *doc, struct err *e)
{
    const char *key;
    json_t *v;
    void *next;

    json_object_foreach_safe(doc, next, key, v) {
        const char *text = json_string_value(v);
        bool is_list = strcmp(key, "admin") == 0 || strcmp(key, "router") == 0;
        bool is_file = strcmp(key, "dir") == 0 || strcmp(key, "token_file") == 0 ||
                       strcmp(key, "cacert") == 0 || strcmp(key, "key_file") == 0;
        json_t *list;
        char *whole;

        if (text != NULL && is_list) {
            list = json_array();
            for (const char *p = text; *p != '\0'; p += strspn(p, ", ")) {
                size_t n = strcspn(p, ", ");

                (void)json_array_append_new(list, json_stringn(p, n));
                p += n;
            }
            (void)json_object_set_new(doc, key, list);
        } else if (text != NULL && is_file && *text != '\0') {
            whole = realpath(text, NULL);
            if (whole == NULL)
                return err_set(e, SQ_EINVAL, "%s: there is no '%s'", key, text);
            (void)json_object_set_new(doc, key, json_string(whole));
            free(whole);
        }
    }
    return 0;
}

static int check_urls(const struct context *x, struct err *e)
{
    struct ctl c = { 0 };
    int rc = where_context(&c, x, e);

    where_fini(&c);
    return rc < 0 ? err_wrap(e, "context %s", x->name) : 0;
}

/* Sets its keys to those of the words. */
static int change(struct context *x, char **words, int n)
{
    struct err e = { 0 };
    json_t *doc = ctl_pairs(words, (size_t)n, context_keys, &e);
    char *text = doc != NULL && tidy(doc, &e) == 0 ? json_dumps(doc, 0) : NULL;
    struct cfg_node *node = NULL;
    int rc = text == NULL ? -1 : cfg_parse_json(&node, text, strlen(text), &e);

    if (rc == 0)
        rc = cfg_patch(x, sizeof(*x), context_keys, node, NULL, &e);
    if (rc == 0)
        rc = context_check(x, &e);
    if (rc == 0)
        rc = check_urls(x, &e);
    cfg_node_free(node);
    free(text);
    json_decref(doc);
    return rc == 0 ? CTL_OK : ctl_say_err(&e, CTL_USAGE);
}

static bool is_name(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-");

    return n > 0 && n <= NAME_MAX_LEN && name[n] == '\0' && name[0] != '_' && name[0] != '-';
}

/* The first one is in use at once. */
int cmd_context_add(struct ctl *c, int argc, char **argv)
{
    struct contexts all;
    struct context *x;
    struct err e = { 0 };
    int rc;

    (void)c;
    if (contexts_load(&all, &e) < 0)
        return ctl_say_err(&e, CTL_USAGE);
    if (!is_name(argv[0])) {
        fprintf(stderr, "segqctl: a context's name has small letters, digits, '-' and '_', not '%.60s'\n", argv[0]);
        contexts_free(&all);
        return CTL_USAGE;
    }
    if (contexts_find(&all, argv[0]) != NULL) {
        fprintf(stderr, "segqctl: there is a context '%s' already; segqctl context set changes it\n", argv[0]);
        contexts_free(&all);
        return CTL_REFUSED;
    }
    rc = contexts_add(&all, argv[0], &x, &e) < 0 ? ctl_say_err(&e, CTL_REFUSED)
                                                 : change(x, argv + 1, argc - 1);
    if (rc == CTL_OK && all.v.n == 1)
        rc = use(&all, argv[0]);
    return save(&all, rc);
}

int cmd_context_set(struct ctl *c, int argc, char **argv)
{
    struct contexts all;
    struct context *x;
    struct err e = { 0 };

    (void)c;
    if (contexts_load(&all, &e) < 0)
        return ctl_say_err(&e, CTL_USAGE);
    x = contexts_find(&all, argv[0]);
    return save(&all, x == NULL ? say_no_context(&all, argv[0]) : change(x, argv + 1, argc - 1));
}

int cmd_context_delete(struct ctl *c, int argc, char **argv)
{
    struct contexts all;
    struct context *x;
    struct err e = { 0 };
    int rc = CTL_OK;

    (void)c;
    (void)argc;
    if (contexts_load(&all, &e) < 0)
        return ctl_say_err(&e, CTL_USAGE);
    x = contexts_find(&all, argv[0]);
    if (x == NULL)
        return save(&all, say_no_context(&all, argv[0]));
    if (strcmp(all.current, argv[0]) == 0)
        rc = use(&all, "");
    contexts_remove(&all, x);
    return save(&all, rc);
}

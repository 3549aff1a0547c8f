/* contexts.c: see the header. No cluster is asked. */
#include "queuemng/ctl/contexts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/text.h"
#include "queuemng/ctl/options.h"
#include "queuemng/ctl/where.h"
#include "queuemng/ctl_ask/def_change.h"
#include "queuemng/ctl_view/answer_view.h"
#include "queuemng/ctl_view/columns.h"

static int say_no_context(const struct contexts *c, const char *name)
{
    struct near near = near_to(name);

    for (size_t i = 0; i < c->v.n; i++)
        near_try(&near, ((struct context *)c->v.v)[i].name);
    return near.name != NULL
               ? ctl_fail(CTL_USAGE, "no context '%s'; did you mean %s?", name, near.name)
               : ctl_fail(CTL_USAGE, "no context '%s'; segqctl context list shows them", name);
}

static void put_where(struct buf *b, const json_t *x, const char *path)
{
    const json_t *admin = json_object_get(x, path);

    if (json_array_size(admin) == 0)
        ctl_say(b, x, "{dir}");
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
        table_row_with(&t, x, "is_current",
                       json_boolean(ctl_equals(x, "name", ctl_str(doc, "current"))));
    table_put(b, &t, 0, "no contexts; segqctl context add NAME admin=URL token_file=F makes one\n");
}

int cmd_context_list(struct ctl *c, char **argv)
{
    json_t *doc, *list;
    struct contexts all;
    struct err e = { 0 };

    (void)argv;
    if (contexts_load(&all, &e) < 0)
        return ctl_say_err(&e, CTL_USAGE);
    list = json_array();
    for (size_t i = 0; i < all.v.n; i++)
        (void)json_array_append_new(
            list, def_keys_json(&((struct context *)all.v.v)[i], context_keys));
    doc = json_pack("{s:s,s:s,s:o}", "file", all.file, "current", all.current, "contexts", list);
    (void)ctl_say_doc(c, doc, view_contexts);
    json_decref(doc);
    contexts_free(&all);
    return CTL_OK;
}

int cmd_context_show(struct ctl *c, char **argv)
{
    struct contexts all;
    struct err e = { 0 };
    const struct context *x;
    int rc = CTL_OK;
    json_t *doc;

    if (contexts_load(&all, &e) < 0)
        return ctl_say_err(&e, CTL_USAGE);
    x = contexts_find(&all, argv[0] != NULL ? argv[0] : all.current);
    if (x != NULL) {
        doc = def_keys_json(x, context_keys);
        (void)ctl_say_doc(c, doc, view_pretty);
        json_decref(doc);
    } else if (argv[0] == NULL) {
        rc = ctl_fail(CTL_REFUSED, "no context is in use; segqctl context list shows them");
    } else {
        rc = say_no_context(&all, argv[0]);
    }
    contexts_free(&all);
    return rc;
}

/* ---- changes ---- */

static int use(struct contexts *all, const char *name)
{
    char *copy = strdup(name);

    if (copy == NULL)
        return ctl_fail(CTL_REFUSED, "out of memory");
    free(all->current);
    all->current = copy;
    return CTL_OK;
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

/* NAME KEY=VALUE...: sets these keys; x NULL: of another one, which is in use at once if it is
 * the first. */
static int set(struct contexts *all, struct context *x, char **argv)
{
    struct err e = { 0 };
    bool first = x == NULL && all->v.n == 0;
    json_t *doc = ctl_pairs(argv + 1, context_keys, &e);
    struct cfg_node *node = NULL;
    int rc = doc != NULL ? tidy(doc, &e) : -1;

    if (rc == 0 && x == NULL)
        (void)json_object_set_new(doc, "name", json_string(argv[0]));
    if (rc == 0 && (node = ctl_node(doc, &e)) == NULL)
        rc = -1;
    if (rc == 0)
        rc = x != NULL ? cfg_patch(x, sizeof(*x), context_keys, node, NULL, &e)
                       : contexts_add(all, node, &x, &e);
    if (rc == 0)
        rc = context_check(x, &e);
    if (rc == 0)
        rc = check_urls(x, &e);
    cfg_node_free(node);
    json_decref(doc);
    if (rc < 0)
        return ctl_say_err(&e, CTL_USAGE);
    return first ? use(all, argv[0]) : CTL_OK;
}

static bool is_name(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-");

    return n > 0 && n <= NAME_MAX_LEN && name[n] == '\0' && name[0] != '_' && name[0] != '-';
}

/* order: of the context that argv[0] names, whose file then becomes what it made of it. */
static int edit(char **argv, int (*order)(struct contexts *all, struct context *x, char **argv))
{
    struct contexts all;
    struct context *x;
    struct err e = { 0 };
    int rc, turn = contexts_load_to_change(&all, &e);

    if (turn < 0)
        return ctl_say_err(&e, CTL_USAGE);
    x = contexts_find(&all, argv[0]);
    if (order == NULL && !is_name(argv[0]))
        rc = ctl_fail(CTL_USAGE,
                      "a context's name has small letters, digits, '-' and '_', not '%.60s'",
                      argv[0]);
    else if (order == NULL && x != NULL)
        rc = ctl_fail(CTL_REFUSED,
                      "there is a context '%s' already; segqctl context set changes it", argv[0]);
    else if (order == NULL)
        rc = set(&all, NULL, argv);
    else
        rc = x != NULL ? order(&all, x, argv) : say_no_context(&all, argv[0]);
    if (rc == CTL_OK && contexts_save(&all, &e) < 0)
        rc = ctl_say_err(&e, CTL_REFUSED);
    if (rc == CTL_OK)
        puts("ok");
    contexts_free(&all);
    close(turn);
    return rc;
}

int cmd_context_add(struct ctl *c, char **argv)
{
    (void)c;
    return edit(argv, NULL);
}

static int order_use(struct contexts *all, struct context *x, char **argv)
{
    (void)x;
    return use(all, argv[0]);
}

int cmd_context_use(struct ctl *c, char **argv)
{
    (void)c;
    return edit(argv, order_use);
}

int cmd_context_set(struct ctl *c, char **argv)
{
    (void)c;
    return edit(argv, set);
}

static int order_delete(struct contexts *all, struct context *x, char **argv)
{
    int rc = strcmp(all->current, argv[0]) == 0 ? use(all, "") : CTL_OK;

    contexts_remove(all, x);
    return rc;
}

int cmd_context_delete(struct ctl *c, char **argv)
{
    (void)c;
    return edit(argv, order_delete);
}

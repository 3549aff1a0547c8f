/* where.c: see the header. */
#include "queuemng/ctl/where.h"

#include <errno.h>
#include <event2/http.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/file.h"

#define TOKEN_MAX   256
#define DEFAULT_DIR "./run" /* where `make run` keeps its cluster */

/* ---- contexts ---- */

#define AT(f) offsetof(struct context, f)
#define TEXT(f, most, help) { #f, CFG_STR, AT(f), "", 0, most, true, help, 0, 0, 0 }
const struct cfg_key context_keys[] = {
    { "name", CFG_NAME, AT(name), NULL, 0, 0, true, "its name", 0, 0, 0 },
    { "admin", CFG_STRS, AT(admin), "", 0, CTL_URLS_MAX, true,
      "queuemng's admin API: several are tried, the leader is found", 0, 0, 0 },
    { "router", CFG_STRS, AT(router), "", 0, CTL_URLS_MAX, true, "routers, for tickets", 0, 0, 0 },
    TEXT(dir, PATH_MAX - 1, "a folder with cluster.json, in place of addresses"),
    TEXT(token_file, PATH_MAX - 1, "holds the admin token"),
    TEXT(cacert, PATH_MAX - 1, "authorities that sign certificates of https:// addresses"),
    TEXT(key_file, PATH_MAX - 1, "the key that signs claims"),
    TEXT(operator, 64, "your name in the log of changes"),
    { "confirm", CFG_BOOL, AT(confirm), "false", 0, 0, true,
      "orders that take places or tasks away want its name typed, too", 0, 0, 0 },
    { 0 },
};
#undef AT

#define AT(f) offsetof(struct contexts, f)
static const struct cfg_key file_keys[] = {
    { "current", CFG_STR, AT(current), "", 0, 64, true, "the one that is used", 0, 0, 0 },
    { "contexts", CFG_OBJS, AT(v), "", 0, CONTEXTS_MAX, true, "the clusters", 0, context_keys,
      sizeof(struct context) },
    { 0 },
};
#undef AT

static void find_file(char *to, size_t cap)
{
    const char *own = getenv("SEGQ_CONFIG"), *config = getenv("XDG_CONFIG_HOME"),
        *home = getenv("HOME");
    int n = 0;

    *to = '\0';
    if (own != NULL && *own != '\0')
        n = snprintf(to, cap, "%s", own);
    else if (config != NULL && *config == '/')
        n = snprintf(to, cap, "%s/segq/contexts.yaml", config);
    else if (home != NULL && *home == '/')
        n = snprintf(to, cap, "%s/.config/segq/contexts.yaml", home);
    if (n < 0 || (size_t)n >= cap)
        *to = '\0';
}

int context_check(const struct context *x, struct err *e)
{
    if (x->dir[0] == '\0' && x->admin.n == 0 && x->router.n == 0)
        return err_set(e, SQ_EINVAL, "context %s: it needs admin (an address), or dir", x->name);
    if (x->dir[0] != '\0' && (x->admin.n > 0 || x->router.n > 0))
        return err_set(e, SQ_EINVAL, "context %s: dir and addresses exclude each other", x->name);
    if (strpbrk(x->operator, "\r\n") != NULL)
        return err_set(e, SQ_EINVAL, "context %s: operator: one line", x->name);
    return 0;
}

static int check(const struct contexts *c, struct err *e)
{
    const struct context *v = c->v.v;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < c->v.n; i++) {
        rc = context_check(&v[i], e);
        for (size_t k = 0; rc == 0 && k < i; k++)
            if (strcmp(v[i].name, v[k].name) == 0)
                rc = err_set(e, SQ_EINVAL, "context %s is there twice", v[i].name);
    }
    if (rc == 0 && c->current[0] != '\0' && contexts_find(c, c->current) == NULL)
        rc = err_set(e, SQ_EINVAL, "current: there is no context '%s'", c->current);
    return rc < 0 ? err_wrap(e, "%s", c->file) : 0;
}

int contexts_load(struct contexts *c, struct err *e)
{
    struct cfg_node *doc = NULL;
    char file[PATH_MAX];
    bool there;
    int rc = 0;

    find_file(file, sizeof(file));
    there = file[0] != '\0' && access(file, F_OK) == 0;
    *c = (struct contexts){ 0 };
    if (there)
        rc = cfg_parse_file(&doc, file, e);
    else
        rc = cfg_parse_yaml(&doc, "{}", 2, file, e);
    if (rc == 0)
        rc = cfg_bind(c, sizeof(*c), file_keys, doc, file, e);
    cfg_node_free(doc);
    if (rc < 0)
        return rc;
    memcpy(c->file, file, sizeof(file));
    rc = check(c, e);
    if (rc < 0)
        contexts_free(c);
    return rc;
}

void contexts_free(struct contexts *c)
{
    cfg_clear(c, file_keys);
}

/* The folders above it that are not there. */
static void make_folders(const char *file)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s", file);
    for (char *p = strchr(path + 1, '/'); p != NULL; p = strchr(p + 1, '/')) {
        *p = '\0';
        (void)mkdir(path, 0700); /* a failure is seen when the file is written */
        *p = '/';
    }
}

int contexts_load_to_change(struct contexts *c, struct err *e)
{
    char file[PATH_MAX];
    int turn, rc;

    find_file(file, sizeof(file));
    if (file[0] == '\0')
        return err_set(e, SQ_EINVAL,
                       "there is no place for a file of contexts: set SEGQ_CONFIG or HOME");
    make_folders(file);
    turn = file_take_turn(file, e);
    if (turn < 0)
        return turn;
    rc = contexts_load(c, e);
    if (rc < 0)
        close(turn);
    return rc < 0 ? rc : turn;
}

int contexts_save(const struct contexts *c, struct err *e)
{
    struct buf b;
    int rc;

    buf_init(&b);
    cfg_dump_yaml(&b, c, file_keys);
    rc = b.failed ? err_set(e, SQ_ENOMEM, "out of memory")
                  : file_replace(c->file, b.data, b.len, e);
    buf_fini(&b);
    return rc;
}

struct context *contexts_find(const struct contexts *c, const char *name)
{
    struct context *v = c->v.v;

    for (size_t i = 0; i < c->v.n; i++)
        if (strcmp(v[i].name, name) == 0)
            return &v[i];
    return NULL;
}

int contexts_add(struct contexts *c, const struct cfg_node *doc, struct context **x, struct err *e)
{
    struct context *v = realloc(c->v.v, (c->v.n + 1) * sizeof(*v));
    int rc;

    if (v == NULL)
        return err_set(e, SQ_ENOMEM, "out of memory");
    c->v.v = v;
    if (c->v.n == CONTEXTS_MAX)
        return err_set(e, SQ_EFULL, "%s has %d contexts already", c->file, CONTEXTS_MAX);
    v[c->v.n] = (struct context){ 0 };
    rc = cfg_bind(&v[c->v.n], sizeof(*v), context_keys, doc, NULL, e);
    if (rc == 0)
        *x = &v[c->v.n++];
    return rc;
}

void contexts_remove(struct contexts *c, struct context *x)
{
    struct context *end = (struct context *)c->v.v + c->v.n;

    cfg_clear(x, context_keys);
    memmove(x, x + 1, (size_t)((char *)end - (char *)(x + 1)));
    c->v.n--;
}

/* ---- addresses, token, key ---- */

static bool is_url(const char *url)
{
    struct evhttp_uri *u = evhttp_uri_parse(url);
    const char *scheme = u != NULL ? evhttp_uri_get_scheme(u) : NULL;
    const char *host = u != NULL ? evhttp_uri_get_host(u) : NULL;
    const char *path = u != NULL ? evhttp_uri_get_path(u) : NULL;
    bool ok = scheme != NULL && (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0) &&
        host != NULL &&
              *host != '\0' && (*path == '\0' || strcmp(path, "/") == 0);

    if (u != NULL)
        evhttp_uri_free(u);
    return ok;
}

int where_add(struct urls *list, const char *url, struct err *e)
{
    if (!is_url(url))
        return err_set(e, SQ_EINVAL, "'%s' is not http://HOST[:PORT], or https://...", url);
    if (list->n == CTL_URLS_MAX)
        return err_set(e, SQ_EFULL, "more than %d addresses of one kind", CTL_URLS_MAX);
    list->v[list->n] = strdup(url);
    if (list->v[list->n] == NULL)
        return err_set(e, SQ_ENOMEM, "out of memory");
    list->n++;
    return 0;
}

/* Several, with blanks between them; NULL: none. */
static int add_words(struct urls *list, const char *urls, struct err *e)
{
    char *copy = urls != NULL ? strdup(urls) : NULL, *rest = NULL;
    int rc = urls == NULL || copy != NULL ? 0 : err_set(e, SQ_ENOMEM, "out of memory");

    for (char *url = copy != NULL ? strtok_r(copy, " ", &rest) : NULL; rc == 0 && url != NULL;
         url = strtok_r(NULL, " ", &rest))
        rc = where_add(list, url, e);
    free(copy);
    return rc;
}

/* Keeps a copy, if there is something to keep and nothing was given before. */
static int keep(char **to, const char *text, struct err *e)
{
    if (*to == NULL && text != NULL && *text != '\0' && (*to = strdup(text)) == NULL)
        return err_set(e, SQ_ENOMEM, "out of memory");
    return 0;
}

/* A token goes into a header line: printable, without blanks. */
static int token_take(struct ctl *c, const char *s, size_t n, const char *from, struct err *e)
{
    while (n > 0 && strchr(" \t\r\n", s[n - 1]) != NULL)
        n--;
    if (n == 0 || n > TOKEN_MAX)
        return err_set(e, SQ_EINVAL, "%s: no token of 1 to %d characters", from, TOKEN_MAX);
    for (size_t i = 0; i < n; i++)
        if (s[i] <= ' ' || s[i] > '~')
            return err_set(e, SQ_EINVAL, "%s: not a token (a blank, or not ASCII)", from);
    c->token = strndup(s, n);
    return c->token != NULL ? 0 : err_set(e, SQ_ENOMEM, "out of memory");
}

static int token_read(struct ctl *c, const char *file, struct err *e)
{
    char s[TOKEN_MAX + 64];
    FILE *f = fopen(file, "re");
    size_t n;

    if (f == NULL)
        return err_set(e, SQ_ESYS, "%s: %s", file, strerror(errno));
    n = fread(s, 1, sizeof(s), f);
    fclose(f);
    return token_take(c, s, n, file, e);
}

/* An array of URLs, or one of them. */
static int add_all(struct urls *list, const json_t *urls, struct err *e)
{
    const json_t *u;
    size_t i;
    int rc = json_is_string(urls) ? where_add(list, json_string_value(urls), e) : 0;

    json_array_foreach(urls, i, u)
        if (rc == 0 && json_is_string(u))
            rc = where_add(list, json_string_value(u), e);
    return rc;
}

static int where_json(struct ctl *c, const json_t *doc, const char *file, struct err *e)
{
    const json_t *admins = json_object_get(doc, "admins");
    const char *token = json_string_value(json_object_get(doc, "admin_token"));
    int rc = 0;

    if (json_array_size(admins) == 0)
        admins = json_object_get(doc, "admin");
    if (c->admins.n == 0)
        rc = add_all(&c->admins, admins, e);
    if (rc == 0 && c->token == NULL && token != NULL)
        rc = token_take(c, token, strlen(token), "admin_token", e);
    if (rc == 0 && c->routers.n == 0)
        rc = add_all(&c->routers, json_object_get(doc, "router"), e);
    return rc < 0 ? err_wrap(e, "%s", file) : 0;
}

/* Fills in what was not given before, from DIR/cluster.json. */
static int where_dir(struct ctl *c, const char *dir, struct err *e)
{
    char file[4096];
    json_error_t bad;
    json_t *doc;
    int rc;

    snprintf(file, sizeof(file), "%s/cluster.json", dir);
    doc = json_load_file(file, JSON_REJECT_DUPLICATES, &bad);
    if (doc == NULL)
        return err_set(e, SQ_EINVAL, "%s: %s", file, bad.text);
    rc = where_json(c, doc, file, e);
    json_decref(doc);
    snprintf(file, sizeof(file), "%s/secrets/claim.key", dir); /* files of `make run` */
    if (rc == 0 && access(file, F_OK) == 0)
        rc = keep(&c->key_file, file, e);
    snprintf(file, sizeof(file), "%s/secrets/task.token", dir);
    if (rc == 0 && access(file, F_OK) == 0)
        rc = keep(&c->server_token, file, e);
    return rc;
}

static int add_list(struct urls *to, const struct cfg_list *l, struct err *e)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < l->n; i++)
        rc = where_add(to, ((char **)l->v)[i], e);
    return rc;
}

int where_context(struct ctl *c, const struct context *x, struct err *e)
{
    int rc = add_list(&c->admins, &x->admin, e);

    if (rc == 0)
        rc = add_list(&c->routers, &x->router, e);
    if (rc == 0 && c->token == NULL && x->token_file[0] != '\0')
        rc = token_read(c, x->token_file, e);
    if (rc == 0)
        rc = keep(&c->key_file, x->key_file, e);
    if (rc == 0)
        rc = keep(&c->own_cacert, x->cacert, e);
    if (c->cacert == NULL)
        c->cacert = c->own_cacert;
    if (rc == 0)
        rc = keep(&c->operator, x->operator, e);
    if (rc == 0 && x->confirm)
        rc = keep(&c->context, x->name, e);
    return rc == 0 && x->dir[0] != '\0' ? where_dir(c, x->dir, e) : rc;
}

/* ---- where the cluster is ---- */

static const char *from_env(const char *name)
{
    const char *v = getenv(name);

    return v != NULL && *v != '\0' ? v : NULL;
}

/* The context of this name; NULL: the one in use, if there is one. */
static int where_named(struct ctl *c, const char *name, struct err *e)
{
    const struct context *x;
    struct contexts all;
    int rc = contexts_load(&all, e);

    if (rc < 0)
        return rc;
    x = contexts_find(&all, name != NULL ? name : all.current);
    if (x != NULL)
        rc = where_context(c, x, e);
    else if (name != NULL)
        rc = err_set(e, SQ_EINVAL, "no context '%s'; segqctl context list shows them", name);
    contexts_free(&all);
    return rc;
}

int where_find(struct ctl *c, struct err *e)
{
    bool none = c->dir == NULL && c->use_context == NULL && c->admins.n == 0 && c->routers.n == 0;
    const char *context = none && from_env("SEGQ_DIR") == NULL && from_env("SEGQ_ADMIN") == NULL &&
                                  from_env("SEGQ_ROUTER") == NULL
                              ? from_env("SEGQ_CONTEXT") : c->use_context;
    const char *dir = none ? from_env("SEGQ_DIR") : c->dir;
    const char *token = c->token_file == NULL && c->dir == NULL && context == NULL
                            ? from_env("SEGQ_TOKEN_FILE") : c->token_file;
    int rc = token != NULL ? token_read(c, token, e) : 0;

    if (rc == 0 && none)
        rc = add_words(&c->admins, from_env("SEGQ_ADMIN"), e);
    if (rc == 0 && none)
        rc = add_words(&c->routers, from_env("SEGQ_ROUTER"), e);
    if (rc == 0)
        rc = keep(&c->key_file, c->sign_key, e);
    if (rc == 0)
        rc = keep(&c->server_token, c->server_token_file, e);
    if (rc == 0 && (context != NULL || (none && dir == NULL && c->admins.n == 0 &&
                                        c->routers.n == 0)))
        rc = where_named(c, context, e);
    if (rc == 0 && dir == NULL && c->admins.n == 0 && c->routers.n == 0 &&
        access(DEFAULT_DIR "/cluster.json", F_OK) == 0)
        dir = DEFAULT_DIR;
    if (c->cacert == NULL)
        c->cacert = from_env("SEGQ_CACERT");
    return rc == 0 && dir != NULL ? where_dir(c, dir, e) : rc;
}

void where_fini(struct ctl *c)
{
    char *owned[] = { c->own_cacert, c->operator, c->context, c->token, c->key_file, c->server_token };

    for (size_t i = 0; i < ARRAY_LEN(owned); i++)
        free(owned[i]);
    while (c->admins.n > 0)
        free(c->admins.v[--c->admins.n]);
    while (c->routers.n > 0)
        free(c->routers.v[--c->routers.n]);
}

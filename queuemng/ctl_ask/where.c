/* where.c: where the cluster is: from options, or from D/cluster.json (written by
 * deploy/local.sh); and the admin token, which is read from a file and never from the command
 * line, where every user of the machine could see it. */
#include "queuemng/ctl_ask/where.h"

#include <assert.h>
#include <errno.h>
#include <event2/http.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOKEN_MAX 256

static bool is_url(const char *url)
{
    struct evhttp_uri *u = evhttp_uri_parse(url);
    const char *scheme = u != NULL ? evhttp_uri_get_scheme(u) : NULL;
    const char *host = u != NULL ? evhttp_uri_get_host(u) : NULL;
    const char *path = u != NULL ? evhttp_uri_get_path(u) : NULL;
    bool ok = scheme != NULL && (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0) && host != NULL &&
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

int where_add_all(struct urls *list, const char *urls, struct err *e)
{
    char *copy = urls != NULL ? strdup(urls) : NULL, *rest = NULL;
    int rc = urls == NULL || copy != NULL ? 0 : err_set(e, SQ_ENOMEM, "out of memory");

    for (char *url = copy != NULL ? strtok_r(copy, " ", &rest) : NULL; rc == 0 && url != NULL;
         url = strtok_r(NULL, " ", &rest))
        rc = where_add(list, url, e);
    free(copy);
    return rc;
}

/* A token goes into a header line: printable, without blanks. */
static int token_take(struct ctl *c, const char *s, size_t n, const char *from,
                      struct err *e)
{
    char *copy;

    while (n > 0 && strchr(" \t\r\n", s[n - 1]) != NULL)
        n--;
    if (n == 0 || n > TOKEN_MAX)
        return err_set(e, SQ_EINVAL, "%s: no token of 1 to %d characters", from,
                       TOKEN_MAX);
    for (size_t i = 0; i < n; i++)
        if (s[i] <= ' ' || s[i] > '~')
            return err_set(e, SQ_EINVAL, "%s: not a token (a blank, or not ASCII)", from);
    copy = strndup(s, n);
    if (copy == NULL)
        return err_set(e, SQ_ENOMEM, "out of memory");
    assert(c->token == NULL);
    c->token = copy;
    return 0;
}

int where_token_file(struct ctl *c, const char *file, struct err *e)
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

int where_key_file(struct ctl *c, const char *file, struct err *e)
{
    assert(c->key_file == NULL);
    c->key_file = strdup(file);
    return c->key_file != NULL ? 0 : err_set(e, SQ_ENOMEM, "out of memory");
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

int where_dir(struct ctl *c, const char *dir, struct err *e)
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
    if (rc == 0 && c->key_file == NULL && access(file, F_OK) == 0)
        rc = where_key_file(c, file, e);
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
        rc = where_token_file(c, x->token_file, e);
    if (rc == 0 && c->key_file == NULL && x->key_file[0] != '\0')
        rc = where_key_file(c, x->key_file, e);
    if (rc == 0 && c->cacert == NULL && x->cacert[0] != '\0')
        rc = (c->cacert = c->own_cacert = strdup(x->cacert)) != NULL ? 0 : SQ_ENOMEM;
    if (rc == 0 && x->operator[0] != '\0')
        rc = (c->operator = strdup(x->operator)) != NULL ? 0 : SQ_ENOMEM;
    if (rc == 0 && x->confirm)
        rc = (c->context = strdup(x->name)) != NULL ? 0 : SQ_ENOMEM;
    if (rc == SQ_ENOMEM)
        rc = err_set(e, SQ_ENOMEM, "out of memory");
    return rc == 0 && x->dir[0] != '\0' ? where_dir(c, x->dir, e) : rc;
}

void where_fini(struct ctl *c)
{
    free(c->own_cacert);
    c->own_cacert = NULL;
    free(c->operator);
    c->operator = NULL;
    free(c->context);
    c->context = NULL;
    while (c->admins.n > 0)
        free(c->admins.v[--c->admins.n]);
    while (c->routers.n > 0)
        free(c->routers.v[--c->routers.n]);
    free(c->token);
    c->token = NULL;
    free(c->key_file);
    c->key_file = NULL;
}

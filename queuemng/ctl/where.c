/* where.c: where the cluster is: from D/cluster.json (written by
 * deploy/local.sh), or from options; and the admin token, which is read from a file and
 * never from the command line, where every user of the machine could see it. */
#include "queuemng/ctl/where.h"

#include <errno.h>
#include <event2/http.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOKEN_MAX 256

static int url_take(char **dst, const char *url, struct err *e)
{
    struct evhttp_uri *u = evhttp_uri_parse(url);
    const char *scheme = u != NULL ? evhttp_uri_get_scheme(u) : NULL;
    const char *host = u != NULL ? evhttp_uri_get_host(u) : NULL;
    const char *path = u != NULL ? evhttp_uri_get_path(u) : NULL;
    bool ok = scheme != NULL && strcmp(scheme, "http") == 0 && host != NULL &&
              *host != '\0' && (*path == '\0' || strcmp(path, "/") == 0);
    char *copy = ok ? strdup(url) : NULL;

    if (u != NULL)
        evhttp_uri_free(u);
    if (!ok)
        return err_set(e, SQ_EINVAL, "'%s' is not http://HOST[:PORT]", url);
    if (copy == NULL)
        return err_set(e, SQ_ENOMEM, "out of memory");
    free(*dst);
    *dst = copy;
    return 0;
}

int where_admin(struct ctl *c, const char *url, struct err *e)
{
    int rc;

    if (c->n_admins == CTL_MANAGERS_MAX)
        return err_set(e, SQ_EFULL, "more than %d managers", CTL_MANAGERS_MAX);
    rc = url_take(&c->admin[c->n_admins], url, e);
    if (rc == 0)
        c->n_admins++;
    return rc;
}

int where_router(struct ctl *c, const char *url, struct err *e)
{
    int rc;

    if (c->n_routers == CTL_ROUTERS_MAX)
        return err_set(e, SQ_EFULL, "more than %d routers", CTL_ROUTERS_MAX);
    rc = url_take(&c->router[c->n_routers], url, e);
    if (rc == 0)
        c->n_routers++;
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
    free(c->token);
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
    free(c->key_file);
    c->key_file = strdup(file);
    return c->key_file != NULL ? 0 : err_set(e, SQ_ENOMEM, "out of memory");
}

static int where_json(struct ctl *c, const json_t *doc, const char *file, struct err *e)
{
    const char *admin = json_string_value(json_object_get(doc, "admin"));
    const char *token = json_string_value(json_object_get(doc, "admin_token"));
    const json_t *r, *all = json_object_get(doc, "admins");
    size_t i;
    int rc = 0;

    if (admin != NULL && json_array_size(all) == 0)
        rc = where_admin(c, admin, e);
    json_array_foreach(all, i, r)
    {
        if (rc == 0 && json_is_string(r))
            rc = where_admin(c, json_string_value(r), e);
    }
    if (rc == 0 && token != NULL)
        rc = token_take(c, token, strlen(token), "admin_token", e);
    json_array_foreach(json_object_get(doc, "router"), i, r)
    {
        if (rc == 0 && json_is_string(r))
            rc = where_router(c, json_string_value(r), e);
    }
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
    snprintf(file, sizeof(file), "%s/secrets/claim.key", dir); /* of `make run` */
    return rc == 0 && access(file, F_OK) == 0 ? where_key_file(c, file, e) : rc;
}

void where_fini(struct ctl *c)
{
    for (size_t i = 0; i < c->n_admins; i++)
        free(c->admin[i]);
    free(c->token);
    free(c->key_file);
    for (size_t i = 0; i < c->n_routers; i++)
        free(c->router[i]);
}

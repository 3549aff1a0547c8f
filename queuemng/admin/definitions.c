/* definitions.c: see the header. */
#include "queuemng/admin/definitions.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "queuemng/state/json_row.h"

json_t *admin_def_json(const void *def, const struct cfg_key *keys, uint64_t version)
{
    json_t *j = def_json(def, keys);

    if (j != NULL && version != 0 &&
        json_object_set_new(j, "version", json_integer((json_int_t)version)) < 0) {
        json_decref(j);
        return NULL;
    }
    return j;
}

void admin_answer_def(struct admin_call *c, int status, const void *def,
                      const struct cfg_key *keys, uint64_t version)
{
    admin_json(c->a, status, admin_def_json(def, keys, version));
    snprintf(c->a->etag_buf, sizeof(c->a->etag_buf), "\"%llu\"", (unsigned long long)version);
    c->a->etag = c->a->etag_buf;
}

/* If-Match: * or a list of tags; true if the present version is in it. */
static bool matches(const char *if_match, uint64_t version)
{
    char tag[40];

    if (if_match[0] == 0 || strcmp(if_match, "*") == 0)
        return true;
    snprintf(tag, sizeof(tag), "\"%llu\"", (unsigned long long)version);
    for (const char *p = if_match; *p != 0;) {
        size_t n;

        p += strspn(p, " ,\t");
        n = strcspn(p, " ,\t");
        if (n == strlen(tag) && memcmp(p, tag, n) == 0)
            return true;
        p += n;
    }
    return false;
}

bool admin_may_change(struct admin_call *c, const char *what, const char *unknown,
                      uint64_t version)
{
    bool is_put = strcmp(c->q->method, "PUT") == 0;

    if (version == 0 && !is_put)
        admin_problem(c->a, 404, unknown, "no %s %s", what, c->name);
    else if (c->q->if_match[0] != 0 && (version == 0 || !matches(c->q->if_match, version)))
        admin_problem(c->a, 412, "conflict", "%s %s was changed meanwhile, it is at version %llu now: "
                      "look at it again", what, c->name, (unsigned long long)version);
    else if (is_put && version != 0 && strcmp(c->q->if_none_match, "*") == 0)
        admin_problem(c->a, 412, "conflict", "%s %s exists already; PATCH changes it (segqctl %s set)",
                      what, c->name, what);
    else
        return true;
    return false;
}

/* `version` is ours, not the table's: what was read may be written back as it is. The
 * name may be left out. */
static int fit_body(struct cfg_node *doc, const char *key, const char *name, struct err *e)
{
    struct cfg_node *n = cfg_node_get(doc, key);

    if (doc->kind != CFG_NODE_MAP)
        return err_set(e, SQ_EINVAL, "the body must be a JSON object");
    for (size_t i = 0; i < doc->n_kids; i++)
        if (strcmp(doc->kid[i]->key, "version") == 0) {
            cfg_node_free(doc->kid[i]);
            memmove(&doc->kid[i], &doc->kid[i + 1],
                    (doc->n_kids - i - 1) * sizeof(doc->kid[0]));
            doc->n_kids--;
            break;
        }
    if (n != NULL && (n->text == NULL || strcmp(n->text, name) != 0))
        return err_set(e, SQ_EINVAL, "%s: differs from the one in the path", key);
    return 0;
}

int admin_read_def(struct admin_call *c, void *def, size_t size, const struct cfg_key *keys,
                   const void *old, struct err *e)
{
    char set[ADMIN_NAME_MAX + 16];
    struct cfg_node *doc = NULL;
    int rc = cfg_parse_json(&doc, (const char *)c->q->body, c->q->body_len, e);

    assert(keys[0].type == CFG_NAME || keys[0].type == CFG_STR);
    if (rc == 0)
        rc = fit_body(doc, keys[0].key, c->name, e);
    if (rc == 0 && old != NULL) {
        if (cfg_copy(def, size, keys, old) < 0)
            rc = err_set(e, SQ_ENOMEM, "out of memory");
        else
            rc = cfg_patch(def, size, keys, doc, NULL, e);
    } else if (rc == 0) {
        snprintf(set, sizeof(set), "%s=%s", keys[0].key, c->name);
        rc = cfg_set(doc, keys, set, e);
        if (rc == 0) {
            struct cfg_node *name = cfg_node_get(doc, keys[0].key);

            name->line = CFG_LINE_JSON; /* for errors: it came in the path, not by --set */
            name->quoted = true;
            rc = cfg_bind(def, size, keys, doc, NULL, e);
        }
    }
    cfg_node_free(doc);
    return rc;
}

/* cfg_load.c: the usual start: a file, then --set KEY=VALUE on top of it.
 *   node=r1               a key            idle.game=3s          a key of a map
 *   managers=a:1,b:2      a list of texts  queues.0.merge=false  an entry by number
 *   queues.login.merge=false               ... or by its name
 *   limits=[{metric: cpu}] anything else: as YAML
 *
 * What a table cannot say (names that differ, a key that needs another) is looked at in the
 * finished struct, which knows no lines; but the sentence begins with the keys that lead there:
 * "queue login: page: accent ...", "limits.2: ...". cfg_where() follows them as far as they go. */
#include "common/config/cfg_load.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>

#include "common/base/buf.h"
#include "common/base/text.h"
#include "common/config/cfg_bind.h"

/* ---- YAML text to nodes ---- */

struct reader {
    yaml_parser_t parser;
    const char *file;
    struct err *e;
};

static int refuse(struct reader *r, int line, const char *what)
{
    return err_set(r->e, SQ_EINVAL, "%s:%d: %s", r->file, line, what);
}

static int next(struct reader *r, yaml_event_t *ev)
{
    int line;

    if (yaml_parser_parse(&r->parser, ev))
        return 0;
    line = (int)r->parser.problem_mark.line + 1;
    return err_set(r->e, SQ_EINVAL, "%s:%d: %s", r->file, line,
                   r->parser.problem != NULL ? r->parser.problem : "not YAML");
}

static int yaml_line(const yaml_event_t *ev)
{
    return (int)ev->start_mark.line + 1;
}

static int scalar(struct reader *r, const yaml_event_t *ev, struct cfg_node **out)
{
    bool bad;

    if (ev->data.scalar.anchor != NULL)
        return refuse(r, yaml_line(ev), "anchors (&name) are not allowed");
    if (ev->data.scalar.tag != NULL)
        return refuse(r, yaml_line(ev), "tags (!name) are not allowed");
    *out = cfg_node_text((const char *)ev->data.scalar.value, ev->data.scalar.length,
                         yaml_line(ev), &bad);
    if (*out == NULL)
        return bad ? refuse(r, yaml_line(ev), "a NUL or text that is not UTF-8")
                   : err_set(r->e, SQ_ENOMEM, "%s", r->file);
    (*out)->quoted = ev->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    return 0;
}

static int value(struct reader *r, yaml_event_t *ev, unsigned depth, struct cfg_node **out);

static int add(struct reader *r, struct cfg_node *parent, struct cfg_node *kid, const char *key)
{
    int line = kid->line, rc = cfg_node_add(parent, kid, key);

    if (rc == SQ_ETOOBIG)
        return refuse(r, line, "too many members");
    return rc < 0 ? err_set(r->e, rc, "%s", r->file) : 0;
}

static int sequence(struct reader *r, unsigned depth, struct cfg_node *list)
{
    for (;;) {
        struct cfg_node *kid = NULL;
        yaml_event_t ev;
        int rc = next(r, &ev);

        if (rc < 0)
            return rc;
        if (ev.type == YAML_SEQUENCE_END_EVENT) {
            yaml_event_delete(&ev);
            return 0;
        }
        rc = value(r, &ev, depth, &kid);
        if (rc == 0)
            rc = add(r, list, kid, NULL);
        if (rc < 0)
            return rc;
    }
}

/* Reads a `key: value`; *end if the map was over instead. */
static int yaml_member(struct reader *r, unsigned depth, struct cfg_node *map, bool *end)
{
    struct cfg_node *key = NULL, *kid = NULL;
    yaml_event_t ev;
    int rc = next(r, &ev);

    if (rc < 0)
        return rc;
    *end = ev.type == YAML_MAPPING_END_EVENT;
    if (!*end && ev.type != YAML_SCALAR_EVENT)
        rc = refuse(r, yaml_line(&ev), "a key must be a plain word");
    else if (!*end)
        rc = scalar(r, &ev, &key);
    yaml_event_delete(&ev);
    if (rc < 0 || *end)
        return rc;
    if (cfg_node_get(map, key->text) != NULL)
        rc = err_set(r->e, SQ_EINVAL, "%s:%d: key \"%.64s\" appears twice", r->file,
                     key->line, key->text);
    rc = rc
        ?: next(r, &ev)
        ?: value(r, &ev, depth, &kid)
        ?: add(r, map, kid, key->text);
    cfg_node_free(key);
    return rc;
}

static int mapping(struct reader *r, unsigned depth, struct cfg_node *map)
{
    bool end = false;
    int rc = 0;

    while (rc == 0 && !end)
        rc = yaml_member(r, depth, map, &end);
    return rc;
}

static int collection(struct reader *r, const yaml_event_t *ev, unsigned depth,
                      struct cfg_node **out)
{
    bool map = ev->type == YAML_MAPPING_START_EVENT;
    struct cfg_node *node;
    int rc;

    if (depth >= CFG_MAX_DEPTH)
        return refuse(r, yaml_line(ev), "nested too deep");
    if ((map ? ev->data.mapping_start.anchor : ev->data.sequence_start.anchor) != NULL)
        return refuse(r, yaml_line(ev), "anchors (&name) are not allowed");
    if ((map ? ev->data.mapping_start.tag : ev->data.sequence_start.tag) != NULL)
        return refuse(r, yaml_line(ev), "tags (!name) are not allowed");
    node = cfg_node_new(map ? CFG_NODE_MAP : CFG_NODE_LIST, yaml_line(ev));
    if (node == NULL)
        return err_set(r->e, SQ_ENOMEM, "%s", r->file);
    rc = map ? mapping(r, depth + 1, node) : sequence(r, depth + 1, node);
    if (rc < 0) {
        cfg_node_free(node);
        return rc;
    }
    *out = node;
    return 0;
}

/* Takes the event. */
static int value(struct reader *r, yaml_event_t *ev, unsigned depth, struct cfg_node **out)
{
    int rc;

    switch (ev->type) {
    case YAML_SCALAR_EVENT:
        rc = scalar(r, ev, out);
        break;
    case YAML_MAPPING_START_EVENT:
    case YAML_SEQUENCE_START_EVENT:
        rc = collection(r, ev, depth, out);
        break;
    case YAML_ALIAS_EVENT:
        rc = refuse(r, yaml_line(ev), "aliases (*name) are not allowed");
        break;
    default:
        rc = refuse(r, yaml_line(ev), "a value is missing here");
    }
    yaml_event_delete(ev);
    return rc;
}

/* Skips an event that must be there; what else came is refused. */
static int expect(struct reader *r, yaml_event_type_t want, const char *what)
{
    yaml_event_t ev;
    int rc = next(r, &ev);

    if (rc < 0)
        return rc;
    if (ev.type != want)
        rc = refuse(r, yaml_line(&ev), what);
    yaml_event_delete(&ev);
    return rc;
}

static int yaml_document(struct reader *r, struct cfg_node **out)
{
    yaml_event_t ev;
    int rc = expect(r, YAML_STREAM_START_EVENT, "not YAML");

    if (rc == 0)
        rc = next(r, &ev);
    if (rc < 0)
        return rc;
    if (ev.type == YAML_STREAM_END_EVENT) { /* nothing but comments: an empty map */
        yaml_event_delete(&ev);
        *out = cfg_node_new(CFG_NODE_MAP, 1);
        return *out != NULL ? 0 : err_set(r->e, SQ_ENOMEM, "%s", r->file);
    }
    yaml_event_delete(&ev); /* DOCUMENT-START: libyaml has nothing else here */
    return next(r, &ev)
        ?: value(r, &ev, 0, out)
        ?: expect(r, YAML_DOCUMENT_END_EVENT, "something follows the value")
        ?: expect(r, YAML_STREAM_END_EVENT, "only one document per file");
}

int cfg_parse_yaml(struct cfg_node **out, const char *text, size_t n, const char *file,
                   struct err *e)
{
    struct reader r = { .file = file != NULL ? file : "yaml", .e = e };
    int rc;

    *out = NULL;
    if (n > CFG_MAX_BYTES)
        return err_set(e, SQ_ETOOBIG, "%s: more than 1 MiB", r.file);
    if (!yaml_parser_initialize(&r.parser))
        return err_set(e, SQ_ENOMEM, "%s", r.file);
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, n);
    rc = yaml_document(&r, out);
    yaml_parser_delete(&r.parser);
    if (rc < 0) {
        cfg_node_free(*out);
        *out = NULL;
    }
    return rc;
}

static int read_all(int fd, struct buf *b, const char *file, struct err *e)
{
    for (;;) {
        uint8_t *p = buf_reserve(b, 65536);
        ssize_t k;

        if (p == NULL)
            return err_set(e, SQ_ENOMEM, "%s", file);
        k = read(fd, p, 65536);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return err_set(e, SQ_ESYS, "%s: %s", file, strerror(errno));
        if (k == 0)
            return 0;
        b->len += (size_t)k;
        if (b->len > CFG_MAX_BYTES)
            return err_set(e, SQ_ETOOBIG, "%s: more than 1 MiB", file);
    }
}

int cfg_parse_file(struct cfg_node **out, const char *file, struct err *e)
{
    struct buf b;
    int fd = open(file, O_RDONLY | O_CLOEXEC), rc;

    *out = NULL;
    if (fd < 0)
        return err_set(e, SQ_ESYS, "%s: %s", file, strerror(errno));
    buf_init(&b);
    rc = read_all(fd, &b, file, e);
    close(fd);
    if (rc == 0)
        rc = cfg_parse_yaml(out, (const char *)b.data, b.len, file, e);
    buf_fini(&b);
    return rc;
}

/* ---- the usual start ---- */

#define LETTERS "abcdefghijklmnopqrstuvwxyz0123456789_-"

/* ---- the place in a document ---- */

static bool is_called(const struct cfg_node *entry, const char *word, size_t n)
{
    static const char *const names[] = { "name", "kid", "metric", "lang" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const struct cfg_node *k = cfg_node_get(entry, names[i]);

        if (k != NULL && k->text != NULL && strlen(k->text) == n &&
            memcmp(k->text, word, n) == 0)
            return true;
    }
    return false;
}

/* By its name, the last one (the first is the right one of two that are the same); or by
 * number. */
static struct cfg_node *entry(const struct cfg_node *list, const char *word, size_t n)
{
    char *end;
    unsigned long no = strtoul(word, &end, 10);

    for (size_t i = list->n_kids; i > 0; i--)
        if (is_called(list->kid[i - 1], word, n))
            return list->kid[i - 1];
    return end == word + n && no < list->n_kids ? list->kid[no] : NULL;
}

/* A member, made if it is not there; NULL: no memory. */
static struct cfg_node *made_member(struct cfg_node *map, const struct cfg_key *k)
{
    struct cfg_node *n = cfg_node_get(map, k->key);

    if (n != NULL)
        return n;
    n = cfg_node_new(k->type == CFG_OBJS ? CFG_NODE_LIST : CFG_NODE_MAP, CFG_LINE_SET);
    return cfg_node_add(map, n, k->key) == 0 ? n : NULL;
}

/* An entry of a list; the number behind the last adds one. */
static struct cfg_node *made_entry(struct cfg_node *list, const char *word, size_t n)
{
    struct cfg_node *kid;
    char *end;

    if (list->kind != CFG_NODE_LIST || n == 0)
        return NULL;
    kid = entry(list, word, n);
    if (kid != NULL || strtoul(word, &end, 10) != list->n_kids || end != word + n)
        return kid;
    kid = cfg_node_new(CFG_NODE_MAP, CFG_LINE_SET);
    return cfg_node_add(list, kid, NULL) == 0 ? kid : NULL;
}

/* ---- --set ---- */

static struct cfg_node *text_node(const char *s, size_t n)
{
    bool bad;

    return cfg_node_text(s, n, CFG_LINE_SET, &bad);
}

static struct cfg_node *list_node(const char *s)
{
    struct cfg_node *list = cfg_node_new(CFG_NODE_LIST, CFG_LINE_SET);

    while (list != NULL && *s != 0) {
        size_t n = strcspn(s, ",");

        if (cfg_node_add(list, text_node(s, n), NULL) < 0) {
            cfg_node_free(list);
            return NULL;
        }
        s += n + (s[n] == ',');
    }
    return list;
}

static int value_node(struct cfg_node **out, const struct cfg_key *k, const char *value,
                      struct err *e)
{
    if (k->sub != NULL)
        return cfg_parse_yaml(out, value, strlen(value), "--set", e);
    *out = k->type == CFG_STRS ? list_node(value) : text_node(value, strlen(value));
    return *out != NULL ? 0 : err_set(e, SQ_EINVAL, "--set %s: not UTF-8", k->key);
}

/* In place of the member that is there. */
static int put(struct cfg_node *map, const struct cfg_key *k, const char *value,
               struct err *e)
{
    struct cfg_node *n, *old = cfg_node_get(map, k->key);
    int rc = value_node(&n, k, value, e);

    if (rc < 0)
        return rc;
    if (cfg_node_add(map, n, k->key) < 0)
        return err_set(e, SQ_ENOMEM, "--set");
    for (size_t i = 0; old != NULL && i < map->n_kids; i++)
        if (map->kid[i] == old) {
            map->kid[i] = map->kid[--map->n_kids];
            cfg_node_free(old);
            break;
        }
    return 0;
}

static int unknown_key(struct err *e, const struct cfg_key *keys, const char *set, const char *p, size_t n)
{
    char typed[64];
    struct near near;

    snprintf(typed, sizeof(typed), "%.*s", n < sizeof(typed) ? (int)n : (int)sizeof(typed), p);
    near = near_to(typed);
    cfg_each_key(k, keys)
        near_try(&near, k->key);
    return err_set(e, SQ_EINVAL, "--set %.80s: unknown key \"%s\"%s%s%s", set, typed,
                   near.name != NULL ? "; did you mean " : "", near.name != NULL ? near.name : "",
                   near.name != NULL ? "?" : "");
}

int cfg_set(struct cfg_node *doc, const struct cfg_key *keys, const char *set, struct err *e)
{
    const char *eq = strchr(set, '=');
    const char *p = set;

    assert(doc != NULL && keys != NULL);
    if (eq == NULL)
        return err_set(e, SQ_EINVAL, "--set %.80s: write KEY=VALUE", set);
    for (;;) {
        size_t n = strcspn(p, ".=");
        const struct cfg_key *k = cfg_find_name(keys, p, n);

        if (k == NULL)
            return unknown_key(e, keys, set, p, n);
        if (doc->kind != CFG_NODE_MAP)
            return err_set(e, SQ_EINVAL, "--set %.80s: the value there is not a map", set);
        p += n;
        if (p == eq)
            return put(doc, k, eq + 1, e);
        if (k->sub == NULL)
            return err_set(e, SQ_EINVAL, "--set %.80s: %s has no members", set, k->key);
        doc = made_member(doc, k);
        p++;
        if (doc != NULL && k->type == CFG_OBJS) {
            n = strcspn(p, ".=");
            doc = p[n] == '.' ? made_entry(doc, p, n) : NULL;
            p += n + 1;
        }
        if (doc == NULL)
            return err_set(e, SQ_EINVAL, "--set %.80s: no such entry in %s", set, k->key);
        keys = k->sub;
    }
}

static int document(struct cfg_node **doc, const struct cfg_key *keys, const char *file,
                    const char *const *sets, size_t n_sets, struct err *e)
{
    int rc = 0;

    *doc = NULL;
    if (file != NULL)
        rc = cfg_parse_file(doc, file, e);
    else if ((*doc = cfg_node_new(CFG_NODE_MAP, 0)) == NULL)
        rc = err_set(e, SQ_ENOMEM, "out of memory");
    if (rc == 0 && (*doc)->kind != CFG_NODE_MAP)
        rc = err_set(e, SQ_EINVAL, "%s: must be a map (key: value)", file);
    for (size_t i = 0; rc == 0 && i < n_sets; i++)
        rc = cfg_set(*doc, keys, sets[i], e);
    return rc;
}

int cfg_load(void *dst, size_t size, const struct cfg_key *keys, const char *file,
             const char *const *sets, size_t n_sets, struct err *e)
{
    struct cfg_node *doc;
    int rc = document(&doc, keys, file, sets, n_sets, e);

    if (rc == 0)
        rc = cfg_bind(dst, size, keys, doc, file, e);
    cfg_node_free(doc);
    return rc;
}

/* ---- the line of a sentence ---- */

/* A member, also by the singular of its name: "queue" of queues. */
static const struct cfg_node *member(const struct cfg_node *map, const char *word, size_t n)
{
    char key[80];
    const struct cfg_node *k;

    snprintf(key, sizeof(key), "%.*ss", (int)n, word);
    k = cfg_node_get(map, key);
    key[strlen(key) - 1] = 0;
    return k == NULL ? cfg_node_get(map, key) : k;
}

static int line_of(const struct cfg_node *at, const char *text)
{
    int line = 0;

    for (const char *p = text + strcspn(text, LETTERS); *p != 0; p += strcspn(p, LETTERS)) {
        size_t n = strspn(p, LETTERS);

        if (n < 64 && at->kind == CFG_NODE_MAP)
            at = member(at, p, n);
        else if (n < 64 && at->kind == CFG_NODE_LIST)
            at = entry(at, p, n);
        else
            break;
        if (at == NULL)
            break;
        line = at->line;
        p += n;
    }
    return line;
}

void cfg_where(struct err *e, const struct cfg_key *keys, const char *file,
               const char *const *sets, size_t n_sets)
{
    struct cfg_node *doc;
    struct err other = { 0 };
    int rc = document(&doc, keys, file, sets, n_sets, &other), line = rc == 0 ? line_of(doc, e->text) : 0;

    cfg_node_free(doc);
    if (line > 0)
        err_wrap(e, "%s:%d", file, line);
    else if (line == CFG_LINE_SET)
        err_wrap(e, "--set");
    else if (file != NULL)
        err_wrap(e, "%s", file);
}

/* cfg_yaml.c: YAML text to nodes; the only user of libyaml. Its event interface, since
 * that expands no aliases. Refused: aliases, anchors, tags, several documents, maps with
 * other than plain keys, duplicate keys, depth over 16, more than 1 MiB. */

#include "common/config/cfg_yaml.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>

#include "common/base/buf.h"

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

static int line_of(const yaml_event_t *ev)
{
    return (int)ev->start_mark.line + 1;
}

static int scalar(struct reader *r, const yaml_event_t *ev, struct cfg_node **out)
{
    bool bad;

    if (ev->data.scalar.anchor != NULL)
        return refuse(r, line_of(ev), "anchors (&name) are not allowed");
    if (ev->data.scalar.tag != NULL)
        return refuse(r, line_of(ev), "tags (!name) are not allowed");
    *out = cfg_node_text((const char *)ev->data.scalar.value, ev->data.scalar.length,
                         line_of(ev), &bad);
    if (*out == NULL)
        return bad ? refuse(r, line_of(ev), "a NUL or text that is not UTF-8")
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
static int member(struct reader *r, unsigned depth, struct cfg_node *map, bool *end)
{
    struct cfg_node *key = NULL, *kid = NULL;
    yaml_event_t ev;
    int rc = next(r, &ev);

    if (rc < 0)
        return rc;
    *end = ev.type == YAML_MAPPING_END_EVENT;
    if (!*end && ev.type != YAML_SCALAR_EVENT)
        rc = refuse(r, line_of(&ev), "a key must be a plain word");
    else if (!*end)
        rc = scalar(r, &ev, &key);
    yaml_event_delete(&ev);
    if (rc < 0 || *end)
        return rc;
    if (cfg_node_get(map, key->text) != NULL)
        rc = err_set(r->e, SQ_EINVAL, "%s:%d: key \"%.64s\" appears twice", r->file,
                     key->line, key->text);
    if (rc == 0)
        rc = next(r, &ev);
    if (rc == 0)
        rc = value(r, &ev, depth, &kid);
    if (rc == 0)
        rc = add(r, map, kid, key->text);
    cfg_node_free(key);
    return rc;
}

static int mapping(struct reader *r, unsigned depth, struct cfg_node *map)
{
    bool end = false;
    int rc = 0;

    while (rc == 0 && !end)
        rc = member(r, depth, map, &end);
    return rc;
}

static int collection(struct reader *r, const yaml_event_t *ev, unsigned depth,
                      struct cfg_node **out)
{
    bool map = ev->type == YAML_MAPPING_START_EVENT;
    struct cfg_node *node;
    int rc;

    if (depth >= CFG_MAX_DEPTH)
        return refuse(r, line_of(ev), "nested too deep");
    if ((map ? ev->data.mapping_start.anchor : ev->data.sequence_start.anchor) != NULL)
        return refuse(r, line_of(ev), "anchors (&name) are not allowed");
    if ((map ? ev->data.mapping_start.tag : ev->data.sequence_start.tag) != NULL)
        return refuse(r, line_of(ev), "tags (!name) are not allowed");
    node = cfg_node_new(map ? CFG_NODE_MAP : CFG_NODE_LIST, line_of(ev));
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
        rc = refuse(r, line_of(ev), "aliases (*name) are not allowed");
        break;
    default:
        rc = refuse(r, line_of(ev), "a value is missing here");
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
        rc = refuse(r, line_of(&ev), what);
    yaml_event_delete(&ev);
    return rc;
}

static int document(struct reader *r, struct cfg_node **out)
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
    rc = next(r, &ev);
    if (rc == 0)
        rc = value(r, &ev, 0, out);
    if (rc == 0)
        rc = expect(r, YAML_DOCUMENT_END_EVENT, "something follows the value");
    if (rc == 0)
        rc = expect(r, YAML_STREAM_END_EVENT, "only one document per file");
    return rc;
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
    rc = document(&r, out);
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

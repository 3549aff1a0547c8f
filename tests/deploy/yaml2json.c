/* yaml2json.c: reads YAML, writes an array with one JSON value per document. For tests, whose
 * Python has no YAML. Merge keys (<<) are merged, as compose files want it; a key that is
 * given twice is an error, as it is a mistake in every file of ours. */
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

static const char *file;

static void die(const yaml_node_t *n, const char *what)
{
    fprintf(stderr, "%s:%zu: %s\n", file, n->start_mark.line + 1, what);
    exit(1);
}

static json_t *value(yaml_document_t *d, const yaml_node_t *n);

static bool is_one_of(const char *s, const char *const *names)
{
    while (*names != NULL && strcmp(s, *names) != 0)
        names++;
    return *names != NULL;
}

/* A plain scalar: null, a truth, a number, else a text. */
static json_t *scalar(const yaml_node_t *n)
{
    static const char *const none[] = { "", "~", "null", NULL };
    static const char *const yes[] = { "true", "True", NULL };
    static const char *const no[] = { "false", "False", NULL };
    const char *s = (const char *)n->data.scalar.value;
    char *end;
    long long i;
    double f;

    if (n->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return json_string(s);
    if (is_one_of(s, none))
        return json_null();
    if (is_one_of(s, yes) || is_one_of(s, no))
        return json_boolean(is_one_of(s, yes));
    i = strtoll(s, &end, s[0] == '0' && s[1] != 0 ? 8 : 10); /* 0400: a file's mode */
    if (*end == 0)
        return json_integer(i);
    f = strtod(s, &end);
    return *end == 0 ? json_real(f) : json_string(s);
}

/* What the mapping does not say itself it takes from the ones it refers to. */
static void merge(json_t *into, json_t *from)
{
    size_t i;
    json_t *one;

    if (json_is_array(from)) {
        json_array_foreach (from, i, one)
            json_object_update_missing(into, one);
    } else {
        json_object_update_missing(into, from);
    }
    json_decref(from);
}

static json_t *mapping(yaml_document_t *d, const yaml_node_t *n)
{
    json_t *o = json_object(), *from = NULL;

    for (yaml_node_pair_t *p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top;
         p++) {
        const yaml_node_t *k = yaml_document_get_node(d, p->key);
        const char *key = (const char *)k->data.scalar.value;
        json_t *v = value(d, yaml_document_get_node(d, p->value));

        if (k->type != YAML_SCALAR_NODE)
            die(k, "a key that is no text");
        if (strcmp(key, "<<") == 0)
            from = v;
        else if (json_object_get(o, key) != NULL)
            die(k, "this key is given twice");
        else
            json_object_set_new(o, key, v);
    }
    if (from != NULL)
        merge(o, from);
    return o;
}

static json_t *value(yaml_document_t *d, const yaml_node_t *n)
{
    json_t *a;

    if (n->type == YAML_SCALAR_NODE)
        return scalar(n);
    if (n->type == YAML_MAPPING_NODE)
        return mapping(d, n);
    a = json_array();
    for (yaml_node_item_t *i = n->data.sequence.items.start; i < n->data.sequence.items.top;
         i++)
        json_array_append_new(a, value(d, yaml_document_get_node(d, *i)));
    return a;
}

/* The next document appended to all; false at the end of the file. */
static bool next_document(yaml_parser_t *p, json_t *all)
{
    yaml_document_t d;
    bool more;

    if (!yaml_parser_load(p, &d)) {
        fprintf(stderr, "%s:%zu: %s\n", file, p->problem_mark.line + 1, p->problem);
        exit(1);
    }
    more = yaml_document_get_root_node(&d) != NULL;
    if (more)
        json_array_append_new(all, value(&d, yaml_document_get_root_node(&d)));
    yaml_document_delete(&d);
    return more;
}

int main(int argc, char **argv)
{
    yaml_parser_t p;
    json_t *all = json_array();
    FILE *f;

    file = argc == 2 ? argv[1] : "-";
    f = argc == 2 ? fopen(file, "r") : NULL;
    if (f == NULL) {
        fprintf(stderr, "usage: yaml2json FILE\n");
        return 2;
    }
    yaml_parser_initialize(&p);
    yaml_parser_set_input_file(&p, f);
    while (next_document(&p, all))
        ;
    yaml_parser_delete(&p);
    fclose(f);
    json_dumpf(all, stdout, JSON_INDENT(1));
    json_decref(all);
    return 0;
}

/* cfg_where.c: where in a file that stands which a sentence is about. What a table cannot
 * say (names that differ, a key that needs another) is looked at in the finished struct,
 * which knows no lines; but the sentence begins with the keys that lead there: "queue login:
 * page: accent ...", "limits.2: ...". They are followed as far as they go. */

#include "common/config/cfg_where.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/config/cfg_load.h"
#include "common/config/cfg_node.h"
#include "common/config/cfg_yaml.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyz0123456789_-"

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
static const struct cfg_node *entry(const struct cfg_node *list, const char *word, size_t n)
{
    char *end;
    unsigned long no = strtoul(word, &end, 10);

    for (size_t i = list->n_kids; i > 0; i--)
        if (is_called(list->kid[i - 1], word, n))
            return list->kid[i - 1];
    return end == word + n && no < list->n_kids ? list->kid[no] : NULL;
}

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
    struct cfg_node *doc = NULL;
    struct err other = { 0 };
    int line = 0, rc = file != NULL ? cfg_parse_file(&doc, file, &other) : SQ_EUNKNOWN;

    for (size_t i = 0; rc == 0 && i < n_sets; i++)
        rc = cfg_set(doc, keys, sets[i], &other);
    if (rc == 0)
        line = line_of(doc, e->text);
    cfg_node_free(doc);
    if (line > 0)
        err_wrap(e, "%s:%d", file, line);
    else if (line == CFG_LINE_SET)
        err_wrap(e, "--set");
    else if (file != NULL)
        err_wrap(e, "%s", file);
}

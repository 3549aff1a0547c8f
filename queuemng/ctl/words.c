/* words.c: see the header. */
#include "queuemng/ctl/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- KEY=VALUE ---- */

/* Reads a value; NULL if it opens a bracket or a quote and is not JSON. */
static json_t *value_of(const char *s, const struct cfg_key *k)
{
    bool text = k != NULL && (k->type == CFG_STR || k->type == CFG_NAME ||
                              k->type == CFG_ADDR || k->type == CFG_ENUM);
    json_t *v = text && *s != '"'
                    ? json_string(s)
                    : json_loads(s, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);

    if (v != NULL && !json_is_null(v))
        return v;
    json_decref(v);
    if (*s == '[' || *s == '{' || *s == '"')
        return NULL;
    return json_string(s);
}

/* The object that holds the last part of a dotted key; *last is that part. */
static json_t *parent_of(json_t *doc, char *key, char **last)
{
    char *part = key, *dot;

    while ((dot = strchr(part, '.')) != NULL) {
        json_t *kid;

        *dot = '\0';
        if (*part == '\0')
            return NULL;
        kid = json_object_get(doc, part);
        if (kid == NULL) {
            kid = json_object();
            if (json_object_set_new(doc, part, kid) < 0)
                return NULL;
        }
        if (!json_is_object(kid))
            return NULL;
        doc = kid;
        part = dot + 1;
    }
    *last = part;
    return *part != '\0' ? doc : NULL;
}

static int pair_add(json_t *doc, const char *word, const struct cfg_key *keys, struct err *e)
{
    const char *eq = strchr(word, '=');
    const struct cfg_key *k;
    char key[256], *last;
    json_t *parent, *v;

    if (eq == NULL || eq == word || (size_t)(eq - word) >= sizeof(key))
        return err_set(e, SQ_EINVAL, "'%.80s' is not KEY=VALUE", word);
    memcpy(key, word, (size_t)(eq - word));
    key[eq - word] = '\0';
    k = cfg_find(keys, key);
    parent = parent_of(doc, key, &last);
    if (parent == NULL)
        return err_set(e, SQ_EINVAL,
                       "'%.200s': the key has an empty part, or a part of it has "
                       "a value already",
                       word);
    if (json_object_get(parent, last) != NULL)
        return err_set(e, SQ_EINVAL, "'%.200s': the key has a value already", word);
    v = value_of(eq + 1, k);
    if (v == NULL)
        return err_set(e, SQ_EINVAL,
                       "'%.200s': the value looks like JSON and is not, or is not "
                       "UTF-8",
                       word);
    if (json_object_set_new(parent, last, v) < 0)
        return err_set(e, SQ_EINVAL, "'%.200s': the key is not UTF-8", word);
    return 0;
}

json_t *ctl_pairs(char *const *words, size_t n, const struct cfg_key *keys, struct err *e)
{
    json_t *doc = json_object();

    for (size_t i = 0; i < n; i++) {
        if (pair_add(doc, words[i], keys, e) < 0) {
            json_decref(doc);
            return NULL;
        }
    }
    return doc;
}

bool ctl_number(const char *s, double *out)
{
    char *end;

    if (*s < '0' || *s > '9')
        return false;
    *out = strtod(s, &end);
    return *end == '\0' && *out >= 0 && *out <= 1e12;
}

static json_t *one_tier(const char *word)
{
    const char *colon = strchr(word, ':');
    double below, rate;
    char left[40];

    if (colon == NULL || (size_t)(colon - word) >= sizeof(left))
        return NULL;
    memcpy(left, word, (size_t)(colon - word));
    left[colon - word] = '\0';
    if (!ctl_number(left, &below) || !ctl_number(colon + 1, &rate))
        return NULL;
    return json_pack("{s:f,s:f}", "below", below, "rate_per_s", rate);
}

json_t *ctl_tiers(char *const *words, size_t n, struct err *e)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++) {
        json_t *t = one_tier(words[i]);

        if (t == NULL) {
            json_decref(list);
            (void)!err_set(e, SQ_EINVAL,
                           "'%.60s' is no tier; a tier is BELOW:RATE, for example 50:2000",
                           words[i]);
            return NULL;
        }
        json_array_append_new(list, t);
    }
    return list;
}


/* tokens.c: the file of tokens, read and written; patterns. */
#include "queuemng/access/tokens.h"

#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/file.h"
#include "queuemng/policy/schedule.h"

#define FILE_BYTES   (1u << 20)
#define TOKEN_BYTES  32
#define PATTERNS_MAX 200
#define PATTERN_MAX  200

const char *const role_words[] = { "viewer", "operator", "admin", NULL };

#define K(key_, field) .key = #key_, .offset = offsetof(struct access_token, field)
const struct cfg_key access_keys[] = {
    { K(name, name), .type = CFG_NAME, .help = "who has the token; the log of changes names it" },
    { K(role, role_no), .type = CFG_ENUM, .words = role_words,
      .help = "viewer: looks; operator: pause, rate, message, redrive, drain; admin: all" },
    { K(hash, hash), .type = CFG_STR, .def = "", .max = 4000, /* refused without being told */
      .help = "sha256: and the SHA-256 of the token, in hexadecimal; segqctl token add writes it" },
    { K(user, user), .type = CFG_STR, .def = "", .max = PERSON_MAX,
      .help = "in place of hash: whom a proxy (admin_trusted_proxies) has signed in, by X-Forwarded-User" },
    { K(email, email), .type = CFG_STR, .def = "", .max = PERSON_MAX,
      .help = "in place of hash: the same by X-Forwarded-Email" },
    { K(group, group), .type = CFG_STR, .def = "", .max = PERSON_MAX,
      .help = "in place of hash: the same, all in this group of X-Forwarded-Groups" },
    { K(until, until), .type = CFG_STR, .def = "", .max = 40,
      .help = "its end, like 2027-01-31T20:00:00+01:00; \"\": none" },
    { K(queues, queues), .type = CFG_STRS, .min = 0, .max = PATTERNS_MAX,
      .help = "queues of people, as patterns: [shop, \"login-*\"]; [\"*\"]: all; []: none" },
    { K(pools, pools), .type = CFG_STRS, .min = 0, .max = PATTERNS_MAX,
      .help = "pools, task queues and endpoints, as patterns" },
    { .key = NULL },
};
static const struct cfg_key file_keys[] = {
    { "tokens", CFG_OBJS, offsetof(struct access_file, v), NULL, 0, TOKENS_MAX, true,
      "tokens of the admin API", 0, access_keys, sizeof(struct access_token) },
    { .key = NULL },
};

const char *role_word(enum role r)
{
    assert(r >= ROLE_VIEWER && r <= ROLE_ADMIN);
    return role_words[r - 1];
}

enum role role_of_word(const char *word)
{
    for (size_t i = 0; role_words[i] != NULL; i++)
        if (strcmp(role_words[i], word) == 0)
            return (enum role)(i + 1);
    return ROLE_NONE;
}

/* ---- patterns --------------------------------------------------------------------- */

/* Names have letters, digits and these; a star is the only other one that means something. */
static bool pattern_ok(const char *p)
{
    size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:*");

    return n > 0 && n <= PATTERN_MAX && p[n] == '\0';
}

/* Goes back to the last star only: what an earlier one took cannot help (R. Cox, "Glob Matching Can
 * Be Simple And Fast Too"). */
bool pattern_matches(const char *p, const char *s)
{
    const char *star = NULL, *again = s;

    while (*s != '\0') {
        if (*p == '*') {
            star = p++;
            again = s;
        } else if (*p == *s) {
            p++;
            s++;
        } else if (star != NULL) {
            p = star + 1;
            s = ++again;
        } else {
            return false;
        }
    }
    return p[strspn(p, "*")] == '\0';
}

bool patterns_match(const struct cfg_list *l, const char *text)
{
    for (size_t i = 0; i < l->n; i++)
        if (pattern_matches(((char **)l->v)[i], text))
            return true;
    return false;
}

bool patterns_match_all(const struct cfg_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(((char **)l->v)[i], "*") == 0)
            return true;
    return false;
}

/* ---- hashes ------------------------------------------------------------------------ */

void access_hash(const char *token, size_t n, char hash[TOKEN_HASH_CAP])
{
    uint8_t raw[crypto_hash_sha256_BYTES];

    crypto_hash_sha256(raw, (const uint8_t *)token, n);
    strcpy(hash, TOKEN_HASH);
    sodium_bin2hex(hash + strlen(TOKEN_HASH), 2 * sizeof(raw) + 1, raw, sizeof(raw));
}

static bool hash_ok(const char *h)
{
    return strlen(h) == TOKEN_HASH_CAP - 1 && strncmp(h, TOKEN_HASH, strlen(TOKEN_HASH)) == 0 &&
           strspn(h + strlen(TOKEN_HASH), "0123456789abcdef") == 64;
}

const struct access_token *access_find(const struct access_file *f, const char *token, size_t n)
{
    const struct access_token *v = f->v.v, *found = NULL;
    char hash[TOKEN_HASH_CAP];

    access_hash(token, n, hash);
    for (size_t i = 0; i < f->v.n; i++)
        if (v[i].hash[0] != '\0' && sodium_memcmp(v[i].hash, hash, TOKEN_HASH_CAP) == 0)
            found = &v[i];
    return found;
}

struct access_token *access_named(const struct access_file *f, const char *name)
{
    struct access_token *v = f->v.v;

    for (size_t i = 0; i < f->v.n; i++)
        if (strcmp(v[i].name, name) == 0)
            return &v[i];
    return NULL;
}

bool access_is_over(const struct access_token *t, int64_t wall_ms)
{
    int64_t until;

    return t->until[0] != '\0' && (schedule_parse(t->until, &until) < 0 || wall_ms >= until);
}

/* ---- people of a proxy ---------------------------------------------------------------- */

bool person_ok(const char *name)
{
    size_t n = strlen(name);

    for (size_t i = 0; i < n; i++)
        if (name[i] < ' ' || name[i] > '~')
            return false;
    return n > 0 && n <= PERSON_MAX && name[0] != ' ' && name[n - 1] != ' ';
}

/* A comma would make it two of the list. */
static bool group_ok(const char *name)
{
    size_t n = strlen(name);

    for (size_t i = 0; i < n; i++)
        if ((unsigned char)name[i] < ' ' || name[i] == ',' || name[i] == 0x7f)
            return false;
    return n > 0 && n <= PERSON_MAX && name[0] != ' ' && name[n - 1] != ' ';
}

static bool list_has(const char *list, const char *group)
{
    size_t n = strlen(group);

    for (const char *p = list; *p != '\0'; p += strcspn(p, ",")) {
        p += strspn(p, ", \t");
        if (strncmp(p, group, n) == 0 && strchr(",", p[n + strspn(p + n, " \t")]) != NULL)
            return true;
    }
    return false;
}

static bool is_same(const char *row, const char *said)
{
    return row[0] != '\0' && strcmp(row, said) == 0;
}

const struct access_token *access_of_person(const struct access_file *f, const struct access_person *p,
                                            int64_t wall_ms, const char **name,
                                            const struct access_token **ended)
{
    const struct access_token *v = f->v.v;
    const char *known = p->user[0] != '\0' ? p->user : p->email;

    *ended = NULL;
    for (size_t i = 0; i < 2 * f->v.n; i++) { /* first the person, then groups */
        const struct access_token *t = &v[i % f->v.n];
        bool by_group = i >= f->v.n, by_email = !by_group && is_same(t->email, p->email);

        if (by_group ? t->group[0] == '\0' || !person_ok(known) || !list_has(p->groups, t->group)
                     : !by_email && !is_same(t->user, p->user))
            continue;
        if (!access_is_over(t, wall_ms)) {
            *name = by_email ? p->email : known;
            return t;
        }
        *ended = t;
    }
    return NULL;
}

bool access_has_people(const struct access_file *f)
{
    const struct access_token *v = f->v.v;

    for (size_t i = 0; i < f->v.n; i++)
        if (v[i].hash[0] == '\0')
            return true;
    return false;
}

/* ---- reading ------------------------------------------------------------------------ */

static const char *const bearer_keys[] = { "hash", "user", "email", "group" };

static const char *bearer_text(const struct access_token *t, const char *key)
{
    const struct cfg_key *k = cfg_find(access_keys, key);

    return *(char *const *)((const char *)t + k->offset);
}

struct row_check {
    const struct cfg_node *row; /* node of the file; NULL: the row comes from a command line */
    const char *path;
    size_t i;
    struct err *e;
};

/* value: NULL is not told. A hash never is: a token that stands in its place would be in the log, and
 * in /healthz. */
static int refuse(const struct row_check *x, const char *key, const char *why, const char *value)
{
    const struct cfg_node *at = x->row != NULL ? cfg_node_get(x->row, key) : NULL;
    char said[70] = "";

    if (value != NULL)
        snprintf(said, sizeof(said), "'%.60s' ", value);
    if (x->row == NULL)
        return err_set(x->e, SQ_EINVAL, "%s: %s%s", key, said, why);
    return err_set(x->e, SQ_EINVAL, "%.200s:%d: tokens[%zu].%s: %s%s", x->path,
                   at != NULL ? at->line : x->row->line, x->i, key, said, why);
}

static int check_patterns(const struct row_check *x, const char *key, const struct cfg_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        if (!pattern_ok(((char **)l->v)[i]))
            return refuse(x, key, "is no pattern: letters, digits, . _ - / : of a name, and * for "
                          "any text", ((char **)l->v)[i]);
    return 0;
}

static int check_hash(const struct row_check *x, const char *hash)
{
    char empty[TOKEN_HASH_CAP];

    if (!hash_ok(hash))
        return refuse(x, "hash", "must be sha256: and 64 digits of 0-9a-f; segqctl token add writes it",
                      NULL);
    access_hash("", 0, empty);
    if (strcmp(hash, empty) == 0)
        return refuse(x, "hash", "is that of an empty text; segqctl token add makes a token", NULL);
    return 0;
}

#define ONE_OF "a row has one of hash (of a token), user, email, group (of a proxy)"

/* By what row i is known: by one thing, which no row before it has. */
static int check_bearer(const struct row_check *x, const struct access_file *f)
{
    const struct access_token *v = f->v.v, *t = &v[x->i];
    const char *found = NULL;

    for (size_t k = 0; k < ARRAY_LEN(bearer_keys); k++) {
        const char *key = bearer_keys[k], *value = bearer_text(t, key);
        bool is_hash = strcmp(key, "hash") == 0;

        if (value[0] == '\0')
            continue;
        if (found != NULL)
            return refuse(x, key, "is beside another: " ONE_OF, NULL);
        found = key;
        if (is_hash && check_hash(x, value) < 0)
            return SQ_EINVAL;
        if (!is_hash && !(strcmp(key, "group") == 0 ? group_ok(value) : person_ok(value)))
            return refuse(x, key, strcmp(key, "group") == 0
                                      ? "is no group: no comma, no control character, no blank at an end"
                                      : "must be printable ASCII, without a blank at an end: the proxy's "
                                        "header, letter for letter", value);
        for (size_t i = 0; i < x->i; i++)
            if (strcmp(bearer_text(&v[i], key), value) == 0)
                return is_hash ? refuse(x, key, "is there twice: each name needs a token of its own", NULL)
                               : refuse(x, key, "is there twice: the first row alone would count", value);
    }
    return found != NULL ? 0 : refuse(x, "hash", "is missing: " ONE_OF, NULL);
}

/* Checks what the table cannot say of row i; the rows before it are in order. */
static int check_row(const struct row_check *x, const struct access_file *f)
{
    const struct access_token *v = f->v.v, *t = &v[x->i];
    int64_t until;
    int rc;

    if (strcmp(t->name, TOKEN_ROOT) == 0)
        return refuse(x, "name", "is that of the token in admin_token_file", t->name);
    if (t->until[0] != '\0' && schedule_parse(t->until, &until) < 0)
        return refuse(x, "until", x->row != NULL
                                      ? "is no date and time with a zone, like 2027-01-31T20:00:00+01:00"
                                      : "is neither like 12h or 30d, nor a date and time with a zone, like "
                                        "2027-01-31T20:00:00+01:00", t->until);
    for (size_t i = 0; i < x->i; i++)
        if (strcmp(v[i].name, t->name) == 0)
            return refuse(x, "name", "is there twice: a name has one row", t->name);
    rc = check_bearer(x, f);
    if (rc == 0)
        rc = check_patterns(x, "queues", &t->queues);
    return rc < 0 ? rc : check_patterns(x, "pools", &t->pools);
}

static int check(const struct access_file *f, const struct cfg_node *doc, const char *path,
                 struct err *e)
{
    const struct cfg_node *list = cfg_node_get(doc, "tokens");
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < f->v.n; i++)
        rc = check_row(&(struct row_check){ list->kid[i], path, i, e }, f);
    return rc;
}

static int read_text(struct access_file *f, const char *text, size_t n, const char *path,
                     struct err *e)
{
    struct access_file fresh = { 0 };
    struct cfg_node *doc = NULL;
    int rc;

    if (strspn(text, " \t\r\n") == n)
        return err_set(e, SQ_EGONE, "%s:1: the file is empty; `tokens: []` is a file of none, "
                       "segqctl token add writes one", path);
    rc = cfg_parse_yaml(&doc, text, n, path, e)
        ?: cfg_bind(&fresh, sizeof(fresh), file_keys, doc, path, e)
        ?: check(&fresh, doc, path, e);
    cfg_node_free(doc);
    if (rc < 0) {
        access_clear(&fresh);
        return rc;
    }
    access_clear(f);
    *f = fresh;
    return 0;
}

int access_read(struct access_file *f, const char *path, struct err *e)
{
    char *text = malloc(FILE_BYTES + 1);
    int64_t n = text == NULL ? err_set(e, SQ_ENOMEM, "out of memory")
                             : file_read(path, FILE_SECRET, text, FILE_BYTES, NULL, e);

    if (n >= 0) {
        text[n] = '\0';
        n = read_text(f, text, (size_t)n, path, e);
    }
    free(text);
    return (int)n;
}

void access_clear(struct access_file *f)
{
    cfg_clear(f, file_keys);
}

/* ---- changes ------------------------------------------------------------------------ */

static bool has_key(const struct access_token *t, const char *key)
{
    for (size_t i = 0; i < ARRAY_LEN(bearer_keys); i++)
        if (strcmp(bearer_keys[i], key) == 0)
            return bearer_text(t, key)[0] != '\0';
    return true;
}

/* Leaves out what the row is not known by: a manager that is older than people of proxies would refuse the
 * whole file for their keys, also where it has rows of tokens alone, and a revoked one would stay good. */
static void put_row(struct buf *b, struct access_token *t, bool first)
{
    struct cfg_key keys[ARRAY_LEN(access_keys)], file[] = { file_keys[0], { .key = NULL } };
    const struct access_file one = { .v = { .v = t, .n = 1 } };
    struct buf text;
    size_t n = 0;

    cfg_each_key(k, access_keys)
        if (has_key(t, k->key))
            keys[n++] = *k;
    keys[n].key = NULL;
    file[0].sub = keys;
    buf_init(&text);
    cfg_dump_yaml(&text, &one, file);
    buf_byte(&text, '\0');
    if (text.failed)
        b->failed = true;
    else
        buf_str(b, (char *)text.data + (first ? 0 : strlen("tokens:\n")));
    buf_fini(&text);
}

int access_write(const struct access_file *f, const char *path, struct err *e)
{
    struct buf b;
    int rc;

    buf_init(&b);
    buf_str(&b, "# Written by segqctl token add and revoke: comments of your own are not kept.\n");
    for (size_t i = 0; i < f->v.n; i++)
        put_row(&b, (struct access_token *)f->v.v + i, i == 0);
    if (f->v.n == 0)
        cfg_dump_yaml(&b, f, file_keys);
    rc = b.failed ? err_set(e, SQ_ENOMEM, "out of memory") : file_replace(path, b.data, b.len, e);
    buf_fini(&b);
    return rc;
}

static void new_token(char token[TOKEN_CAP])
{
    uint8_t raw[TOKEN_BYTES];

    randombytes_buf(raw, sizeof(raw));
    strcpy(token, TOKEN_PREFIX);
    sodium_bin2base64(token + strlen(TOKEN_PREFIX), TOKEN_CAP - strlen(TOKEN_PREFIX), raw,
                      sizeof(raw), sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    sodium_memzero(raw, sizeof(raw));
}

static int set(struct access_token *t, const char *key, const char *value, struct err *e)
{
    const struct cfg_key *k = cfg_find(access_keys, key);
    struct buf allowed;
    int rc;

    if (cfg_is_list(k) && value[0] == '\0')
        return 0;
    rc = cfg_text_set(cfg_at(t, k), k, value, false);
    if (rc != SQ_EINVAL)
        return rc < 0 ? err_set(e, rc, "out of memory") : 0;
    buf_init(&allowed);
    cfg_allowed(&allowed, k);
    rc = err_set(e, SQ_EINVAL, "%s: '%.60s' is not allowed here; allowed: %.*s", key, value,
                 (int)allowed.len, allowed.failed ? "" : (const char *)allowed.data);
    buf_fini(&allowed);
    return rc;
}

static int add_row(struct access_file *f, const char *const keys[][2], size_t n_keys, struct err *e)
{
    struct access_token *v = realloc(f->v.v, (f->v.n + 1) * sizeof(*v)), *t;
    int rc = 0;

    if (v == NULL)
        return err_set(e, SQ_ENOMEM, "out of memory");
    f->v.v = v;
    if (f->v.n == TOKENS_MAX)
        return err_set(e, SQ_EFULL, "there are %d tokens already", TOKENS_MAX);
    t = &v[f->v.n];
    *t = (struct access_token){ 0 };
    for (size_t i = 0; rc == 0 && i < ARRAY_LEN(bearer_keys); i++)
        rc = set(t, bearer_keys[i], "", e);
    for (size_t i = 0; rc == 0 && i < n_keys; i++)
        rc = set(t, keys[i][0], keys[i][1], e);
    if (rc == 0)
        rc = check_row(&(struct row_check){ .i = f->v.n, .e = e }, f);
    if (rc == 0)
        f->v.n++;
    else
        cfg_clear(t, access_keys);
    return rc;
}

int access_add_people(struct access_file *f, const char *name, enum role role, const char *until,
                      const char *queues, const char *pools, const char *key, const char *value,
                      struct err *e)
{
    const char *const keys[][2] = { { "name", name }, { "role", role_word(role) },
                                    { "until", until }, { "queues", queues }, { "pools", pools },
                                    { key, value } };

    return add_row(f, keys, ARRAY_LEN(keys), e);
}

int access_add(struct access_file *f, const char *name, enum role role, const char *until,
               const char *queues, const char *pools, char token[TOKEN_CAP], struct err *e)
{
    char hash[TOKEN_HASH_CAP];

    new_token(token);
    access_hash(token, strlen(token), hash);
    return access_add_people(f, name, role, until, queues, pools, "hash", hash, e);
}

void access_remove(struct access_file *f, struct access_token *t)
{
    struct access_token *end = (struct access_token *)f->v.v + f->v.n;

    cfg_clear(t, access_keys);
    memmove(t, t + 1, (size_t)((char *)end - (char *)(t + 1)));
    f->v.n--;
}

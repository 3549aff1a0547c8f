/* rights.c: see rights.h. */
#include "router/task_api/rights.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/task/call.h"
#include "common/task/rules.h"

/* ---- tenants: words of a row -------------------------------------------------------------- */

static const char *read_key(struct tenant *t, const char *value)
{
    if (!task_key_ok(slice_of(value)))
        return "key= must be one or two levels (a/b), each of 1 to 64 visible ASCII characters";
    strcpy(t->key, value);
    return NULL;
}

/* A whole number up to `most`; -1: it is none. */
static long number(const char *value, long most)
{
    char *end;
    long v = strtol(value, &end, 10);

    return value[0] >= '0' && value[0] <= '9' && *end == '\0' && v <= most ? v : -1;
}

static const char *read_priority(struct tenant *t, const char *value)
{
    long v = number(value, TASK_PRIORITIES - 1);

    t->priority = (uint8_t)v;
    return v >= 0 ? NULL : "priority= must be a whole number from 0 to 7";
}

static const char *read_wait(struct tenant *t, const char *value)
{
    long v = number(value, TENANT_WAIT_MOST);

    t->wait_s = (uint16_t)v;
    return v > 0 ? NULL : "wait= must be whole seconds, from 1 to 3600";
}

static const char *read_cost(struct tenant *t, const char *value)
{
    long v = number(value, TASK_COST_MAX);

    t->cost = (uint32_t)v;
    return v > 0 ? NULL : "cost= must be a whole number from 1 to 1000000000";
}

static const char *read_paths(struct tenant *t, const char *value)
{
    static const char wrong[] =
        "paths= must be paths (/v1/chat/completions) or their beginnings (/v1/*), with commas between";
    const char *at = value;

    if (strlen(value) >= sizeof(t->paths))
        return "paths= is longer than 511 characters";
    do {
        size_t n = strcspn(at, ","), stars = n > 0 && at[n - 1] == '*';

        if (call_path_wrong(at, n - stars) != NULL || memchr(at, '?', n) != NULL ||
            memchr(at, '*', n - stars) != NULL)
            return wrong;
        at += n;
    } while (*at++ == ',');
    strcpy(t->paths, value);
    return NULL;
}

static const struct {
    const char *name;
    const char *(*read)(struct tenant *t, const char *value);
} tenant_words[] = { { "key", read_key },
                     { "priority", read_priority },
                     { "paths", read_paths },
                     { "wait", read_wait },
                     { "cost", read_cost } };

const char *tenant_read(struct tenant *t, char *text)
{
    unsigned seen = 0;
    char *rest = NULL;

    *t = (struct tenant){ .wait_s = TENANT_WAIT_S };
    for (char *w = strtok_r(text, " \t\r", &rest); w != NULL; w = strtok_r(NULL, " \t\r", &rest)) {
        size_t n = strcspn(w, "="), i = 0;
        const char *why;

        while (i < ARRAY_LEN(tenant_words) && (strlen(tenant_words[i].name) != n || memcmp(tenant_words[i].name, w, n) != 0))
            i++;
        if (i == ARRAY_LEN(tenant_words) || w[n] != '=')
            return "behind the queues key=, priority=, paths=, wait= and cost= may stand, of a tenant, and "
                   "nothing else";
        if ((seen >> i & 1) != 0)
            return "a word behind the queues stands twice";
        seen |= 1u << i;
        why = tenant_words[i].read(t, w + n + 1);
        if (why != NULL)
            return why;
    }
    return seen != 0 && t->key[0] == '\0' ? "priority=, paths=, wait= and cost= are a tenant's: key= is missing"
                                           : NULL;
}

/* ---- what it may ------------------------------------------------------------------------- */

bool tenant_may_call(const struct tenant *t, struct slice path)
{
    const char *mark = memchr(path.p, '?', path.n), *at = t->paths;

    if (*at == '\0')
        return true;
    if (mark != NULL)
        path.n = (size_t)(mark - path.p);
    do {
        size_t n = strcspn(at, ","), stars = at[n - 1] == '*';

        if ((stars ? path.n >= n - 1 : path.n == n) && memcmp(path.p, at, n - stars) == 0)
            return true;
        at += n;
    } while (*at++ == ',');
    return false;
}

bool tenant_bears(const struct tenant *t, int64_t cost)
{
    return t == NULL || t->cost == 0 || cost <= (int64_t)t->cost;
}

/* A text of the tenant becomes 32 digits that no other's become; every router must make the same, in
 * every release. */
static void scope(const struct tenant *t, struct slice *text, char out[33])
{
    crypto_generichash_state s;
    uint8_t hash[16];

    if (text->n == 0)
        return;
    crypto_generichash_init(&s, NULL, 0, sizeof(hash));
    crypto_generichash_update(&s, (const uint8_t *)t->key, strlen(t->key) + 1);
    crypto_generichash_update(&s, (const uint8_t *)text->p, text->n);
    crypto_generichash_final(&s, hash, sizeof(hash));
    sodium_bin2hex(out, 33, hash, sizeof(hash));
    *text = (struct slice){ out, 32 };
}

/* "tenant7/user42" is a key of tenant7. */
static bool is_of(const struct tenant *t, struct slice key)
{
    size_t n = strlen(t->key);

    return key.n >= n && memcmp(key.p, t->key, n) == 0 &&
           (key.n == n || (key.p[n] == '/' && strchr(t->key, '/') == NULL));
}

const char *tenant_bind(const struct tenant *t, struct task_body *b, struct tenant_texts *texts)
{
    if (t == NULL || t->key[0] == '\0')
        return NULL;
    b->is_tenants = true;
    if ((b->has & WITH(KEY)) != 0 && !is_of(t, b->key))
        return "this token is a tenant's: its tasks have the tenant's key (key)";
    if ((b->has & WITH(PRIORITY)) != 0 && b->priority > t->priority)
        return "this token is a tenant's: its tasks have no such priority (priority)";
    if (!tenant_bears(t, b->cost))
        return "this token is a tenant's: its tasks have no such cost (see cost= of its line in task_tokens)";
    if ((b->has & WITH(NAME)) != 0)
        return "this token is a tenant's: its tasks have no name, since names are for all of the queue; "
               "send an Idempotency-Key";
    if ((b->has & WITH(GROUP)) != 0)
        return "this token is a tenant's: its tasks are of no group, since groups are for all of the queue";
    if ((b->has & WITH(PATH)) != 0 && !tenant_may_call(t, b->path))
        return "this token may not call this path: see paths= of its line in task_tokens";
    if ((b->has & WITH(KEY)) == 0)
        b->key = slice_of(t->key);
    if ((b->has & WITH(PRIORITY)) == 0)
        b->priority = t->priority;
    scope(t, &b->idempotency_key, texts->idem);
    scope(t, &b->unique.key, texts->unique);
    return NULL;
}

static bool read_hash(struct server_token *t, const char *word)
{
    size_t n;

    return word != NULL && strlen(word) == 2 * sizeof(t->hash) &&
           sodium_hex2bin(t->hash, sizeof(t->hash), word, strlen(word), NULL, &n, NULL) == 0 &&
           n == sizeof(t->hash);
}

static bool read_may(struct server_token *t, char *word)
{
    static const char *const words[] = { "submit", "take", "read", "look" };
    char *rest = NULL;

    for (char *w = word != NULL ? strtok_r(word, ",", &rest) : NULL; w != NULL;
         w = strtok_r(NULL, ",", &rest)) {
        size_t i = 0;

        while (i < ARRAY_LEN(words) && strcmp(words[i], w) != 0)
            i++;
        if (i == ARRAY_LEN(words))
            return false;
        t->may |= (uint8_t)(1u << i);
    }
    return t->may != 0;
}

static bool read_queues(struct server_token *t, char *word)
{
    unsigned n = 0;
    char *rest = NULL;

    for (char *w = word != NULL ? strtok_r(word, ",", &rest) : NULL; w != NULL;
         w = strtok_r(NULL, ",", &rest)) {
        size_t len = strlen(w); /* at most TASK_NAME_MAX, says queue_match_ok() */

        if (n++ == QUEUES_MAX || !queue_match_ok(w))
            return false;
        if (t->queues_n > 0)
            t->queues[t->queues_n++] = ',';
        memcpy(t->queues + t->queues_n, w, len);
        t->queues_n += (uint16_t)len;
    }
    return n > 0;
}

/* NULL: it is sound. */
static const char *read_line(struct server_token *t, char *line)
{
    const char *why;
    char *rest = NULL;

    *t = (struct server_token){ 0 };
    if (!read_hash(t, strtok_r(line, " \t\r", &rest)))
        return "the SHA-256 of a token, 64 hexadecimal digits, is expected first";
    if (!read_may(t, strtok_r(NULL, " \t\r", &rest)))
        return "\"submit\", \"take\", \"read\" or \"look\", with commas between, are expected second";
    if (!read_queues(t, strtok_r(NULL, " \t\r", &rest)))
        return "1 to 16 queues or patterns (ride/*), with commas between, are expected third";
    why = tenant_read(&t->tenant, rest);
    if (why == NULL && server_is_tenant(t) && (t->may & (MAY_TAKE | MAY_LOOK)) != 0)
        return "a tenant (key=) can neither take nor look: it would get, or see, the tasks of others";
    return why;
}

/* A token of two lines would have the rights of one of them. It is refused where that could let a
 * tenant do more than its line says. */
static const char *told_apart(const struct server_tokens *t, const struct server_token *one)
{
    for (size_t i = 0; i < t->n; i++)
        if ((server_is_tenant(one) || server_is_tenant(&t->v[i])) &&
            memcmp(t->v[i].hash, one->hash, sizeof(one->hash)) == 0)
            return "this token has another line, and one of them makes it a tenant's (key=)";
    return NULL;
}

static int add(struct server_tokens *t, const struct server_token *one)
{
    struct server_token *v = reallocarray(t->v, t->n + 1, sizeof(*v));

    if (v == NULL)
        return SQ_ENOMEM;
    v[t->n++] = *one;
    t->v = v;
    return 0;
}

int server_tokens_read(struct server_tokens *t, char *text, struct err *e)
{
    struct server_tokens fresh = { 0 };
    struct server_token one;
    const char *why = NULL;
    unsigned no = 0;
    int rc = 0;

    for (char *line = text, *next; rc == 0 && why == NULL && line != NULL; line = next) {
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        no++;
        line += strspn(line, " \t\r");
        if (*line == '\0' || *line == '#')
            continue;
        why = fresh.n == SERVER_TOKENS_MAX ? "there are more than 1000 tokens"
                                           : read_line(&one, line);
        why = why == NULL ? told_apart(&fresh, &one) : why;
        rc = why == NULL ? add(&fresh, &one) : 0;
    }
    if (why != NULL)
        rc = err_set(e, SQ_EINVAL, "line %u: %s", no, why);
    else if (rc < 0)
        (void)err_set(e, rc, "out of memory");
    if (rc < 0) {
        server_tokens_free(&fresh);
        return rc;
    }
    memcpy(fresh.key, t->key, sizeof(fresh.key));
    server_tokens_free(t);
    *t = fresh;
    return 0;
}

void server_tokens_free(struct server_tokens *t)
{
    free(t->v);
    *t = (struct server_tokens){ 0 };
}

static const struct server_token *find_hash(const struct server_tokens *t, struct slice token)
{
    uint8_t hash[crypto_hash_sha256_BYTES];

    _Static_assert(sizeof(hash) == sizeof(t->v->hash), "of one kind");
    crypto_hash_sha256(hash, (const uint8_t *)token.p, token.n);
    for (size_t i = 0; i < t->n; i++) /* no part of a hash can be guessed */
        if (memcmp(t->v[i].hash, hash, sizeof(hash)) == 0)
            return &t->v[i];
    return NULL;
}

const struct server_token *server_tokens_find(struct server_tokens *t, struct slice token)
{
    uint8_t mac[crypto_shorthash_siphashx24_BYTES];
    const struct server_token *is;
    size_t at;

    _Static_assert(sizeof(mac) == sizeof(t->seen->mac), "MACs are 128 bits");
    _Static_assert(crypto_shorthash_siphashx24_KEYBYTES == sizeof(t->key), "so are keys");
    if (token.n < SERVER_TOKEN_MIN)
        return NULL;
    crypto_shorthash_siphashx24(mac, (const uint8_t *)token.p, token.n, t->key);
    at = mac[0] % SERVER_TOKENS_SEEN;
    if (t->seen[at].is != NULL && memcmp(t->seen[at].mac, mac, sizeof(mac)) == 0)
        return t->seen[at].is;
    is = find_hash(t, token);
    if (is != NULL) {
        memcpy(t->seen[at].mac, mac, sizeof(mac));
        t->seen[at].is = is;
    }
    return is;
}

const struct server_token *server_tokens_of(const struct server_tokens *t, uint64_t id)
{
    for (size_t i = 0; i < t->n; i++)
        if (server_token_id(&t->v[i].tenant) == id)
            return &t->v[i];
    return NULL;
}

bool server_token_may(const struct server_token *t, enum server_may what, struct slice queue)
{
    return server_token_may_at_all(t, what) &&
           queues_match(t->queues, t->queues_n, queue.p, queue.n);
}

bool server_token_may_at_all(const struct server_token *t, enum server_may what)
{
    return t != NULL && (t->may & what) != 0;
}

/* A text member, if there is one: {"", 0} without it. False: it is no text. */
static bool take_text(const json_t *o, const char *name, struct slice *out)
{
    const json_t *m = json_object_get(o, name);

    *out = (struct slice){ (char *)(uintptr_t)"", 0 };
    if (m != NULL)
        *out = (struct slice){ (char *)(uintptr_t)json_string_value(m), json_string_length(m) };
    return m == NULL || json_is_string(m);
}

static int take_queues(const json_t *o, struct slice queue, const char **why)
{
    const json_t *list = json_object_get(o, "queues");
    bool opens = false;

    if (json_array_size(list) == 0)
        return claim_refuse(why, "the claim does not say for which queues of tasks it is (queues)");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *match = json_string_value(json_array_get(list, i));

        if (match == NULL || !queue_match_ok(match))
            return claim_refuse(why, "the claim's queues are not names or patterns of queues");
        opens = opens || queue_matches(match, queue.p, queue.n);
    }
    return opens ? 0 : claim_refuse(why, "the claim is not for this queue (queues)");
}

static int take_jti(struct task_claim *c, const json_t *o, const char **why)
{
    struct slice t;

    if (!take_text(o, "jti", &t) || t.n > TASK_IDEM_MAX || !task_text_ok(t))
        return claim_refuse(why, "the claim has no jti of 1 to 128 visible ASCII characters");
    memcpy(c->jti, t.p, t.n + 1);
    return 0;
}

static int take_key(struct task_claim *c, const json_t *o, const char **why)
{
    struct slice t;

    if (!take_text(o, "key", &t) || (t.n > 0 && !task_key_ok(t)))
        return claim_refuse(why, "the claim's key is not the key of a task");
    memcpy(c->key, t.p, t.n + 1);
    return 0;
}

static int take_priority(struct task_claim *c, const json_t *o, const char **why)
{
    const json_t *m = json_object_get(o, "priority");
    json_int_t v = json_integer_value(m);

    if (m != NULL && (!json_is_integer(m) || v < 0 || v >= TASK_PRIORITIES))
        return claim_refuse(why, "the claim's priority is not a whole number from 0 to 7");
    c->priority = (uint8_t)v;
    return 0;
}

int task_claim_check(struct task_claim *c, struct slice jwt, const struct claim_key *keys,
                     size_t n_keys, struct slice queue, int64_t max_ttl_s, int64_t now_s,
                     const char **why)
{
    json_t *o;
    int rc = claim_open(&o, jwt.p, jwt.n, keys, n_keys, max_ttl_s, now_s, why);

    *c = (struct task_claim){ 0 };
    if (rc < 0)
        return rc;
    rc = take_queues(o, queue, why)
        ?: take_jti(c, o, why)
        ?: take_key(c, o, why)
        ?: take_priority(c, o, why);
    json_decref(o);
    return rc;
}

static bool is_other(struct slice said, const char *text)
{
    return said.n > 0 && (said.n != strlen(text) || memcmp(said.p, text, said.n) != 0);
}

const char *task_claim_bind(const struct task_claim *c, struct task_body *b)
{
    const uint64_t may = WITH(PAYLOAD) | WITH(PAYLOAD_BASE64) | WITH(CONTENT_TYPE) | WITH(KEY) | WITH(PRIORITY) | WITH(DELAY) | WITH(AT) |
                         WITH(RESULT) | WITH(IDEMPOTENCY_KEY) | WITH(CLAIM);

    if ((b->has & ~may) != 0)
        return "with a claim a task has payload, delay, at and result of its own, and nothing else";
    if (is_other(b->key, c->key))
        return "the claim is for another key (key)";
    if ((b->has & WITH(PRIORITY)) != 0 && b->priority != c->priority)
        return "the claim is for another priority (priority)";
    if (is_other(b->idempotency_key, c->jti))
        return "the Idempotency-Key of a claim is its jti";
    b->key = slice_of(c->key);
    b->priority = c->priority;
    b->idempotency_key = slice_of(c->jti);
    return NULL;
}

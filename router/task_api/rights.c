/* rights.c: see rights.h. */
#include "router/task_api/rights.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/task/queue_name.h"

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
    rc = take_queues(o, queue, why);
    if (rc == 0)
        rc = take_jti(c, o, why);
    if (rc == 0)
        rc = take_key(c, o, why);
    if (rc == 0)
        rc = take_priority(c, o, why);
    json_decref(o);
    return rc;
}

static struct slice slice_of(const char *text)
{
    return (struct slice){ (char *)(uintptr_t)text, strlen(text) };
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

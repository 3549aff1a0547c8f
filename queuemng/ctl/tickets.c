/* tickets.c: claims, moves, draws. The key of a claim is read from a file, never from the command
 * line, where every user of the machine could see it.
 *
 *   move-ticket:  queuemng: the ticket's queue, lane and client (no poll: it keeps no place)
 *                 a router: a join with a claim that `replaces` the ticket (PROTOCOL 19)
 * The command may be repeated: whatever an earlier one did not finish, the join finds. */
#include "queuemng/ctl/tickets.h"

#include <assert.h>
#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "common/base/buf.h"
#include "common/config/cfg_key.h"
#include "common/task/rules.h"
#include "common/ticket/draw.h"
#include "common/ticket/keys.h"
#include "common/ticket/token.h"
#include "queuemng/ctl_ask/round_trip.h"
#include "queuemng/ctl_view/answer_view.h"
#include "queuemng/ctl_view/columns.h"

/* Reads the key, writes and signs a claim. */
#define B64 sodium_base64_VARIANT_URLSAFE_NO_PADDING

_Static_assert(SIGNER_TEXT_MAX >= crypto_sign_SECRETKEYBYTES, "room for either key");

/* ---- the key ---- */

/* PKCS #8 before the 32 bytes of an Ed25519 seed. */
static const uint8_t pkcs8[16] = { 0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06,
                                   0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20 };

static int read_pem(struct signer *s, const char *text, const char *path, struct err *e)
{
    static const char head[] = "-----BEGIN PRIVATE KEY-----";
    uint8_t raw[sizeof(pkcs8) + crypto_sign_SEEDBYTES], public[crypto_sign_PUBLICKEYBYTES];
    size_t n = 0;
    bool ok;

    if (strstr(text, "PUBLIC KEY-----") != NULL)
        return err_set(e, SQ_EINVAL, "%s: a public key verifies claims; to sign one takes the "
                                     "private key of the pair", path);
    ok = strncmp(text, head, sizeof(head) - 1) == 0 &&
         sodium_base642bin(raw, sizeof(raw), text + sizeof(head) - 1,
                           strcspn(text + sizeof(head) - 1, "-"), "\r\n", &n, NULL,
                           sodium_base64_VARIANT_ORIGINAL) == 0 &&
         n == sizeof(raw) && memcmp(raw, pkcs8, sizeof(pkcs8)) == 0;
    if (ok) {
        s->ed25519 = true;
        crypto_sign_seed_keypair(public, s->key, raw + sizeof(pkcs8));
    }
    sodium_memzero(raw, sizeof(raw));
    return ok ? 0 : err_set(e, SQ_EINVAL, "%s: not an Ed25519 private key (openssl genpkey "
                                          "-algorithm ed25519)", path);
}

int signer_read(struct signer *s, const char *text, const char *path, struct err *e)
{
    size_t n = strlen(text);

    memset(s, 0, sizeof(*s));
    if (strncmp(text, "-----BEGIN", 10) == 0)
        return read_pem(s, text, path, e);
    if (n < SIGNER_SECRET_MIN || n > SIGNER_TEXT_MAX)
        return err_set(e, SQ_EINVAL, "%s: a secret has %d to %d characters", path,
                       SIGNER_SECRET_MIN, SIGNER_TEXT_MAX);
    s->len = n;
    memcpy(s->key, text, n);
    return 0;
}

/* From a file that its owner alone may read: one line with the secret (HS256), or an Ed25519
 * private key in PEM. SQ_EINVAL: it is something else; e never has anything of the key. */
static int signer_load(struct signer *s, const char *path, struct err *e)
{
    char text[SIGNER_TEXT_MAX + 1];
    int rc = keys_password(text, sizeof(text), path, e);

    if (rc == 0)
        rc = signer_read(s, text, path, e);
    sodium_memzero(text, sizeof(text));
    return rc;
}

/* ---- the claim ---- */

static void put_b64(struct buf *b, const void *p, size_t n)
{
    char *to = (char *)buf_room(b, sodium_base64_ENCODED_LEN(n, B64));

    if (to == NULL)
        return;
    sodium_bin2base64(to, sodium_base64_ENCODED_LEN(n, B64), p, n, B64);
    b->len += strlen(to);
}

/* Takes o. */
static bool put_part(struct buf *b, json_t *o)
{
    char *text = json_dumps(o, JSON_COMPACT);

    json_decref(o);
    if (text == NULL)
        return false;
    put_b64(b, text, strlen(text));
    free(text);
    return true;
}

static void put_signature(struct buf *b, const struct signer *s)
{
    uint8_t sig[crypto_sign_BYTES];
    crypto_auth_hmacsha256_state st;

    if (s->ed25519) {
        crypto_sign_detached(sig, NULL, b->data, b->len, s->key);
    } else {
        crypto_auth_hmacsha256_init(&st, s->key, s->len);
        crypto_auth_hmacsha256_update(&st, b->data, b->len);
        crypto_auth_hmacsha256_final(&st, sig);
        sodium_memzero(&st, sizeof(st));
    }
    buf_byte(b, '.');
    put_b64(b, sig, s->ed25519 ? crypto_sign_BYTES : crypto_auth_hmacsha256_BYTES);
}

static json_t *queues_of(const struct claim_said *c)
{
    json_t *list = json_pack("[s]", c->queue);

    for (char *const *q = c->more; q != NULL && *q != NULL; q++)
        (void)json_array_append_new(list, json_string(*q));
    return list;
}

static json_t *payload(const struct claim_said *c)
{
    json_t *queues = queues_of(c);

    if (c->task != NULL)
        return json_pack("{s:o,s:s,s:s*,s:i,s:I,s:I}", "queues", queues, "jti", c->task, "key",
                         c->task_key, "priority", c->priority, "iat", (json_int_t)c->now_s, "exp",
                         (json_int_t)c->expires_s);
    if (json_array_size(queues) == 1) {
        json_decref(queues);
        queues = json_string(c->queue);
    }
    return json_pack("{s:o,s:s,s:s*,s:s*,s:I,s:I}", "aud", queues, "lane", c->lane, "sub",
                     c->subject, "replaces", c->replaces, "iat", (json_int_t)c->now_s, "exp",
                     (json_int_t)c->expires_s);
}

char *signer_claim(const struct signer *s, const struct claim_said *c)
{
    json_t *head = json_pack("{s:s,s:s,s:s*}", "alg", signer_alg(s), "typ", "JWT", "kid", c->kid);
    json_t *said = payload(c);
    char *jwt = NULL;
    struct buf b;
    bool ok;

    assert(c->queue != NULL && (c->lane == NULL) != (c->task == NULL) && c->expires_s > c->now_s);
    buf_init(&b);
    ok = put_part(&b, head);
    buf_byte(&b, '.');
    ok = put_part(&b, said) && ok;
    if (ok && !b.failed)
        put_signature(&b, s);
    if (ok && !b.failed)
        jwt = strndup((const char *)b.data, b.len);
    buf_fini(&b);
    return jwt;
}

/* ---- claims ---- */

/* The claim that `said` and the options ask for; CTL_OK: *jwt is owned. */
static int sign(const struct ctl *c, struct claim_said *said, char **jwt, const char **alg)
{
    struct signer s;
    struct err e = { 0 };

    if (c->key_file == NULL)
        return ctl_fail(CTL_USAGE,
                        "no key to sign with is given: --key FILE, with the secret of claim_keys "
                        "(router.yaml), or the private key of its public_key");
    if (signer_load(&s, c->key_file, &e) < 0)
        return ctl_say_err(&e, CTL_USAGE);
    said->kid = c->kid;
    said->subject = c->subject;
    said->now_s = time(NULL);
    said->expires_s = said->now_s + c->ttl_s;
    *jwt = signer_claim(&s, said);
    *alg = signer_alg(&s);
    sodium_memzero(&s, sizeof(s));
    if (*jwt == NULL)
        return ctl_fail(CTL_USAGE, "no claim can be made of these names: they must be UTF-8");
    if (strlen(*jwt) < CLAIM_MAX_LEN)
        return CTL_OK;
    return ctl_fail(CTL_USAGE, "the claim has %zu characters: routers take at most %d", strlen(*jwt),
                    CLAIM_MAX_LEN - 1);
}

static bool is_token(const char *text)
{
    return strlen(text) == TOKEN_TEXT_LEN ||
           ctl_fail(CTL_USAGE, "'%.60s' is not a token: the text of %d characters that the "
                               "person's client has", text,
                    TOKEN_TEXT_LEN) == CTL_OK;
}

/* ASCII without blanks. */
static bool is_visible(const char *text)
{
    size_t n = 0;

    while (text[n] > 0x20 && text[n] < 0x7f)
        n++;
    return n > 0 && text[n] == '\0';
}

/* Each of them is good, and there once. */
static bool all_queues(const struct claim_said *said, bool (*good)(const char *name))
{
    bool ok = good(said->queue);

    for (char *const *q = said->more; ok && *q != NULL; q++) {
        ok = good(*q) && strcmp(*q, said->queue) != 0;
        for (char *const *before = said->more; ok && before < q; before++)
            ok = strcmp(*q, *before) != 0;
    }
    return ok;
}

/* Refuses to sign what routers would refuse. */
static int task_said(const struct ctl *c, struct claim_said *said)
{
    if (c->lane != NULL || c->replaces != NULL || c->subject != NULL)
        return ctl_fail(CTL_USAGE, "a claim is for a lane (--lane, --subject, --replaces) or for a "
                                   "task (--task), not for both");
    if (!all_queues(said, queue_match_ok))
        return ctl_fail(CTL_USAGE, "a task's queues are names, or the beginning of one and a star (ride/*), each once");
    if (c->priority != NULL && (c->priority[0] < '0' || c->priority[0] > '7' ||
                                c->priority[1] != '\0'))
        return ctl_fail(CTL_USAGE, "--priority takes 0 to 7");
    if (!is_visible(c->task) || strlen(c->task) > TASK_IDEM_MAX)
        return ctl_fail(CTL_USAGE, "--task takes 1 to 128 visible ASCII characters");
    if (c->task_key != NULL && !key_text_ok(c->task_key))
        return ctl_fail(CTL_USAGE, "--task-key takes a key, or a key and one below it: "
                                   "tenant7/user42, each of at most 64 visible ASCII characters");
    said->task = c->task;
    said->task_key = c->task_key;
    said->priority = c->priority != NULL ? c->priority[0] - '0' : 0;
    return CTL_OK;
}

static int lane_said(const struct ctl *c, struct claim_said *said)
{
    if (c->task_key != NULL || c->priority != NULL)
        return ctl_fail(CTL_USAGE,
                        "--task-key and --priority belong to a claim for a task (--task)");
    if (c->lane == NULL)
        return ctl_fail(CTL_USAGE, "--lane L says for which lane the claim is (--task ID: that it "
                                   "is for a task)");
    if (!all_queues(said, cfg_name_ok))
        return ctl_fail(CTL_USAGE, "name each queue once, by small letters, digits, _ and -, with blanks between "
                                   "them: claim login shop");
    if (said->more[0] != NULL && c->replaces != NULL)
        return ctl_fail(CTL_USAGE, "a claim that replaces a ticket (--replaces) is for that ticket's queue alone");
    said->lane = c->lane;
    said->replaces = c->replaces;
    return c->replaces == NULL || is_token(c->replaces) ? CTL_OK : CTL_USAGE;
}

int cmd_claim(struct ctl *c, char **argv)
{
    struct claim_said said = { .queue = argv[0], .more = argv + 1 };
    const char *alg;
    char *jwt = NULL;
    int rc = c->task != NULL ? task_said(c, &said) : lane_said(c, &said);

    if (rc != CTL_OK)
        return rc;
    rc = sign(c, &said, &jwt, &alg);
    if (rc == CTL_OK)
        puts(jwt);
    free(jwt);
    return rc;
}

/* ---- a move ---- */

static void say_moved(const json_t *was, const json_t *now, const char *router,
                      const struct claim_said *said, const char *jwt)
{
    struct buf b;

    buf_init(&b);
    buf_str(&b, "old place       ");
    view_place(&b, was);
    buf_str(&b, "new place       ");
    view_place(&b, now);
    ctl_say(&b, now, "token           {token}\n");
    buf_printf(&b, "link            %s%sq/%s?claim=%s\n", router,
               router[strlen(router) - 1] == '/' ? "" : "/", said->queue, jwt);
    buf_str(&b, "                good until ");
    ctl_moment(&b, (double)said->expires_s);
    buf_str(&b, "; under your site's name, if people come by one.\n"
                "Hand on the link (a game: the token) now: a place for which nobody asks times "
                "out.\n");
    ctl_put_out(&b);
    buf_fini(&b);
}

static int say_answer(const struct ctl *c, const struct ctl_answer *a, const json_t *was,
                      const struct claim_said *said, const char *jwt, const char *alg)
{
    json_t *now = ctl_json(a);
    bool has_place = (a->status == 200 || a->status == 201) && now != NULL;
    int rc = CTL_OK;

    if (has_place && strcmp(ctl_str(now, "token"), said->replaces) == 0) {
        rc = ctl_fail(CTL_REFUSED, "the ticket is in lane '%s' already; nothing was done",
                      said->lane);
    } else if (has_place && c->form == FORM_TABLE) {
        say_moved(was, now, a->from, said, jwt);
    } else {
        rc = ctl_say_answer(c, a, NULL);
    }
    if (a->status == 403 && ctl_equals(now, "code", "not_eligible"))
        (void)ctl_fail(rc, "the claim was for lane '%s', signed with %s (%s, %s%s); compare the "
                           "queue's lanes, and claim_keys (router.yaml)", said->lane, c->key_file,
                           alg,
                       said->kid != NULL ? "kid " : "no kid", said->kid != NULL ? said->kid : "");
    json_decref(now);
    return rc;
}

/* A join with the claim. Without a good answer it may be half done: the next one finishes it. */
static int join_anew(const struct ctl *c, const json_t *was, const struct claim_said *said,
                     const char *jwt, const char *alg)
{
    json_t *body = json_pack("{s:s,s:s}", "claim", jwt, "client",
                             c->client != NULL ? c->client : ctl_str(was, "client"));
    struct ctl_call call = { .method = "POST", .path = "/v1/queues/*/tickets",
                             .name = said->queue, .body = body };
    struct ctl_answer a = { 0 };
    int rc;

    if (body == NULL)
        return ctl_fail(CTL_USAGE, "--client must be UTF-8");
    rc = ctl_ask(c, call, &a);
    if (rc == CTL_OK)
        rc = say_answer(c, &a, was, said, jwt, alg);
    if (rc == CTL_REFUSED && (a.status == 0 || a.status == 503))
        (void)ctl_fail(rc, "the old place is kept until there is a new one; the same command again "
                           "finishes what this one began");
    json_decref(body);
    buf_fini(&a.body);
    return rc;
}

int cmd_move_ticket(struct ctl *c, char **argv)
{
    struct claim_said said = { .lane = argv[1], .replaces = argv[0] };
    const char *alg;
    char *jwt = NULL;
    json_t *was;
    int rc;

    if (!is_token(argv[0]))
        return CTL_USAGE;
    was = ctl_get(c, "/v1/admin/tickets/*", argv[0], &rc);
    if (was == NULL)
        return rc;
    said.queue = json_string_value(json_object_get(was, "queue"));
    if (said.queue == NULL)
        rc = ctl_fail(CTL_REFUSED, "the ticket is over: %s", ctl_str(was, "because"));
    else
        rc = sign(c, &said, &jwt, &alg);
    if (rc == CTL_OK)
        rc = join_anew(c, was, &said, jwt, alg);
    free(jwt);
    json_decref(was);
    return rc;
}

/* ---- draws ---- */

/* `segqctl draw QUEUE [COMMITMENT] [TICKET]...`: is the draw what was promised
 * before, and which place did a ticket get? Worked out here, from the published seed alone.
 * That seed and commitment of today fit each other proves little: they come in one answer. The
 * promise is the commitment that somebody has noted before the opening. */

static bool read_seed(const json_t *draw, uint8_t seed[DRAW_SEED])
{
    const char *hex = ctl_str(draw, "seed");
    size_t n = 0;

    return sodium_hex2bin(seed, DRAW_SEED, hex, strlen(hex), NULL, &n, NULL) == 0 &&
           n == DRAW_SEED;
}

static bool is_commitment(const char *text)
{
    uint8_t hash[DRAW_SEED];
    size_t n = 0;

    return strlen(text) == DRAW_HEX &&
           sodium_hex2bin(hash, sizeof(hash), text, DRAW_HEX, NULL, &n, NULL) == 0 &&
           n == sizeof(hash);
}

static bool is_promised(const json_t *draw, const char *queue, const uint8_t seed[DRAW_SEED])
{
    uint8_t hash[DRAW_SEED];
    char hex[DRAW_HEX + 1];

    draw_commitment(queue, seed, hash);
    sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
    return strcmp(hex, ctl_str(draw, "commitment")) == 0;
}

/* "17-123": its place in the draw, from 1; 0: it was not in it; -1: no ticket, no memory. */
static int64_t place_of(const json_t *draw, const char *ticket, const uint8_t seed[DRAW_SEED])
{
    unsigned long long seg;
    unsigned number;
    uint64_t before = 0;
    const json_t *s;
    char rest;
    size_t i;

    if (sscanf(ticket, "%llu-%u%c", &seg, &number, &rest) != 2)
        return -1;
    json_array_foreach(json_object_get(draw, "segments"), i, s) {
        uint64_t id = (uint64_t)json_integer_value(json_object_get(s, "segment"));
        json_int_t count = json_integer_value(json_object_get(s, "count"));
        struct draw *d;

        if (id != seg) {
            before += (uint64_t)count;
            continue;
        }
        if (number >= count || count > UINT32_MAX)
            return 0;
        d = draw_new(id, (uint32_t)count, seed);
        if (d == NULL)
            return -1;
        before += draw_place(d, number) + 1u;
        draw_free(d);
        return (int64_t)before;
    }
    return 0;
}

static int say_tickets(const json_t *draw, const uint8_t seed[DRAW_SEED], char **ticket)
{
    int rc = CTL_OK;

    for (size_t i = 0; ticket[i] != NULL; i++) {
        int64_t place = place_of(draw, ticket[i], seed);

        if (place > 0)
            printf("%s: place %lld of the draw\n", ticket[i], (long long)place);
        else
            rc = ctl_fail(CTL_REFUSED, "%.60s: %s", ticket[i],
                          place == 0 ? "was not in the draw" : "is no ticket like 17-123");
    }
    return rc;
}

/* noted: the commitment, as it was known before; NULL: nobody has noted it. */
static int say_draw(const json_t *doc, const char *noted, char **ticket)
{
    const json_t *draw = json_object_get(doc, "draw");
    uint8_t seed[DRAW_SEED];

    if (draw == NULL)
        return ctl_fail(CTL_REFUSED, "this queue draws no positions");
    ctl_tell(draw, "commitment {commitment}\n");
    if (noted != NULL && strcasecmp(noted, ctl_str(draw, "commitment")) != 0)
        return ctl_fail(CTL_REFUSED, "this is not the commitment that you noted");
    if (!read_seed(draw, seed)) {
        puts("seed       is published when the queue opens");
        return ticket[0] == NULL ? CTL_OK : CTL_REFUSED;
    }
    ctl_tell(draw, "seed       {seed}\n");
    if (!is_promised(draw, ctl_str(doc, "queue"), seed))
        return ctl_fail(CTL_REFUSED, "the seed does not fit this commitment");
    puts(noted != NULL ? "           as promised"
                       : "           fits the commitment that is shown now. To prove the draw, "
                         "give the one that you noted before the opening: segqctl draw QUEUE "
                         "COMMITMENT");
    return say_tickets(draw, seed, ticket);
}

int cmd_draw(struct ctl *c, char **argv)
{
    struct ctl_call call = { .method = "GET", .path = "/v1/queues/*", .name = argv[0] };
    const char *noted = argv[1] != NULL && is_commitment(argv[1]) ? argv[1] : NULL;
    int rc;
    json_t *doc = ctl_fetch(c, call, &rc);

    if (doc != NULL)
        rc = say_draw(doc, noted, argv + (noted != NULL ? 2 : 1));
    json_decref(doc);
    return rc;
}

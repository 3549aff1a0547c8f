/* site_asks.c: see site_asks.h. */
#include "router/links/site_asks.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/base/log.h"
#include "common/task/url.h"
#include "task/out/out.h"

#define LOG_MODULE "challenge"
#define SITES_MAX  32
#define SAY_EVERY_MS 10000
#define BYTES_MAX  4096 /* read of an answer */

struct site { /* by its url and networks */
    struct list_node in;
    char *url, *allow;      /* owned */
    struct out_target *out; /* owned */
    bool bare;              /* url without a path */
    bool bad;               /* a question went wrong, that was logged, and none was answered since */
    int64_t bad_ms;         /* when that was logged last; 0: never */
    unsigned asked;         /* now */
};

struct asking {
    struct list_node in;
    struct site_asks *all; /* ref */
    struct site *site;     /* ref */
    struct out_call *call;
    uint64_t from;
    site_said_fn fn;
    void *arg;
};

struct site_asks {
    struct router *r; /* ref */
    struct out *out;  /* owned */
    struct list sites, asking;
};

static struct site_asks *asks_of(struct router *r)
{
    struct site_asks *a = r->site_asks;

    if (a != NULL)
        return a;
    a = calloc(1, sizeof(*a));
    if (a == NULL || out_new(&a->out, r->ev, NULL) < 0) {
        free(a);
        return NULL;
    }
    a->r = r;
    list_init(&a->sites);
    list_init(&a->asking);
    return r->site_asks = a;
}

/* ---- sites ---- */

static void site_free(struct site_asks *a, struct site *s)
{
    list_remove(&a->sites, &s->in);
    out_target_free(s->out);
    free(s->url);
    free(s->allow);
    free(s);
}

/* Networks with commas between them. */
static void read_allow(struct out_rules *to, const char *text)
{
    struct slice list = slice_of(text), item;
    char one[64];

    while (to->n_allow < OUT_ALLOW_MAX && http_item_next(&list, &item)) {
        snprintf(one, sizeof(one), "%.*s", (int)item.n, item.p);
        to->n_allow += ip_net_parse(&to->allow[to->n_allow], one);
    }
}

static struct site *site_new(struct site_asks *a, const struct map_queue *q)
{
    struct out_rules rules = { .url = q->verify_url, .connect_ms = SITE_ASK_MS, .proxy = "" };
    struct site *s = calloc(1, sizeof(*s));
    struct url u;

    if (s == NULL)
        return NULL;
    read_allow(&rules, q->verify_allow);
    s->url = strdup(q->verify_url);
    s->allow = strdup(q->verify_allow);
    list_push_back(&a->sites, &s->in);
    if (s->url == NULL || s->allow == NULL || url_parse(&u, s->url) != NULL ||
        out_target_new(&s->out, a->out, &rules, NULL) < 0) {
        site_free(a, s);
        return NULL;
    }
    s->bare = u.path[0] == '\0';
    return s;
}

/* Makes room for it by those of former definitions. NULL: it cannot be asked. */
static struct site *site_of(struct site_asks *a, const struct map_queue *q)
{
    list_each_of (&a->sites, struct site, in, s)
        if (strcmp(s->url, q->verify_url) == 0 && strcmp(s->allow, q->verify_allow) == 0)
            return s;
    list_each_of (&a->sites, struct site, in, s)
        if (a->sites.n >= SITES_MAX && s->asked == 0)
            site_free(a, s);
    return a->sites.n < SITES_MAX ? site_new(a, q) : NULL;
}

/* Says once that a service is bad, and that it is not any more: every ten seconds at most, since a stranger's
 * token may be what it cannot answer. */
static void note(struct site *s, const char *why, int64_t now_ms)
{
    bool bad = why != NULL;

    if (bad && !s->bad && s->bad_ms != 0 && now_ms - s->bad_ms < SAY_EVERY_MS)
        return;
    if (bad && !s->bad) {
        s->bad_ms = now_ms;
        log_warn("event=verify_bad url=%s why=%s do=\"look at the service, verify_url and verify_secret_file: "
                 "verify_fallback says what becomes of joins\"", log_q(s->url, strlen(s->url)), log_q(why, strlen(why)));
    } else if (!bad && s->bad) {
        log_info("event=verify_good url=%s", log_q(s->url, strlen(s->url)));
    }
    s->bad = bad;
}

/* ---- answers ---- */

static bool is_word_about_us(const json_t *x)
{
    const char *word = json_is_string(x) ? json_string_value(x) : "";

    return strstr(word, "secret") != NULL || strstr(word, "internal") != NULL || strstr(word, "sitekey") != NULL;
}

/* "invalid-input-secret", "internal-error" and their like, "sitekey_invalid" of Friendly Captcha: of the
 * service and us, not of the person. */
static bool is_about_us(const json_t *o)
{
    const json_t *codes = json_object_get(o, "error-codes"), *x;
    size_t i;

    json_array_foreach(codes, i, x) {
        if (is_word_about_us(x))
            return true;
    }
    return is_word_about_us(json_object_get(json_object_get(o, "error"), "error_code"));
}

static enum site_said read_answer(const struct call_answer *a, const char **why)
{
    bool heard = a->fault == CALL_NONE && (a->status == 200 || a->status == 400);
    json_t *o = heard && a->length == a->n
                    ? json_in((const char *)a->body, a->n, NULL) : NULL;
    const json_t *success = json_object_get(o, "success");
    enum site_said said = json_is_true(success) && a->status == 200 ? SITE_PERSON
                          : json_is_false(success) && !is_about_us(o) ? SITE_NONE
                                                                      : SITE_UNKNOWN;

    *why = said != SITE_UNKNOWN          ? NULL
           : a->fault != CALL_NONE       ? a->why
           : !heard                      ? "another status than 200"
           : json_is_boolean(success)    ? "it refuses our secret, or is not well"
                                         : "no JSON with a success of true or false";
    json_decref(o);
    return said;
}

static void ends(struct asking *k, enum site_said said)
{
    k->site->asked--;
    list_remove(&k->all->asking, &k->in);
    k->fn(k->arg, said);
    free(k);
}

static void on_answer(void *arg, const struct call_answer *a)
{
    struct asking *k = arg;
    const char *why;
    enum site_said said = read_answer(a, &why);

    note(k->site, why, ev_now(k->all->r->ev));
    ends(k, said);
}

/* ---- questions ---- */

static bool may_leave(void *arg)
{
    (void)arg;
    return true;
}

static struct out_call *send_token(struct site_asks *a, struct asking *k, struct slice token)
{
    const struct gate_secret *secret = &a->r->verify_secret;
    struct out_request q = { .method = "POST", .path = k->site->bare ? "/" : "", .deadline_ms = SITE_ASK_MS,
                             .keep = BYTES_MAX, .may = may_leave };
    struct buf body, fields;

    buf_init(&body);
    buf_init(&fields);
    buf_append(&fields, "content-type: application/x-www-form-urlencoded", 48);
    buf_str(&body, "secret=");
    buf_escaped(&body, secret->text, secret->n, "-_.");
    buf_str(&body, "&response=");
    buf_escaped(&body, token.p, token.n, "-_.");
    if (secret->n > 0) {
        buf_str(&fields, "x-api-key: ");
        buf_append(&fields, secret->text, secret->n + 1);
    }
    q.fields = (const char *)fields.data;
    q.fields_n = fields.len;
    q.body = (struct call_span){ (const char *)body.data, (uint32_t)body.len };
    if (!body.failed && !fields.failed)
        k->call = out_send(k->site->out, &q, on_answer, k);
    sodium_memzero(body.data, body.len);
    sodium_memzero(fields.data, fields.len);
    buf_fini(&body);
    buf_fini(&fields);
    return k->call;
}

bool site_asks_are_many(const struct router *r, uint64_t from)
{
    unsigned n = 0;

    if (r->site_asks == NULL || from == 0)
        return false;
    list_each_of (&r->site_asks->asking, struct asking, in, k)
        n += k->from == from;
    return n >= SITE_ASKS_OF_ONE;
}

bool site_ask(struct router *r, const struct map_queue *q, uint64_t from, struct slice token, site_said_fn fn,
              void *arg)
{
    struct site_asks *a = asks_of(r);
    struct site *s = a != NULL && a->asking.n < SITE_ASKS ? site_of(a, q) : NULL;
    struct asking *k = s != NULL ? calloc(1, sizeof(*k)) : NULL;

    if (k == NULL)
        return false;
    *k = (struct asking){ .all = a, .site = s, .from = from, .fn = fn, .arg = arg };
    if (send_token(a, k, token) == NULL) {
        free(k);
        return false;
    }
    s->asked++;
    list_push_back(&a->asking, &k->in);
    return true;
}

void site_asks_free(struct site_asks *a)
{
    if (a == NULL)
        return;
    list_each_of (&a->asking, struct asking, in, k) {
        out_cancel(k->call);
        ends(k, SITE_ENDED);
    }
    list_each_of (&a->sites, struct site, in, s)
        site_free(a, s);
    out_free(a->out);
    free(a);
}

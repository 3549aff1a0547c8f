/* queue_def.c: the table of a queue's definition, and what a table cannot say. Pure. */
#include "queuemng/policy/queue_def.h"

#include <stdlib.h>
#include <string.h>

#include "common/task/rules.h"
#include "common/wire/msg_router_manager.h"
#include "queuemng/policy/addresses.h"

#define DAY_MS 86400000.0

const char *const def_state_names[] = { "open", "paused", "closed", "passthrough", "reject",
                                       NULL };
const char *const def_mode_names[] = { "rate", "slots", "both", NULL };
static const char *const renews[] = { "off", "on", NULL };
const char *const def_challenge_names[] = { "off", "auto", "on", NULL };
const char *const def_suspects_names[] = { "off", "watch", "challenge", "reject", NULL };
static const char *const binds[] = { "none", "device", "key", NULL }; /* by enum queue_bind */
static const char *const verify_fallbacks[] = { "work", "let_in", "refuse", NULL };
static const char *const sharings[] = { "weight", "strict", NULL };

#define LANE(f) offsetof(struct def_lane, f)
static const struct cfg_key lane_keys[] = {
    { "name", CFG_NAME, LANE(name), NULL, 0, 0, true, "name of the lane", 0, 0, 0 },
    { "weight", CFG_INT, LANE(weight), "1", 1, 1000, true,
      "the lane's share of the releases while several lanes have waiters", 0, 0, 0 },
    { 0 },
};

#define IDLE(f) offsetof(struct def_idle, f)
static const struct cfg_key idle_keys[] = {
    { "game", CFG_MS, IDLE(game_ms), "60s", 1000, DAY_MS, true, "game clients", 0, 0, 0 },
    { "mobile", CFG_MS, IDLE(mobile_ms), "120s", 1000, DAY_MS, true, "mobile apps", 0, 0, 0 },
    { "browser", CFG_MS, IDLE(browser_ms), "180s", 1000, DAY_MS, true, "browsers", 0, 0, 0 },
    { 0 },
};

#define CHALLENGE(f) offsetof(struct def_challenge, f)
static const struct cfg_key challenge_keys[] = {
    { "mode", CFG_ENUM, CHALLENGE(mode), "auto", 0, 0, true,
      "off: joins are free; auto: by the two numbers below; on: each join works", def_challenge_names, 0,
      0 },
    { "from_joins_per_s", CFG_INT, CHALLENGE(from_joins_per_s), "0", 0, 1e6, true,
      "auto: joins of the queue per second from which on each of them works; 0 = never", 0, 0, 0 },
    { "per_address", CFG_INT, CHALLENGE(per_address), "0", 0, 1e6, true,
      "auto: joins of an address prefix (/24, /56) per minute that are free; 0 = all", 0, 0, 0 },
    { "cost", CFG_STR, CHALLENGE(cost), "auto", 1, 10, true,
      "keys that are tried at most: auto, or 1024 to 524288, rounded up to a power of two", 0, 0, 0 },
    { "verify_url", CFG_STR, CHALLENGE(verify_url), "", 0, VERIFY_URL_MAX, true,
      "siteverify of Turnstile, hCaptcha or Friendly Captcha: joins bring its token in place of work; \"\" = none",
      0, 0, 0 },
    { "verify_allow", CFG_STRS, CHALLENGE(verify_allow), "", 0, 32, true,
      "networks that are not of the public internet in which that service may be (10.0.0.0/8)", 0, 0, 0 },
    { "verify_fallback", CFG_ENUM, CHALLENGE(verify_fallback), "work", 0, 0, true,
      "while it does not answer: work: a join costs work; let_in: it is free; refuse: it is refused",
      verify_fallbacks, 0, 0 },
    { 0 },
};

static const char *const turn_fields[] = { "none", "email", "text", NULL }; /* by enum turn_field */

#define TURN(f) offsetof(struct def_turn, f)
static const struct cfg_key turn_keys[] = {
    { "queue", CFG_STR, TURN(queue), "", 0, TASK_NAME_MAX, true,
      "queue of an endpoint: a call for each person who asked to be told and is let in; none = nobody is told",
      0, 0, 0 },
    { "soon", CFG_MS, TURN(soon_ms), "0", 0, DAY_MS, true,
      "told once before, when the estimate falls to this; 0 = only when let in", 0, 0, 0 },
    { "claim_window", CFG_MS, TURN(claim_ms), "0", 0, DAY_MS, true,
      "time to come for people who asked to be told; less than `claim` = as everybody", 0, 0, 0 },
    { "push_key", CFG_STR, TURN(push_key), "", 0, PUSH_KEY_LEN, true,
      "VAPID public key of yours (base64url): the waiting page has a button that subscribes to Web Push", 0, 0, 0 },
    { "push_contact", CFG_STR, TURN(push_contact), "", 0, PUSH_CONTACT_MAX, true,
      "mailto: or https: address of yours for push services: segq sends Web Push itself, with a key of its own, as "
      "calls of queue/HOST of the push service", 0, 0, 0 },
    { "field", CFG_ENUM, TURN(field), "none", 0, 0, true,
      "field of the waiting page in which people say where they are told: none, email, or a text", turn_fields,
      0, 0 },
    { 0 },
};

#define AT(f) offsetof(struct queue_def, f)
const struct cfg_key queue_def_keys[] = {
    { "name", CFG_NAME, AT(name), NULL, 0, 0, true, "name of the queue", 0, 0, 0 },
    { "state", CFG_ENUM, AT(state), "open", 0, 0, true,
      "paused: nobody is let in; closed: nobody may join; passthrough: nobody needs a "
      "pass; reject: nobody may join, nobody is let in, places are kept",
      def_state_names, 0, 0 },
    { "opens_at", CFG_STR, AT(when.opens_at), "", 0, 40, true,
      "time at which the queue opens, like 2027-01-31T20:00:00+01:00; none = open",
      0, 0, 0 },
    { "closes_at", CFG_STR, AT(when.closes_at), "", 0, 40, true,
      "time from which nobody may join; people in line are still let in", 0, 0, 0 },
    { "prequeue", CFG_MS, AT(when.prequeue_ms), "0", 0, 7 * DAY_MS, true,
      "how long before opens_at people may join; positions are drawn at opens_at",
      0, 0, 0 },
    { "prequeue_capacity", CFG_INT, AT(when.prequeue_capacity), "1000000", 1, 10000000, true,
      "people per draw; later arrivals form the next draw, behind it", 0, 0,
      0 },
    { "lanes", CFG_OBJS, AT(lanes), "", 0, LANES_MAX, true,
      "lines inside the queue; the first is the default lane; none = one lane named "
      "default", 0,
      lane_keys, sizeof(struct def_lane) },
    { "sharing", CFG_ENUM, AT(sharing), "weight", 0, 0, true,
      "weight: lanes share the releases by weight; strict: the first lane goes first",
      sharings, 0,
      0 },
    { "mode", CFG_ENUM, AT(mode), "rate", 0, 0, true,
      "rate: limit the releases per second; slots: limit the people inside (max_active); "
      "both: apply both limits",
      def_mode_names, 0, 0 },
    { "max_active", CFG_INT, AT(max_active), "0", 0, 1e9, true,
      "modes slots and both: highest number of people inside at once", 0, 0, 0 },
    { "shadow", CFG_BOOL, AT(shadow), "false", 0, 0, true,
      "let everybody in at once, and count who would have waited and how long", 0, 0, 0 },
    { "release_per_s", CFG_NUM, AT(release_per_s), "0", 0, 1e6, true,
      "fixed releases per second, in place of limits; 0 = use limits", 0, 0, 0 },
    METRIC_LIMITS_KEYS(AT, "metrics with tiers; the lowest resulting rate applies",
                       "releases per second while a limit's metric is missing, stale or absurd"),
    { "max_rise_per_s", CFG_NUM, AT(max_rise_per_s), "0", 0, 1e9, true,
      "highest growth of the rate, in releases per second each second; 0 = no limit",
      0, 0, 0 },
    BUDGET_MEMBER_KEYS(AT(budget)),
    { "no_show_boost", CFG_NUM, AT(no_show_boost), "1.5", 1, 10, true,
      "mode rate: over-release to make up for no-shows, by at most this factor; 1 = off",
      0, 0,
      0 },
    { "segment_capacity", CFG_INT, AT(segment_capacity), "100000", 1, 10000000, true,
      "places in one segment; a change applies to segments opened later", 0, 0, 0 },
    { "open_next_at", CFG_NUM, AT(open_next_at), "0.8", 0.1, 1, true,
      "fill of the tail segment (0..1) at which its successor is opened", 0, 0, 0 },
    { "merge", CFG_BOOL, AT(merge), "true", 0, 0, true,
      "merge neighbouring sealed segments that are sparse", 0,
      0, 0 },
    { "direct_entry", CFG_BOOL, AT(direct_entry), "true", 0, 0, true,
      "return the pass in the answer to the join if the line is empty and there is "
      "capacity", 0, 0, 0 },
    { "max_waiting", CFG_INT, AT(max_waiting), "0", 0, 1e12, true,
      "most people in line; beyond it joins get 503 queue_full; 0 = no limit", 0, 0, 0 },
    { "idle", CFG_OBJ, AT(idle), "", 0, 0, true,
      "silence beyond the told poll interval after which a place is given up", 0,
      idle_keys, 0 },
    { "claim", CFG_MS, AT(claim_ms), "60s", 100, DAY_MS, true,
      "time to collect the pass after the release; later it is a no-show", 0, 0, 0 },
    { "grace", CFG_MS, AT(grace_ms), "120s", 0, DAY_MS, true,
      "time after `claim` in which a no-show may come back, to the front", 0, 0, 0 },
    { "pass_ttl", CFG_MS, AT(pass_ttl_ms), "5m", 1000, DAY_MS, true,
      "life of a pass, from the release", 0, 0, 0 },
    { "renew", CFG_ENUM, AT(renew), "on", 0, 0, true,
      "on: requests that a gate verifies renew the pass; off: a session ends after "
      "pass_ttl",
      renews, 0, 0 },
    { "session_idle", CFG_MS, AT(session_idle_ms), "0", 0, DAY_MS, true,
      "renew on: a session without a request ends after this time; 0 = pass_ttl",
      0, 0, 0 },
    { "session_max", CFG_MS, AT(session_max_ms), "1h", 0, 30 * DAY_MS, true,
      "longest life of a renewed or extended session, from the release; pass_ttl or less "
      "= sessions last pass_ttl", 0, 0, 0 },
    { "poll_min", CFG_MS, AT(poll_min_ms), "1s", 50, 600000, true,
      "poll interval at the head of the line", 0, 0, 0 },
    { "poll_max", CFG_MS, AT(poll_max_ms), "30s", 50, 3600000, true,
      "poll interval at the end of the line; longer if poll_budget_per_s requires it",
      0, 0, 0 },
    { "poll_budget_per_s", CFG_INT, AT(poll_budget_per_s), "20000", 1, 1e8, true,
      "polls per second of all waiters together; intervals are chosen to stay within it",
      0, 0, 0 },
    { "away", CFG_MS, AT(away_ms), "75s", 0, DAY_MS, true,
      "skip a ticket whose poll is overdue by more than this when its turn comes (it "
      "goes first when it returns); 0 = never skip", 0, 0, 0 },
    { "position_cap", CFG_INT, AT(position_cap), "0", 0, 1e12, true,
      "highest position shown; people further back see it with a plus (\"5000+\"); 0 = "
      "no cap", 0, 0, 0 },
    { "page", CFG_OBJ, AT(page), "", 0, 0, true, "words and looks of the waiting page",
      0, page_def_keys, 0 },
    { "message", CFG_STR, AT(message), "", 0, QUEUE_MESSAGE_MAX, true,
      "notice to people in line, shown on the page and in answers to clients", 0, 0,
      0 },
    { "bypass", CFG_OBJ, AT(gate.bypass), "", 0, 0, true,
      "visitors and requests that need not wait, as the gate sees them",
      0, gate_bypass_keys, 0 },
    { "rollout", CFG_NUM, AT(gate.rollout), "100", 0, 100, true,
      "percent of visitors who go through the room; 100 = everybody", 0, 0, 0 },
    { "challenge", CFG_OBJ, AT(challenge), "", 0, 0, true,
      "proof of work that a join costs while many come; off by default", 0, challenge_keys, 0 },
    { "suspects", CFG_ENUM, AT(suspects), "off", 0, 0, true,
      "joins of address prefixes that look like a script's: watch: count and show them; challenge: they "
      "cost work; reject: they are refused", def_suspects_names, 0, 0 },
    { "suspects_from", CFG_INT, AT(suspects_from), "20", 5, 1e6, true,
      "score from which a prefix is a suspect: places not polled, and false browsers, in two minutes", 0, 0, 0 },
    { "suspects_places", CFG_INT, AT(suspects_places), "100", 0, 1e6, true,
      "places of a prefix in two minutes that are usual: beyond it ten count as one; 0 = any number is", 0, 0,
      0 },
    { "bind", CFG_ENUM, AT(bind), "none", 0, 0, true,
      "device: a ticket and its pass work only with the device (browser) that joined, by a cookie; key: by a "
      "key that the browser keeps", binds, 0, 0 },
    { "turn_notice", CFG_OBJ, AT(turn), "", 0, 0, true,
      "people who ask for it are told by a call of yours that their turn has come", 0, turn_keys, 0 },
    { 0 },
};

static int lanes_check(const struct queue_def *d, struct err *e)
{
    const struct def_lane *l = d->lanes.v;

    if (d->lanes.n > LANES_MAX)
        return err_set(e, SQ_EINVAL, "lanes: at most %d", LANES_MAX);
    for (size_t i = 0; i < d->lanes.n; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(l[i].name, l[k].name) == 0)
                return err_set(e, SQ_EINVAL, "lanes: \"%s\" is listed twice", l[i].name);
    return 0;
}

#define PUSH_CONTACT_CHARS                                                                                          \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:/?#@!$&'()*+,;=%"

/* An uncompressed point of P-256 begins with byte 4: "B", and one of the first sixteen. */
static bool is_push_key(const char *s)
{
    static const char base64url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

    return strlen(s) == PUSH_KEY_LEN && strspn(s, base64url) == PUSH_KEY_LEN && s[0] == 'B' && s[1] >= 'A' &&
           s[1] <= 'P';
}

static int turn_check(const struct def_turn *t, struct err *e)
{
    bool key = t->push_key != NULL && t->push_key[0] != 0, own = t->push_contact != NULL && t->push_contact[0] != 0;

    if (key && !is_push_key(t->push_key))
        return err_set(e, SQ_EINVAL, "turn_notice: push_key is no VAPID public key: %d characters of base64url that "
                                     "begin with B, as `web-push generate-vapid-keys` says them", PUSH_KEY_LEN);
    if (own && ((strncmp(t->push_contact, "mailto:", 7) != 0 && strncmp(t->push_contact, "https://", 8) != 0) ||
                t->push_contact[strspn(t->push_contact, PUSH_CONTACT_CHARS)] != 0))
        return err_set(e, SQ_EINVAL, "turn_notice: push_contact must begin with mailto: or https://, in characters of a url");
    if (key && own)
        return err_set(e, SQ_EINVAL, "turn_notice: push_key and push_contact: one of the two: with push_contact the key is "
                                     "segq's own");
    if ((key || own || t->field != TURN_FIELD_NONE) && (t->queue == NULL || t->queue[0] == 0))
        return err_set(e, SQ_EINVAL, "turn_notice: %s without queue: nobody would be told",
                       key ? "push_key" : own ? "push_contact" : "field");
    return 0;
}

bool queue_def_says_messages(const struct cfg_node *said)
{
    const struct cfg_node *page = cfg_node_get(said, "page");

    return page != NULL && cfg_node_get(page, "messages") != NULL;
}

static bool is_same(const char *a, const char *b)
{
    return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

int queue_def_drop_messages(struct queue_def *d, const struct queue_def *old, const struct cfg_node *said,
                            struct err *e)
{
    static const char none[] = "{\"page\":{\"messages\":[]}}";
    struct cfg_node *doc = NULL;
    int rc;

    if (d->page.messages.n == 0 || is_same(old->message, d->message) || queue_def_says_messages(said))
        return 0;
    rc = cfg_parse_json(&doc, none, sizeof(none) - 1, e);
    if (rc == 0)
        rc = cfg_patch(d, sizeof(*d), queue_def_keys, doc, NULL, e);
    cfg_node_free(doc);
    return rc;
}

uint32_t queue_challenge_mode(const struct queue_def *d)
{
    const struct def_challenge *c = &d->challenge;

    return c->mode == CHALLENGE_AUTO && c->from_joins_per_s + c->per_address == 0 ? CHALLENGE_OFF
                                                                                  : (uint32_t)c->mode;
}

uint32_t queue_challenge_keys(const struct queue_def *d)
{
    return d->challenge.cost != NULL ? (uint32_t)strtoul(d->challenge.cost, NULL, 10) : 0; /* "auto": 0 */
}

static int verify_check(const struct queue_def *d, struct err *e)
{
    const char *url = d->challenge.verify_url, *wrong = url != NULL && url[0] != '\0' ? endpoint_url_wrong(url, true) : NULL;

    if (wrong != NULL)
        return err_set(e, SQ_EINVAL, "challenge: verify_url %s", wrong);
    if (d->page.check != NULL && d->page.check[0] != '\0' && (url == NULL || url[0] == '\0'))
        return err_set(e, SQ_EINVAL, "page: check needs challenge.verify_url, the service that says whether its token is good");
    return networks_check(&d->challenge.verify_allow, "challenge.verify_allow", e);
}

static int cost_check(const struct queue_def *d, struct err *e)
{
    const char *cost = d->challenge.cost;
    uint32_t keys = queue_challenge_keys(d);

    if (cost == NULL || strcmp(cost, "auto") == 0 ||
        (strspn(cost, "0123456789") == strlen(cost) && keys >= 1024 && keys <= 524288))
        return 0;
    return err_set(e, SQ_EINVAL, "challenge: cost is auto, or a whole number from 1024 to 524288");
}

int queue_def_check(const struct queue_def *d, struct err *e)
{
    int rc = lanes_check(d, e)
          ?: metric_limits_check(&d->limits, e)
          ?: schedule_check(&d->when, e);

    if (rc == 0 && d->mode != MODE_RATE && d->max_active == 0)
        rc = err_set(e, SQ_EINVAL, "mode %s needs max_active, the highest number of "
                     "people inside",
                     def_mode_names[d->mode]);
    if (rc == 0)
        rc = page_def_check(&d->page, e);
    if (rc == 0 && !page_text_ok(d->message))
        rc = err_set(e, SQ_EINVAL, "message: control characters are not allowed");
    if (rc == 0 && d->page.messages.n > 0 && (d->message == NULL || d->message[0] == '\0'))
        rc = err_set(e, SQ_EINVAL, "page: messages are translations of `message`, which is empty: set "
                     "it, too");
    rc = rc
        ?: gate_def_check(&d->gate, e)
        ?: cost_check(d, e)
        ?: verify_check(d, e);
    if (rc == 0 && d->poll_min_ms > d->poll_max_ms)
        rc = err_set(e, SQ_EINVAL, "poll_min is above poll_max");
    if (rc == 0 && d->claim_ms > d->pass_ttl_ms)
        rc = err_set(e, SQ_EINVAL, "claim is longer than pass_ttl: the pass would expire "
                     "before it is collected");
    if (rc == 0 && d->turn.claim_ms > d->pass_ttl_ms)
        rc = err_set(e, SQ_EINVAL, "turn_notice: claim_window is longer than pass_ttl: the pass would expire "
                     "before it is collected");
    if (rc == 0)
        rc = turn_check(&d->turn, e);
    if (rc == 0 && d->session_idle_ms != 0 && d->session_idle_ms < 1000)
        rc = err_set(e, SQ_EINVAL, "session_idle is below 1s, the unit of a pass's "
                     "expiry");
    return rc < 0 && d->name != NULL ? err_wrap(e, "queue %s", d->name) : rc;
}

/* aws_room.c: see aws_room.h. */
#include "router/compat/aws_room.h"

#include <string.h>

#include "router/api/json_out.h"
#include "router/api/request.h"

/* ---- requests ---- */

#define MEMBER(member) \
    { #member, offsetof(struct aws_asked, member), 1, 128, json_text, RANGE_UNSAID, NULL, \
      " must be a string of 1 to 128 characters" }

bool aws_body(struct aws_asked *a, struct slice body, struct body_error *e)
{
    static const struct json_member members[] = { MEMBER(event_id), MEMBER(request_id), JSON_OTHERS };
    uint64_t has;

    *a = (struct aws_asked){ .event_id.n = 0 };
    return json_members_whole(members, ARRAY_LEN(members), UINT64_MAX, body, a, &has, e);
}

void aws_query(struct aws_asked *a, struct slice query)
{
    *a = (struct aws_asked){ .event_id.n = 0 };
    (void)api_query(query, "event_id=", &a->event_id);
    (void)api_query(query, "request_id=", &a->request_id);
}

/* ---- numbers ---- */

const char *aws_unfit(const struct route_queue *q)
{
    if (q->map.when.draw[0] != '\0')
        return "early visitors of this queue draw their places: there are no numbers before (prequeue)";
    if (q->map.bind != BIND_NONE)
        return "a place of this queue belongs to a device, and clients of this door prove none (bind)";
    if (q->map.position_cap != 0)
        return "this queue does not tell all places, and numbers tell them (position_cap)";
    if (q->map.silent_s < AWS_SILENT_LEAST_S)
        return "clients of this door wait in silence, and this queue gives up who is silent for less than "
               "10 minutes (idle.browser, away)";
    return NULL;
}

uint64_t aws_number(const struct routes *r, const struct route_queue *q, const struct token *t)
{
    struct route_name n;
    uint32_t i = 0;

    while (routes_name(r, q, 0, &i, &n))
        if (n.name == t->seg)
            return n.base != 0 ? n.base + t->number : 0;
    return 0;
}

/* The manager may let in others before the people of that segment. Once it has, they are told that they
 * are served: they are the next as soon as it is back, and until then generate_token says that it is not
 * yet their turn. */
static bool is_passed_over(const struct replicas *known, const struct route_name *n, msec_t now_ms)
{
    return n->lost || replicas_is_passed_over(known, n->node, now_ms);
}

/* A segment that is found sealed was sealed before now; what its node has said before may lack who
 * joined last. */
static void note_open(struct aws_line *l, const struct routes *r, const struct route_queue *q, msec_t now_ms)
{
    struct route_name n;
    uint64_t open = 1;

    for (uint32_t i = 0; routes_name(r, q, 0, &i, &n);)
        open += n.open ? n.name * 0x9e3779b97f4a7c15u : 0;
    if (open != l->open)
        l->open_ms = now_ms;
    l->open = open;
}

/* The lowest number of the name that waits, or may: nothing is known of it, or it was not given yet, as
 * far as is known. False: nobody waits, or will; *number: how many were given. */
static bool has_waiting(const struct aws_line *l, const struct replicas *known, const struct route_name *n,
                        uint32_t *number)
{
    const struct line *line = replicas_last_line(known, n->node, n->host, n->name);

    *number = line != NULL ? line_first(line) : 0;
    return line == NULL || n->open || *number < line->end || replicas_as_of_ms(known, n->node) <= l->open_ms;
}

/* *served: up to here nobody waits. False: the map tells no numbers. */
static bool look(const struct aws_line *l, const struct routes *r, const struct replicas *known,
                 const struct route_queue *q, msec_t now_ms, uint64_t *served)
{
    uint64_t first = UINT64_MAX, next = UINT64_MAX; /* lowest that waits; likewise, not passed over */
    uint64_t last = 0; /* highest before which all of its segment are let in, or have left */
    struct route_name n;
    bool told = false;

    for (uint32_t i = 0; routes_name(r, q, 0, &i, &n);) {
        uint32_t number;
        bool waits, passed;

        if (n.base == 0)
            continue;
        told = true;
        waits = has_waiting(l, known, &n, &number);
        passed = waits && is_passed_over(known, &n, now_ms);
        if (waits)
            first = u64_min(first, n.base + number);
        if (waits && !passed)
            next = u64_min(next, n.base + number);
        if (number > 0 && !passed)
            last = u64_max(last, n.base + number - 1);
    }
    *served = first != UINT64_MAX ? u64_max(first - 1, u64_min(next - 1, last)) : last;
    return told;
}

bool aws_served(struct aws_line *l, const struct routes *r, const struct replicas *known,
                const struct route_queue *q, msec_t now_ms, uint64_t *served)
{
    if (l->queue != q->map.id)
        *l = (struct aws_line){ .queue = q->map.id };
    if (l->looked_ms == 0 || now_ms - l->looked_ms >= AWS_LOOK_MS) {
        uint64_t n;

        note_open(l, r, q, now_ms);
        if (!look(l, r, known, q, now_ms, &n)) {
            *l = (struct aws_line){ .queue = q->map.id }; /* an older manager leads: the next numbers are other ones */
        } else {
            l->served = u64_max(l->served, n);
            l->looked_ms = now_ms;
        }
    }
    *served = l->served;
    return l->looked_ms != 0;
}

/* ---- answers ---- */

void aws_assigned(struct api_ans *a, const char *token)
{
    api_ok(a, 200);
    out_bytes(&a->body, "{\"api_request_id\":\"", token, TOKEN_TEXT_LEN);
    ADD(&a->body, "\"}");
}

void aws_numbered(struct api_ans *a, uint64_t number, int64_t entry_s, const char *event_id)
{
    api_ok(a, 200);
    out_u64(&a->body, "{\"queue_number\":", number);
    out_u64(&a->body, ",\"entry_time\":", (uint64_t)entry_s);
    out_word(&a->body, ",\"event_id\":", event_id);
    ADD(&a->body, ",\"status\":1}");
}

void aws_count(struct api_ans *a, const char *member, uint64_t n)
{
    api_ok(a, 200);
    out_word(&a->body, "{", member);
    out_u64(&a->body, ":", n);
    ADD(&a->body, "}");
}

void aws_tokens(struct api_ans *a, const char *pass, size_t n, int64_t expires_in_s)
{
    api_ok(a, 200);
    out_bytes(&a->body, "{\"access_token\":\"", pass, n);
    out_bytes(&a->body, "\",\"refresh_token\":\"", pass, n);
    out_bytes(&a->body, "\",\"id_token\":\"", pass, n);
    out_u64(&a->body, "\",\"token_type\":\"Bearer\",\"expires_in\":", (uint64_t)(expires_in_s > 0 ? expires_in_s : 0));
    ADD(&a->body, "}");
}

void aws_key(struct api_ans *a, const uint8_t key[32])
{
    api_ok(a, 200);
    api_jwk(&a->body, key);
    ADD(&a->headers, "Cache-Control: public, max-age=60\r\n");
}

void aws_not_yet(struct api_ans *a, const char *why)
{
    api_ok(a, 202);
    out_word(&a->body, "{\"error\":", why);
    ADD(&a->body, "}");
}

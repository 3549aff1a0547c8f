/* json_body.c: see json_body.h. */
#include "router/api/json_body.h"

#include <string.h>

#include "router/gate/challenge.h"

struct said { /* slices point into the request's bytes */
    int64_t client;
    struct slice subject, lane, claim, altcha;
};

const char *const join_clients[CLIENT_NCLASSES] = { [CLIENT_GAME] = "game",
                                                    [CLIENT_MOBILE] = "mobile",
                                                    [CLIENT_BROWSER] = "browser" };

#define TEXT(name, most, how, must)                                                      \
    { #name, offsetof(struct said, name), 1, most, how, RANGE_BYTES, NULL, must }
static const struct json_member members[] = {
    { "client", offsetof(struct said, client), 0, CLIENT_NCLASSES, json_word, RANGE_UNSAID, join_clients,
      " must be browser, mobile or game" },
    TEXT(subject, SUBJECT_MAX_LEN, json_words, " must be a string without control characters,"),
    TEXT(lane, NAME_MAX_LEN, json_text, " must be a string"),
    TEXT(claim, CLAIM_MAX_LEN, json_text, " must be a string"),
    TEXT(altcha, CHALLENGE_ANSWER_MAX, json_text, " must be a string"),
    JSON_OTHERS,
};

bool body_join(struct join_body *b, struct slice text, struct body_error *e)
{
    struct said m = { 0 };
    uint64_t has;

    memset(b, 0, offsetof(struct join_body, claim));
    e->text[0] = '\0';
    if (text.n > 0 &&
        !json_members_whole(members, ARRAY_LEN(members), UINT64_MAX, text, &m, &has, e))
        return false;
    b->client = (uint8_t)m.client;
    b->subject_len = (uint8_t)m.subject.n;
    b->lane_len = (uint8_t)m.lane.n;
    b->claim_len = (uint16_t)m.claim.n;
    b->altcha_len = (uint16_t)m.altcha.n;
    b->altcha = m.altcha.p;
    if (m.subject.n > 0)
        memcpy(b->subject, m.subject.p, m.subject.n);
    if (m.lane.n > 0)
        memcpy(b->lane, m.lane.p, m.lane.n);
    if (m.claim.n > 0)
        memcpy(b->claim, m.claim.p, m.claim.n);
    return true;
}

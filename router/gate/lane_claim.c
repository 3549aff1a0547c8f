/* lane_claim.c: what a claim to a lane says. */
#include "router/gate/lane_claim.h"

#include <string.h>

static bool is_text(const json_t *m, const char *text)
{
    return json_is_string(m) && strcmp(json_string_value(m), text) == 0;
}

static bool is_for(const json_t *aud, const char *queue)
{
    for (size_t i = 0; i < json_array_size(aud); i++)
        if (is_text(json_array_get(aud, i), queue))
            return true;
    return is_text(aud, queue);
}

static int take_lane(struct lane_claim *c, const json_t *o, const char **why)
{
    const json_t *m = json_object_get(o, "lane");
    size_t n = json_string_length(m);

    if (m == NULL)
        return claim_refuse(why, "the claim does not say for which lane it is (lane)");
    if (n == 0 || n > NAME_MAX_LEN)
        return claim_refuse(why, "the claim's lane is not a name");
    memcpy(c->lane, json_string_value(m), n + 1);
    return 0;
}

static int take_subject(struct lane_claim *c, const json_t *o, const char **why)
{
    static const char bad[] = "the claim's sub is not a text of 1 to 128 bytes without "
                              "control characters";
    const json_t *m = json_object_get(o, "sub");
    const char *s = json_string_value(m);
    size_t n = json_string_length(m);

    if (m == NULL)
        return 0;
    if (n == 0 || n > SUBJECT_MAX_LEN)
        return claim_refuse(why, bad);
    for (size_t i = 0; i < n; i++)
        if ((uint8_t)s[i] < 0x20 || s[i] == 0x7f)
            return claim_refuse(why, bad);
    memcpy(c->sub, s, n);
    c->sub_len = (uint8_t)n;
    return 0;
}

static int take_replaces(struct lane_claim *c, const json_t *o, const char **why)
{
    const json_t *m = json_object_get(o, "replaces");

    if (m == NULL)
        return 0;
    if (json_string_length(m) != sizeof(c->old))
        return claim_refuse(why, "the claim's replaces is not a token");
    c->replaces = true;
    memcpy(c->old, json_string_value(m), sizeof(c->old));
    return 0;
}

static int check_body(struct lane_claim *c, const json_t *o, const char *queue, const char **why)
{
    const json_t *jti = json_object_get(o, "jti");
    int rc = 0;

    if (!is_for(json_object_get(o, "aud"), queue))
        rc = claim_refuse(why, "the claim is not for this queue (aud)");
    if (rc == 0 && jti != NULL && !json_is_string(jti))
        rc = claim_refuse(why, "the claim's jti is not a text");
    if (rc == 0)
        rc = take_lane(c, o, why);
    if (rc == 0)
        rc = take_subject(c, o, why);
    if (rc == 0)
        rc = take_replaces(c, o, why);
    return rc;
}

int lane_claim_check(struct lane_claim *c, const char *jwt, size_t n, const struct claim_key *keys,
                     size_t n_keys, const char *queue, int64_t max_ttl_s, int64_t now_s,
                     const char **why)
{
    json_t *o;
    int rc = claim_open(&o, jwt, n, keys, n_keys, max_ttl_s, now_s, why);

    memset(c, 0, sizeof(*c));
    if (rc < 0)
        return rc;
    rc = check_body(c, o, queue, why);
    json_decref(o);
    return rc;
}

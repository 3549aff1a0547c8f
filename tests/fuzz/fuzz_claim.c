/* fuzz_claim.c: whatever is given for a claim: a sentence, or what is within bounds; and
 * nothing that was not signed is ever taken. Two inputs in one: the text of a claim, and
 * (behind a first byte 1) a payload that the target signs itself, to get past the key. */
#include <stdlib.h>

#include "router/gate/signed_claim.h"
#include "router/task_api/rights.h"
#include "tests/lib/claimrig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void sound(int rc, const struct lane_claim *c, const char *why)
{
    static const struct token_key nobody;
    struct token old;

    must(rc == 0 || rc == SQ_EAUTH || rc == SQ_ENOMEM);
    must(why != NULL && (rc == SQ_EAUTH) == (why[0] != '\0'));
    if (rc != 0)
        return;
    must(strlen(c->lane) >= 1 && strlen(c->lane) <= NAME_MAX_LEN);
    must(c->sub_len <= SUBJECT_MAX_LEN);
    for (size_t i = 0; i < c->sub_len; i++)
        must((uint8_t)c->sub[i] >= 0x20 && c->sub[i] != 0x7f);
    must(c->replaces == (c->old[0] != '\0'));
    for (size_t i = 0; c->replaces && i < sizeof(c->old); i++)
        must(c->old[i] != '\0');
    must(token_read(&old, &nobody, c->old, sizeof(c->old)) < 0); /* it is none of ours */
}

/* The same text as a claim for a task. */
static void as_task(const char *jwt, const struct claim_key *k, bool good)
{
    struct slice queue = { (char *)(uintptr_t)"ride/5", 6 };
    struct task_body b = { 0 };
    struct task_claim c;
    const char *why = NULL;
    int rc = task_claim_check(&c, (struct slice){ (char *)(uintptr_t)jwt, strlen(jwt) }, k, 1, queue,
                              900, 1700000000, &why);

    must(rc == 0 || rc == SQ_EAUTH || rc == SQ_ENOMEM);
    must(why != NULL && (rc == SQ_EAUTH) == (why[0] != '\0') && (good || rc != 0));
    if (rc != 0)
        return;
    must(task_claim_bind(&c, &b) == NULL && task_text_ok(b.idempotency_key));
    must((b.key.n == 0 || task_key_ok(b.key)) && b.priority >= 0 && b.priority < TASK_PRIORITIES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char head[] = "{\"alg\":\"HS256\",\"kid\":\"k\"}";
    struct claim_key k = { .kid = "k",
                           .alg = CLAIM_HS256,
                           .len = sizeof(CLAIM_SECRET) - 1 };
    bool sign = size > 0 && data[0] == 1;
    const char *why = NULL;
    struct lane_claim c;
    char *text;
    int rc;

    must(sodium_init() >= 0);
    if (size > 1400)
        return 0;
    memcpy(k.key, CLAIM_SECRET, k.len);
    text = calloc(1, size + 1);
    must(text != NULL);
    memcpy(text, data + sign, size - sign);
    if (sign) {
        const char *jwt = claim_text(head, text, NULL);

        rc = lane_claim_check(&c, jwt, strlen(jwt), &k, 1, "sale", 900, 1700000000, &why);
        as_task(jwt, &k, true);
    } else {
        k.key[0] ^= 1; /* a key that nobody has signed with */
        rc = lane_claim_check(&c, text, size, &k, 1, "sale", 900, 1700000000, &why);
        must(rc != 0);
        as_task(text, &k, false);
    }
    sound(rc, &c, why);
    free(text);
    return 0;
}

/* fuzz_body.c: to whatever is posted json_body.c answers with a sound join_body or a reason, and
 * with the same one whether the bytes were read in place or by jansson. */
#include <stdlib.h>
#include <string.h>

#include "router/api/json_body.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void same(const struct join_body *b, int rc, const char *why, const char *p, size_t n)
{
    struct join_body any;
    const char *why_any = NULL;

    must(body_join_any(&any, p, n, &why_any) == rc);
    must(strcmp(why, why_any) == 0);
    /* zeroed before, but for the claim: no padding bits */
    must(rc != 0 || memcmp(b, &any, offsetof(struct join_body, claim) + b->claim_len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *exact = malloc(size + (size == 0));
    struct join_body b;
    const char *why = NULL;
    int rc;

    must(exact != NULL);
    memcpy(exact, data, size);
    rc = body_join(&b, exact, size, &why);
    if (size > 0)
        same(&b, rc, why, exact, size);
    free(exact);
    must(rc == 0 || rc == SQ_EINVAL || rc == SQ_ENOMEM);
    must(why != NULL && (rc == SQ_EINVAL) == (why[0] != '\0'));
    if (rc != 0)
        return 0;
    must(b.client < CLIENT_NCLASSES);
    must(b.claim_len <= CLAIM_MAX_LEN);
    must(b.subject_len <= SUBJECT_MAX_LEN && b.lane_len <= NAME_MAX_LEN);
    for (size_t i = 0; i < b.subject_len; i++)
        must((uint8_t)b.subject[i] >= 0x20 && b.subject[i] != 0x7f);
    return 0;
}

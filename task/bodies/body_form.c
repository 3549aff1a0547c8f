#include "task/bodies/body_form.h"

#include <assert.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "common/journal/format.h"
#include "common/task/rules.h"

_Static_assert(BODY_HEAD + TASK_BODY_MAX + BODY_UNIT <= 0xffffu * BODY_UNIT, "a reference has it");
_Static_assert(crypto_shorthash_KEYBYTES == sizeof(struct body_key), "keys are 128 bits");

/* Public: sums guard against accidents only. */
static const uint8_t fixed_key[16] = "segq bodies v1*";

static uint64_t sum_of(const void *p, size_t n, const uint8_t key[16])
{
    uint8_t out[crypto_shorthash_BYTES];

    crypto_shorthash(out, p, n, key);
    return le64_get(out);
}

void body_name(char out[BODY_NAME_MAX], uint32_t file)
{
    snprintf(out, BODY_NAME_MAX, "body-%08" PRIx32, file);
}

bool body_name_parse(const char *text, uint32_t *file)
{
    char again[BODY_NAME_MAX];

    if (strlen(text) != 13 || sscanf(text, "body-%8" SCNx32, file) != 1)
        return false;
    body_name(again, *file); /* a single spelling */
    return strcmp(text, again) == 0 && *file != 0 && *file <= BODY_FILE_MAX;
}

void body_key_make(struct body_key *k, const char *node, uint32_t file)
{
    le64_put(k->k, sum_of(node, strlen(node), fixed_key));
    le64_put(k->k + 8, file);
}

void body_seal(uint8_t *out, const struct body_key *k, uint32_t at, const uint8_t *p, uint32_t n)
{
    assert(at % BODY_UNIT == 0 && n <= TASK_BODY_MAX);
    le32_put(out + 8, n);
    le32_put(out + 12, at / BODY_UNIT);
    memcpy(out + BODY_HEAD, p, n);
    memset(out + BODY_HEAD + n, 0, body_len(n) - BODY_HEAD - n);
    le64_put(out, sum_of(out + 8, BODY_HEAD - 8 + n, k->k));
}

bool body_is_whole(const uint8_t *bytes, const struct body_key *k, const struct body_place *p,
                   uint32_t *n)
{
    *n = le32_get(bytes + 8);
    return *n <= TASK_BODY_MAX && body_len(*n) == p->len &&
           le32_get(bytes + 12) == p->at / BODY_UNIT &&
           le64_get(bytes) == sum_of(bytes + 8, BODY_HEAD - 8 + *n, k->k);
}

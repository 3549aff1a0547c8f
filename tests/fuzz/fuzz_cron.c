/* fuzz_cron.c: an expression is refused with a sentence, or each of its moments comes behind the one
 * before, fits its sets, and lies in a zone whose clocks change twice a year. */
#include <stdlib.h>
#include <string.h>

#include "common/recur/recur.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok)
        abort();
}

/* Half of each 100 days an hour ahead. */
static bool offset(void *ctx, const char *zone, int64_t at_s, int32_t *offset_s)
{
    (void)ctx;
    (void)zone;
    *offset_s = at_s / 4320000 % 2 != 0 ? 3600 : 0;
    return true;
}

static const struct zones zones = { offset, NULL };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[CRON_TEXT_MAX + 2];
    struct zone z = { &zones, "X" };
    struct cron_error e;
    struct cron c;
    int64_t at = 1700000000;

    if (size >= sizeof(text))
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    if (!cron_read(&c, text, &e)) {
        must(e.text[0] != '\0' && strlen(e.text) < sizeof(e.text));
        return 0;
    }
    for (unsigned i = 0; i < 4; i++) {
        int64_t next = cron_next(&c, &z, at);
        int32_t there;

        must(next > at && next != CRON_NEVER);
        at = next;
        if (c.fixed)
            continue;
        must(offset(NULL, "", at, &there));
        must((c.minutes >> (at + there) / 60 % 60 & 1) != 0);
        must((c.hours >> (at + there) / 3600 % 24 & 1) != 0);
    }
    return 0;
}

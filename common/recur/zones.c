/* zones.c: TZ names the zone of which localtime_r() tells. */
#include "common/recur/zones.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/text.h"

#define ZONES_DIR "/usr/share/zoneinfo"

/* glibc takes UTC for a zone that it does not find, and says nothing. */
static bool is_here(const char *zone)
{
    const char *dir = getenv("TZDIR");
    char path[512], magic[4];
    FILE *f;
    bool ok;

    snprintf(path, sizeof(path), "%s/%s", dir != NULL && dir[0] != '\0' ? dir : ZONES_DIR, zone);
    f = fopen(path, "re");
    ok = f != NULL && fread(magic, sizeof(magic), 1, f) == 1 && memcmp(magic, "TZif", 4) == 0;
    if (f != NULL)
        fclose(f);
    return ok;
}

static bool choose(const char *zone)
{
    static char chosen[ZONE_NAME_MAX + 1];
    char tz[ZONE_NAME_MAX + 2] = ":";

    if (strcmp(zone, chosen) == 0)
        return true;
    if (!zone_name_ok(zone) || !is_here(zone))
        return false;
    copy_text(tz + 1, sizeof(tz) - 1, zone);
    if (setenv("TZ", tz, 1) < 0)
        return false;
    tzset();
    copy_text(chosen, sizeof(chosen), zone);
    return true;
}

static bool offset(void *ctx, const char *zone, int64_t at_s, int32_t *offset_s)
{
    time_t at = (time_t)at_s;
    struct tm tm;

    (void)ctx;
    if (!choose(zone) || localtime_r(&at, &tm) == NULL)
        return false;
    *offset_s = (int32_t)tm.tm_gmtoff;
    return true;
}

const struct zones system_zones = { offset, NULL };

/* tally.c: counts, and their JSON. */
#include "tests/bench/load/tally.h"

#include <inttypes.h>

void tally_add(struct tally *t, enum ending how, unsigned status, uint64_t lat_us)
{
    if (how == ENDED_ANSWERED)
        lat_add(&t->lat, lat_us);
    if (how == ENDED_ANSWERED && status / 100 == 2) {
        t->ok++;
        return;
    }
    t->bad[how]++;
    if (how == ENDED_ANSWERED && status < TALLY_STATUSES)
        t->status[status]++;
}

uint64_t tally_errors(const struct tally *t)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < ENDED_NKINDS; i++)
        n += t->bad[i];
    return n;
}

void tally_write_errors(const struct tally *t, FILE *f)
{
    static const char *const name[ENDED_NKINDS] = { NULL, "connect", "closed", "timeout",
                                                    "protocol" };
    const char *comma = "";

    fputs("\"errors\":{", f);
    for (unsigned i = 0; i < TALLY_STATUSES; i++) {
        if (t->status[i] == 0)
            continue;
        fprintf(f, "%s\"%u\":%" PRIu64, comma, i, t->status[i]);
        comma = ",";
    }
    for (unsigned i = ENDED_CONNECT; i < ENDED_NKINDS; i++) {
        if (t->bad[i] == 0)
            continue;
        fprintf(f, "%s\"%s\":%" PRIu64, comma, name[i], t->bad[i]);
        comma = ",";
    }
    fputs("}", f);
}

void tally_write_lat(const struct tally *t, FILE *f)
{
    const struct lat *l = &t->lat;

    fprintf(f,
            "\"lat_us\":{\"p50\":%" PRIu64 ",\"p90\":%" PRIu64 ",\"p99\":%" PRIu64
            ",\"p999\":%" PRIu64 ",\"max\":%" PRIu64 ",\"mean\":%.1f}",
            lat_at(l, 0.5), lat_at(l, 0.9), lat_at(l, 0.99), lat_at(l, 0.999), l->max_us,
            lat_mean(l));
}

void tally_write_hist(const struct tally *t, FILE *f)
{
    const char *comma = "";

    fputs("\"hist_us\":[", f);
    for (unsigned b = 0; b < LAT_BUCKETS; b++) {
        if (t->lat.count[b] == 0)
            continue;
        fprintf(f, "%s[%" PRIu64 ",%" PRIu64 "]", comma,
                u64_min(lat_top(b), t->lat.max_us), t->lat.count[b]);
        comma = ",";
    }
    fputs("]", f);
}

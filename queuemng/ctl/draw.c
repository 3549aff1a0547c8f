/* draw.c: `segqctl draw QUEUE [COMMITMENT] [TICKET]...`: is the draw what was promised
 * before, and which place did a ticket get? Worked out here, from the published seed alone.
 * That seed and commitment of today fit each other proves little: they come in one answer. The
 * promise is the commitment that somebody has noted before the opening. */
#include "queuemng/ctl/draw.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/ticket/draw.h"
#include "queuemng/ctl_ask/answer.h"
#include "queuemng/ctl_view/text.h"

static bool read_seed(const json_t *draw, uint8_t seed[DRAW_SEED])
{
    const char *hex = ctl_str(draw, "seed");
    size_t n = 0;

    return sodium_hex2bin(seed, DRAW_SEED, hex, strlen(hex), NULL, &n, NULL) == 0 &&
           n == DRAW_SEED;
}

static bool is_commitment(const char *text)
{
    uint8_t hash[DRAW_SEED];
    size_t n = 0;

    return strlen(text) == DRAW_HEX &&
           sodium_hex2bin(hash, sizeof(hash), text, DRAW_HEX, NULL, &n, NULL) == 0 &&
           n == sizeof(hash);
}

static bool is_promised(const json_t *draw, const char *queue, const uint8_t seed[DRAW_SEED])
{
    uint8_t hash[DRAW_SEED];
    char hex[DRAW_HEX + 1];

    draw_commitment(queue, seed, hash);
    sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
    return strcmp(hex, ctl_str(draw, "commitment")) == 0;
}

/* "17-123": its place in the draw, from 1; 0: it was not in it; -1: no ticket, no memory. */
static int64_t place_of(const json_t *draw, const char *ticket, const uint8_t seed[DRAW_SEED])
{
    unsigned long long seg;
    unsigned number;
    uint64_t before = 0;
    const json_t *s;
    char rest;
    size_t i;

    if (sscanf(ticket, "%llu-%u%c", &seg, &number, &rest) != 2)
        return -1;
    json_array_foreach(json_object_get(draw, "segments"), i, s) {
        uint64_t id = (uint64_t)json_integer_value(json_object_get(s, "segment"));
        json_int_t count = json_integer_value(json_object_get(s, "count"));
        struct draw *d;

        if (id != seg) {
            before += (uint64_t)count;
            continue;
        }
        if (number >= count || count > UINT32_MAX)
            return 0;
        d = draw_new(id, (uint32_t)count, seed);
        if (d == NULL)
            return -1;
        before += draw_place(d, number) + 1u;
        draw_free(d);
        return (int64_t)before;
    }
    return 0;
}

static int say_tickets(const json_t *draw, const uint8_t seed[DRAW_SEED], int n, char **ticket)
{
    int rc = CTL_OK;

    for (int i = 0; i < n; i++) {
        int64_t place = place_of(draw, ticket[i], seed);

        if (place > 0)
            printf("%s: place %lld of the draw\n", ticket[i], (long long)place);
        else
            fprintf(stderr, "segqctl: %.60s: %s\n", ticket[i],
                    place == 0 ? "was not in the draw" : "is no ticket like 17-123");
        rc = place > 0 ? rc : CTL_REFUSED;
    }
    return rc;
}

/* noted: the commitment, as it was known before; NULL: nobody has noted it. */
static int say_draw(const json_t *doc, const char *noted, int n, char **ticket)
{
    const json_t *draw = json_object_get(doc, "draw");
    uint8_t seed[DRAW_SEED];

    if (draw == NULL) {
        fprintf(stderr, "segqctl: this queue draws no positions\n");
        return CTL_REFUSED;
    }
    printf("commitment %s\n", ctl_str(draw, "commitment"));
    if (noted != NULL && strcasecmp(noted, ctl_str(draw, "commitment")) != 0) {
        fprintf(stderr, "segqctl: this is not the commitment that you noted\n");
        return CTL_REFUSED;
    }
    if (!read_seed(draw, seed)) {
        puts("seed       is published when the queue opens");
        return n == 0 ? CTL_OK : CTL_REFUSED;
    }
    printf("seed       %s\n", ctl_str(draw, "seed"));
    if (!is_promised(draw, ctl_str(doc, "queue"), seed)) {
        fprintf(stderr, "segqctl: the seed does not fit this commitment\n");
        return CTL_REFUSED;
    }
    puts(noted != NULL ? "           as promised"
                       : "           fits the commitment that is shown now. To prove the draw, "
                         "give the one that you noted before the opening: segqctl draw QUEUE "
                         "COMMITMENT");
    return say_tickets(draw, seed, n, ticket);
}

int cmd_draw(struct ctl *c, int argc, char **argv)
{
    struct ctl_call call = { .method = "GET", .path = "/v1/queues/*", .name = argv[0] };
    const char *noted = argc > 1 && is_commitment(argv[1]) ? argv[1] : NULL;
    int first = noted != NULL ? 2 : 1, rc;
    json_t *doc = ctl_fetch(c, call, &rc);

    if (doc != NULL)
        rc = say_draw(doc, noted, argc - first, argv + first);
    json_decref(doc);
    return rc;
}

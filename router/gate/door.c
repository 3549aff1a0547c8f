/* door.c: see door.h. */
#include "router/gate/door.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

#define PEOPLE    (1u << 15) /* prefixes, of a queue each */
#define WALKS     (1u << 13)
#define USED      (1u << 15)
#define MINUTE_MS 60000u
#define SECOND_MS 1000u

int door_init(struct door *d, const uint8_t secret[32], const uint8_t *key, const uint8_t *other)
{
    memset(d, 0, sizeof(*d));
    map_init(&d->queues, 0); /* ids are ours */
    challenge_key_make(&d->keys.first, key);
    d->keys.has_other = other != NULL;
    if (other != NULL)
        challenge_key_make(&d->keys.other, other);
    hmac256_key(&d->hash, secret, 32);
    d->people = crowd_new(PEOPLE, MINUTE_MS);
    d->walks = crowd_new(WALKS, SECOND_MS);
    d->used = crowd_new(USED, MINUTE_MS);
    d->puzzles = puzzles_new(secret);
    if (d->people != NULL && d->walks != NULL && d->used != NULL && d->puzzles != NULL)
        return 0;
    door_fini(d);
    return SQ_ENOMEM;
}

void door_fini(struct door *d)
{
    map_fini_all(&d->queues);
    crowd_free(d->people);
    crowd_free(d->walks);
    crowd_free(d->used);
    puzzles_free(d->puzzles);
    d->people = d->walks = d->used = NULL;
    d->puzzles = NULL;
}

/* Never 0. Nobody outside can choose what meets in a table. */
static uint64_t hash(const struct door *d, const void *p, size_t n)
{
    uint8_t mac[HMAC256_BYTES];
    uint64_t v;

    hmac256_of(mac, &d->hash, p, n);
    memcpy(&v, mac, sizeof(v));
    return v | 1;
}

static uint64_t hash_two(const struct door *d, uint64_t a, uint64_t b)
{
    const uint64_t both[2] = { a, b };

    return hash(d, both, sizeof(both));
}

/* NULL: no memory; then only what the manager says counts. */
static struct door_queue *queue_of(struct door *d, queue_id id)
{
    struct door_queue *q = map_get_ptr(&d->queues, id);

    if (q != NULL)
        return q;
    q = calloc(1, sizeof(*q));
    if (q == NULL || map_set_ptr(&d->queues, id, q) < 0) {
        free(q);
        return NULL;
    }
    q->id = id;
    return q;
}

static uint32_t in_this_second(struct door_queue *q, msec_t now_ms)
{
    if (q == NULL)
        return 0;
    if (q->second != now_ms / SECOND_MS) {
        q->second = now_ms / SECOND_MS;
        q->in_second = 0;
    }
    q->asked++;
    return ++q->in_second;
}

/* From so many times what is usual on a prefix pays twice as much. */
static const uint32_t steps[] = { 2, 4, 8, 24 };

static unsigned steps_of(uint64_t n, uint64_t usual)
{
    unsigned i = 0;

    while (i < ARRAY_LEN(steps) && n >= steps[i] * usual)
        i++;
    return i;
}

/* Raises *steps to what this row makes. True: the join is one too many to be free. */
static bool is_many(struct door *d, const struct door_ask *a, unsigned i, unsigned *most)
{
    uint64_t width = i == 0 ? 1 : DOOR_SITE, per_address = a->queue->challenge_per_address;
    struct crowd_count c = crowd_look(d->people, a->rows[i], a->now_ms);

    *most = (unsigned)u64_max(*most, steps_of(c.all, width * (per_address != 0 ? per_address : DOOR_USUAL)));
    return per_address != 0 && c.lately >= width * per_address;
}

unsigned door_level(struct door *d, struct door_ask *a)
{
    const struct map_queue *q = a->queue;
    unsigned level = a->told, most = 0;
    uint32_t second;

    a->rows[0] = a->rows[1] = 0;
    if (q->challenge_mode == CHALLENGE_OFF && level == 0)
        return 0;
    second = q->challenge_mode != CHALLENGE_OFF ? in_this_second(queue_of(d, q->id), a->now_ms) : 0;
    if (q->challenge_mode == CHALLENGE_ON || (q->challenge_from != 0 && second > q->challenge_from))
        level = (unsigned)u64_max(level, 1);
    a->rows[0] = hash_two(d, a->prefix, q->id);
    a->rows[1] = a->site != a->prefix ? hash_two(d, a->site, q->id) : 0;
    for (unsigned i = 0; i < 2 && a->rows[i] != 0; i++)
        if (is_many(d, a, i, &most))
            level = (unsigned)u64_max(level, 1);
    return level == 0 ? 0 : (unsigned)u64_min(u64_max(level, 1 + most), DOOR_LEVELS);
}

void door_count(struct door *d, const struct door_ask *a)
{
    for (unsigned i = 0; i < 2 && a->rows[i] != 0; i++)
        (void)crowd_add(d->people, a->rows[i], a->now_ms);
}

unsigned door_rank(const struct door_ask *a, unsigned level)
{
    uint64_t keys = a->queue->challenge_keys != 0 ? a->queue->challenge_keys : DOOR_AUTO_KEYS;

    return puzzle_rank(u64_min(keys << (level - 1), u64_max(2 * keys, DOOR_MOST_KEYS)));
}

size_t door_challenge(struct door *d, const struct door_ask *a, const struct challenge_terms *t, unsigned level,
                      char out[CHALLENGE_TEXT_MAX])
{
    unsigned rank = door_rank(a, level);
    msec_t second = a->now_ms / SECOND_MS;
    uint64_t walk = hash_two(d, a->site, UINT64_MAX); /* no queue has that id */
    uint32_t step = crowd_add(d->walks, walk, second * SECOND_MS).now;
    const struct puzzle *p = NULL;
    char id[CHALLENGE_ID_LEN];

    assert(level >= 1 && level <= DOOR_LEVELS);
    if (step <= PUZZLES)
        p = puzzles_get(d->puzzles, rank, (uint64_t)second + 1, (uint32_t)(walk >> 32) + step);
    if (p == NULL) {
        d->too_fast++;
        return 0;
    }
    d->ids++;
    hex_put(hex_put(id, hash_two(d, d->ids, 1)), hash_two(d, d->ids, 2));
    return challenge_write(out, &d->keys.first, t, id, p, a->wall_s + CHALLENGE_LIFE_S);
}

bool door_spares(struct door *d, uint64_t seg, uint32_t number, msec_t now_ms)
{
    return crowd_add(d->used, hash_two(d, seg, number), now_ms).all <= DOOR_USES;
}

/* First of its prefix in this minute; it may come again, since answers get lost. */
static bool has_waited(struct door *d, const struct door_ask *a, int64_t end_s, uint64_t challenge)
{
    if (!a->patient || a->wall_s < end_s - CHALLENGE_LIFE_S + DOOR_PATIENCE_S)
        return false;
    return crowd_knows(d->used, challenge) ||
           crowd_add(d->people, hash_two(d, a->site, UINT64_MAX - 1),
                     a->now_ms / MINUTE_MS * MINUTE_MS).now == 1;
}

/* Joins are told as they ask. */
static void tell_once(struct door *d, queue_id id)
{
    struct door_queue *q = map_get_ptr(&d->queues, id);

    if (q != NULL && q->asked > 0)
        q->asked--;
}

enum challenge_state door_check(struct door *d, const struct door_ask *a, const struct challenge_terms *t,
                                struct slice answer, struct challenge_seen *of)
{
    enum challenge_state s = challenge_check(&d->keys, t, answer.p, answer.n, a->wall_s, of);
    uint64_t challenge = s == CHALLENGE_GOOD || s == CHALLENGE_UNSOLVED ? hash(d, of->id, CHALLENGE_ID_LEN) : 0;
    bool waited = s == CHALLENGE_UNSOLVED && has_waited(d, a, of->end_s, challenge);

    if (s == CHALLENGE_GOOD || waited) {
        if (crowd_add(d->used, challenge, a->now_ms).all <= DOOR_USES) {
            tell_once(d, a->queue->id);
            *(waited ? &d->waited : &d->refused[CHALLENGE_GOOD]) += 1;
            return CHALLENGE_GOOD;
        }
        s = CHALLENGE_USED;
    }
    d->refused[s]++;
    return s;
}

uint32_t door_rows(struct door *d, struct join_row rows[MSG_JOINS_MAX])
{
    uint64_t key, val;
    uint32_t n = 0;

    for (size_t i = 0; n < MSG_JOINS_MAX && (i = map_next(&d->queues, i, &key, &val)) != 0;) {
        struct door_queue *q = (struct door_queue *)(uintptr_t)val;

        if (q->asked > 0)
            rows[n++] = (struct join_row){ q->id, q->asked };
        q->asked = 0;
    }
    return n;
}

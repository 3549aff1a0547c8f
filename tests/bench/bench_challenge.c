/* bench_challenge.c: what a challenge costs a router, and what it costs its solver; JSON, nanoseconds.
 *
 *   bench_challenge [--quick]
 *   bench_challenge --solve        lines "NONCE SALT PREFIX" (hex): to each "COUNTER KEY", by our library
 *
 *   ask     a join is judged and gets a challenge; puzzles are made as a flood makes them
 *   forged  an answer of the right form, not signed by us; stale: signed, but its time is over
 *   good    a right answer
 *   try_segq, try_openssl  one key, by each library: a solver tries half of `keys` on average */
#include <openssl/evp.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/task/sha256.h"
#include "router/gate/door.h"

#define WALL_S 1764334800

static struct map_queue queue = { .id = 7, .name = "login", .challenge_mode = CHALLENGE_ON };
static struct door door;
static struct door_ask ask = { .queue = &queue, .prefix = 11, .site = 11, .now_ms = 5000, .wall_s = WALL_S };
static const struct challenge_terms terms = { .queue = "login", .from = 3 };
static char text[CHALLENGE_TEXT_MAX];
static size_t text_n;

static void die(const char *what)
{
    fprintf(stderr, "bench_challenge: %s\n", what);
    exit(1);
}

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Fifty thousand a second, of ten thousand networks. */
static double asks(unsigned n)
{
    double t = now_ns();
    unsigned level;

    for (unsigned i = 0; i < n; i++) {
        ask.now_ms = 5000 + i / 50;
        ask.prefix = ask.site = 1 + i % 10000;
        level = door_level(&door, &ask);
        door_count(&door, &ask);
        text_n = door_challenge(&door, &ask, &terms, level, text);
        if (text_n == 0)
            die("an ask got no challenge");
    }
    return (now_ns() - t) / n;
}

/* The answer to the challenge in `text`, whose key we know since we have made it. */
static size_t answer(char *out, size_t cap, const struct puzzle *p)
{
    char json[CHALLENGE_ANSWER_MAX], key[65];
    int n;

    sodium_bin2hex(key, sizeof(key), p->key, sizeof(p->key));
    n = snprintf(json, sizeof(json), "{\"challenge\":%.*s,\"solution\":{\"counter\":1,\"derivedKey\":\"%s\"}}",
                 (int)text_n, text, key);
    if (sodium_bin2base64(out, cap, (const uint8_t *)json, (size_t)n, sodium_base64_VARIANT_ORIGINAL) == NULL)
        die("no base64");
    return strlen(out);
}

static double checks(const char *said, size_t n, int64_t now_s, enum challenge_state want, unsigned times)
{
    struct challenge_seen seen;
    double t = now_ns();

    for (unsigned i = 0; i < times; i++)
        if (challenge_check(&door.keys, &terms, said, n, now_s, &seen) != want)
            die("an answer was judged otherwise");
    return (now_ns() - t) / times;
}

static double try_segq(unsigned times, const struct puzzle *p)
{
    uint8_t out[32], password[20] = { 0 };
    double t = now_ns();

    for (unsigned i = 0; i < times; i++) {
        memcpy(password + 16, &i, 4);
        pbkdf2_256(out, password, sizeof(password), p->salt, sizeof(p->salt), CHALLENGE_ROUNDS);
    }
    return (now_ns() - t) / times;
}

static double try_openssl(unsigned times, const struct puzzle *p)
{
    uint8_t out[32];
    char password[20] = { 0 };
    double t = now_ns();

    for (unsigned i = 0; i < times; i++) {
        memcpy(password + 16, &i, 4);
        if (PKCS5_PBKDF2_HMAC(password, sizeof(password), p->salt, sizeof(p->salt), CHALLENGE_ROUNDS, EVP_sha256(),
                              sizeof(out), out) != 1)
            die("OpenSSL derives no key");
    }
    return (now_ns() - t) / times;
}

static void read_hex(uint8_t out[16], const char *hex)
{
    if (sodium_hex2bin(out, 16, hex, 32, NULL, NULL, NULL) != 0)
        die("--solve: no hex");
}

static int solve_all(void)
{
    char nonce[33], salt_hex[33], prefix_hex[33], hex[65];
    uint8_t password[20], salt[16], prefix[16], key[32];

    while (scanf("%32s %32s %32s", nonce, salt_hex, prefix_hex) == 3) {
        uint32_t counter = 0;

        read_hex(password, nonce);
        read_hex(salt, salt_hex);
        read_hex(prefix, prefix_hex);
        do {
            uint32_t big = __builtin_bswap32(counter++);

            memcpy(password + 16, &big, 4);
            pbkdf2_256(key, password, sizeof(password), salt, sizeof(salt), CHALLENGE_ROUNDS);
        } while (memcmp(key, prefix, sizeof(prefix)) != 0);
        printf("%u %s\n", counter - 1, sodium_bin2hex(hex, sizeof(hex), key, sizeof(key)));
        fflush(stdout);
    }
    return 0;
}

int main(int argc, char **argv)
{
    unsigned n = argc > 1 && strcmp(argv[1], "--quick") == 0 ? 2000 : 50000;
    uint8_t secret[32] = { 1 };
    char said[CHALLENGE_ANSWER_MAX + 1], id[] = "00112233445566778899aabbccddeeff";
    const struct puzzle *p;
    double asked;
    size_t len;

    if (sodium_init() < 0 || door_init(&door, secret, secret, NULL) < 0)
        die("no memory");
    if (argc > 1 && strcmp(argv[1], "--solve") == 0)
        return solve_all();
    asked = asks(n);
    p = puzzles_get(door.puzzles, 0, 1, 1);
    text_n = challenge_write(text, &door.keys.first, &terms, id, p, WALL_S + CHALLENGE_LIFE_S);
    len = answer(said, sizeof(said), p);
    printf("{\"keys\": %u, \"ask\": %.1f, \"good\": %.1f, \"stale\": %.1f", DOOR_AUTO_KEYS, asked,
           checks(said, len, WALL_S, CHALLENGE_GOOD, n), checks(said, len, WALL_S + 100, CHALLENGE_EXPIRED, n));
    text[text_n - 3] ^= 1; /* the last digit of the signature */
    text[text_n - 3] = text[text_n - 3] > 'f' ? '0' : text[text_n - 3];
    len = answer(said, sizeof(said), p);
    printf(", \"forged\": %.1f, \"try_segq\": %.1f, \"try_openssl\": %.1f}\n",
           checks(said, len, WALL_S, CHALLENGE_INVALID, n), try_segq(n / 10, p), try_openssl(n / 10, p));
    door_fini(&door);
    return 0;
}

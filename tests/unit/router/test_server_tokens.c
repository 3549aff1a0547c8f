/* test_server_tokens.c: whose token it is, also when it was found before and the file has changed. */
#include "router/task_api/rights.h"

#include "tests/lib/criterion.h"
#include <sodium.h>
#include <stdio.h>
#include <string.h>

static struct server_tokens t;

static struct slice token_of(char text[32], unsigned i)
{
    return (struct slice){ text, (size_t)snprintf(text, 32, "a token of server %u", i) };
}

/* The tokens from `first` to `last`, each with what it may. */
static void read_file(unsigned first, unsigned last, const char *may)
{
    static char file[100 * 128];
    size_t n = 0;

    for (unsigned i = first; i <= last; i++) {
        uint8_t hash[crypto_hash_sha256_BYTES];
        char text[32], hex[2 * sizeof(hash) + 1];
        struct slice token = token_of(text, i);

        crypto_hash_sha256(hash, (const uint8_t *)token.p, token.n);
        sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
        n += (size_t)snprintf(file + n, sizeof(file) - n, "%s %s q%u\n", hex, may, i);
    }
    cr_assert_eq(server_tokens_read(&t, file, NULL), 0);
}

/* What it may in its own queue, asked twice; 0: it is nobody's. */
static unsigned may(unsigned i)
{
    char text[32], queue[8];
    struct slice q = { queue, (size_t)snprintf(queue, sizeof(queue), "q%u", i) };
    unsigned was = 0;

    for (unsigned turn = 0; turn < 2; turn++) {
        const struct server_token *is = server_tokens_find(&t, token_of(text, i));
        unsigned now = server_token_may(is, MAY_SUBMIT, q) | server_token_may(is, MAY_TAKE, q) << 1;

        cr_assert(turn == 0 || now == was);
        was = now;
    }
    return was;
}

Test(server_tokens, each_is_found_and_no_other)
{
    read_file(1, 90, "submit"); /* more than are known again at once */
    for (unsigned round = 0; round < 2; round++)
        for (unsigned i = 0; i <= 91; i++)
            cr_expect_eq(may(i), i >= 1 && i <= 90, "%u", i);
    server_tokens_free(&t);
}

Test(server_tokens, one_that_was_found_means_what_the_newest_file_says)
{
    read_file(1, 3, "submit");
    cr_expect_eq(may(1), 1);
    cr_expect_eq(may(2), 1);
    read_file(2, 3, "take");
    cr_expect_eq(may(1), 0);
    cr_expect_eq(may(2), 2);
    server_tokens_free(&t);
}

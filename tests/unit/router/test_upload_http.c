/* test_upload_http.c: large bodies of calls, through a whole router: pieces to the node, then the submission; who
 * goes, what is refused, a link that breaks. */
#include "router/task_requests/pieces.h"

#include "tests/lib/taskhttprig.h"

#define N 600000u

static char body[N + 100];

static void begin(void)
{
    max_conns = 600;
    set_up();
    node.gen_max = 1 << 20;
    send_pools(4, 5, 9);
    UNTIL(w.r->tasking->counts.maps == 2);
    for (size_t i = 0; i < N; i++)
        body[i] = (char)(i * 7 + i / 251);
}

TestSuite(upload_http, .init = begin, .fini = tear_down, .timeout = 60);

/* Head and the first n bytes of the body. */
static void send_some_as(const char *token, const char *fields, size_t n)
{
    char head[1000];
    size_t at = 0;

    n_got = 0;
    got[0] = '\0';
    snprintf(head, sizeof(head), "POST /v1/call/gen/x HTTP/1.1\r\nHost: a\r\nsegq-token: %s\r\n%s\r\n", token, fields);
    cr_assert_eq(send(w.fd, head, strlen(head), MSG_NOSIGNAL), (ssize_t)strlen(head));
    while (at < n) {
        ssize_t k = send(w.fd, body + at, n - at, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (k < 0 && errno != EAGAIN)
            return; /* answered already */
        at += k > 0 ? (size_t)k : 0;
        ev_turn(w.ev, false);
    }
}

static void send_some(const char *fields, size_t n)
{
    send_some_as(TOKEN, fields, n);
}

static bool came(const char *text)
{
    more();
    return strstr(got, text) != NULL;
}

#define SIZED "Content-Length: 600000\r\nPrefer: respond-async, wait=0\r\n"

static struct tasking_counts *counts(void)
{
    return &w.r->tasking->counts;
}

Test(upload_http, a_body_gets_to_the_node_before_its_call_is_submitted)
{
    uint8_t right[RESULT_SHA256];

    send_some(SIZED, N);
    UNTIL(came("HTTP/1.1 202 "));
    cr_expect(node.up_n == N && memcmp(node.up, body, N) == 0);
    cr_expect_eq(node.up_length, N);
    sha256_of(right, body, N);
    cr_expect(node.file_of.length == N && memcmp(node.file_of.sha256, right, sizeof(right)) == 0);
    cr_expect_eq(node.file_of.upload, node.up_id);
    cr_expect(counts()->uploads == 1 && counts()->upload_bytes == N && counts()->uploads_given_up == 0);
}

Test(upload_http, its_hash_is_the_payload_of_an_idempotency_key)
{
    send_some(SIZED "Idempotency-Key: a\r\n", N);
    UNTIL(came("HTTP/1.1 202 "));
    send_some(SIZED "Idempotency-Key: a\r\n", N);
    UNTIL(came("HTTP/1.1 202 "));
    cr_expect_eq(node.n, 1);
    body[N - 1]++;
    send_some(SIZED "Idempotency-Key: a\r\n", N);
    UNTIL(came("HTTP/1.1 422 "));
    cr_expect_eq(node.n, 1);
}

Test(upload_http, what_the_node_refuses_is_refused_at_once)
{
    static const struct {
        uint8_t code;
        const char *status, *says;
    } rows[] = {
        { CODE_INVALID, "HTTP/1.1 413 ", "at most 262144 bytes" },
        { CODE_FULL, "HTTP/1.1 503 ", "large_bodies_max_bytes" },
        { CODE_BUSY, "HTTP/1.1 503 ", "queue_unavailable" },
    };

    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        node.up_code = rows[i].code;
        send_some(SIZED, N);
        UNTIL(came(rows[i].status) && came(rows[i].says));
        close(w.fd);
        dial();
    }
    cr_expect_eq(node.n, 0);
    cr_expect_eq(counts()->uploads_given_up, 3);
}

Test(upload_http, who_goes_amid_it_has_submitted_nothing)
{
    send_some(SIZED, N / 2);
    UNTIL(node.up_n > 0);
    close(w.fd);
    UNTIL(node.up_left == 1);
    cr_expect_eq(node.n, 0);
    cr_expect_eq(w.r->tasking->uploads.n, 0);
    dial();
}

Test(upload_http, a_link_that_breaks_amid_it_is_503_and_nothing_was_done)
{
    node.up_breaks = true;
    send_some(SIZED, N);
    UNTIL(came("HTTP/1.1 503 "));
    cr_expect_eq(node.n, 0);
    node.up_breaks = false;
    UNTIL(link_is_up());
    close(w.fd);
    dial();
    send_some(SIZED, N);
    UNTIL(came("HTTP/1.1 202 "));
}

Test(upload_http, a_node_that_does_not_answer_is_503)
{
    node.up_holds = true;
    send_some(SIZED, N);
    UNTIL(came("HTTP/1.1 503 ")); /* as a node of the release before: after TASK_ASK_MS */
    cr_expect_eq(node.n, 0);
}

Test(upload_http, no_more_is_read_than_the_node_has)
{
    node.up_holds = true;
    send_some(SIZED, 200000);
    for (unsigned i = 0; i < 100; i++)
        ev_turn(w.ev, false);
    cr_expect_lt(httpd_counts(w.r->httpd)->in_now, 300000);
    cr_expect_eq(w.r->tasking->uploads.n, 1);
}

Test(upload_http, its_head_is_enough_to_refuse_it)
{
    send_some("Content-Length: 1048577\r\nExpect: 100-continue\r\n", 0);
    UNTIL(came("HTTP/1.1 413 ") && came("at most 1048576 bytes"));
    cr_expect(strstr(got, "100 Continue") == NULL);
}

Test(upload_http, before_its_pool_is_known_its_bound_is_not_known_either)
{
    w.r->tasking->pools.known = false; /* as behind a start */
    send_some(SIZED, 0);
    UNTIL(came("HTTP/1.1 503 ") && came("not known yet"));
    close(w.fd);
    dial();
    memcpy(body, "493e0\r\n", 7); /* two chunks of 300 000 bytes, where 524 288 are the most */
    memcpy(body + 300007, "\r\n493e0\r\n", 9);
    send_some("Transfer-Encoding: chunked\r\n", N);
    UNTIL(came("HTTP/1.1 503 ") && came("not known yet"));
    cr_expect_eq(node.n, 0);
}

/* Two lines in the file of tokens. */
static void another_token(const char *token)
{
    uint8_t hash[32];
    char hex[65];
    FILE *f = fopen(node.file, "a");

    crypto_hash_sha256(hash, (const uint8_t *)token, strlen(token));
    sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
    cr_assert(f != NULL && fprintf(f, "%s submit gen\n", hex) > 0 && fclose(f) == 0);
    tasking_reload(w.r->tasking);
}

Test(upload_http, a_token_leaves_half_of_the_room_to_others)
{
    static int fds[UPLOADS_MOST / 2];

    another_token("another-server-of-the-tests");
    node.up_holds = true;
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        send_some(SIZED, 200000);
        UNTIL(w.r->tasking->uploads.n == i + 1);
        fds[i] = w.fd;
        dial();
    }
    tasking_reload(w.r->tasking); /* whose they are does not change */
    send_some(SIZED, 200000);
    UNTIL(came("HTTP/1.1 503 ") && came("too many large bodies with this token"));
    close(w.fd);
    dial();
    send_some_as("another-server-of-the-tests", SIZED, 200000);
    UNTIL(w.r->tasking->uploads.n == ARRAY_LEN(fds) + 1);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        close(fds[i]);
}

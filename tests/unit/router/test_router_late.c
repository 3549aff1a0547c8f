/* test_router_late.c: joins that wait at the node for another's word: rows of a batch whose answers
 * come in frames of their own. */
#include "router/links/flows.h"
#include "tests/lib/routerrig.h"

static void begin(void)
{
    setup_all();
    w.words_wait = true;
    n_got = 0;
    got[0] = 0;
}

TestSuite(router_late, .init = begin, .fini = teardown, .timeout = 200);

static void join_as(const char *who)
{
    char body[80] = "";

    if (who != NULL)
        snprintf(body, sizeof(body), "{\"subject\":\"%s\"}", who);
    say("POST", "/v1/queues/login/tickets", body);
}

/* The next answer on the connection: its place; 0: none is here. */
static uint64_t place_told(void)
{
    size_t n = (more(), whole(got));
    const char *p = n > 0 ? strstr(got, "\"position\":") : NULL;
    uint64_t place = p != NULL ? strtoull(p + strlen("\"position\":"), NULL, 10) : 0;

    memmove(got, got + n, n_got - n + 1);
    n_got -= n;
    return place;
}

static void told(uint64_t place)
{
    uint64_t is = 0;

    UNTIL(is != 0 || (is = place_told()) != 0);
    cr_expect_eq(is, place, "%llu, not %llu", (unsigned long long)is, (unsigned long long)place);
}

/* For some turns, nothing is said to the client. */
static void silence(void)
{
    int64_t since_ms = now_ms();

    UNTIL(now_ms() > since_ms + 20);
    more();
    cr_expect_eq(n_got, 0, "%s", got);
}

Test(router_late, a_join_is_asked_once_and_answered_when_its_answer_comes)
{
    join_as("ann");
    UNTIL(w.n_late == 1);
    silence();
    say_late(0, 1, false);
    told(w.late[0].position);
    cr_expect_eq(w.append_frames, 1);
}

/* All of them were read in one turn: one batch. Answers leave a connection in the order of its
 * requests. */
Test(router_late, rows_are_answered_in_any_order)
{
    static const char *const who[] = { "ann", NULL, "bob", "cat", NULL };

    for (unsigned i = 0; i < ARRAY_LEN(who); i++)
        join_as(who[i]);
    UNTIL(w.n_late == 3);
    cr_assert_eq(w.append_frames, 1);
    say_late(1, 2, true);
    silence(); /* the first one waits */
    say_late(0, 1, false);
    for (uint64_t i = 1; i <= ARRAY_LEN(who); i++)
        told(i);
    cr_expect_eq(w.r->flows.n, 0);
}

static void say_one(uint32_t i, uint64_t rid)
{
    struct msg m = { .type = MSG_APPEND_ANS, .append_ans = { 1, &w.late[i] } };

    send_msg(w.seg_ch, &m, rid);
}

/* One owner hangs, and others do not: batches are found by their numbers, each once. */
Test(router_late, batches_are_answered_in_any_order)
{
    static const uint8_t order[] = { 5, 0, 7, 2, 6, 1, 4, 3 };
    uint64_t rid[ARRAY_LEN(order)];
    struct seg_link *l;
    char who[8];

    for (uint32_t i = 0; i < ARRAY_LEN(order); i++) {
        snprintf(who, sizeof(who), "p%u", i);
        join_as(who);
        UNTIL(w.n_late == i + 1);
        rid[i] = w.late_rid;
    }
    for (uint32_t i = 0; i < ARRAY_LEN(order); i++)
        say_one(order[i], rid[order[i]]);
    for (uint32_t i = 0; i < ARRAY_LEN(order); i++)
        told(w.late[i].position);
    each_node_link (&w.r->segs->nodes, l)
        cr_expect(l->kind[FLOW_JOIN].late.n == 0 && l->kind[FLOW_JOIN].by_rid.n == 0);
    cr_expect_eq(w.r->counts.lost, 0);
    join_as("last");
    UNTIL(w.n_late == ARRAY_LEN(order) + 1);
    say_one(3, rid[3]); /* it has its answer: that closes the link */
    UNTIL(w.r->counts.lost == 1);
}

/* Two owners' words came in another order than the rows have; no row is left. */
Test(router_late, a_whole_batch_may_come_late_and_in_any_order)
{
    join_as("ann");
    join_as("bob");
    join_as("cat");
    UNTIL(w.n_late == 3);
    say_late(0, 3, true);
    for (uint64_t i = 1; i <= 3; i++)
        told(i);
}

Test(router_late, others_are_asked_meanwhile)
{
    join_as("ann");
    UNTIL(w.n_late == 1);
    w.words_wait = false;
    for (uint64_t i = 0; i < 3; i++) {
        struct append_ans first = w.late[0];

        say("GET", ticket_path(42, 1), "");
        UNTIL(w.places == i + 1);
        cr_expect_eq(first.row, 0);
    }
    say_late(0, 1, false);
    told(w.late[0].position);
    told(42);
}

/* The list that is looked through for others' answers is empty. */
Test(router_late, a_batch_that_waits_is_not_looked_through_for_others)
{
    struct seg_link *l;
    uint64_t rid;

    join_as("ann");
    UNTIL(w.n_late == 1);
    rid = w.late_rid;
    w.words_wait = false;
    join_as(NULL);
    UNTIL(w.append_frames == 2 && w.r->flows.n == 1);
    w.late_rid = rid;
    each_node_link (&w.r->segs->nodes, l)
        cr_expect_eq(l->kind[FLOW_JOIN].sent.n, 0);
    say_late(0, 1, false);
    told(w.late[0].position);
    told(w.late[0].position + 1);
    each_node_link (&w.r->segs->nodes, l)
        cr_expect_eq(l->kind[FLOW_JOIN].late.n, 0);
}

static void join_with_key(void)
{
    char head[120];

    snprintf(head, sizeof(head), "POST /v1/queues/login/tickets HTTP/1.1\r\nHost: x\r\n"
                                 "Idempotency-Key: 0123456789abcdef\r\nContent-Length: 0\r\n\r\n");
    cr_assert_eq(write(w.fd, head, strlen(head)), (ssize_t)strlen(head));
}

/* A node that nobody answers says so after a second: then it is too late to go without the key. */
Test(router_late, a_join_with_only_a_key_waits_at_the_node_only_with_time_left)
{
    join_with_key();
    told(1);
    cr_expect_eq(w.n_late, 0);
    w.cfg.request_timeout = FLOW_TIMEOUT_MS;
    join_with_key();
    UNTIL(w.n_late == 1);
    silence();
    say_late(0, 1, false);
    told(2);
}

/* One with a name is asked again, as long as there is time. */
Test(router_late, a_link_that_breaks_ends_them_at_their_deadline)
{
    int64_t since_ms = now_ms();

    join_as("ann");
    join_as(NULL);
    UNTIL(w.n_late == 1);
    silence();
    rpc_free(w.seg);
    w.seg = NULL;
    UNTIL((more(), whole(got) > 0));
    cr_expect(strstr(got, "HTTP/1.1 503"), "%s", got);
    cr_expect_geq(now_ms() - since_ms, w.cfg.request_timeout - 50);
    UNTIL(w.r->flows.n == 0);
    cr_expect_geq(w.r->counts.lost, 2);
}

/* The link is back before the deadline: the same join, and one answer. */
Test(router_late, a_join_is_asked_again_on_the_next_link)
{
    uint64_t first;

    w.cfg.request_timeout = FLOW_TIMEOUT_MS;
    join_as("ann");
    UNTIL(w.n_late == 1);
    first = w.late_rid;
    rpc_chan_close(w.seg_ch, "as if it had died");
    UNTIL(w.n_late == 2);
    cr_expect_gt(w.late_rid, first);
    silence();
    say_late(1, 1, false);
    told(w.late[1].position);
    cr_expect_eq(w.r->counts.lost, 1);
    cr_expect_eq(w.r->flows.n, 0);
}

/* Those that were never asked do not wait for a tail that is away: it may be a crowd. */
Test(router_late, a_join_that_reaches_no_tail_is_told_at_once)
{
    int64_t since_ms;

    join_as("ann");
    UNTIL(w.n_late == 1);
    rpc_free(w.seg);
    w.seg = NULL;
    UNTIL((more(), whole(got) > 0)); /* at its deadline: by then the link has failed */
    (void)place_told();
    w.cfg.request_timeout = 30000;
    since_ms = now_ms();
    join_as("bob");
    UNTIL((more(), whole(got) > 0));
    cr_expect(strstr(got, "HTTP/1.1 503"), "%s", got);
    cr_expect_lt(now_ms() - since_ms, 15000);
}

/* It would have to go without the key at last: a second place. Its client asks again with it. */
Test(router_late, a_join_with_only_a_key_is_told_at_once)
{
    w.cfg.request_timeout = 30000;
    join_with_key();
    UNTIL(w.n_late == 1);
    rpc_chan_close(w.seg_ch, "as if it had died");
    UNTIL((more(), whole(got) > 0));
    cr_expect(strstr(got, "HTTP/1.1 503"), "%s", got);
    cr_expect_eq(w.n_late, 1);
}

/* Whoever waits no more needs no answer. */
Test(router_late, a_client_may_be_gone_when_its_answer_comes)
{
    join_as("ann");
    join_as("bob");
    UNTIL(w.n_late == 2);
    close(w.fd);
    w.fd = -1;
    UNTIL(w.r->flows.n == 2 && w.r->counts.lost == 0);
    say_late(0, 2, false);
    UNTIL(w.r->flows.n == 0);
}

static void is_refused(const struct append_ans *a, uint32_t n, uint64_t lost)
{
    struct msg m = { .type = MSG_APPEND_ANS, .append_ans = { n, (struct append_ans *)(uintptr_t)a } };

    send_msg(w.seg_ch, &m, w.late_rid);
    UNTIL(w.r->counts.lost == lost);
    UNTIL(w.r->flows.n == 0);
}

Test(router_late, a_row_that_was_not_asked_closes_the_link)
{
    struct append_ans a;

    join_as("ann");
    join_as("bob");
    UNTIL(w.n_late == 2);
    a = w.late[0];
    a.row = 2;
    is_refused(&a, 1, 2);
}

Test(router_late, more_answers_than_rows_close_the_link)
{
    struct append_ans a[3];

    join_as("ann");
    join_as("bob");
    UNTIL(w.n_late == 2);
    a[0] = a[1] = a[2] = w.late[1];
    is_refused(a, 3, 2);
}

/* Who is left over is told, and not kept for ever. */
Test(router_late, a_row_that_is_answered_twice_leaves_another_without_an_answer)
{
    struct append_ans a[2];

    join_as("ann");
    join_as("bob");
    UNTIL(w.n_late == 2);
    a[0] = a[1] = w.late[1];
    is_refused(a, 2, 1);
}

/* test_task_service_large.c: a whole task node: the large body of a call comes in pieces, survives a restart, and
 * goes to the target, by either client; one that is not what it was does not get there whole. */
#define _GNU_SOURCE 1 /* strcasestr */
#include <dirent.h>
#include <fcntl.h>

#include "task/bodies/large.h"
#include "tests/lib/tellrig.h"

TestSuite(task_service_large, .init = task_node_setup, .fini = task_node_teardown, .timeout = 60);

#define N 700001u
#define OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define AGAIN "HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\nno"

static uint8_t body[N];
static int64_t delay_ms; /* of what is submitted */

static uint8_t upload(uint64_t id, struct call_file *f)
{
    const struct msg_task_upload_ans *a = NULL;

    *f = (struct call_file){ .upload = id, .length = N };
    for (size_t at = 0, n; at < N; at += n) {
        n = u64_min(N - at, TASK_UPLOAD_MAX);
        a = &ask(&(struct msg){ .type = MSG_TASK_UPLOAD,
                                .task_upload = { .part = 3, .epoch = 8, .upload = id, .at = at, .length = N,
                                                 .data = { (uint32_t)n, body + at }, .last = at + n == N } },
                 MSG_TASK_UPLOAD_ANS)->task_upload_ans;
        if (a->code != CODE_DONE)
            return a->code;
    }
    cr_assert_eq(a->sha256.n, RESULT_SHA256);
    memcpy(f->sha256, a->sha256.p, RESULT_SHA256);
    return CODE_DONE;
}

static struct task_put_row submit(const struct call_file *f)
{
    struct task_put one = put_of("");
    struct task_put_row row;
    struct buf b;

    one.delay_ms = delay_ms;
    buf_init(&b);
    call_pack_begin(&b, SPAN("POST"), SPAN("/x"));
    call_pack_file(&b);
    call_pack_file_end(b.data, b.len, f);
    one.body = (struct bytes_of){ (uint32_t)b.len, b.data };
    row = ask(&(struct msg){ .type = MSG_TASK_PUT, .task_put = { 1, &one } }, MSG_TASK_PUT_ANS)->task_put_ans.v[0];
    buf_fini(&b);
    return row;
}

static void begin(const char *answer)
{
    for (size_t i = 0; i < N; i++)
        body[i] = (uint8_t)(i * 7 + i / 251);
    open_calls(answer);
    target.expects = body;
    target.expects_n = N;
}

static uint64_t files(void)
{
    struct large_counts n;

    large_counts(node->large, &n);
    return n.files;
}

static void goes_to_the_target(void)
{
    struct call_file f;
    struct task_put_row row;

    begin(AGAIN);
    cr_assert_eq(upload(1, &f), CODE_DONE);
    row = submit(&f);
    cr_assert_eq(row.code, CODE_DONE);
    WAIT(target.right == 1);
    target.answer = OK;
    WAIT(get(row.no)->state == TASK_SUCCEEDED);
    cr_expect_eq(target.right, 2, "the next attempt has it again");
    cr_expect(strstr(target.last, "Content-Length: 700001\r\n") != NULL, "%s", target.last);
    cr_expect(strcasestr(target.last, "\r\nexpect:") == NULL && strcasestr(target.last, "transfer-encoding") == NULL);
    cr_expect_eq(files(), 1, "it stays until that is on the disk");
    target_fini(&target);
}

Test(task_service_large, it_goes_to_the_target)
{
    goes_to_the_target();
}

Test(task_service_large, by_libcurl_too)
{
    by_curl = true;
    goes_to_the_target();
}

Test(task_service_large, without_its_pieces_nothing_is_submitted)
{
    struct call_file f, other;

    begin(OK);
    f = (struct call_file){ .length = N, .upload = 9 };
    cr_expect_eq(submit(&f).code, CODE_BUSY);
    cr_assert_eq(upload(1, &f), CODE_DONE);
    other = f;
    other.length++;
    cr_expect_eq(submit(&other).code, CODE_BUSY);
    cr_expect_eq(submit(&f).code, CODE_BUSY, "it went with that");
    cr_expect_eq(files(), 0);
    cr_assert_eq(upload(2, &f), CODE_DONE);
    rpc_link_free(rtr.link);
    WAIT(files() == 0);
    rtr.link = NULL;
    cr_expect_eq(target.requests, 0);
    target_fini(&target);
}

Test(task_service_large, it_survives_a_restart)
{
    struct call_file f, comes;
    struct task_put_row row;

    begin(OK);
    delay_ms = 500;
    cr_assert(upload(1, &f) == CODE_DONE && upload(2, &comes) == CODE_DONE);
    row = submit(&f);
    cr_assert_eq(row.code, CODE_DONE);
    cr_expect_eq(files(), 2);
    node_end();
    target_fini(&target);
    start_node();
    cr_expect_eq(files(), 1);
    begin(OK);
    WAIT(target.right == 1);
    WAIT(get(row.no)->state == TASK_SUCCEEDED);
    target_fini(&target);
}

enum damage { OTHER_BYTE, REMOVED, SHORT };

/* A byte of the only file is another one, or its end has gone, or all of it. */
static void damage(enum damage how)
{
    char path[300];
    struct dirent *x;
    DIR *d;
    int fd;

    snprintf(path, sizeof(path), "%s/bodies/t1/large", dir);
    d = opendir(path);
    cr_assert_not_null(d);
    while ((x = readdir(d)) != NULL) {
        if (x->d_name[0] == '.')
            continue;
        if (how == REMOVED) {
            cr_assert_eq(unlinkat(dirfd(d), x->d_name, 0), 0);
            continue;
        }
        fd = openat(dirfd(d), x->d_name, O_RDWR);
        cr_assert(fd >= 0 && (how == SHORT ? ftruncate(fd, N / 2) == 0 : pwrite(fd, "!", 1, 1000) == 1));
        close(fd);
    }
    closedir(d);
}

static void is_not_what_it_was(enum damage how)
{
    struct call_file f;
    struct task_put_row row;

    begin(AGAIN);
    cr_assert_eq(upload(1, &f), CODE_DONE);
    row = submit(&f);
    WAIT(target.requests == 1);
    damage(how);
    target.answer = OK;
    WAIT(get(row.no)->n_history > 1 || get(row.no)->state == TASK_DEAD);
    cr_expect_eq(target.requests, 1, "no whole request came");
    cr_expect_neq(get(row.no)->state, TASK_SUCCEEDED);
    if (how == REMOVED)
        cr_expect_eq(get(row.no)->state, TASK_DEAD);
    else
        cr_expect_gt(endpoints_find(&node->caller.calls.endpoints, "gen")->n.of_fault[CALL_BODY], 0, "not of its target");
    target_fini(&target);
}

Test(task_service_large, one_that_is_not_what_it_was_does_not_get_there)
{
    is_not_what_it_was(OTHER_BYTE);
}

Test(task_service_large, one_that_is_not_by_libcurl_neither)
{
    by_curl = true;
    is_not_what_it_was(OTHER_BYTE);
}

Test(task_service_large, one_that_is_lost_is_dead)
{
    is_not_what_it_was(REMOVED);
}

Test(task_service_large, one_that_cannot_be_read_is_a_fault_of_ours)
{
    is_not_what_it_was(SHORT);
}

Test(task_service_large, nor_is_it_one_of_the_target_by_libcurl)
{
    by_curl = true;
    is_not_what_it_was(SHORT);
}

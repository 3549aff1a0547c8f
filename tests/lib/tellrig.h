/* tellrig.h: a whole task node (tasknoderig.h), and calls to a target in the same loop that says what
 * the test wants, when it wants: its answers are told while they come. */
#ifndef SEGQ_TESTS_TELLRIG_H
#define SEGQ_TESTS_TELLRIG_H

#include <sys/socket.h>

#include "common/task/call.h"
#include "common/task/state.h"
#include "task/service/service.h"
#include "tests/lib/targetrig.h"
#include "tests/lib/tasknoderig.h"

static struct targetrig target;
static const struct msg_task_piece *const piece = &rtr.last[MSG_TASK_PIECE].task_piece;

#define HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nETag: \"7\"\r\n" \
             "Transfer-Encoding: chunked\r\n\r\n"

static bool by_curl; /* the target is its own proxy: our client goes by none */

static inline void open_calls_for(const char *answer, uint32_t deadline_ms)
{
    const char *allow[] = { "127.0.0.0/8" };
    char url[128], proxy[128];
    struct msg_endpoint m = { .epoch = 5, .name = "gen", .serial = 1, .version = 1, .url = url,
                              .n_allow = 1, .allow = allow, .rate = ENDPOINT_ANY, .burst = 1,
                              .max_concurrent = 8, .deadline_ms = deadline_ms, .connect_timeout_ms = 500,
                              .breaker_ratio = 50, .breaker_min = 20, .breaker_open_ms = 60000,
                              .auth_field = "", .auth_file = "", .reading_path = "", .secret_file = "", .ca_file = "", .cert_file = "", .key_file = "",
                              .proxy = "", .budget = "", .max_answer = 200000 };

    target_init(&target, ev);
    target.answer = answer;
    snprintf(url, sizeof(url), "http://%s/api", target.addr);
    snprintf(proxy, sizeof(proxy), "http://%s", target.addr);
    m.proxy = by_curl ? proxy : "";
    say(&mng, &(struct msg){ .type = MSG_ENDPOINT, .endpoint = m }, 0);
    say(&mng, &(struct msg){ .type = MSG_PART_OPEN,
                             .part_open = { .epoch = 5, .part = 3, .part_epoch = 8, .match = "img/*",
                                            .max_tasks = 1000, .endpoint = "gen" } }, 0);
    WAIT(mng.seen[MSG_ENDPOINT_STATUS] > 0 && mng.last[MSG_ENDPOINT_STATUS].endpoint_status.n > 0);
}

static inline void open_calls(const char *answer)
{
    open_calls_for(answer, 20000);
}

#define SPAN(text) ((struct call_span){ (text), sizeof(text) - 1 })

static bool reader_follows; /* as the next submission says */

static inline task_no put_call_to(part_no part, const char *queue)
{
    const struct msg *a;
    struct task_put one = put_of("");
    struct buf b;

    buf_init(&b);
    call_pack_begin(&b, SPAN("POST"), SPAN("/x"));
    call_pack_body(&b, SPAN("{}"));
    one.body = (struct bytes_of){ (uint32_t)b.len, b.data };
    one.read = reader_follows;
    one.part = part;
    one.queue = queue;
    a = ask(&(struct msg){ .type = MSG_TASK_PUT, .task_put = { 1, &one } }, MSG_TASK_PUT_ANS);
    buf_fini(&b);
    return a->task_put_ans.v[0].no;
}

static inline task_no put_call(void)
{
    return put_call_to(3, "img/a");
}

/* What the target says next, to its newest caller. */
static inline void target_says(const char *text)
{
    for (unsigned i = 0; i < TARGET_CONNS; i++)
        if (target.conn[i].io != NULL)
            cr_assert_eq(send(target.conn[i].fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

#endif

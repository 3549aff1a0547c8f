/* fuzz_tasks.c: what strangers say of tasks: bodies, rows, paths, tokens, and the file of servers'
 * tokens. The scanner takes all that jansson takes, unless it is nested too deeply; a value is the
 * bytes that were there. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/submit/body.h"
#include "common/submit/submission.h"
#include "common/ticket/token.h"
#include "router/task_api/path.h"
#include "router/task_api/rights.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok)
        abort();
}

static char *copy_of(const uint8_t *data, size_t size)
{
    char *p = malloc(size + 1);

    must(p != NULL);
    memcpy(p, data, size);
    p[size] = '\0';
    return p;
}

static void value(const uint8_t *data, size_t size)
{
    char *text = copy_of(data, size);
    json_t *j = json_loadb(text, size, JSON_DECODE_ANY, NULL);
    struct json_scan s;
    struct slice raw;
    bool good;

    json_scan_init(&s, (struct slice){ text, size });
    good = json_scan_value(&s, &raw) && json_scan_ends(&s);
    must(good == (s.why == NULL) || !json_scan_ends(&s));
    must(memcmp(text, data, size) == 0); /* it only looks */
    if (j != NULL && memchr(text, '\0', size) == NULL)
        must(good || (s.why != NULL && strstr(s.why, "deeply") != NULL));
    if (good)
        must(raw.p >= text && raw.p + raw.n <= text + size && raw.n > 0);
    json_decref(j);
    free(text);
}

static void body(const uint8_t *data, size_t size)
{
    char *text = copy_of(data, size);
    struct body_error e;
    struct task_body b;

    if (task_body_whole(&b, (struct slice){ text, size }, EVERY_MEMBER, &e)) {
        must(e.text[0] == '\0' && b.payload.n <= TASK_BODY_MAX && b.name.n <= TASK_NAME_MAX);
        must(b.delay >= 0 && b.delay <= DELAY_MAX_MS && b.wait <= TASK_WAIT_MAX_MS);
        must(b.priority >= 0 && b.priority < TASK_PRIORITIES && b.n <= TASK_ROWS_MAX);
        must(b.key.n == 0 || task_text_ok(b.key));
    } else {
        must(e.text[0] != '\0' && strlen(e.text) < sizeof(e.text));
    }
    free(text);
}

static void schedule(const uint8_t *data, size_t size)
{
    char *text = copy_of(data, size);
    struct schedule_body b;
    struct body_error e;

    if (schedule_body_read(&b, (struct slice){ text, size }, EVERY_MEMBER, &e)) {
        must(e.text[0] == '\0' && (b.every != 0) != (b.cron.n != 0));
        must(b.every >= 0 && b.every <= RECUR_EVERY_MAX && b.from >= 0 && b.until >= 0);
        must(b.catch_up_max >= 1 && b.catch_up_max <= RECUR_MAKE_UP && b.zone.n <= ZONE_NAME_MAX);
    } else {
        must(e.text[0] != '\0' && strlen(e.text) < sizeof(e.text));
    }
    free(text);
}

static void paths(const uint8_t *data, size_t size)
{
    char *text = copy_of(data, size);
    struct task_path p;

    for (int m = HTTP_GET; m <= HTTP_OTHER; m++) {
        task_path_queue(&p, (enum http_method)m, (struct slice){ text, size });
        must(p.op != TASK_BAD_METHOD || p.allow != NULL);
        must(p.op == TASK_NO_PATH || (p.queue.n > 0 && p.queue.n <= TASK_NAME_MAX));
        task_path_task(&p, (enum http_method)m, (struct slice){ text, size });
        must(p.op != TASK_BAD_METHOD || p.allow != NULL);
        task_path_schedule(&p, (enum http_method)m, (struct slice){ text, size });
        must(p.op != TASK_BAD_METHOD || p.allow != NULL);
        must(p.op == TASK_NO_PATH || (p.queue.n > 0 && p.queue.n <= TASK_NAME_MAX));
    }
    free(text);
}

static void tokens(const uint8_t *data, size_t size)
{
    char *text = copy_of(data, size), again[LEASE_TEXT_LEN];
    struct server_tokens t = { 0 };
    struct token_key k = { 0 };
    uint64_t no, lease;
    uint32_t part;

    if (task_token_read(&part, &no, &k, text, size) == 0) { /* a MAC found by chance? one text */
        char token[TASK_TOKEN_LEN];

        task_token_write(part, no, &k, token);
        must(memcmp(token, text, TASK_TOKEN_LEN) == 0);
    }
    if (lease_read(&lease, text, size)) {
        lease_write(lease, again);
        must(memcmp(again, text, LEASE_TEXT_LEN) == 0);
    }
    if (memchr(text, '\0', size) == NULL && server_tokens_read(&t, text, NULL) == 0)
        for (size_t i = 0; i < t.n; i++)
            must(t.v[i].may != 0 && t.v[i].queues_n > 0);
    server_tokens_free(&t);
    free(text);
}

/* The bytes as field lines, and as a list of tags. */
static void conditions(const uint8_t *data, size_t size)
{
    char *text = copy_of(data, size);
    struct http_req q = { .fields = { text, size } };
    msec_t wait_ms = size > 0 && text[size - 1] == '\n' ? wait_preferred(&q, 0) : 0;
    struct api_ans a;

    must(wait_ms >= 0 && wait_ms <= TASK_WAIT_MAX_MS);
    api_ans_init(&a);
    a.status = 200;
    answer_tag(&a, (struct slice){ text, size });
    must(a.status == 200 || a.status == 304);
    api_ans_fini(&a);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    conditions(data, size);
    value(data, size);
    body(data, size);
    schedule(data, size);
    paths(data, size);
    tokens(data, size);
    return 0;
}

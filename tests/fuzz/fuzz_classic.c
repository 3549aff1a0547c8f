/* fuzz_classic.c: bodies of API queues of the classic kind, urls of targets, and answers of our own.
 * What is taken becomes JSON of our own API that its own reader takes, too; an answer stays JSON. */
#include <stdlib.h>
#include <string.h>

#include "common/json/json_scan.h"
#include "router/compat/classic.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct pools pools;

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void make_pools(void)
{
    struct map_part part[2] = { { 1, 1, 0 }, { 2, 1, 0 } };
    struct map_pool v[] = { { .match = "a", .endpoint = "a", .url = "http://a", .n = 1, .v = &part[0] },
                            { .match = "b", .endpoint = "b", .url = "https://b:1/c/", .n = 1, .v = &part[1] } };
    struct msg_task_map m = { .epoch = 1, .n_pools = 2, .pools = v };

    pools_init(&pools);
    must(pools_apply(&pools, &m) == 0);
}

static char *copy_of(const uint8_t *data, size_t size)
{
    char *p = malloc(size + HTTP_SLACK);

    must(p != NULL);
    memcpy(p, data, size);
    memset(p + size, 0, HTTP_SLACK);
    return p;
}

static bool is_object(const void *p, size_t n)
{
    struct json_scan s;
    struct slice raw;

    json_scan_init(&s, (struct slice){ (char *)(uintptr_t)p, n });
    return json_scan_peek(&s) == '{' && json_scan_value(&s, &raw) && json_scan_ends(&s);
}

static void ask(const uint8_t *data, size_t size, const char *call, enum http_method m)
{
    static char bearer[] = "Bearer x";
    char *text = copy_of(data, size), *path = copy_of((const uint8_t *)call, strlen(call));
    struct http_req q = { .method = m, .json = true, .has_body = true, .body = { text, size },
                          .query = { text, size }, .authorization = { bearer, 8 } };
    struct classic_error e;
    struct classic_ask c;

    if (!classic_ask_read(&c, &q, (struct slice){ path, strlen(call) }, &pools, 1780000000, &e))
        must(e.detail[0] != '\0');
    else if (c.a.call == API_TASK)
        must(c.a.arg.n > 0 && memchr(c.a.arg.p, '/', c.a.arg.n) == NULL);
    else /* what was nested as deeply as may be is one deeper now */
        must(is_object(c.q.body.p, c.q.body.n) || memchr(text, '[', size) != NULL ||
             memchr(text, '{', size) != NULL || memchr(text, '\\', size) != NULL);
    classic_ask_free(&c);
    free(text);
    free(path);
}

static void target(const uint8_t *data, size_t size)
{
    char *text = copy_of(data, size);
    struct classic_target t;
    bool unknown;

    if (size > 0 && classic_target_find(&t, &pools, (struct slice){ text, size }, &unknown) == NULL) {
        must(t.path.p[0] == '/' && t.whole.p[0] == '/' && t.path.n > 0 && t.whole.n > 0);
        must(t.path.p >= text && t.path.p + t.path.n == text + size);
    }
    free(text);
}

static size_t tell(char out[CLASSIC_TIME_MAX], const char *layout, int64_t unix_s)
{
    must(unix_s >= 0);
    out[0] = layout[0];
    return 1;
}

static void answer(const uint8_t *data, size_t size)
{
    static const struct classic_clock clock = { 1, "\"", tell };
    static const int status[] = { 200, 201, 204, 304, 404 };
    static const char *const states[] = { "waiting", "succeeded", "admitted", "finished", "other" };
    char *detail = strndup((const char *)data, size);
    struct api_ans a;

    must(detail != NULL);
    for (size_t i = 0; i < ARRAY_LEN(status); i++) {
        api_ans_init(&a);
        a.status = status[i];
        if (status[i] != 204)
            buf_str(&a.body, "{}");
        a.told.task[0] = 'T';
        a.told.state = states[(size > 0 ? data[0] : i) % ARRAY_LEN(states)];
        a.told.result = (struct slice){ (char *)(uintptr_t)data, size }; /* any bytes become a string */
        a.told.code = status[i] < 400 ? NULL : "x";
        a.told.detail = detail;
        classic_answer(&a, &clock);
        must(is_object(a.body.data, a.body.len));
        must(status[i] < 400 ? a.status <= 304 : a.status == status[i]);
        api_ans_fini(&a);
    }
    free(detail);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!pools.known)
        make_pools();
    ask(data, size, "submitTask", HTTP_POST);
    ask(data, size, "cancelTask", HTTP_POST);
    ask(data, size, "queryTask", HTTP_GET);
    target(data, size);
    answer(data, size);
    return 0;
}

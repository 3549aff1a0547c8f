/* fuzz_def.c: any bytes as the definition of a queue, JSON as the admin API takes it or YAML
 * as the configuration has it (first byte odd or even). What is accepted is within bounds,
 * dumps and reads back to the same, and the clock that it asks for can be asked at any time. */
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/config/cfg.h"
#include "queuemng/policy/queue_def.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool ok)
{
    if (!ok)
        abort();
}

static int parse(struct cfg_node **doc, bool json, const char *text, size_t n)
{
    struct err e;

    return json ? cfg_parse_json(doc, text, n, &e) : cfg_parse_yaml(doc, text, n, "f", &e);
}

/* 0, or the reason is a sentence. */
static int take(struct queue_def *d, bool json, const char *text, size_t n)
{
    struct cfg_node *doc;
    struct err e;
    int rc = parse(&doc, json, text, n);

    if (rc < 0)
        return rc;
    e.text[0] = '\0';
    rc = cfg_bind(d, sizeof(*d), queue_def_keys, doc, "f", &e);
    if (rc == 0)
        rc = queue_def_check(d, &e);
    must(rc == 0 || (e.text[0] != '\0' && strlen(e.text) < sizeof(e.text)));
    cfg_node_free(doc);
    return rc;
}

static void same_again(const struct queue_def *d, bool json)
{
    struct queue_def b = { 0 };
    struct buf text;

    buf_init(&text);
    if (json)
        cfg_dump_json(&text, d, queue_def_keys);
    else
        cfg_dump_yaml(&text, d, queue_def_keys);
    if (text.len < 1 << 20) {
        must(take(&b, json, (char *)text.data, text.len) == 0);
        must(cfg_equal(d, &b, queue_def_keys));
    }
    cfg_clear(&b, queue_def_keys);
    buf_fini(&text);
}

static void at_any_time(const struct schedule_def *w)
{
    static const int64_t at[] = { 0, 1, 1700000000000, 1800000000000, INT64_MAX / 2 };
    static const uint8_t secret[DRAW_SEED] = { 1 };
    struct schedule s = { 0 };
    struct buf b;

    buf_init(&b);
    schedule_set(&s, w);
    for (size_t i = 0; i < ARRAY_LEN(at); i++) {
        schedule_step(&s, w, at[i], secret);
        schedule_add_draw(&s, i + 1, 3);
        schedule_put_draw(&s, "q", &b);
    }
    for (size_t i = ARRAY_LEN(at); i-- > 0;)
        must(!schedule_step(&s, w, at[i], secret)); /* what has happened stays */
    buf_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct queue_def d = { 0 };

    if (n > 0 && take(&d, data[0] & 1, (const char *)data + 1, n - 1) == 0) {
        must(queue_session_ms(&d) >= d.pass_ttl_ms);
        must(d.mode == MODE_RATE || d.max_active > 0);
        same_again(&d, true);
        same_again(&d, false);
        at_any_time(&d.when);
    }
    cfg_clear(&d, queue_def_keys);
    return 0;
}

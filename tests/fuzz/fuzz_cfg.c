/* fuzz_cfg.c: any bytes as a configuration, YAML or JSON (first byte even or odd). What
 * is accepted must dump and read back to the same; nothing may crash or leak. */
#include <stdlib.h>
#include <string.h>

#include "common/config/cfg.h"

struct part {
    char *name;
    double share;
};
struct conf {
    char *node, *listen, *text;
    int64_t wait_ms, size, count;
    bool on;
    int mode;
    struct cfg_list peers, parts;
};

#define AT(f) offsetof(struct conf, f)
static const char *const modes[] = { "slow", "fast", NULL };
static const struct cfg_key part_keys[] = {
    { "name", CFG_NAME, offsetof(struct part, name), NULL, 0, 0, false, "", 0, 0, 0 },
    { "share", CFG_NUM, offsetof(struct part, share), "0.5", 0, 0, false, "", 0, 0, 0 },
    { 0 },
};
static const struct cfg_key keys[] = {
    { "node", CFG_NAME, AT(node), "n", 0, 0, false, "", 0, 0, 0 },
    { "listen", CFG_ADDR, AT(listen), "127.0.0.1:80", 0, 0, false, "", 0, 0, 0 },
    { "text", CFG_STR, AT(text), "", 0, 0, true, "", 0, 0, 0 },
    { "wait", CFG_MS, AT(wait_ms), "5s", 0, 0, true, "", 0, 0, 0 },
    { "size", CFG_BYTES, AT(size), "5k", 0, 0, true, "", 0, 0, 0 },
    { "count", CFG_INT, AT(count), "1", -5, 5, true, "", 0, 0, 0 },
    { "on", CFG_BOOL, AT(on), "true", 0, 0, true, "", 0, 0, 0 },
    { "mode", CFG_ENUM, AT(mode), "slow", 0, 0, true, "", modes, 0, 0 },
    { "peers", CFG_STRS, AT(peers), "", 0, 0, true, "", 0, 0, 0 },
    { "parts", CFG_OBJS, AT(parts), "", 0, 0, true, "", 0, part_keys, sizeof(struct part) },
    { 0 },
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int parse(struct cfg_node **doc, bool json, const char *text, size_t n)
{
    struct err e;

    return json ? cfg_parse_json(doc, text, n, &e) : cfg_parse_yaml(doc, text, n, "f", &e);
}

static void round_trip(const struct conf *a, bool json)
{
    struct conf b = { 0 };
    struct cfg_node *doc;
    struct buf text;
    struct err e;

    buf_init(&text);
    if (json)
        cfg_dump_json(&text, a, keys);
    else
        cfg_dump_yaml(&text, a, keys);
    if (text.len < 1 << 20) {
        if (parse(&doc, json, (char *)text.data, text.len) < 0 ||
            cfg_bind(&b, sizeof(b), keys, doc, "f", &e) < 0 || !cfg_equal(a, &b, keys))
            abort();
        cfg_node_free(doc);
    }
    cfg_clear(&b, keys);
    buf_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct conf c = { 0 };
    struct cfg_node *doc;
    struct err e;

    if (n < 1 || parse(&doc, data[0] & 1, (const char *)data + 1, n - 1) < 0)
        return 0;
    if (cfg_bind(&c, sizeof(c), keys, doc, "f", &e) == 0) {
        round_trip(&c, false);
        round_trip(&c, true);
    } else if (strlen(e.text) >= sizeof(e.text) || e.text[0] == 0) {
        abort();
    }
    cfg_clear(&c, keys);
    cfg_node_free(doc);
    return 0;
}

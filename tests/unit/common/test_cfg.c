/* test_cfg.c: documents, tables, errors that help, and dump -> parse -> equal. */
#include "common/config/cfg.h"

#include "tests/lib/criterion.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/rng.h"

struct part {
    char *name;
    double share;
};
struct inner {
    int64_t wait_ms, size;
};
struct conf {
    char *node, *listen, *text, *admin;
    int64_t count;
    double ratio;
    bool on;
    int mode;
    struct inner inner;
    struct cfg_list peers; /* char * */
    struct cfg_list parts; /* struct part */
    int not_ours;
};

#define AT(f) offsetof(struct conf, f)
static const char *const modes[] = { "slow", "fast", NULL };
static const struct cfg_key part_keys[] = {
    { "name", CFG_NAME, offsetof(struct part, name), NULL, 0, 0, false, "its name", 0, 0, 0 },
    { "share", CFG_NUM, offsetof(struct part, share), "0.5", 0, 1, false, "share", 0, 0, 0 },
    { 0 },
};
static const struct cfg_key inner_keys[] = {
    { "wait", CFG_MS, offsetof(struct inner, wait_ms), "5s", 10, 3600000, true, "", 0, 0, 0 },
    { "size", CFG_BYTES, offsetof(struct inner, size), "64k", 0, 1e12, false, "", 0, 0, 0 },
    { 0 },
};
static const struct cfg_key keys[] = {
    { "node", CFG_NAME, AT(node), NULL, 0, 0, false, "name of this one", 0, 0, 0 },
    { "listen", CFG_ADDR, AT(listen), "127.0.0.1:80", 0, 0, false, "where", 0, 0, 0 },
    { "admin", CFG_ADDR, AT(admin), "", 0, 0, false, "admin", 0, 0, 0 },
    { "text", CFG_STR, AT(text), "hello", 0, 20, true, "words", 0, 0, 0 },
    { "count", CFG_INT, AT(count), "7", 1, 100, true, "how many", 0, 0, 0 },
    { "ratio", CFG_NUM, AT(ratio), "0.1", -5, 5, true, "ratio", 0, 0, 0 },
    { "on", CFG_BOOL, AT(on), "true", 0, 0, true, "switch", 0, 0, 0 },
    { "mode", CFG_ENUM, AT(mode), "slow", 0, 0, true, "mode", modes, 0, 0 },
    { "inner", CFG_OBJ, AT(inner), "", 0, 0, true, "inner", 0, inner_keys, 0 },
    { "peers", CFG_STRS, AT(peers), "", 0, 3, true, "peers", 0, 0, 0 },
    { "parts", CFG_OBJS, AT(parts), "", 0, 4, true, "parts", 0, part_keys,
      sizeof(struct part) },
    { 0 },
};

static int bind(struct conf *c, const char *yaml, struct err *e)
{
    struct cfg_node *doc;
    int rc = cfg_parse_yaml(&doc, yaml, strlen(yaml), "f.yaml", e);

    if (rc == 0)
        rc = cfg_bind(c, sizeof(*c), keys, doc, "f.yaml", e);
    cfg_node_free(doc);
    return rc;
}

static void refused(const char *yaml, const char *want)
{
    struct conf c = { .not_ours = 1 };
    struct err e = { 0 };

    cr_expect_lt(bind(&c, yaml, &e), 0, "accepted: %s", yaml);
    cr_expect(strstr(e.text, want) != NULL, "%s\n gave:  %s\n wants: %s", yaml, e.text, want);
    cr_expect(c.node == NULL && c.not_ours == 1);
}

Test(cfg, defaults_and_values)
{
    struct conf c = { .not_ours = 5 };
    struct err e;

    cr_assert_eq(bind(&c, "node: r1\n", &e), 0, "%s", e.text);
    cr_expect_str_eq(c.node, "r1");
    cr_expect_str_eq(c.text, "hello");
    cr_expect_str_eq(c.admin, "");
    cr_expect(c.count == 7 && c.ratio == 0.1 && c.on && c.mode == 0 && c.not_ours == 5);
    cr_expect(c.inner.wait_ms == 5000 && c.inner.size == 65536 && c.parts.n == 0);
    cr_assert_eq(bind(&c,
                      "node: r2\nlisten: '[::1]:8080'\ninner: {wait: 2m, size: 3}\n"
                      "peers: [a, \"b c\"]\nparts:\n - name: x\n - {name: y, share: 1}\n"
                      "on: false\nmode: fast\nratio: -2.5e0\n",
                      &e),
                 0, "%s", e.text);
    cr_expect_str_eq(c.listen, "[::1]:8080");
    cr_expect(c.inner.wait_ms == 120000 && c.inner.size == 3 && !c.on && c.mode == 1);
    cr_expect(c.peers.n == 2 && strcmp(((char **)c.peers.v)[1], "b c") == 0);
    cr_expect(c.parts.n == 2 && ((struct part *)c.parts.v)[1].share == 1);
    cr_expect_eq(c.ratio, -2.5);
    cfg_clear(&c, keys);
    cr_expect_null(c.node);
}

Test(cfg, errors_name_file_line_key_and_range)
{
    refused("", "node is missing");
    refused("node: r1\ncount: 101", "f.yaml:2: count: 101 is not allowed");
    refused("node: r1\ncount: 101", "a whole number from 1 to 100");
    refused("node: r1\ncount: 1.5", "count");
    refused("node: r1\ncount: \"5\"", "count");
    refused("node: r1\ncount: 99999999999999999999", "count");
    refused("node: r1\nratio: nan", "a number from -5 to 5");
    refused("node: r1\nratio: .inf", "ratio");
    refused("node: r1\nratio: 0x10", "ratio");
    refused("node: Up", "f.yaml:1: node");
    refused("node: r1\n\nmode: medium", "f.yaml:3: mode: medium is not allowed here; allowed: one of slow, fast");
    refused("node: r1\non: yes", "true or false");
    refused("node: r1\nlisten: localhost", "host:port");
    refused("node: r1\nlisten: a:65536", "host:port");
    refused("node: r1\nlisten: a:-1", "host:port");
    refused("node: r1\nlisten: 'a:'", "host:port");
    refused("node: r1\nlisten: '**:1'", "host:port");
    refused("node: r1\ntext: 123456789012345678901", "0 to 20 characters");
    refused("node: r1\ninner: {wait: 5 s}", "inner.wait");
    refused("node: r1\ninner: {wait: 9ms}", "from 10ms to 1h");
    refused("node: r1\ninner: 5", "a map");
    refused("node: r1\ninner: {size: 10t}", "a size");
    refused("node: r1\ninner: {size: 9223372036854775807g}", "a size");
    refused("node: r1\nparts: [{share: 1}]", "f.yaml:2: parts[0].name is missing");
    refused("node: r1\nparts: [{name: a}, {name: b, share: 2}]", "parts[1].share");
    refused("node: r1\npeers: [a,b,c,d]", "0 to 3 entries");
    refused("node: r1\npeers: a", "a list");
    refused("node: r1\npeers: [[a]]", "a list");
    refused("node: r1\nnodes: 5", "f.yaml:2: nodes: unknown key; did you mean node? allowed: node, listen");
    refused("nodes: 5\nnode: r1\nqwertz: 1\nsize: 5",
            "f.yaml:1: nodes, qwertz, size: unknown keys; did you mean node, inner.size? allowed: ");
    refused("node: r1\nparts: [{name: a, x: 1}]", "parts[0].x: unknown key");
    refused("- a", "a map");
    refused("just words", "a map");
}

Test(cfg, refuses_dangerous_yaml)
{
    char deep[200];

    refused("node: &a r1", "f.yaml:1: anchors");
    refused("node: r1\npeers: &a [x]", "f.yaml:2: anchors");
    refused("node: r1\ntext: *a", "f.yaml:2: aliases");
    refused("node: !!str r1", "tags");
    refused("node: r1\ninner: !x {wait: 1s}", "tags");
    refused("node: r1\nnode: r2", "f.yaml:2: key \"node\" appears twice");
    refused("node: r1\n---\nnode: r2", "one document");
    refused("node: r1\n? [a, b]\n: c", "a key must be");
    refused("node: \"a\\0b\"", "NUL");
    refused("node: \"\xff\"", "f.yaml:");
    refused("node: r1\n  bad: [", "f.yaml:");
    memset(deep, '[', sizeof(deep));
    deep[sizeof(deep) - 1] = 0;
    refused(deep, "too deep");
}

Test(cfg, too_big_is_refused)
{
    size_t n = (1 << 20) + 1;
    char *text = malloc(n);
    struct cfg_node *doc;
    struct err e;

    cr_assert_not_null(text);
    memset(text, ' ', n);
    cr_expect_eq(cfg_parse_yaml(&doc, text, n, "f", &e), SQ_ETOOBIG);
    cr_expect_eq(cfg_parse_json(&doc, text, n, &e), SQ_ETOOBIG);
    free(text);
}

Test(cfg, json_goes_through_the_same_table)
{
    static const char *const bad[] = {
        "{\"node\":\"a\",\"node\":\"b\"}", "{\"node\":null}", "{\"node\":\"a\\u0000\"}",
        "[1", "{\"node\":5}", "{\"node\":true}", "{\"node\":\"a\",\"count\":\"5\"}", "{\"node\":\"a\",\"on\":1}",
        "{\"node\":\"a\",\"ratio\":1e999}",
    };
    const char *good = "{\"node\":\"a\",\"count\":5,\"inner\":{\"wait\":\"3s\",\"size\":9},"
                       "\"ratio\":0.25,\"on\":false,\"parts\":[{\"name\":\"p\"}]}";
    struct conf c = { 0 };
    struct cfg_node *doc;
    struct err e;

    cr_assert_eq(cfg_parse_json(&doc, good, strlen(good), &e), 0, "%s", e.text);
    cr_assert_eq(cfg_bind(&c, sizeof(c), keys, doc, NULL, &e), 0, "%s", e.text);
    cr_expect(c.count == 5 && c.inner.wait_ms == 3000 && c.ratio == 0.25 && !c.on);
    cfg_node_free(doc);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        int rc = cfg_parse_json(&doc, bad[i], strlen(bad[i]), &e);

        if (rc == 0)
            rc = cfg_bind(&c, sizeof(c), keys, doc, NULL, &e);
        cr_expect_lt(rc, 0, "accepted: %s", bad[i]);
        cfg_node_free(doc);
    }
    cr_expect_eq(c.count, 5);
    cfg_clear(&c, keys);
}

Test(cfg, unknown_keys_of_a_newer_release_are_skipped)
{
    const char *text = "{\"node\":\"a\",\"count\":5,\"new\":{\"x\":[1]},"
                       "\"inner\":{\"wait\":\"3s\",\"newer\":1},"
                       "\"parts\":[{\"name\":\"p\",\"newest\":2}]}";
    const char *bad = "{\"node\":\"a\",\"count\":500,\"new\":1}";
    struct conf c = { 0 };
    struct cfg_node *doc;
    struct err e;

    cr_assert_eq(cfg_parse_json(&doc, text, strlen(text), &e), 0, "%s", e.text);
    cr_expect_lt(cfg_bind(&c, sizeof(c), keys, doc, NULL, &e), 0, "typed by a person");
    cr_assert_eq(cfg_bind_stored(&c, sizeof(c), keys, doc, NULL, &e), 0, "%s", e.text);
    cr_expect(c.count == 5 && c.inner.wait_ms == 3000 && c.inner.size == 65536);
    cr_expect(c.parts.n == 1 && ((struct part *)c.parts.v)[0].share == 0.5);
    cfg_node_free(doc);
    cr_assert_eq(cfg_parse_json(&doc, bad, strlen(bad), &e), 0, "%s", e.text);
    cr_expect_lt(cfg_bind_stored(&c, sizeof(c), keys, doc, NULL, &e), 0, "out of bounds");
    cr_expect_eq(c.count, 5);
    cfg_node_free(doc);
    cfg_clear(&c, keys);
}

/* After a reload the process still holds pointers to what did not change. */
Test(cfg, swap_leaves_equal_values_in_place)
{
    struct conf c = { 0 }, fresh = { 0 };
    struct err e;
    void *node, *peers, *first;

    cr_assert_eq(bind(&c, "node: r1\npeers: [a, b]\ntext: old\ncount: 9", &e), 0);
    cr_assert_eq(bind(&fresh, "node: r1\npeers: [a, b]\ntext: new\ninner: {wait: 1s}", &e),
                 0);
    node = c.node;
    peers = c.peers.v;
    first = ((char **)c.peers.v)[0];
    cfg_swap_changed(&c, &fresh, keys);
    cr_expect(c.node == node && c.peers.v == peers && ((char **)c.peers.v)[0] == first);
    cr_expect_str_eq(c.text, "new");
    cr_expect_str_eq(fresh.text, "old");
    cr_expect(c.count == 7 && c.inner.wait_ms == 1000);
    cfg_clear(&c, keys);
    cfg_clear(&fresh, keys);
}

Test(cfg, patch_changes_only_named_keys)
{
    const char *patch = "{\"inner\":{\"size\":1},\"parts\":[{\"name\":\"z\"}]}";
    struct conf c = { 0 }, before = { 0 };
    struct cfg_node *doc;
    char name[40];
    struct err e;

    cr_assert_eq(bind(&c, "node: r1\ncount: 9\ninner: {wait: 1s}\nparts: [{name: q}]", &e), 0);
    cr_assert_eq(cfg_copy(&before, sizeof(before), keys, &c), 0);
    cr_assert_eq(cfg_parse_json(&doc, patch, strlen(patch), &e), 0);
    cr_assert_eq(cfg_patch(&c, sizeof(c), keys, doc, NULL, &e), 0, "%s", e.text);
    cfg_node_free(doc);
    cr_expect(c.count == 9 && c.inner.wait_ms == 1000 && c.inner.size == 1);
    cr_expect_str_eq(((struct part *)c.parts.v)[0].name, "z");
    cr_expect(!cfg_equal(&c, &before, keys));
    cr_expect(cfg_fixed_changed(&c, &before, keys, name, sizeof(name)));
    cr_expect_str_eq(name, "inner.size");
    c.inner.size = before.inner.size;
    cr_expect(!cfg_fixed_changed(&c, &before, keys, name, sizeof(name)));
    cfg_clear(&c, keys);
    cfg_clear(&before, keys);
}

Test(cfg, sets_go_over_the_file)
{
    const char *sets[] = { "node=n1",       "peers=a:1,b:2", "inner.wait=3s", "mode=fast",
                           "parts=[{name: p1}, {name: p2}]", "parts.1.share=0.25",
                           "parts.p1.share=1", "parts.2.name=p3", "text=a=b.c" };
    const char *bad[] = { "nope=1", "node", "node.x=1", "parts.9.name=x", "inner.x=1",
                          "count=0", "parts.share=1", "inner=[" };
    struct conf c = { 0 };
    struct part *p;
    struct err e;

    cr_assert_eq(cfg_load(&c, sizeof(c), keys, NULL, sets, ARRAY_LEN(sets), &e), 0, "%s",
                 e.text);
    p = c.parts.v;
    cr_expect(c.inner.wait_ms == 3000 && c.mode == 1 && c.peers.n == 2 && c.parts.n == 3);
    cr_expect(p[0].share == 1 && p[1].share == 0.25 && strcmp(p[2].name, "p3") == 0);
    cr_expect_str_eq(c.text, "a=b.c");
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        cr_expect_lt(cfg_load(&c, sizeof(c), keys, NULL, &bad[i], 1, &e), 0, "%s", bad[i]);
    cr_expect_str_eq(c.node, "n1");
    cfg_clear(&c, keys);
    cr_expect_lt(cfg_load(&c, sizeof(c), keys, "/nonexistent/x.yaml", NULL, 0, &e), 0);
    cr_expect(strstr(e.text, "/nonexistent/x.yaml") != NULL);
}

/* What only the finished struct shows: the sentence leads to the line. */
Test(cfg, a_sentence_is_found_in_the_file)
{
    static const char yaml[] = "node: a\n"
                               "inner:\n"
                               "  wait: 5s\n"
                               "parts:\n"
                               "  - name: left\n"
                               "    share: 0.1\n"
                               "  - name: right\n"
                               "  - name: left\n";
    static const struct {
        const char *text, *line;
    } tab[] = {
        { "inner: wait is too short", ":3: " },
        { "inner: size needs wait", ":3: " }, /* of the map: where it begins */
        { "part right: share and nothing else", ":7: " },
        { "parts.0: share 5", ":6: " },
        { "part left is there twice", ":8: " },
        { "parts: \"right\" is odd", ":7: " },
        { "count: 50 is too much today", "--set: " },
        { "nothing that we know", ": " },
    };
    static const char *const sets[] = { "count=50" };
    char file[] = "/tmp/test_cfg.XXXXXX", want[200];
    int fd = mkstemp(file);

    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, yaml, sizeof(yaml) - 1), (ssize_t)sizeof(yaml) - 1);
    close(fd);
    for (size_t i = 0; i < ARRAY_LEN(tab); i++) {
        struct err e = { 0 };

        err_set(&e, SQ_EINVAL, "%s", tab[i].text);
        cfg_where(&e, keys, file, sets, 1);
        snprintf(want, sizeof(want), "%s%s%s", tab[i].line[0] == ':' ? file : "",
                 tab[i].line, tab[i].text);
        cr_expect_str_eq(e.text, want);
    }
    unlink(file);
}

Test(cfg, a_set_of_no_key_says_which_was_meant)
{
    static const struct {
        const char *set, *says;
    } tab[] = {
        { "cuont=5", "--set cuont=5: unknown key \"cuont\"; did you mean count?" },
        { "inner.wiat=5s", "--set inner.wiat=5s: unknown key \"wiat\"; did you mean wait?" },
        { "qwertz=5", "--set qwertz=5: unknown key \"qwertz\"" },
        { "=5", "--set =5: unknown key \"\"" },
    };
    struct conf c;

    for (size_t i = 0; i < ARRAY_LEN(tab); i++) {
        struct err e = { 0 };
        const char *sets[] = { tab[i].set };

        cr_expect(cfg_load(&c, sizeof(c), keys, NULL, sets, 1, &e) < 0);
        cr_expect_str_eq(e.text, tab[i].says);
    }
}

Test(cfg, help_names_every_key)
{
    struct buf b;

    buf_init(&b);
    cfg_help(&b, keys, true);
    buf_byte(&b, 0);
    cr_assert(!b.failed);
    for (const struct cfg_key *k = keys; k->key != NULL; k++)
        cr_expect(strstr((char *)b.data, k->key) != NULL, "%s", k->key);
    cr_expect(strstr((char *)b.data, "share") != NULL);
    buf_fini(&b);
}

static char *random_text(struct rng *r)
{
    static const char *const bit[] = { "a",  "\"", "\\", "\n", "\t", "#", ": ", "é",
                                       "世", "😀", "\x7f", "\x01", " ", "'", "- ", "\xc2\x85",
                                       "\xe2\x80\xa8", "\xef\xbb\xbf", "{", "%" };
    char *s = calloc(1, 100);

    for (uint64_t i = rng_below(r, 10); s != NULL && i > 0; i--)
        strcat(s, bit[rng_below(r, ARRAY_LEN(bit))]);
    return s;
}

static void random_conf(struct rng *r, struct conf *c)
{
    struct err e;

    cr_assert_eq(bind(c, "node: x\nparts: [{name: a},{name: b}]\npeers: [a, b]", &e), 0);
    free(c->text);
    c->text = random_text(r);
    c->count = 1 + (int64_t)rng_below(r, 100);
    c->ratio = rng_unit(r) * 10 - 5;
    c->on = rng_chance(r, 0.5);
    c->mode = (int)rng_below(r, 2);
    c->inner.wait_ms = 10 + (int64_t)rng_below(r, 1000) * (rng_chance(r, 0.5) ? 1 : 1000);
    c->inner.size = (int64_t)rng_below(r, 1u << 30);
    free(((char **)c->peers.v)[0]);
    ((char **)c->peers.v)[0] = strdup(rng_chance(r, 0.5) ? "x,y" : "\"q\": é");
    ((struct part *)c->parts.v)[1].share = rng_unit(r);
}

Test(cfg, dump_parses_back_to_the_same)
{
    struct conf a = { 0 }, b = { 0 };
    struct cfg_node *doc;
    struct rng r;
    struct err e;

    rng_seed(&r, 5);
    for (int i = 0; i < 2000; i++) {
        bool json = i % 2;
        struct buf text;
        int rc;

        random_conf(&r, &a);
        buf_init(&text);
        json ? cfg_dump_json(&text, &a, keys) : cfg_dump_yaml(&text, &a, keys);
        cr_assert(!text.failed);
        rc = json ? cfg_parse_json(&doc, (char *)text.data, text.len, &e)
                  : cfg_parse_yaml(&doc, (char *)text.data, text.len, "dump", &e);
        cr_assert_eq(rc, 0, "%s\n%.*s", e.text, (int)text.len, text.data);
        rc = cfg_bind(&b, sizeof(b), keys, doc, "dump", &e);
        cr_assert_eq(rc, 0, "%s\n%.*s", e.text, (int)text.len, text.data);
        cr_assert(cfg_equal(&a, &b, keys), "%.*s", (int)text.len, text.data);
        cfg_node_free(doc);
        buf_fini(&text);
    }
    cfg_clear(&a, keys);
    cfg_clear(&b, keys);
}

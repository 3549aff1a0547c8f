/* test_cluster.c: a supervisor's command lines, checks and status file. The processes
 * themselves are in test_spawn.c, the decisions in test_supervise.c, the whole in
 * tests/sys/sys_child_restart.sh. */
#include "common/supervisor/cluster_args.h"
#include "common/supervisor/cluster_child.h"

#include "tests/lib/criterion.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct cfg_key keys[] = {
    CLUSTER_KEYS("router", "127.0.0.1:8080", "2", "[::1]:7100", "a:1,b:2", "auto"),
};
static const struct cluster_kind segment = { .program = "x", .child = "segment" };
static const struct cluster_kind router = { .child = "router", .shares_port = true };

static void load(struct cluster_cfg *c, const char *set)
{
    struct err e = { 0 };

    memset(c, 0, sizeof(*c));
    cr_assert_eq(cfg_load(c, sizeof(*c), keys, NULL, &set, set != NULL, &e), 0, "%s",
                 e.text);
}

static void check_joined(const struct cluster_args *a, const char *expected)
{
    char got[1000] = "";

    for (size_t i = 0; i < a->n; i++) {
        strcat(got, i > 0 ? " " : "");
        strcat(got, a->v[i]);
    }
    cr_expect_str_eq(got, expected);
    cr_expect_null(a->v[a->n]);
}

Test(cluster, command_line_of_a_child)
{
    struct cluster_cfg c;
    struct cluster_args a, b;

    load(&c, "set=claim=5s,log_level=debug");
    cr_assert_eq(cluster_args_make(&a, &c, "/bin/router", 3, NULL), 0);
    check_joined(&a, "/bin/router --set node=router.3 --set listen=127.0.0.1:8086 "
                     "--set admin=[::1]:7103 --set managers=a:1,b:2 --set claim=5s "
                     "--set log_level=debug");
    cr_expect_str_eq(a.listen, "127.0.0.1:8086");
    cr_assert_eq(cluster_args_make(&b, &c, "/bin/router", 3, NULL), 0);
    cr_expect_eq(a.hash, b.hash);
    cluster_args_free(&b);
    cr_assert_eq(cluster_args_make(&b, &c, "/bin/router", 2, NULL), 0);
    cr_expect_neq(a.hash, b.hash);
    cluster_args_free(&a);
    cluster_args_free(&b);
    cfg_clear(&c, keys);
}

Test(cluster, no_managers_and_a_file)
{
    struct cluster_cfg c;
    struct cluster_args a;

    load(&c, "managers=");
    free(c.config);
    c.config = strdup("q.yaml");
    cr_assert_eq(cluster_args_make(&a, &c, "q", 0, NULL), 0);
    check_joined(&a, "q -c q.yaml --set node=router.0 --set listen=127.0.0.1:8080 "
                     "--set admin=[::1]:7100");
    cluster_args_free(&a);
    cfg_clear(&c, keys);
}

static void refused(const struct cluster_kind *k, const char *set, int64_t children,
                    const char *why)
{
    struct cluster_cfg c;
    struct err e = { 0 };

    load(&c, set);
    c.children = children;
    cr_expect_eq(cluster_check(k, &c, &e), SQ_EINVAL, "%s", set);
    cr_expect(strstr(e.text, why) != NULL, "%s", e.text);
    cfg_clear(&c, keys);
}

Test(cluster, cross_key_rules_are_checked)
{
    struct cluster_cfg c;

    refused(&router, "listen=127.0.0.1:65534", 2, "65535");
    refused(&router, "admin=127.0.0.1:65534", 3, "admin");
    refused(&segment, "port_step=0", 2, "shares no port");
    refused(&router, "set==x", 1, "KEY=VALUE");
    refused(&router, "set=a=b,c", 1, "KEY=VALUE");
    load(&c, "port_step=0");
    c.children = 4;
    cr_expect_eq(cluster_check(&router, &c, NULL), 0);
    cfg_clear(&c, keys);
}

Test(cluster, status_file_round_trip)
{
    char dir[] = "/tmp/segq-cluster-XXXXXX", path[100];
    struct cluster_entry v[2] = {
        { .name = "r.0",
          .state = "up",
          .pid = 7,
          .start_ticks = 1ull << 40,
          .restarts = 3,
          .args_hash = UINT64_MAX - 1,
          .since_s = 9,
          .listen = "a:1",
          .admin = "b:2" },
        { .name = "r.1", .state = "backoff" },
    };
    struct cluster_status s = { .name = "r", .pid = 5, .v = v, .n = 2 }, back;

    cr_assert_not_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/status.json", dir);
    cr_assert_eq(cluster_status_read(path, &back, NULL), 0);
    cr_expect_eq(back.n, 0, "no file: nobody");
    cr_assert_eq(cluster_status_write(path, &s, NULL), 0);
    cr_assert_eq(cluster_status_read(path, &back, NULL), 0);
    cr_assert_eq(back.n, 2);
    cr_expect_eq(back.pid, 5);
    cr_expect_eq(memcmp(back.v, v, sizeof(v)), 0);
    free(back.v);
    unlink(path);
    rmdir(dir);
}

Test(cluster, a_broken_or_foreign_status_file)
{
    char path[] = "/tmp/segq-cluster-XXXXXX";
    int fd = mkstemp(path);
    struct cluster_status s;
    const char *foreign = "{\"name\":\"r\",\"pid\":5,\"boot_id\":\"other\","
                          "\"children\":[{\"name\":\"r.0\",\"pid\":7}]}";

    cr_assert_geq(fd, 0);
    cr_expect_eq(cluster_status_read(path, &s, NULL), SQ_EINVAL, "an empty file");
    cr_assert_eq(write(fd, foreign, strlen(foreign)), (ssize_t)strlen(foreign));
    cr_expect_eq(cluster_status_read(path, &s, NULL), 0);
    cr_expect_eq(s.n, 0, "of another boot: its pids mean nothing");
    free(s.v);
    close(fd);
    unlink(path);
}

/* ---- a program that is asked whether it would start -------------------------------------- */

static int try_script(const char *lines, struct err *e)
{
    char path[] = "/tmp/segq_try_XXXXXX";
    struct cluster_cfg c;
    int fd = mkstemp(path), rc;

    cr_assert_geq(fd, 0);
    cr_assert_gt(dprintf(fd, "#!/bin/sh\n%s\n", lines), 0);
    cr_assert_eq(fchmod(fd, 0700), 0);
    close(fd);
    load(&c, NULL);
    free(c.program);
    c.program = strdup(path);
    rc = cluster_try(&router, &c, e);
    cfg_clear(&c, keys);
    unlink(path);
    return rc;
}

Test(cluster, a_program_that_is_asked_says_yes_or_why_not)
{
    struct err e = { 0 };

    cr_expect_eq(try_script("exit 0", &e), 0, "%s", e.text);
    cr_expect_eq(try_script("echo words; exit 0", &e), 0, "%s", e.text);
    cr_expect_eq(try_script("echo 'no port' >&2; echo more >&2; exit 2", &e), SQ_EINVAL);
    cr_expect_str_eq(e.text, "a child would not start: no port");
}

/* It said something each second, so it was waited for, for ever. */
Test(cluster, a_program_that_goes_on_with_its_words_is_not_waited_for, .timeout = 60)
{
    struct err e = { 0 };

    cr_expect_eq(try_script("while :; do echo words >&2; sleep 0.1; done", &e), SQ_ETIMEOUT);
    cr_expect_not_null(strstr(e.text, " -t has not ended within 10 s"), "%s", e.text);
}

Test(cluster, nor_is_one_that_closes_them_and_lives, .timeout = 60)
{
    struct err e = { 0 };

    cr_expect_eq(try_script("exec 2>&-; exec sleep 40", &e), SQ_ETIMEOUT);
}

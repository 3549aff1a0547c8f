/* test_out_tls.c: requests through a proxy, and to a target that speaks TLS. */
#define _GNU_SOURCE 1 /* memmem */
#include <signal.h>
#include <sodium.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <time.h>

#include "common/base/file.h"
#include "tests/unit/task/outrig.h"

TestSuite(out_tls, .init = setup, .fini = teardown);

Test(out_tls, a_proxy_is_told_the_whole_url_and_looks_the_name_up)
{
    struct out_rules r = { .url = "http://gen.invalid:81/api", .connect_ms = 1000 };
    struct err e = { 0 };
    char proxy[128];

    snprintf(proxy, sizeof(proxy), "http://%s", rig.addr);
    r.proxy = proxy;
    out_target_free(target);
    cr_assert_eq(out_target_new(&target, out, &r, &e), 0, "%s", e.text);
    call("GET", "");
    cr_expect_eq(got.status, 200, "%s", got.why);
    cr_expect_eq(strncmp(rig.last, "GET http://gen.invalid:81/api/p?q=1 HTTP/1.1\r\n", 46), 0, "%s",
                 rig.last);
}

Test(out_tls, no_proxy_of_the_environment_does_not_open_a_way_past_the_proxy)
{
    struct out_rules r = { .url = "http://127.0.0.1:1", .connect_ms = 1000 };
    struct err e = { 0 };
    char proxy[128];

    cr_assert_eq(setenv("no_proxy", "*", 1), 0);
    snprintf(proxy, sizeof(proxy), "http://%s", rig.addr);
    r.proxy = proxy;
    out_target_free(target);
    cr_assert_eq(out_target_new(&target, out, &r, &e), 0, "%s", e.text);
    call("GET", "");
    cr_expect_eq(got.fault, CALL_NONE, "%s", got.why);
    cr_expect_eq(strncmp(rig.last, "GET http://127.0.0.1:1/p?q=1 ", 29), 0, "%s", rig.last);
}

static char tls_dir[64];
static pid_t tls_pid;
static unsigned tls_port;

static void sh(const char *format, ...)
{
    char text[1024], line[1200];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    snprintf(line, sizeof(line), "cd %s && %s", tls_dir, text);
    cr_assert_eq(system(line), 0, "%s", line);
}

/* A CA, and a certificate of "localhost" for so many days by it. */
static void certify(const char *days)
{
    strcpy(tls_dir, "/tmp/test_out.XXXXXX");
    cr_assert_not_null(mkdtemp(tls_dir));
    sh("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=ca -days 2"
       " -keyout ca.key -out ca.pem 2>/dev/null");
    sh("openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost"
       " -addext subjectAltName=DNS:localhost -keyout s.key -out s.csr 2>/dev/null");
    sh("openssl x509 -req -in s.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days %s"
       " -copy_extensions copy -out s.pem 2>/dev/null", days);
}

static void serve(const char *verify)
{
    struct net_addr a;
    char port[8], addr[NET_TEXT_MAX];
    msec_t end = ev_now(ev) + 5000;
    int fd;

    fd = net_listen("127.0.0.1:0", false, 1, NULL); /* a port that is free */
    cr_assert_geq(fd, 0);
    net_local_text(fd, addr);
    close(fd);
    snprintf(port, sizeof(port), "%s", strchr(addr, ':') + 1);
    tls_port = (unsigned)atoi(port);
    tls_pid = fork();
    if (tls_pid == 0) {
        cr_assert_eq(chdir(tls_dir), 0);
        execlp("openssl", "openssl", "s_server", "-quiet", "-www", "-accept", port, "-cert", "s.pem",
               "-key", "s.key", "-CAfile", "ca.pem", verify[0] != 0 ? "-Verify" : "-quiet",
               verify[0] != 0 ? verify : NULL, NULL);
        _exit(127);
    }
    cr_assert_eq(net_parse(&a, addr, NULL), 0);
    do {
        usleep(10000);
        fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, &a.sa, a.len) == 0)
            break;
        close(fd);
        fd = -1;
    } while (ev_read_mono_us() / 1000 < end);
    cr_assert_geq(fd, 0);
    close(fd);
}

static void tls_end(void)
{
    kill(tls_pid, SIGKILL);
    waitpid(tls_pid, NULL, 0);
    sh("rm -r %s", tls_dir);
}

static struct call_span pem(char text[4096], const char *name, bool is_wanted)
{
    char path[96];
    int64_t n;

    snprintf(path, sizeof(path), "%s/%s", tls_dir, name);
    n = is_wanted ? file_read(path, FILE_ANY, text, 4096, NULL, NULL) : 0;
    cr_assert_geq(n, 0);
    return (struct call_span){ text, (size_t)n };
}

static const char *tls_at; /* an address of the host that is called; NULL: any */

static void tls_call(const char *host, bool ca, bool cert)
{
    static char texts[3][4096];
    char url[64];
    struct out_rules r = { .url = url, .address = tls_at, .connect_ms = 3000, .n_allow = 1, .proxy = "",
                           .ca = pem(texts[0], "ca.pem", ca), .cert = pem(texts[1], "s.pem", cert),
                           .key = pem(texts[2], "s.key", cert) };
    struct err e = { 0 };

    snprintf(url, sizeof(url), "https://%s:%u", host, tls_port);
    cr_assert(ip_net_parse(&r.allow[0], "127.0.0.0/8"));
    out_target_free(target);
    cr_assert_eq(out_target_new(&target, out, &r, &e), 0, "%s", e.text);
    call("GET", "");
}

Test(out_tls, a_certificate_must_be_of_the_ca_and_of_the_host)
{
    certify("2");
    serve("");
    tls_call("localhost", true, false);
    cr_expect_eq(got.status, 200, "%s", got.why);
    tls_call("localhost", false, false);
    cr_expect_eq(got.fault, CALL_TLS, "%s", got.why);
    tls_call("127.0.0.1", true, false);
    cr_expect_eq(got.fault, CALL_TLS, "%s", got.why);
    tls_end();
}

Test(out_tls, one_address_of_a_host_is_called_under_its_name)
{
    certify("2");
    serve("");
    tls_at = "127.0.0.2";
    tls_call("localhost", true, false);
    cr_expect_eq(got.status, 200, "%s", got.why);
    tls_call("other.invalid", true, false);
    cr_expect_eq(got.fault, CALL_TLS, "no name server is asked, and the certificate is of another name: %s", got.why);
    tls_at = "127.0.0.300";
    tls_call("localhost", true, false);
    cr_expect_eq(got.fault, CALL_DNS, "%s", got.why);
    tls_end();
}

/* CPU of ten calls, each over a connection of its own, with so many copies of the authority. */
static double cost_of(unsigned copies)
{
    char one[4096], url[64];
    struct call_span ca = pem(one, "ca.pem", true);
    struct out_rules r = { .url = url, .connect_ms = 3000, .n_allow = 1, .proxy = "" };
    struct buf all;
    clock_t began;

    buf_init(&all);
    for (unsigned i = 0; i < copies; i++)
        buf_append(&all, ca.p, ca.n);
    r.ca = (struct call_span){ (const char *)all.data, all.len };
    snprintf(url, sizeof(url), "https://localhost:%u", tls_port);
    cr_assert(ip_net_parse(&r.allow[0], "127.0.0.0/8"));
    out_target_free(target);
    cr_assert_eq(out_target_new(&target, out, &r, NULL), 0);
    call("GET", "");
    began = clock();
    for (unsigned i = 0; i < 10; i++) {
        call("GET", "");
        cr_assert_eq(got.status, 200, "%s", got.why);
    }
    began = clock() - began;
    out_target_free(target);
    target = NULL;
    buf_fini(&all);
    return (double)began / CLOCKS_PER_SEC;
}

/* libcurl would parse them for each connection: 40 ms of the loop, of a bundle of all public ones. */
Test(out_tls, many_authorities_cost_a_connection_nothing)
{
    double one, many;

    certify("2");
    serve("");
    one = cost_of(1);
    many = cost_of(300);
    cr_expect_lt(many, 3 * one + 0.05, "%f s of CPU, not %f", many, one);
    tls_end();
}

/* libcurl is told of the first one alone. */
Test(out_tls, each_authority_of_a_file_counts)
{
    certify("2");
    sh("mv ca.pem right.pem && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=other"
       " -days 2 -keyout other.key -out other.pem 2>/dev/null && cat other.pem right.pem >ca.pem");
    serve("");
    tls_call("localhost", true, false);
    cr_expect_eq(got.status, 200, "%s", got.why);
    sh("cp other.pem ca.pem");
    tls_call("localhost", true, false);
    cr_expect_eq(got.fault, CALL_TLS, "%s", got.why);
    tls_end();
}

static int refused(const char *ca, const char *cert, const char *key, struct err *e)
{
    static char texts[3][4096];
    struct out_rules r = { .url = "https://localhost", .proxy = "", .ca = pem(texts[0], ca, ca[0] != 0),
                           .cert = pem(texts[1], cert, cert[0] != 0), .key = pem(texts[2], key, key[0] != 0) };
    struct out_target *t = NULL;
    int rc = out_target_new(&t, out, &r, e);

    out_target_free(t);
    return rc;
}

/* Files that are replaced one after the other: until both have come, what was before counts. */
Test(out_tls, a_certificate_and_a_key_that_do_not_belong_together_make_no_target)
{
    struct err e = { 0 };

    certify("2");
    cr_expect_eq(refused("", "s.pem", "s.key", &e), 0, "%s", e.text);
    cr_expect_eq(refused("", "s.pem", "ca.key", &e), SQ_EINVAL);
    cr_expect_str_eq(e.text, "tls.cert_file and tls.key_file do not belong together");
    cr_expect_eq(refused("", "s.key", "s.key", &e), SQ_EINVAL);
    cr_expect_not_null(strstr(e.text, "tls.cert_file"), "%s", e.text);
    cr_expect_eq(refused("", "s.pem", "s.pem", &e), SQ_EINVAL);
    cr_expect_not_null(strstr(e.text, "tls.key_file"), "%s", e.text);
    cr_expect_eq(refused("s.key", "", "", &e), SQ_EINVAL);
    cr_expect_str_eq(e.text, "tls.ca_file: no certificate is in it");
    sh("head -c 300 ca.pem >half.pem");
    cr_expect_eq(refused("half.pem", "", "", &e), SQ_EINVAL, "half written");
    sh("rm -r %s", tls_dir);
}

Test(out_tls, an_expired_certificate_is_none)
{
    certify("-1");
    serve("");
    tls_call("localhost", true, false);
    cr_expect_eq(got.fault, CALL_TLS, "%s", got.why);
    tls_end();
}

Test(out_tls, a_certificate_of_ours_is_shown_where_it_is_wanted)
{
    certify("2");
    serve("1");
    tls_call("localhost", true, false);
    cr_expect_neq(got.fault, CALL_NONE);
    tls_call("localhost", true, true);
    cr_expect_eq(got.status, 200, "%s", got.why);
    tls_end();
}

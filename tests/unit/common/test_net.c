/* test_net.c: addresses as text and back; listening, connecting, accepting on loopback.
 */
#include "tests/lib/criterion.h"
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "common/net/net.h"

Test(net, parse_and_print)
{
    static const struct {
        const char *in, *text, *ip;
    } rows[] = {
        { "127.0.0.1:80", "127.0.0.1:80", "127.0.0.1" },
        { "[::1]:7070", "[::1]:7070", "::1" },
        { "*:9", "0.0.0.0:9", "0.0.0.0" },
        { ":65535", "0.0.0.0:65535", "0.0.0.0" },
        { "[::ffff:10.1.2.3]:5", "10.1.2.3:5", "10.1.2.3" },
    };
    struct net_addr a;
    char out[NET_TEXT_MAX];

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        cr_assert_eq(net_parse(&a, rows[i].in, NULL), 0, "%s", rows[i].in);
        net_text(&a, out);
        cr_expect_str_eq(out, rows[i].text);
        net_ip_text(&a, out);
        cr_expect_str_eq(out, rows[i].ip);
    }
}

Test(net, malformed_addresses_are_refused)
{
    static const char *const bad[] = { "",       ":",       "127.0.0.1", "127.0.0.1:",
                                       "::1:80", "[::1]80", "a:65536",   "a:8x",
                                       "a:-1",   "a: 1",    "[:1",       "a:000080" };
    struct net_addr a;
    struct err e;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        cr_expect_eq(net_parse(&a, bad[i], &e), SQ_EINVAL, "%s", bad[i]);
    cr_expect_eq(net_parse(&a, "localhost:80", &e), SQ_EUNKNOWN);
    cr_expect_eq(net_parse(&a, "[::zz]:80", &e), SQ_EUNKNOWN);
}

Test(net, names_are_resolved_for_start_up)
{
    struct net_addr a;

    cr_assert_eq(net_resolve(&a, "localhost:81", NULL), 0);
    cr_expect_eq(net_port(&a), 81);
}

static int wait_for(int fd, short what)
{
    struct pollfd p = { .fd = fd, .events = what };

    return poll(&p, 1, 60000);
}

Test(net, listen_connect_accept)
{
    int lfd = net_listen("127.0.0.1:0", false, 16, NULL), cfd, afd, on = 0;
    socklen_t len = sizeof(on);
    char text[NET_TEXT_MAX], theirs[NET_TEXT_MAX], mine[NET_TEXT_MAX];
    struct net_addr a, peer;

    cr_assert_geq(lfd, 0);
    cr_expect_eq(net_accept(lfd, &peer), SQ_EBUSY);
    net_local_text(lfd, text);
    cr_assert_eq(net_parse(&a, text, NULL), 0);
    cfd = net_connect(&a, NULL);
    cr_assert_geq(cfd, 0);
    cr_assert_eq(wait_for(cfd, POLLOUT), 1);
    cr_expect_eq(net_error(cfd), 0);
    cr_assert_eq(wait_for(lfd, POLLIN), 1);
    afd = net_accept(lfd, &peer);
    cr_assert_geq(afd, 0);
    net_text(&peer, theirs);
    net_local_text(cfd, mine);
    cr_expect_str_eq(theirs, mine);
    cr_expect_eq(getsockopt(afd, IPPROTO_TCP, TCP_NODELAY, &on, &len), 0);
    cr_expect_neq(on, 0, "accepted sockets inherit the listener's options");
    close(afd);
    close(cfd);
    close(lfd);
}

static int tcp_opt(int fd, int name)
{
    int v = 0;
    socklen_t n = sizeof(v);

    cr_assert_eq(getsockopt(fd, IPPROTO_TCP, name, &v, &n), 0);
    return v;
}

/* Behind the user timeout, which counts from the last byte that was heard, a lost probe is the end. */
static void expect_bears_lost_probes(int fd)
{
    cr_expect_gt(tcp_opt(fd, TCP_USER_TIMEOUT), 1000 * (tcp_opt(fd, TCP_KEEPIDLE) + 2 * tcp_opt(fd, TCP_KEEPINTVL)));
}

Test(net, a_quiet_connection_outlives_lost_probes)
{
    int lfd = net_listen("127.0.0.1:0", false, 8, NULL), fd[10];
    char text[NET_TEXT_MAX];
    struct net_addr a;
    bool differ = false;

    net_local_text(lfd, text);
    cr_assert_eq(net_parse(&a, text, NULL), 0);
    expect_bears_lost_probes(lfd);
    for (unsigned i = 0; i < ARRAY_LEN(fd); i++) {
        fd[i] = net_connect(&a, NULL);
        cr_assert_geq(fd[i], 0);
        expect_bears_lost_probes(fd[i]);
        differ |= tcp_opt(fd[i], TCP_KEEPIDLE) != tcp_opt(fd[0], TCP_KEEPIDLE);
    }
    cr_expect(differ, "they do not all probe together");
    net_is_talked_to(fd[0]);
    cr_expect_eq(tcp_opt(fd[0], TCP_USER_TIMEOUT), 10000);
    for (unsigned i = 0; i < ARRAY_LEN(fd); i++)
        close(fd[i]);
    close(lfd);
}

Test(net, port_taken_and_port_shared)
{
    int a = net_listen("127.0.0.1:0", true, 16, NULL), b, c;
    char text[NET_TEXT_MAX];
    struct err e;

    net_local_text(a, text);
    b = net_listen(text, true, 16, NULL);
    cr_expect_geq(b, 0);
    c = net_listen(text, false, 16, &e);
    cr_expect_eq(c, SQ_ESYS);
    cr_expect_neq(strstr(e.text, text), NULL, "%s", e.text);
    close(a);
    close(b);
}

Test(net, refused_connection_is_told)
{
    int lfd = net_listen("127.0.0.1:0", false, 16, NULL), fd;
    char text[NET_TEXT_MAX];
    struct net_addr a;

    net_local_text(lfd, text);
    close(lfd);
    cr_assert_eq(net_parse(&a, text, NULL), 0);
    fd = net_connect(&a, NULL);
    if (fd >= 0) {
        cr_assert_eq(wait_for(fd, POLLOUT), 1);
        cr_expect_neq(net_error(fd), 0);
        close(fd);
    }
}

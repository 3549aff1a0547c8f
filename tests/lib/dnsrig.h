/* dnsrig.h: for tests: a name server in the test's own loop, which answers every name with one address,
 * or nothing; and the files that say so (hosts_from()). */
#ifndef SEGQ_TESTS_DNSRIG_H
#define SEGQ_TESTS_DNSRIG_H

#include <arpa/inet.h>
#include "tests/lib/criterion.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/net/ev.h"
#include "common/net/hosts.h"

struct dnsrig {
    int fd;
    struct ev_io *io;
    unsigned port, asked;
    bool silent;
    uint8_t ip[4]; /* of every name */
    uint8_t ttl;   /* seconds */
    const char *name; /* of every address; NULL: they have none */
};

/* The question's end; 0: it is none. Its type is in the two bytes at [end - 4]. */
static inline size_t dns_question(const uint8_t *p, size_t n)
{
    size_t at = 12;

    while (at < n && p[at] != 0)
        at += 1u + p[at];
    return at + 5 <= n ? at + 5 : 0;
}

/* The end of the answer: name, a text with dots. */
static inline size_t dns_put_name(uint8_t *p, size_t end, const char *name, uint8_t ttl)
{
    size_t at = end + 12;

    memcpy(p + end, (uint8_t[]){ 0xc0, 12, 0, 12, 0, 1, 0, 0, 0, ttl, 0, 0 }, 12);
    while (*name != '\0') {
        size_t n = strcspn(name, ".");

        p[at] = (uint8_t)n;
        memcpy(p + at + 1, name, n);
        at += n + 1;
        name += n + (name[n] == '.');
    }
    p[at++] = 0;
    p[end + 11] = (uint8_t)(at - end - 12);
    return at;
}

static inline void dns_on_io(void *arg, unsigned what)
{
    struct dnsrig *d = arg;
    struct sockaddr_in from;
    socklen_t len = sizeof(from);
    uint8_t p[600];
    ssize_t n = recvfrom(d->fd, p, sizeof(p) - 100, 0, (struct sockaddr *)&from, &len);
    size_t end = n > 12 ? dns_question(p, (size_t)n) : 0;
    bool is_a = end > 0 && p[end - 4] == 0 && p[end - 3] == 1;
    bool is_ptr = end > 0 && p[end - 4] == 0 && p[end - 3] == 12 && d->name != NULL;

    (void)what;
    if (end == 0)
        return;
    d->asked++;
    if (d->silent)
        return;
    p[2] = 0x81; /* an answer; no error; one question, of A one address */
    p[3] = 0x80;
    memcpy(p + 4, (uint8_t[]){ 0, 1, 0, is_a || is_ptr, 0, 0, 0, 0 }, 8);
    if (is_ptr) {
        end = dns_put_name(p, end, d->name, d->ttl);
        cr_assert_gt(sendto(d->fd, p, end, 0, (struct sockaddr *)&from, len), 0);
        return;
    }
    memcpy(p + end, (uint8_t[]){ 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, d->ttl, 0, 4 }, 12);
    memcpy(p + end + 12, d->ip, 4);
    cr_assert_gt(sendto(d->fd, p, end + (is_a ? 16 : 0), 0, (struct sockaddr *)&from, len), 0);
}

static inline void dns_init(struct dnsrig *d, struct ev *ev, uint8_t last)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t len = sizeof(a);

    *d = (struct dnsrig){ .fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0), .ip = { 127, 0, 0, last } };
    cr_assert_eq(bind(d->fd, (struct sockaddr *)&a, len), 0);
    cr_assert_eq(getsockname(d->fd, (struct sockaddr *)&a, &len), 0);
    d->port = ntohs(a.sin_port);
    d->io = ev_io_new(ev, d->fd, dns_on_io, d);
    cr_assert_eq(ev_io_set(d->io, EV_IO_READ), 0);
}

static inline void dns_fini(struct dnsrig *d)
{
    ev_io_free(d->io);
    close(d->fd);
}

static char dns_conf[64], dns_names[64];

/* Replaces the file as a resolver does: by a new one of the same name. */
static inline void dns_write(const char *path, const char *text)
{
    char fresh[80];
    FILE *f;

    snprintf(fresh, sizeof(fresh), "%s.new", path);
    f = fopen(fresh, "we");
    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
    cr_assert_eq(rename(fresh, path), 0);
}

/* From now on names are asked of d, for all of the process. */
static inline void dns_use(const struct dnsrig *d)
{
    char text[64];

    if (dns_conf[0] == '\0') {
        snprintf(dns_conf, sizeof(dns_conf), "/tmp/segq_resolv.%d", (int)getpid());
        snprintf(dns_names, sizeof(dns_names), "/tmp/segq_hosts.%d", (int)getpid());
        dns_write(dns_names, "127.0.0.1 localhost\n");
        hosts_from(dns_conf, dns_names);
    }
    snprintf(text, sizeof(text), "nameserver 127.0.0.1:%u\n", d->port);
    dns_write(dns_conf, text);
}

static inline void dns_files_fini(void)
{
    unlink(dns_conf);
    unlink(dns_names);
}

#endif

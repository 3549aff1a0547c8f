/* fuzz_forwarded.c: whatever a header of proxies says, the answer is an address that is no
 * proxy, or none; and addresses and networks are read as the C library reads them.
 * Input: lines, cut at newlines; each is tried in both forms. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/http/request_headers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void as_the_library(const char *text, size_t n)
{
    char copy[64];
    uint8_t want[16] = { [10] = 0xff, [11] = 0xff };
    struct ip ip;
    bool ok;

    if (n >= sizeof(copy) || memchr(text, '\0', n) != NULL)
        return;
    memcpy(copy, text, n);
    copy[n] = '\0';
    ok = inet_pton(AF_INET, copy, want + 12) == 1 || inet_pton(AF_INET6, copy, want) == 1;
    must(ip_parse(&ip, text, n) == ok);
    must(!ok || memcmp(ip.b, want, 16) == 0);
}

static void network(const char *text, size_t n)
{
    char copy[80];
    struct ip_net net;

    if (n >= sizeof(copy))
        return;
    memcpy(copy, text, n);
    copy[n] = '\0';
    if (ip_net_parse(&net, copy))
        must(net.bits <= 128 && ip_in(&net, &net.ip));
}

static void both_forms(const struct slice *line, size_t n)
{
    struct ip_net ours[2], all;
    struct ip ip;

    must(ip_net_parse(&ours[0], "10.0.0.0/8") && ip_net_parse(&ours[1], "fd00::/8"));
    must(ip_net_parse(&all, "::/0"));
    for (int form = FORWARDED_X; form <= FORWARDED_RFC_7239; form++) {
        int rc = forwarded_client(&ip, (enum forwarded_form)form, line, n, ours, 2);

        must(rc == 0 || rc == 1 || rc == SQ_EINVAL);
        must(rc != 1 || (!ip_in(&ours[0], &ip) && !ip_in(&ours[1], &ip)));
        rc = forwarded_client(&ip, (enum forwarded_form)form, line, n, &all, 1);
        must(rc != 1); /* if all are proxies there is no client */
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice line[HTTP_MAX_VIA];
    char *copy[HTTP_MAX_VIA];
    size_t n = 0;

    while (size > 0 && n < HTTP_MAX_VIA) {
        const uint8_t *end = memchr(data, '\n', size);
        size_t len = end != NULL ? (size_t)(end - data) : size;

        copy[n] = malloc(len + (len == 0)); /* each alone: reading beyond it is seen */
        must(copy[n] != NULL);
        memcpy(copy[n], data, len);
        line[n] = (struct slice) { copy[n], len };
        as_the_library(copy[n], len);
        network(copy[n], len);
        n++;
        size -= len + (end != NULL);
        data += len + (end != NULL);
    }
    both_forms(line, n);
    while (n > 0)
        free(copy[--n]);
    return 0;
}

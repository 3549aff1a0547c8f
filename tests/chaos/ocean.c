/* ocean.c: ocean CONTROL PORT...: what lies between interfaces of its namespace, frame by frame.
 * With two of them it is a cable; with more, an ocean with a region at each shore: a frame goes
 * where its receiver was heard last, and to all shores if that is not known.
 *
 * Lines written to the FIFO CONTROL make ways bad, each direction by itself:
 *
 *   [FROM TO] [delay=MS] [jitter=MS] [loss=SHARE] [rate=BYTES_PER_S] [cut]
 *   count FILE        writes "FROM TO frames bytes lost", a line for each way
 *
 * FROM and TO are names of ports, or * for all; without them the line means all ways. What a line
 * does not say is good again. Frames of a way keep their order, also with jitter; at a given rate
 * at most QUEUE_MAX bytes wait, the rest is lost, as in a router of the real world. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PORTS_MAX 8
#define MACS_MAX  512
#define MAC       6
#define VNET_HDR  10 /* says which checksums are still to be made: it goes out as it came in */
#define QUEUE_MAX (64 * 1024)
#define FRAME_MAX 70000
#define TURN_MAX  256 /* frames of a port, before others have their turn */

struct frame {
    struct frame *next;
    int64_t due_us;
    size_t len;
    uint8_t bytes[];
};

struct way { /* from one port to another */
    int64_t delay_us, jitter_us;
    double loss, rate;
    int64_t free_us; /* when its last frame is through, at its rate */
    int64_t last_us; /* when its last frame is due */
    struct frame *head, **tail;
    uint64_t frames, bytes, lost;
};

static struct {
    const char *name[PORTS_MAX];
    int fd[PORTS_MAX];
    unsigned n;
    struct way way[PORTS_MAX][PORTS_MAX];
    struct {
        uint8_t addr[MAC];
        unsigned port;
    } mac[MACS_MAX];
    unsigned n_macs;
    uint64_t dice;
} sea = { .dice = 88172645463325252u };

static void die(const char *what)
{
    fprintf(stderr, "ocean: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* 0 to 1; the same row of numbers in each run. */
static double roll(void)
{
    sea.dice ^= sea.dice << 13;
    sea.dice ^= sea.dice >> 7;
    sea.dice ^= sea.dice << 17;
    return (double)(sea.dice >> 11) / 9007199254740992.0;
}

static int open_port(const char *name)
{
    struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL),
                              .sll_ifindex = (int)if_nametoindex(name) };
    int on = 1, room = 4 << 20, fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, htons(ETH_P_ALL));

    if (fd < 0 || at.sll_ifindex == 0 ||
        setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on)) < 0 ||
        bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
        die(name);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
    return fd;
}

/* ---- frames ---------------------------------------------------------------------------------- */

static void send_off(unsigned from, unsigned to, const uint8_t *bytes, size_t len, int64_t now)
{
    struct way *w = &sea.way[from][to];
    int64_t start = now > w->free_us ? now : w->free_us;
    bool full = w->rate > 0 && (double)(start - now) * w->rate > QUEUE_MAX * 1e6;
    struct frame *f = full || roll() < w->loss ? NULL : malloc(sizeof(*f) + len);

    if (f == NULL) {
        w->lost++;
        return;
    }
    if (w->rate > 0)
        w->free_us = start += (int64_t)((double)len * 1e6 / w->rate);
    f->due_us = start + w->delay_us + (int64_t)((double)w->jitter_us * roll());
    if (f->due_us < w->last_us)
        f->due_us = w->last_us;
    w->last_us = f->due_us;
    f->len = len;
    f->next = NULL;
    memcpy(f->bytes, bytes, len);
    *w->tail = f;
    w->tail = &f->next;
    w->frames++;
    w->bytes += len - VNET_HDR;
}

/* PORTS_MAX: not heard of, or meant for all. */
static unsigned port_of(const uint8_t *addr)
{
    for (unsigned i = 0; i < sea.n_macs; i++)
        if (memcmp(sea.mac[i].addr, addr, MAC) == 0)
            return sea.mac[i].port;
    return PORTS_MAX;
}

static void heard(const uint8_t *addr, unsigned port)
{
    if ((addr[0] & 1) != 0 || port_of(addr) != PORTS_MAX || sea.n_macs == MACS_MAX)
        return;
    memcpy(sea.mac[sea.n_macs].addr, addr, MAC);
    sea.mac[sea.n_macs++].port = port;
}

static void take(unsigned from, const uint8_t *bytes, size_t len, int64_t now)
{
    const uint8_t *eth = bytes + VNET_HDR;
    unsigned to = port_of(eth);

    heard(eth + MAC, from);
    for (unsigned i = 0; i < sea.n; i++)
        if (i != from && (to == i || to == PORTS_MAX))
            send_off(from, i, bytes, len, now);
}

/* Frames of our own are not heard again. */
static void read_port(unsigned i)
{
    static uint8_t bytes[FRAME_MAX];

    for (unsigned k = 0; k < TURN_MAX; k++) {
        struct sockaddr_ll at;
        socklen_t n = sizeof(at);
        ssize_t len = recvfrom(sea.fd[i], bytes, sizeof(bytes), 0, (struct sockaddr *)&at, &n);

        if (len < 0)
            return;
        if (at.sll_pkttype != PACKET_OUTGOING && len > VNET_HDR + 2 * MAC)
            take(i, bytes, (size_t)len, now_us());
    }
}

static int64_t give_way(struct way *w, int fd, int64_t now)
{
    struct frame *f;

    while ((f = w->head) != NULL && f->due_us <= now) {
        if (send(fd, f->bytes, f->len, 0) < 0)
            w->lost++; /* no room there, or nobody */
        w->head = f->next;
        if (w->head == NULL)
            w->tail = &w->head;
        free(f);
    }
    return f != NULL ? f->due_us : INT64_MAX;
}

/* Everything that is due; when the next is. */
static int64_t give(void)
{
    int64_t next = INT64_MAX, now = now_us();

    for (unsigned i = 0; i < sea.n; i++)
        for (unsigned k = 0; k < sea.n; k++) {
            int64_t due = give_way(&sea.way[i][k], sea.fd[k], now);

            next = due < next ? due : next;
        }
    return next;
}

/* ---- orders ---------------------------------------------------------------------------------- */

static void count(const char *path)
{
    char new[4096];
    FILE *f;

    snprintf(new, sizeof(new), "%s.new", path);
    if ((f = fopen(new, "w")) == NULL)
        return;
    for (unsigned i = 0; i < sea.n; i++)
        for (unsigned k = 0; k < sea.n; k++)
            if (i != k)
                fprintf(f, "%s %s %llu %llu %llu\n", sea.name[i], sea.name[k],
                        (unsigned long long)sea.way[i][k].frames,
                        (unsigned long long)sea.way[i][k].bytes,
                        (unsigned long long)sea.way[i][k].lost);
    if (fclose(f) == 0)
        (void)rename(new, path);
}

static void one_word(struct way *w, const char *word)
{
    double v = strchr(word, '=') != NULL ? atof(strchr(word, '=') + 1) : 0;

    if (strcmp(word, "cut") == 0)
        w->loss = 1;
    else if (strncmp(word, "delay=", 6) == 0)
        w->delay_us = (int64_t)(v * 1000);
    else if (strncmp(word, "jitter=", 7) == 0)
        w->jitter_us = (int64_t)(v * 1000);
    else if (strncmp(word, "loss=", 5) == 0)
        w->loss = v;
    else if (strncmp(word, "rate=", 5) == 0)
        w->rate = v;
    else
        fprintf(stderr, "ocean: what is \"%s\"?\n", word);
}

static bool is_meant(const char *pattern, const char *name)
{
    return strcmp(pattern, "*") == 0 || strcmp(pattern, name) == 0;
}

static void obey(char *line)
{
    char *word[16], *rest = NULL;
    unsigned n = 0, first;

    for (char *w = strtok_r(line, " ", &rest); w != NULL && n < 16; w = strtok_r(NULL, " ", &rest))
        word[n++] = w;
    if (n == 2 && strcmp(word[0], "count") == 0) {
        count(word[1]);
        return;
    }
    first = n >= 2 && strchr(word[0], '=') == NULL && strcmp(word[0], "cut") != 0 ? 2 : 0;
    for (unsigned i = 0; i < sea.n; i++)
        for (unsigned k = 0; k < sea.n; k++) {
            struct way *w = &sea.way[i][k];

            if (first == 2 && !(is_meant(word[0], sea.name[i]) && is_meant(word[1], sea.name[k])))
                continue;
            w->delay_us = w->jitter_us = 0;
            w->loss = w->rate = 0;
            for (unsigned j = first; j < n; j++)
                one_word(w, word[j]);
        }
}

static void read_orders(int fd)
{
    static char text[8192];
    static size_t n;
    ssize_t more = read(fd, text + n, sizeof(text) - 1 - n);
    char *line = text, *end;

    if (more <= 0)
        return;
    n += (size_t)more;
    text[n] = '\0';
    while ((end = strchr(line, '\n')) != NULL) {
        *end = '\0';
        obey(line);
        line = end + 1;
    }
    n -= (size_t)(line - text);
    memmove(text, line, n);
    if (n == sizeof(text) - 1)
        n = 0; /* no line is as long */
}

int main(int argc, char **argv)
{
    struct pollfd p[PORTS_MAX + 1];

    if (argc < 4 || argc - 2 > PORTS_MAX) {
        fprintf(stderr, "usage: ocean CONTROL PORT PORT...\n");
        return 2;
    }
    sea.n = (unsigned)argc - 2;
    for (unsigned i = 0; i < sea.n; i++) {
        sea.name[i] = argv[i + 2];
        p[i] = (struct pollfd){ .fd = sea.fd[i] = open_port(sea.name[i]), .events = POLLIN };
        for (unsigned k = 0; k < sea.n; k++)
            sea.way[i][k].tail = &sea.way[i][k].head;
    }
    if (mkfifo(argv[1], 0600) < 0 || (p[sea.n].fd = open(argv[1], O_RDWR | O_NONBLOCK)) < 0)
        die(argv[1]);
    p[sea.n].events = POLLIN;
    for (;;) {
        int64_t due = give(), wait = due == INT64_MAX ? 60000000 : due - now_us();
        struct timespec t = { .tv_sec = wait > 0 ? wait / 1000000 : 0,
                              .tv_nsec = wait > 0 ? wait % 1000000 * 1000 : 0 };

        if (ppoll(p, sea.n + 1, &t, NULL) <= 0)
            continue;
        for (unsigned i = 0; i < sea.n; i++)
            if ((p[i].revents & POLLIN) != 0)
                read_port(i);
        if ((p[sea.n].revents & POLLIN) != 0)
            read_orders(p[sea.n].fd);
    }
}

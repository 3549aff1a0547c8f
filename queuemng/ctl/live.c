/* live.c: a picture of the cluster, drawn again and again until q or Ctrl-C: in its place at a
 * terminal, one below the other elsewhere.
 *
 * A picture goes out in one piece, from the first line on, and each line clears only its own
 * rest: the terminal never shows an empty screen between two pictures. Below it there is room
 * for the error of a cluster that does not answer: what was seen last stays, and so does the
 * error, until the next one. So errors are kept back while a picture is made. */
#include "queuemng/ctl/live.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "queuemng/ctl_view/status_view.h"
#include "queuemng/ctl_view/task_view.h"
#include "queuemng/ctl_view/text.h"

#define LINES_DEFAULT 24 /* lines of a terminal that does not say it */
#define LINES_FREE    3  /* an error, and the end of its line */

#define CURSOR_HIDE "\033[?25l"
#define CURSOR_SHOW "\033[?25h"
#define WRAP_OFF    "\033[?7l" /* a line longer than the terminal is cut there */
#define WRAP_ON     "\033[?7h"
#define HOME        "\033[H"
#define CLEAR_LINE  "\033[K"
#define CLEAR_BELOW "\033[J"
#define PLACE_SAVE  "\0337"
#define PLACE_BACK  "\0338"

/* Signals know nothing but this. */
static struct {
    volatile sig_atomic_t drawn, raw, resized;
    struct termios was;
} term;

/* Appends a picture for so many lines (0: any number of them) to b, or prints the error and
 * leaves b empty. enum ctl_exit. */
typedef int (*screen_fn)(void *arg, struct buf *b, size_t lines);

/* ---- the terminal: as it was, on each way out ---- */

static void restore(void)
{
    if (term.drawn && write(STDOUT_FILENO, CURSOR_SHOW, strlen(CURSOR_SHOW)) < 0)
        term.drawn = false; /* already gone */
    if (term.raw)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &term.was);
}

/* Keys come without Enter, and are not shown; Ctrl-C stays what it is. */
static void keys_take(void)
{
    struct termios now = term.was;

    now.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    now.c_cc[VMIN] = 1;
    now.c_cc[VTIME] = 0;
    if (term.raw)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &now);
}

static void on_stop(int sig)
{
    (void)sig;
    restore();
    _exit(CTL_OK); /* pictures are written: every picture is flushed */
}

/* Ctrl-Z: the shell gets a terminal that it knows; fg draws again. */
static void on_pause(int sig)
{
    (void)sig;
    restore();
    (void)raise(SIGSTOP);
    keys_take();
    term.resized = true;
}

static void on_resize(int sig)
{
    (void)sig;
    term.resized = true;
}

static void signals_take(bool in_place)
{
    struct sigaction sa = { .sa_handler = on_stop, .sa_flags = SA_RESTART };

    sigaction(SIGINT, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
    if (!in_place)
        return;
    sa.sa_handler = on_pause;
    sigaction(SIGTSTP, &sa, NULL);
    sa.sa_handler = on_resize;
    sigaction(SIGWINCH, &sa, NULL);
}

static bool is_terminal(void)
{
    const char *kind = getenv("TERM");

    return isatty(STDOUT_FILENO) == 1 && (kind == NULL || strcmp(kind, "dumb") != 0);
}

static size_t lines_now(void)
{
    struct winsize w = { 0 };
    size_t n = LINES_DEFAULT;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_row > 0)
        n = w.ws_row;
    return n > LINES_FREE ? n - LINES_FREE : 1;
}

/* ---- pictures ---- */

static size_t lines_of(const struct buf *b)
{
    size_t n = b->len > 0 && b->data[b->len - 1] != '\n';

    for (size_t i = 0; i < b->len; i++)
        n += b->data[i] == '\n';
    return n;
}

static void draw(const struct buf *picture, size_t lines)
{
    const uint8_t *p = picture->data, *end = p + picture->len;
    size_t all = lines_of(picture), shown = all <= lines ? all : lines - 1;
    struct buf out;

    buf_init(&out);
    buf_str(&out, CURSOR_HIDE WRAP_OFF HOME);
    for (size_t n = 0; p < end && n < shown; n++) {
        const uint8_t *nl = memchr(p, '\n', (size_t)(end - p));
        size_t len = (size_t)((nl != NULL ? nl : end) - p);

        buf_append(&out, p, len);
        buf_str(&out, CLEAR_LINE "\n");
        p += len + (nl != NULL);
    }
    if (shown < all)
        buf_printf(&out, "(%zu more lines)" CLEAR_LINE "\n", all - shown);
    buf_str(&out, CLEAR_BELOW WRAP_ON PLACE_SAVE);
    term.drawn = true;
    ctl_put_out(&out);
    buf_fini(&out);
}

/* Shows what stderr has kept, in place of the error before it. */
static void put_error(void)
{
    ctl_put_out(&(const struct buf){ .data = (uint8_t *)PLACE_BACK CLEAR_BELOW,
                                     .len = strlen(PLACE_BACK CLEAR_BELOW) });
    fflush(stderr);
}

static int show_once(const struct ctl *c, bool in_place, bool first, screen_fn show, void *arg)
{
    size_t lines = in_place ? lines_now() : 0;
    struct buf picture;
    int rc;

    buf_init(&picture);
    rc = show(arg, &picture, lines);
    if (in_place && picture.len > 0) {
        draw(&picture, lines);
    } else if (in_place) {
        put_error();
    } else if (picture.len > 0) {
        /* show() prints documents itself: nothing is put between them */
        if (!first && c->form == FORM_TABLE)
            ctl_put_out(&(const struct buf){ .data = (uint8_t *)"\n", .len = 1 });
        ctl_put_out(&picture);
    }
    buf_fini(&picture);
    return rc;
}

/* ---- between two pictures ---- */

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* False: q. *keys: there may still come some. */
static bool key_read(bool *keys, bool *at_once)
{
    char c = 0;
    ssize_t n = read(STDIN_FILENO, &c, 1);

    *keys = n > 0;
    *at_once = n > 0 && c == ' ';
    return n <= 0 || (c != 'q' && c != 'Q');
}

/* Until the next picture; a blank, or another size of the terminal, wants it at once. False: q. */
static bool rest(unsigned s, bool *keys)
{
    int64_t until = now_ms() + 1000 * (int64_t)s, left = 1000 * (int64_t)s;
    bool at_once = false;

    while (left > 0 && !at_once && !term.resized) {
        struct pollfd in = { .fd = *keys ? STDIN_FILENO : -1, .events = POLLIN };

        if (poll(&in, 1, (int)left) > 0 && !key_read(keys, &at_once))
            return false;
        left = until - now_ms();
    }
    term.resized = false;
    return true;
}

/* The last show()'s exit; wrong usage ends it at once, a cluster that does not answer does not. */
static int again(screen_fn show, const struct ctl *c, void *arg)
{
    static char errors[4096];
    bool in_place = c->form == FORM_TABLE && c->count != 1 && is_terminal(), keys;
    int rc;

    term.raw = in_place && isatty(STDIN_FILENO) == 1 && tcgetattr(STDIN_FILENO, &term.was) == 0;
    keys = term.raw;
    signals_take(in_place);
    keys_take();
    if (in_place) {
        setvbuf(stderr, errors, _IOFBF, sizeof(errors));
        draw(&(const struct buf){ 0 }, 1);
    }
    for (unsigned n = 1;; n++) {
        rc = show_once(c, in_place, n == 1, show, arg);
        if (rc == CTL_USAGE || n == c->count || !rest(c->every_s > 0 ? c->every_s : 1, &keys))
            break;
    }
    restore();
    fflush(stderr);
    return rc;
}

/* ---- what is shown ---- */

#define TASKS "/v1/admin/task-queues"

struct live {
    struct ctl *c;
    const char *queue; /* NULL: all */
};

static int once(screen_fn show, struct ctl *c, const char *queue)
{
    struct buf b;
    int rc;

    buf_init(&b);
    rc = show(&(struct live){ c, queue }, &b, 0);
    ctl_put_out(&b);
    buf_fini(&b);
    return rc;
}

/* ---- status, watch ---- */

/* JSON and YAML are of the whole cluster: a queue that it has not is an error all the same. */
static int queue_is_there(const struct live *l)
{
    int rc;
    json_t *doc = ctl_get(l->c, "/v1/admin/cluster", NULL, &rc);

    if (doc != NULL && ctl_find(doc, "queues", "queue", l->queue) == NULL)
        rc = ctl_say_no_queue(l->c, l->queue);
    json_decref(doc);
    return rc;
}

static int show_status(void *arg, struct buf *b, size_t lines)
{
    const struct live *l = arg;
    int rc;
    json_t *doc = ctl_fetch(l->c, (struct ctl_call){ .method = "GET", .path = "/v1/admin/cluster" },
                            &rc);
    json_t *tasks = NULL;

    (void)lines;
    if (doc == NULL && rc == CTL_OK && l->queue != NULL)
        return queue_is_there(l);
    if (doc != NULL && !view_cluster(b, doc, l->queue, l->c->all))
        rc = ctl_say_no_queue(l->c, l->queue);
    if (doc != NULL && rc == CTL_OK && l->queue == NULL)
        tasks = ctl_get(l->c, TASKS, NULL, &rc);
    if (tasks != NULL)
        view_task_trouble(b, tasks); /* the trouble with tasks, below the rest */
    json_decref(tasks);
    json_decref(doc);
    return rc;
}

int cmd_status(struct ctl *c, char **argv)
{
    return once(show_status, c, argv[0]);
}

int cmd_watch(struct ctl *c, char **argv)
{
    return again(show_status, c, &(struct live){ c, argv[0] });
}

/* ---- task queues ---- */

static int show_task_queues(void *arg, struct buf *b, size_t lines)
{
    const struct live *l = arg;
    int rc;
    json_t *doc = ctl_fetch(l->c, (struct ctl_call){ .method = "GET", .path = TASKS }, &rc);

    (void)lines;
    if (doc != NULL && !view_task_queues(b, doc, l->queue))
        rc = ctl_fail(CTL_REFUSED, "no pool takes a queue '%s'", l->queue);
    json_decref(doc);
    return rc;
}

int cmd_task_queues(struct ctl *c)
{
    return once(show_task_queues, c, NULL);
}

int cmd_task_top(struct ctl *c, char **argv)
{
    return again(show_task_queues, c, &(struct live){ c, argv[0] });
}

/* ---- top ---- */

#define LOOKS   8    /* looks that are kept */
#define RATE_MS 3000 /* rates are of so long, if there is as much */

struct top {
    struct ctl *c;
    json_t *look[LOOKS]; /* owned: the youngest first */
};

/* Finds the look that rates are counted from; NULL: no look before. */
static const json_t *then(const struct top *t, const json_t *now)
{
    double at = ctl_f64(now, "now_ms");

    for (size_t i = 0; i < LOOKS && t->look[i] != NULL; i++)
        if (at - ctl_f64(t->look[i], "now_ms") >= RATE_MS || i + 1 == LOOKS ||
            t->look[i + 1] == NULL)
            return t->look[i];
    return NULL;
}

static void keep(struct top *t, json_t *now)
{
    json_decref(t->look[LOOKS - 1]);
    memmove(&t->look[1], &t->look[0], (LOOKS - 1) * sizeof(t->look[0]));
    t->look[0] = now;
}

static int show_top(void *arg, struct buf *b, size_t lines)
{
    struct top *t = arg;
    int rc;
    struct ctl_call call = { .method = "GET", .path = "/v1/admin/live?since=9223372036854775807" };
    json_t *now = ctl_fetch(t->c, call, &rc);

    if (now == NULL)
        return rc;
    view_top(b, now, then(t, now), lines);
    keep(t, now);
    return CTL_OK;
}

int cmd_top(struct ctl *c, char **argv)
{
    struct top t = { .c = c };
    int rc = again(show_top, c, &t);

    (void)argv;
    for (size_t i = 0; i < LOOKS; i++)
        json_decref(t.look[i]);
    return rc;
}

/* ev_signal.c: signals. A handler only notes which one it was, and wakes the loop by an eventfd. */
#include "common/net/ev_signal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/net/ev_int.h"

static volatile sig_atomic_t came[NSIG]; /* and not told yet */
static volatile sig_atomic_t wake_fd = -1;

static void on_signal(int signo)
{
    static const uint64_t one = 1;
    int was = errno;

    came[signo] = 1;
    (void)!write(wake_fd, &one, sizeof(one));
    errno = was;
}

static void on_wake(void *arg, unsigned what)
{
    struct ev *ev = arg;
    uint64_t n;

    (void)what;
    (void)!read(wake_fd, &n, sizeof(n));
    for (struct ev_sig *s = ev->signals; s != NULL; s = s->next) {
        if (!came[s->signo])
            continue;
        came[s->signo] = 0;
        s->fn(s->arg);
    }
}

static void forget_wake(struct ev *ev)
{
    ev_io_free(ev->wake);
    ev->wake = NULL;
    if (wake_fd >= 0)
        close(wake_fd);
    wake_fd = -1;
}

static bool have_wake(struct ev *ev)
{
    if (ev->wake != NULL)
        return true;
    assert(wake_fd == -1);
    wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    ev->wake = wake_fd >= 0 ? ev_io_new(ev, wake_fd, on_wake, ev) : NULL;
    if (ev->wake != NULL && ev_io_set(ev->wake, EV_IO_READ) == 0)
        return true;
    forget_wake(ev);
    return false;
}

int ev_signal(struct ev *ev, int signo, void (*fn)(void *arg), void *arg)
{
    struct sigaction act = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
    struct ev_sig *s = calloc(1, sizeof(*s));

    assert(signo > 0 && signo < NSIG);
    if (s == NULL)
        return SQ_ENOMEM;
    *s = (struct ev_sig) { .signo = signo, .fn = fn, .arg = arg };
    sigfillset(&act.sa_mask);
    if (!have_wake(ev) || sigaction(signo, &act, &s->before) < 0) {
        free(s);
        return SQ_ENOMEM;
    }
    s->next = ev->signals;
    ev->signals = s;
    return 0;
}

void ev_signals_end(struct ev *ev)
{
    while (ev->signals != NULL) {
        struct ev_sig *s = ev->signals;

        ev->signals = s->next;
        (void)sigaction(s->signo, &s->before, NULL);
        came[s->signo] = 0;
        free(s);
    }
    if (ev->wake != NULL)
        forget_wake(ev);
}

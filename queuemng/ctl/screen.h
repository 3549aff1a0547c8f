/* screen.h: a picture that is drawn again and again until q or Ctrl-C: in its place at a terminal,
 * one below the other elsewhere. */
#ifndef SEGQ_CTL_SCREEN_H
#define SEGQ_CTL_SCREEN_H

#include "common/base/buf.h"

struct screen {
    unsigned every_s;   /* from one picture to the next */
    unsigned count;     /* number of pictures; 0: until the end */
    bool text;          /* false: show() prints documents itself, nothing is put between them */
};

/* Appends a picture for so many lines (0: any number of them) to b, or prints the error and leaves b
 * empty. enum ctl_exit. */
typedef int (*screen_fn)(void *arg, struct buf *b, size_t lines);

/* The last show()'s exit; wrong usage ends it at once, a cluster that does not answer does not. */
int screen_run(const struct screen *s, screen_fn show, void *arg);

#endif

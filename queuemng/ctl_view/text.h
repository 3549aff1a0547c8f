/* text.h: members of an answer as words, numbers and bars, in colours. Pure, but for one switch of the
 * process: whether there are colours. What came from the network is printed through here: characters
 * that could steer a terminal, or turn the order of the text about them (bidi), become '?', in JSON
 * \uXXXX; so does what is no UTF-8, but in JSON. */
#ifndef SEGQ_CTL_TEXT_H
#define SEGQ_CTL_TEXT_H

#include <jansson.h>

#include "common/base/buf.h"

#define CTL_PATH 60 /* bytes of a path in our sentences, and its end */
/* The name up to `end`; returns what is behind that, or NULL. */
const char *ctl_part(const char *path, char end, char name[CTL_PATH]);
/* Members of an answer, `load.cpu` one of a member, `held.0` the first of a list; absent or of
 * another type: "-", 0, false, so that a newer or older queuemng is still shown. An empty text is
 * "-", too; below 0 is 0. */
const json_t *ctl_member(const json_t *o, const char *path);
const char *ctl_str(const json_t *o, const char *path);
uint64_t ctl_u64(const json_t *o, const char *path); /* also a sum */
double ctl_f64(const json_t *o, const char *path);
bool ctl_is(const json_t *o, const char *path);
bool ctl_equals(const json_t *o, const char *path, const char *text);
/* The element of doc's list that has this name in its member `key`; NULL: none. */
json_t *ctl_find(const json_t *doc, const char *list, const char *key, const char *name);
/* The sum of `path` over a list; key not NULL: over those that have this name. */
uint64_t ctl_sum(const json_t *list, const char *path, const char *key, const char *name);

#define CTL_IN_LINE "waiting+returning" /* people who wait, and who come back */

/* s with control characters replaced. */
void ctl_clean(struct buf *b, const char *s);
size_t ctl_width(const char *s, size_t n); /* places on a terminal of n bytes: Chinese has two each */
void ctl_pad(struct buf *b, const char *s, size_t width); /* and blanks behind it */
/* JSON that says the same, with these characters as \uXXXX; ends of lines stay. */
void ctl_clean_json(struct buf *b, const char *s, size_t n);

/* A bar of width characters out of `of` places: '#' held, '-' used up, '.' free. A held
 * place is never rounded away, nor is a free one. of = 0: all free. */
void ctl_bar(struct buf *b, uint64_t held, uint64_t used, uint64_t of, size_t width);

void ctl_count(struct buf *b, uint64_t v); /* 1234567 as 1 234 567 */
/* The same with "/s" behind, and 0.4 as 0.4/s. */
void ctl_rate(struct buf *b, double per_s);
void ctl_change(struct buf *b, double per_s); /* "+12/s", "-8/s", "0/s" */
/* Unix seconds as date and time; 0, or beyond the year 9999: "-". */
void ctl_moment(struct buf *b, double s);
void ctl_span(struct buf *b, double s); /* seconds as "40 s", "12 min", "3.5 h", "4 days" */

enum colour { COLOUR_NONE, COLOUR_BOLD, COLOUR_GOOD, COLOUR_WARN, COLOUR_BAD };

void colours_on(bool on); /* at first they are off */
/* Appends the text, in its colour if there are any. */
void colour_put(struct buf *b, enum colour colour, const char *text);

#endif

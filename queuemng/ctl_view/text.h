/* text.h: segqctl's words as JSON, and JSON as numbers and bars. Pure.
 * Everything that came from the network is printed through here: characters that could steer a
 * terminal, or turn the order of the text about them (bidi), become '?', in JSON \uXXXX. */
#ifndef SEGQ_CTL_TEXT_H
#define SEGQ_CTL_TEXT_H

#include <jansson.h>

#include "common/base/buf.h"
#include "common/config/cfg.h"
#include "common/base/err.h"

/* KEY=VALUE words into one JSON object, dotted keys into nested ones: idle.game=3s is
 * {"idle":{"game":"3s"}}. Numbers, true, false, "..", [..] and {..} are taken as JSON,
 * everything else is a string; so is what stands for a key of `keys` that is a text
 * (message=2027). NULL and a sentence if a word is no KEY=VALUE, repeats a key, or opens a
 * bracket and is not JSON. New reference. */
json_t *ctl_pairs(char *const *words, size_t n, const struct cfg_key *keys, struct err *e);

/* "50:2000" "70:500": while below 50 at most 2000 a second ... as the JSON of tiers. NULL and
 * a sentence if a word is something else, or there is none. New reference. */
json_t *ctl_tiers(char *const *words, size_t n, struct err *e);
bool ctl_number(const char *s, double *out); /* 0 or more, nothing behind it */

/* Members of an answer, `load.cpu` one of a member; absent or of another type: "-", 0, false, so that
 * a newer or older queuemng is still shown. An empty text is "-", too; below 0 is 0. */
const json_t *ctl_member(const json_t *o, const char *path);
const char *ctl_str(const json_t *o, const char *path);
uint64_t ctl_u64(const json_t *o, const char *path);
double ctl_f64(const json_t *o, const char *path);
bool ctl_is(const json_t *o, const char *path);
bool ctl_equals(const json_t *o, const char *path, const char *text);
uint64_t ctl_in_line(const json_t *queue); /* people who wait, and who come back */

/* Formats of a member: cells of a table (columns.h), and words of a sentence. */
typedef void (*put_fn)(struct buf *b, const json_t *o, const char *path);
void put_text(struct buf *b, const json_t *o, const char *path);
void put_count(struct buf *b, const json_t *o, const char *path);  /* 1 204 */
void put_number(struct buf *b, const json_t *o, const char *path); /* 1204 */
void put_id(struct buf *b, const json_t *o, const char *path);     /* a name or a number; 0: "-" */
void put_rate(struct buf *b, const json_t *o, const char *path);   /* 2 000/s */
void put_ms(struct buf *b, const json_t *o, const char *path);     /* milliseconds as ctl_span() */
void put_moment(struct buf *b, const json_t *o, const char *path);
/* A sentence about o: {queue} is a member as put_text() has it; behind the path a mark says another
 * format: # put_count, = put_number, / put_rate, ~ put_ms, @ put_moment. */
void ctl_say(struct buf *b, const json_t *o, const char *sentence);

/* s with control characters replaced. */
void ctl_clean(struct buf *b, const char *s);
void ctl_pad(struct buf *b, const char *s, size_t width); /* and blanks behind it */
/* "segqctl rate login limits": a command to type; rest: behind the name, with its space. */
void ctl_command(struct buf *b, const char *verb, const char *name, const char *rest);
/* JSON that says the same, with these characters as \uXXXX; ends of lines stay. */
void ctl_clean_json(struct buf *b, const char *s, size_t n);

/* A bar of width characters out of `of` places: '#' held, '-' used up, '.' free. A held
 * place is never rounded away, nor is a free one. of = 0: all free. */
void ctl_bar(struct buf *b, uint64_t held, uint64_t used, uint64_t of, size_t width);

void ctl_count(struct buf *b, uint64_t v); /* 1234567 as 1 234 567 */
/* The same with "/s" behind, and 0.4 as 0.4/s. */
void ctl_rate(struct buf *b, double per_s);
void ctl_moment(struct buf *b, double s); /* Unix seconds as date and time; 0: "-" */
void ctl_span(struct buf *b, double s); /* seconds as "40 s", "12 min", "3.5 h", "4 days" */

#endif

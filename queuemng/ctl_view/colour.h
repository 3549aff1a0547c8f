/* colour.h: colours of a terminal (ECMA-48, SGR). Pure, but for one switch of the process: whether
 * there are colours at all. */
#ifndef SEGQ_CTL_COLOUR_H
#define SEGQ_CTL_COLOUR_H

#include "common/base/buf.h"

enum colour { COLOUR_NONE, COLOUR_BOLD, COLOUR_GOOD, COLOUR_WARN, COLOUR_BAD };

void colours_on(bool on); /* at first they are off */
/* Colour for the word of a state; NONE: not to be seen at once. */
enum colour colour_of(const char *state);
/* Appends the text, in its colour if there are any. */
void colour_put(struct buf *b, enum colour colour, const char *text);

#endif

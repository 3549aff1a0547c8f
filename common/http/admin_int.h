/* admin_int.h: what admin.c and admin_text.c share. Nobody else includes it. */
#ifndef SEGQ_ADMIN_INT_H
#define SEGQ_ADMIN_INT_H

#include "common/http/admin.h"

/* %XX undone once, in place of nothing: into out. '+' is a blank if plus. False if it is
 * not well formed, has a control character, or does not fit. */
bool admin_unescape(const char *s, size_t n, bool plus, char *out, size_t cap);

#endif

/* admin_text.h: escaped text in a query string or path, and Accept-Encoding, for admin.c. Pure. */
#ifndef SEGQ_ADMIN_TEXT_H
#define SEGQ_ADMIN_TEXT_H

#include "common/http/admin.h"

/* %XX undone once, in place of nothing: into out. '+' is a blank if plus. False if it is
 * not well formed, has a control character, or does not fit. */
bool admin_unescape(const char *s, size_t n, bool plus, char *out, size_t cap);

/* An Accept-Encoding header's value. */
bool admin_takes_gzip(const char *value);

#endif

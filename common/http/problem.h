/* problem.h: the body of every error that a program of ours answers over HTTP (RFC 9457),
 * and JSON strings out of any bytes. Pure. The only place that escapes: whatever a text
 * quotes (names, headers, paths of strangers), the answer stays JSON in plain ASCII. */
#ifndef SEGQ_PROBLEM_H
#define SEGQ_PROBLEM_H

#include "common/base/buf.h"

#define PROBLEM_TYPE "application/problem+json"

/* A JSON string with its quotes. Quotes and backslashes are escaped, what is not printable
 * ASCII becomes '?': such bytes come from strangers, and are of no use to a reader. */
void json_ascii(struct buf *b, const char *s, size_t n);
/* The same of UTF-8, which stays; of what is none only ASCII does. */
void json_utf8(struct buf *b, const char *s, size_t n);

/* {"title","status","code","detail","request_id" without its last brace: members may be
 * added (",\"x\":1"), then '}' is. */
void problem_open(struct buf *b, int status, const char *code, const char *detail,
                  const char *request_id);
/* Code of a request that http.c refused. */
const char *problem_code_of_http(int status);

#endif

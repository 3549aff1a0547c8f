/* aws_room.h: the words of AWS' waiting room (PROTOCOL.md, section 31): the numbers of a line and of
 * its tickets, what a request says, answers. Pure.
 *
 * A ticket's number is the ordinal of its place in its lane: the base of the segment that its token
 * names, from the map, and its number there. So it is the ticket's for ever, the same at each router,
 * and in the order of the line. The line is served up to the last ordinal before the first that waits:
 * whoever is let in, or has left, is passed. */
#ifndef SEGQ_ROUTER_AWS_ROOM_H
#define SEGQ_ROUTER_AWS_ROOM_H

#include "common/http/http.h"
#include "common/submit/json_members.h"
#include "router/api/response.h"
#include "router/replica/replicas.h"

#define AWS_SILENT_LEAST_S 600 /* silence that a queue of this door has to bear */
#define AWS_LOOK_MS 50         /* interval at which a line is looked at, at most */

struct aws_asked { /* slices of the request; n 0: not there */
    struct slice event_id, request_id;
};
/* Reads a body of JSON, which is changed by that. False: *e says why. */
SQ_CHECK bool aws_body(struct aws_asked *a, struct slice body, struct body_error *e);
/* The same of a query: values as they came. */
void aws_query(struct aws_asked *a, struct slice query);

/* Why this door cannot speak of the queue, a sentence for its caller; NULL: it can. */
const char *aws_unfit(const struct route_queue *q);
/* The number of a ticket of that queue's default lane; 0: not known (yet), or of another one. */
uint64_t aws_number(const struct routes *r, const struct route_queue *q, const struct token *t);

struct aws_line { /* memory of a queue's line */
    queue_id queue;
    uint64_t served; /* never falls, while the map tells numbers */
    uint64_t open;   /* sum of the segments that were open when it was looked at last, */
    msec_t open_ms;  /* and since when, or before, they are the only ones */
    msec_t looked_ms;
};
/* The number up to which the default lane is served. False: not known yet. */
SQ_CHECK bool aws_served(struct aws_line *l, const struct routes *r, const struct replicas *known,
                         const struct route_queue *q, msec_t now_ms, uint64_t *served);

/* Answers, in a->body, with their status. event_id: [A-Za-z0-9._-]. token: TOKEN_TEXT_LEN characters. */
void aws_assigned(struct api_ans *a, const char *token);
void aws_numbered(struct api_ans *a, uint64_t number, int64_t entry_s, const char *event_id);
void aws_count(struct api_ans *a, const char *member, uint64_t n); /* a single number */
void aws_tokens(struct api_ans *a, const char *pass, size_t n, int64_t expires_in_s);
void aws_key(struct api_ans *a, const uint8_t key[32]);
void aws_not_yet(struct api_ans *a, const char *why); /* 202 */

#endif

/* queue_name.h: names of task queues, the patterns of pools, and which share of its pool a queue
 * belongs to. Pure. Routers and managers must agree in all three, in every release. */
#ifndef SEGQ_COMMON_TASK_QUEUE_NAME_H
#define SEGQ_COMMON_TASK_QUEUE_NAME_H

#include "common/task/rules.h"

/* Parts with slashes between them, each of [a-z0-9][a-z0-9_.-]*, TASK_NAME_MAX in all. No part is
 * "tasks": in a path the name ends there. */
bool queue_name_ok(const char *p, size_t n);
/* A queue's name, or the beginning of one and a star: "images", "ride/" and "*", "*" alone. */
bool queue_match_ok(const char *match);
/* A text, or the beginning of one and a star. */
bool star_matches(const char *match, size_t m, const char *text, size_t n);
bool queue_matches(const char *match, const char *queue, size_t n);
/* Does one of the list, with commas between (n bytes), match? Of a pattern in the place of `queue`:
 * does it match every queue of that? */
bool queues_match(const char *list, size_t n, const char *queue, size_t queue_n);
#define QUEUES_MAX  16 /* names and patterns of a list */
#define QUEUES_TEXT (QUEUES_MAX * (TASK_NAME_MAX + 1))

/* 0 .. of-1. */
uint32_t part_share(const char *queue, size_t n, uint32_t of);
/* Is it among so many percent of all queues? Among more, too, if so; and whatever its share is. */
bool queue_is_among(const char *queue, size_t n, unsigned percent);

#endif

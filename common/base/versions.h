/* versions.h: the numbers that tell one release of segq from another. Pure.
 * When each of them is raised, and what another release does when it meets it, stands in
 * proto/PROTOCOL.md section 17. Few files include this one: so few have to be built anew
 * when a number changes. */
#ifndef SEGQ_VERSIONS_H
#define SEGQ_VERSIONS_H

/* What is spoken on the links: the newest, and the oldest that is still understood. */
#define PROTOCOL_VERSION 2
#define PROTOCOL_OLDEST  1
#define PROTOCOL_LOAD    2 /* from it on: LOAD */
#define PROTOCOL_BOUND   2 /* from it on: what a pass is bound to (texts of subjects), SESS_USE */

#define MAP_FORMAT     1 /* of the chain map that routers are sent */
#define JOURNAL_FORMAT 3 /* of a segment node's journal; all older ones are read, too */
#define TASK_FORMAT    1 /* of a task node's journal; likewise */
#define STORE_FORMAT   1 /* of what queuemng keeps; likewise */

#endif

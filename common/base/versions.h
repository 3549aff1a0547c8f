/* versions.h: the numbers that tell one release of segq from another. Pure.
 * When each of them is raised, and what another release does when it meets it, stands in
 * proto/PROTOCOL.md section 17. Few files include this one: so few have to be built anew
 * when a number changes. */
#ifndef SEGQ_VERSIONS_H
#define SEGQ_VERSIONS_H

/* The protocol on the links: the newest version, and the oldest that is still understood. */
#define PROTOCOL_VERSION 1
#define PROTOCOL_OLDEST  1

#define MAP_FORMAT     1 /* format of the chain map for routers */
#define JOURNAL_FORMAT 1 /* a segment node's journal; all older formats are read, too */
#define TASK_FORMAT    1 /* a task node's journal; likewise */
#define STORE_FORMAT   1 /* queuemng's store; likewise */

#endif

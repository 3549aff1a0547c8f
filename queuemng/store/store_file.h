/* store_file.h: the manager's store in files of its own machine: one manager per folder. Shell.
 *
 * A key-value log on the journal (common/journal/journal.h) in DIR/store, mode `fsync`; in
 * memory there is every pair (store.h), so a snapshot never reads a file. Record types:
 *
 *   PUT   key, 0, the last bytes of the value     DEL   key, 0
 *   MORE  bytes of the value of the PUT that follows: a value may be longer than a record
 *
 * A chunk of a snapshot is one such record behind its type.
 *
 * All puts of a sync are one group under one checksum: a restart finds all of them or none.
 * A sync answers 0 when they are on the disk. No room: they are kept and tried again with
 * the next sync. After any other failed write or sync the log is not believed any more,
 * and every pair is written to new files at once, and again with each sync until that
 * works; meanwhile store_sync() fails, and nothing that depends on it may be sent. A torn
 * tail (power cut while writing) is cut off and logged: it was never acknowledged. Damage
 * before it is refused, naming file and offset. `segment --check-journal DIR/store`
 * explains the files. */
#ifndef SEGQ_STORE_FILE_H
#define SEGQ_STORE_FILE_H

#include "common/journal/disk.h"
#include "queuemng/store/store.h"

/* dir is made if it is missing. disk: ref, in place of DIR/store (tests); else NULL.
 * SQ_ECONFLICT: another manager has it; SQ_EPROTO: damaged, or of a newer segq; SQ_ESYS,
 * SQ_ENOMEM. */
SQ_CHECK int store_file_open(struct store **out, const char *dir, struct disk *disk,
                             struct err *e);

#endif

/* segq_key.h: a device's key for segq.h, by OpenSSL's libcrypto (1.1.1 or newer), in a file. For
 * systems of the Unix kind; on others hand `struct segq_key` a key of the system's.
 *
 *   struct segq_key key;
 *
 *   if (segq_key_open(&key, "device.pem") < 0)
 *       return 1;
 *   o.key = &key;
 *   ...
 *   segq_key_close(&key); */
#ifndef SEGQ_KEY_H
#define SEGQ_KEY_H

#include "segq.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The key of the file (PEM), or a new one, which the file has from then on, for its owner alone.
 * file NULL: a new one, in memory only. -1: neither can be, or the file has none of the curve P-256. */
int segq_key_open(struct segq_key *key, const char *file);
/* Behind segq_free() of all that use it. */
void segq_key_close(struct segq_key *key);

#ifdef __cplusplus
}
#endif

#endif

/* def_json.c: see the header. */
#include "queuemng/state/def_json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

json_t *def_json(const void *def, const struct cfg_key *keys)
{
    json_t *j = NULL;
    struct buf b;

    buf_init(&b);
    cfg_dump_json(&b, def, keys);
    if (!b.failed)
        j = json_loadb((const char *)b.data, b.len, 0, NULL);
    buf_fini(&b);
    return j;
}

int def_from_json(void *def, size_t size, const struct cfg_key *keys, const json_t *j,
                  const char *key, struct err *e)
{
    char *text = json_dumps(j, JSON_COMPACT);
    struct cfg_node *doc = NULL;
    int rc;

    if (text == NULL)
        return err_set(e, SQ_ENOMEM, "stored record %s: out of memory", key);
    rc = cfg_parse_json(&doc, text, strlen(text), e);
    free(text);
    if (rc == 0)
        rc = cfg_bind_stored(def, size, keys, doc, key, e);
    cfg_node_free(doc);
    return rc;
}

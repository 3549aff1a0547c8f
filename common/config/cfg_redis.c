#include "common/config/cfg_redis.h"

#include "common/config/cfg_check.h"

int cfg_redis_check(const struct cfg_redis *c, struct err *e)
{
    char *const *addr = c->servers.v;
    int rc = 0;

    if (c->servers.n != 0 && c->sentinels.n != 0)
        return err_set(e, SQ_EINVAL, "redis or redis_sentinels, not both");
    for (size_t i = 0; rc == 0 && i < c->servers.n; i++)
        rc = addr[i][0] == '/' ? 0 : cfg_dial_check("redis", addr[i], e);
    if (rc == 0)
        rc = cfg_dials_check("redis_sentinels", &c->sentinels, e);
    if (rc == 0 && c->user[0] != 0 && c->password_file[0] == 0)
        rc = err_set(e, SQ_EINVAL, "redis_user: redis_password_file is missing");
    return rc;
}

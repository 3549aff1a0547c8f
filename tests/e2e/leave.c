/* leave.c QUEUE ROUTER: joins with the C client and leaves before the join is answered. 0: it
 * has left; the place that the join made is given back. */
#include <curl/curl.h>
#include <stdio.h>

#include "../../clients/c/segq.h"

int main(int argc, char **argv)
{
    struct segq_options o = { 0 };
    enum segq_state state;
    struct segq *s;

    if (argc != 3)
        return 2;
    curl_global_init(CURL_GLOBAL_DEFAULT);
    o.queue = argv[1];
    o.routers = (const char *const *)&argv[2];
    o.n_routers = 1;
    s = segq_new(&o);
    if (s == NULL || segq_poll(s, 0) != SEGQ_JOINING)
        return 2;
    segq_leave(s);
    while ((state = segq_poll(s, 1000)) == SEGQ_LEAVING)
        ;
    printf("%d\n", (int)state);
    segq_free(s);
    curl_global_cleanup();
    return state == SEGQ_LEFT ? 0 : 1;
}

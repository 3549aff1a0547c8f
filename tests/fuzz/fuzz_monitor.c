/* fuzz_monitor.c: any bytes as a monitor's answer; the first byte chooses the kind. What
 * is accepted is finite; nothing crashes. */
#include <math.h>
#include <stdlib.h>

#include "queuemng/monitor/proc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void page(const char *text, size_t n, bool max)
{
    static const struct sample_label labels[] = { { "code", "200" }, { "path", "/a\n\"" } };

    for (size_t k = 0; k <= 2; k++) {
        struct sample_want w = { "http_total", labels, k, max };
        struct sample_value s = { 0 };
        struct err e;

        if (sample_page_read(&s, &w, text, n, &e) == 0 && !isfinite(s.value))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *text = (const char *)data + 1;
    struct sample_value s = { 0 };
    struct mon_proc p;
    struct mon_cpu c;
    struct err e;
    double v;

    if (n-- < 1)
        return 0;
    switch (data[0] % 6) {
    case 0:
        if (mon_parse_api(&s, text, n, &e) == 0 && !isfinite(s.value))
            abort();
        break;
    case 1:
    case 2:
        page(text, n, data[0] % 6 == 1);
        break;
    case 3:
        (void)!mon_parse_stat(&c, text, n, &e);
        break;
    case 4:
        if (mon_parse_meminfo(&v, text, n, &e) == 0 && !(v >= 0 && v <= 100))
            abort();
        break;
    default:
        (void)!mon_parse_proc(&p, text, n, &e);
    }
    return 0;
}

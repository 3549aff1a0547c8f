/* budget_view.c: a line for each budget, and below it one for each member. */
#include "queuemng/ctl_view/budget_view.h"

#include "queuemng/ctl_view/table.h"
#include "queuemng/ctl_view/text.h"

/* "12.5 of 300/s" */
static void used_cell(struct table *t, const json_t *used, const json_t *part, const char *key,
                      const char *unit)
{
    const json_t *most = json_object_get(part, key);

    if (json_is_number(most))
        table_cell(t, "%g of %g%s", ctl_f64(used, key), json_number_value(most), unit);
    else
        table_cell(t, "-");
}

static void add_line(struct table *t, const json_t *x, const char *part)
{
    const json_t *used = json_object_get(x, "used"), *p = json_object_get(x, part);

    used_cell(t, used, p, "rate_per_s", "/s");
    used_cell(t, used, p, "active", "");
}

void view_budgets(struct buf *b, const json_t *doc)
{
    const json_t *x, *member;
    struct table t;
    size_t i, k;

    table_init(&t, "BUDGET MEMBER >WEIGHT >RATE >ACTIVE LIMITED_BY");
    json_array_foreach(json_object_get(doc, "budgets"), i, x) {
        table_cell(&t, "%s", ctl_str(x, "name"));
        table_cell(&t, "-");
        table_cell(&t, "-");
        add_line(&t, x, "whole");
        table_cell(&t, "%s", ctl_str(x, "limited_by")[0] != 0 ? ctl_str(x, "limited_by") : "-");
        json_array_foreach(json_object_get(x, "members"), k, member) {
            table_cell(&t, "%s", ctl_str(x, "name"));
            table_cell(&t, "%s %s", ctl_str(member, "kind"), ctl_str(member, "name"));
            table_u64(&t, ctl_u64(member, "weight"));
            add_line(&t, member, "part");
            table_cell(&t, "-");
        }
    }
    table_put(b, &t, "no budgets\n");
}

/* test_mng_changes.c: the log of changes: who did what, from which value to which. */
#include "tests/unit/queuemng/adminrig.h"

static void expect_change(const struct rig *g, size_t i, const char *key, const char *from,
                          const char *to)
{
    const json_t *x = json_array_get(json_object_get(part(g, "entries", 0), "changes"), i);

    cr_expect_str_eq(member(x, "key"), key);
    cr_expect_str_eq(member(x, "from"), from);
    cr_expect_str_eq(member(x, "to"), to);
}

Test(audit, records_old_and_new_values)
{
    struct rig g;

    begin(&g, "[{name: login}]");
    cr_expect_eq(ask(&g, "GET", "/v1/admin/audit", ""), 200);
    cr_expect_eq(json_array_size(json_object_get(g.j, "entries")), 0);
    cr_expect_eq(ask(&g, "PATCH", Q "login", "{\"claim\":\"5s\",\"idle\":{\"game\":\"3s\"}}"),
                 200);
    cr_expect_eq(ask(&g, "GET", "/v1/admin/audit", ""), 200);
    cr_expect_eq(json_array_size(json_object_get(g.j, "entries")), 1);
    cr_expect_str_eq(member(part(&g, "entries", 0), "who"), "unnamed");
    cr_expect_str_eq(member(part(&g, "entries", 0), "method"), "PATCH");
    cr_expect_str_eq(member(part(&g, "entries", 0), "name"), "login");
    expect_change(&g, 0, "idle.game", "1m", "3s");
    expect_change(&g, 1, "claim", "1m", "5s");
    g.operator_name = "an\na";
    cr_expect_eq(ask(&g, "POST", Q "login/pause", ""), 200);
    cr_expect_eq(ask_as(&g, true, "POST", Q "login/release", "n=500", "", ""), 200);
    cr_expect_eq(ask(&g, "GET", "/v1/admin/audit", ""), 200);
    cr_expect_eq(json_array_size(json_object_get(g.j, "entries")), 3);
    cr_expect_str_eq(member(part(&g, "entries", 0), "who"), "an?a");
    cr_expect_str_eq(member(part(&g, "entries", 0), "query"), "n=500");
    cr_expect_str_eq(member(part(&g, "entries", 0), "from"), "192.0.2.7");
    cr_expect_eq(ask_as(&g, true, "GET", "/v1/admin/audit", "n=2", "", ""), 200);
    cr_expect_eq(json_array_size(json_object_get(g.j, "entries")), 2);
    cr_expect_eq(ask_as(&g, true, "GET", "/v1/admin/audit", "n=0", "", ""), 400);
    cr_expect_eq(ask_as(&g, true, "GET", "/v1/admin/audit", "n=501", "", ""), 400);
    cr_expect_eq(ask_as(&g, true, "GET", "/v1/admin/audit", "n=x", "", ""), 400);
    stop(&g); /* and over a restart */
    start(&g, "[{name: login}]");
    cr_expect_eq(ask(&g, "GET", "/v1/admin/audit", ""), 200);
    cr_expect_eq(json_array_size(json_object_get(g.j, "entries")), 3);
    end(&g);
}

Test(audit, changes_of_pools_are_noted_with_their_whole_name)
{
    struct rig g;

    begin(&g, "[]");
    cr_assert_eq(ask(&g, "PUT", P "ride/x*", "{}"), 201);
    cr_assert_eq(ask(&g, "PATCH", P "ride/x*", "{\"lease\": \"1m\"}"), 200);
    cr_assert_eq(ask(&g, "GET", "/v1/admin/audit", ""), 200);
    cr_expect_str_eq(member(part(&g, "entries", 0), "name"), "ride/x*");
    cr_expect_str_eq(member(part(&g, "entries", 0), "kind"), "pool");
    expect_change(&g, 0, "lease", "30s", "1m");
    end(&g);
}

Test(audit, changes_of_pinned_keys_are_noted_with_queue_and_key)
{
    struct rig g;

    begin(&g, "[]");
    cr_assert_eq(ask(&g, "PUT", P "ride/*", "{}"), 201);
    cr_assert_eq(ask(&g, "PUT", K "a/b", "{}"), 201);
    cr_assert_eq(ask(&g, "POST", K "a/b/pause", ""), 200);
    cr_assert_eq(ask(&g, "GET", "/v1/admin/audit", ""), 200);
    cr_expect_str_eq(member(part(&g, "entries", 0), "name"), "ride/7 a/b");
    cr_expect_str_eq(member(part(&g, "entries", 0), "kind"), "key");
    cr_expect_eq(json_array_size(json_object_get(part(&g, "entries", 0), "changes")), 1);
    end(&g);
}

/* Who reads the log of changes need not be able to walk past the room. */
Test(audit, no_secret_is_noted)
{
    struct rig g;
    char *said, file[8192];
    FILE *f;

    begin(&g, "[{name: login, bypass: {headers: [{name: X-Probe, value: hush-one}]}}]");
    cr_expect_eq(ask(&g, "PATCH", Q "login",
                     "{\"bypass\":{\"headers\":[{\"name\":\"X-Probe\",\"value\":"
                     "\"hush-two\"},{\"name\":\"X-Any\"}]}}"),
                 200);
    cr_expect_eq(ask(&g, "GET", "/v1/admin/audit", ""), 200);
    said = json_dumps(g.j, 0);
    cr_expect_null(strstr(said, "hush"), "%s", said);
    cr_expect_not_null(strstr(said, "(secret)"), "%s", said);
    cr_expect_not_null(strstr(said, "X-Any"), "%s", said);
    free(said);
    snprintf(file, sizeof(file), "%s/data/audit.jsonl", g.dir);
    f = fopen(file, "r");
    cr_assert_not_null(f, "%s", file);
    file[fread(file, 1, sizeof(file) - 1, f)] = '\0';
    fclose(f);
    cr_expect_not_null(strstr(file, "(secret)"), "%s", file);
    cr_expect_null(strstr(file, "hush"), "%s", file);
    cr_expect_eq(ask(&g, "GET", Q "login", ""), 200);
    said = json_dumps(g.j, 0); /* the definition itself has it: it is what was set */
    cr_expect_not_null(strstr(said, "hush-two"), "%s", said);
    free(said);
    end(&g);
}

/* What is looked at, refused, or not there has changed nothing. */
Test(audit, records_only_applied_changes)
{
    struct rig g;

    begin(&g, "[{name: login}]");
    cr_expect_eq(ask(&g, "GET", Q "login", ""), 200);
    cr_expect_eq(ask(&g, "PATCH", Q "login", "{\"claim\":\"soon\"}"), 400);
    cr_expect_eq(ask_as(&g, true, "PATCH", Q "login", "", "\"9\"", "{}"), 412);
    cr_expect_eq(ask(&g, "POST", Q "nope/pause", ""), 404);
    cr_expect_eq(ask(&g, "POST", Q "login", ""), 405);
    cr_expect_eq(ask_as(&g, false, "POST", Q "login/pause", "", "", ""), 401);
    cr_expect_eq(ask(&g, "GET", "/v1/admin/audit", ""), 200);
    cr_expect_eq(json_array_size(json_object_get(g.j, "entries")), 0);
    cr_expect_eq(ask(&g, "PUT", Q "new", "{}"), 201);
    cr_expect_eq(ask(&g, "DELETE", Q "new", ""), 200);
    cr_expect_eq(ask(&g, "GET", "/v1/admin/audit", ""), 200);
    cr_expect_eq(json_array_size(json_object_get(g.j, "entries")), 2);
    cr_expect_str_eq(member(part(&g, "entries", 0), "method"), "DELETE");
    end(&g);
}

static size_t noted(struct rig *g)
{
    cr_assert_eq(ask(g, "GET", "/v1/admin/audit", ""), 200);
    return json_array_size(json_object_get(g->j, "entries"));
}

/* Definitions are written back as they were read, and buttons are pressed twice. */
Test(audit, a_call_that_changes_nothing_is_no_change)
{
    struct rig g;
    char *same;

    begin(&g, "[{name: login, claim: 5s}]");
    cr_expect_eq(ask(&g, "GET", Q "login", ""), 200);
    same = json_dumps(g.j, 0);
    cr_expect_eq(ask(&g, "PUT", Q "login", same), 200);
    cr_expect_eq(ask(&g, "PATCH", Q "login", "{\"claim\":\"5s\"}"), 200);
    cr_expect_eq(ask(&g, "POST", Q "login/resume", ""), 200, "it is open");
    cr_expect_eq(noted(&g), 0);
    cr_expect_eq(ask(&g, "POST", Q "login/pause", ""), 200);
    cr_expect_eq(ask(&g, "POST", Q "login/pause", ""), 200);
    cr_expect_eq(noted(&g), 1);
    cr_expect_eq(ask(&g, "POST", Q "login/flush", ""), 200, "it changes no definition, and takes places");
    cr_expect_eq(ask(&g, "POST", Q "login/flush", ""), 200);
    cr_expect_eq(noted(&g), 3);
    cr_expect_eq(ask(&g, "PUT", Q "login", same), 200, "open again, by the old definition");
    cr_expect_eq(noted(&g), 4);
    expect_change(&g, 0, "state", "paused", "open");
    free(same);
    cr_assert_eq(ask(&g, "PUT", P "ride/*", "{}"), 201);
    cr_assert_eq(ask(&g, "PUT", P "ride/*", "{}"), 200);
    cr_assert_eq(ask(&g, "POST", K "a/pause", ""), 200);
    cr_assert_eq(ask(&g, "POST", K "a/pause", ""), 200);
    cr_expect_eq(noted(&g), 6);
    end(&g);
}

/* A segment node and a task node of one name are drained by one order. */
Test(audit, a_drain_that_changes_one_of_two_nodes_is_noted)
{
    struct rig g;

    begin(&g, "[]");
    mng_peer_up(g.s->mng, ev_now(g.ev), 71, RPC_SEGMENT, "n1", 7, mng_service_step(g.s));
    cr_assert_eq(ask(&g, "POST", "/v1/admin/nodes/n1/drain", ""), 200);
    cr_assert_eq(ask(&g, "POST", "/v1/admin/nodes/n1/drain", ""), 200);
    cr_expect_eq(noted(&g), 1);
    mng_peer_up(g.s->mng, ev_now(g.ev), 72, RPC_TASK, "n1", 8, mng_service_step(g.s));
    cr_assert_eq(ask(&g, "POST", "/v1/admin/nodes/n1/drain", ""), 200);
    cr_expect_eq(noted(&g), 2);
    end(&g);
}

/* The log of changes cannot be written: the pause is done, and everybody is told. */
Test(audit, a_full_disk_takes_no_button_away)
{
    char path[120];
    struct rig g;

    begin(&g, "[{name: login}]");
    snprintf(path, sizeof(path), "%s/data/audit.jsonl", g.dir);
    cr_assert_eq(mkdir(path, 0700), 0); /* what cannot be opened for writing */
    log_set_level(LOG_ERROR);
    cr_expect_eq(ask(&g, "POST", Q "login/pause", ""), 200);
    cr_expect_eq(((const struct queue_def *)mng_defined(g.s->mng, DEF_QUEUE, "login", NULL))->state, DEF_PAUSED);
    cr_expect_eq(ask(&g, "GET", "/v1/admin/audit", ""), 200);
    cr_expect_eq(json_integer_value(json_object_get(g.j, "unwritten")), 1);
    cr_expect_eq(json_array_size(json_object_get(g.j, "entries")), 1);
    cr_expect_eq(ask(&g, "GET", "/v1/admin/live", ""), 200);
    cr_expect_eq(json_integer_value(json_object_get(g.j, "audit_unwritten")), 1);
    cr_assert_eq(rmdir(path), 0);
    op_log_tick(g.s->op_log, ev_wall_ms(g.ev));
    cr_expect_eq(ask(&g, "GET", "/v1/admin/live", ""), 200);
    cr_expect_eq(json_integer_value(json_object_get(g.j, "audit_unwritten")), 0);
    end(&g);
}

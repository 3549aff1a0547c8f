/* test_keys.c: creation, reading back, permissions, what is refused. */
#include "common/ticket/keys.h"

#include "tests/lib/criterion.h"
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[64], path[96];
static struct err e;

static void start(void)
{
    setenv("SEGQ_DEBUG", "1", 1);
    cr_assert_eq(keys_init(&e), 0);
    strcpy(dir, "/tmp/test_keys.XXXXXX");
    cr_assert_not_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/secret", dir);
}

static void end(void)
{
    unlink(path);
    cr_expect_eq(rmdir(dir), 0, "something was left behind");
}

static void write_file(const char *text, mode_t mode)
{
    FILE *f = fopen(path, "w");

    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
    cr_assert_eq(chmod(path, mode), 0);
}

TestSuite(keys, .init = start, .fini = end);

Test(keys, created_once_and_read_again)
{
    struct cluster_keys a, b;
    struct stat st;

    cr_expect_eq(keys_cluster(&a, path, false, &e), SQ_EGONE);
    cr_assert_eq(keys_cluster(&a, path, true, &e), 0, "%s", e.text);
    cr_assert_eq(keys_cluster(&b, path, true, &e), 0, "%s", e.text);
    cr_expect_eq(memcmp(&a, &b, sizeof(a)), 0);
    cr_assert_eq(stat(path, &st), 0);
    cr_expect_eq(st.st_mode & 07777, 0600);
    cr_expect_neq(memcmp(a.token.mac, a.token.subject, TOKEN_KEY_BYTES), 0);
    cr_expect_neq(memcmp(a.link, a.token.mac, TOKEN_KEY_BYTES), 0);
    keys_wipe(&a, sizeof(a));
    for (size_t i = 0; i < sizeof(a); i++)
        cr_assert_eq(((uint8_t *)&a)[i], 0);
    keys_wipe(&b, sizeof(b));
}

static void *maker(void *arg)
{
    struct err mine;

    cr_assert_eq(keys_cluster(arg, path, true, &mine), 0, "%s", mine.text);
    return NULL;
}

Test(keys, starting_at_once_agrees_on_one)
{
    struct cluster_keys *k = calloc(8, sizeof(*k));
    pthread_t t[8];

    for (unsigned i = 0; i < 8; i++)
        cr_assert_eq(pthread_create(&t[i], NULL, maker, &k[i]), 0);
    for (unsigned i = 0; i < 8; i++)
        pthread_join(t[i], NULL);
    for (unsigned i = 1; i < 8; i++)
        cr_expect_eq(memcmp(&k[0], &k[i], sizeof(k[0])), 0);
    free(k);
}

Test(keys, derivation_is_fixed)
{
    static const uint8_t link_start[4] = { 0x20, 0xc1, 0xa4, 0xaf };
    struct cluster_keys k;

    /* a change here would make every token that is out there invalid */
    write_file("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n", 0600);
    cr_assert_eq(keys_cluster(&k, path, false, &e), 0, "%s", e.text);
    cr_expect_arr_eq(k.link, link_start, 4, "%02x%02x%02x%02x", k.link[0], k.link[1],
                     k.link[2], k.link[3]);
}

Test(keys, pass_key_is_rfc_8032)
{
    static const uint8_t want[4] = { 0xd7, 0x5a, 0x98, 0x01 };
    struct pass_key k;
    char kid[12];

    write_file("nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=", 0600);
    cr_assert_eq(keys_pass(&k, path, false, &e), 0, "%s", e.text);
    cr_expect_arr_eq(k.public, want, 4);
    pass_kid(k.public, kid);
    cr_expect_str_eq(kid, "1xCLQi8lzF4");
    keys_wipe(&k, sizeof(k));
}

#define LINE_A "nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=\n"
#define LINE_B "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"

/* A second secret is accepted and writes nothing: so one after the other can be replaced
 * on every machine, old first, new first, new alone, and nobody notices. */
Test(keys, a_second_secret_is_accepted_too)
{
    struct cluster_keys a, b, ab, ba;

    write_file(LINE_A, 0600);
    cr_assert_eq(keys_cluster(&a, path, false, &e), 0, "%s", e.text);
    write_file("  " LINE_B, 0600);
    cr_assert_eq(keys_cluster(&b, path, false, &e), 0, "%s", e.text);
    write_file(LINE_A LINE_B, 0600);
    cr_assert_eq(keys_cluster(&ab, path, false, &e), 0, "%s", e.text);
    write_file(LINE_B LINE_A "\n \n", 0600);
    cr_assert_eq(keys_cluster(&ba, path, false, &e), 0, "%s", e.text);
    cr_expect_arr_eq(ab.link, a.link, LINK_KEY_BYTES);
    cr_expect_arr_eq(ab.other_link, b.link, LINK_KEY_BYTES);
    cr_expect_arr_eq(ba.token.mac, b.token.mac, TOKEN_KEY_BYTES);
    cr_expect_arr_eq(ba.token.other_mac, a.token.mac, TOKEN_KEY_BYTES);
    cr_expect(ab.token.has_other && !a.token.has_other);
    cr_expect_null(cluster_keys_other_link(&a));
    cr_expect_eq(cluster_keys_other_link(&ba), ba.other_link);
    write_file(LINE_A LINE_B LINE_A, 0600);
    cr_expect_eq(keys_cluster(&a, path, false, &e), SQ_EINVAL);
    write_file(LINE_A "\n" LINE_B, 0600);
    cr_expect_eq(keys_cluster(&a, path, false, &e), SQ_EINVAL);
}

Test(keys, the_first_pass_key_signs_and_all_are_published)
{
    struct pass_key a, b, ab;

    write_file(LINE_A, 0600);
    cr_assert_eq(keys_pass(&a, path, false, &e), 0, "%s", e.text);
    write_file(LINE_B, 0600);
    cr_assert_eq(keys_pass(&b, path, false, &e), 0, "%s", e.text);
    write_file(LINE_A LINE_B LINE_B LINE_B, 0600);
    cr_assert_eq(keys_pass(&ab, path, false, &e), 0, "%s", e.text);
    cr_expect_arr_eq(ab.secret, a.secret, sizeof(a.secret));
    cr_expect_eq(ab.others.n, 3);
    cr_expect_arr_eq(ab.others.key[0], b.public, 32);
    write_file(LINE_A LINE_B LINE_B LINE_B LINE_B, 0600);
    cr_expect_eq(keys_pass(&ab, path, false, &e), SQ_EINVAL);
    cr_expect_not_null(strstr(e.text, "more than 4 lines"));
}

Test(keys, readable_by_others_is_refused)
{
    struct pass_key k;

    write_file("nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=", 0640);
    cr_expect_eq(keys_pass(&k, path, true, &e), SQ_EAUTH);
    cr_expect_not_null(strstr(e.text, "chmod 600"));
}

/* What stat shows of a LoadCredential= file: of root, the mask of its access list as bits of
 * the group. (Not root: then it is another user's, and refused for that.) */
Test(keys, a_credential_of_systemd_may_show_a_mask)
{
    struct pass_key k;

    write_file("nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=", 0440);
    cr_expect_eq(keys_pass(&k, path, false, &e), SQ_EAUTH);
    setenv("CREDENTIALS_DIRECTORY", "/tmp", 1);
    cr_expect_eq(keys_pass(&k, path, false, &e), SQ_EAUTH, "in a folder of that folder");
    setenv("CREDENTIALS_DIRECTORY", dir, 1);
    if (geteuid() == 0)
        cr_expect_eq(keys_pass(&k, path, false, &e), 0, "%s", e.text);
    cr_assert_eq(chmod(path, 0444), 0);
    cr_expect_eq(keys_pass(&k, path, false, &e), SQ_EAUTH, "everybody may read it");
    cr_assert_eq(chmod(path, 0460), 0);
    cr_expect_eq(keys_pass(&k, path, false, &e), SQ_EAUTH, "a group may write it");
}

Test(keys, broken_files_are_refused_and_kept)
{
    static const char *const bad[] = { "", "short", "nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2",
                                       "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=",
                                       "nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A= x" };
    struct cluster_keys k;
    char big[400];

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        write_file(bad[i], 0600);
        cr_expect_eq(keys_cluster(&k, path, true, &e), SQ_EINVAL, "%s", bad[i]);
        cr_expect(bad[i][0] == '\0' || strstr(e.text, bad[i]) == NULL);
    }
    memset(big, 'A', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    write_file(big, 0600);
    cr_expect_eq(keys_cluster(&k, path, true, &e), SQ_ETOOBIG);
}

Test(keys, admin_token)
{
    char a[100], b[100], small[20];

    cr_assert_eq(keys_admin_token(a, sizeof(a), path, true, &e), 0, "%s", e.text);
    cr_assert_eq(keys_admin_token(b, sizeof(b), path, false, &e), 0);
    cr_expect_str_eq(a, b);
    cr_expect_eq(strlen(a), 43);
    cr_expect_eq(keys_admin_token(small, sizeof(small), path, false, &e), SQ_EINVAL);
    write_file("short\n", 0600);
    cr_expect_eq(keys_admin_token(a, sizeof(a), path, false, &e), SQ_EINVAL);
    write_file("sixteen chars and\x01more", 0600);
    cr_expect_eq(keys_admin_token(a, sizeof(a), path, false, &e), SQ_EINVAL);
    write_file("an-operator-chose-this-one\n", 0600);
    cr_expect_eq(keys_admin_token(a, sizeof(a), path, false, &e), 0);
    cr_expect_str_eq(a, "an-operator-chose-this-one");
}

/* In a child: it cannot be undone. */
Test(keys, a_process_with_secrets_leaves_no_core_and_is_not_traced)
{
    pid_t p = fork();
    int st = 0;

    if (p == 0) {
        struct rlimit rl;

        unsetenv("SEGQ_DEBUG");
        if (prctl(PR_GET_DUMPABLE) != 1)
            _exit(2);
        if (keys_init(&e) < 0 || getrlimit(RLIMIT_CORE, &rl) < 0)
            _exit(3);
        _exit(prctl(PR_GET_DUMPABLE) == 0 && rl.rlim_cur == 0 && rl.rlim_max == 0 ? 0 : 4);
    }
    cr_assert_eq(waitpid(p, &st, 0), p);
    cr_expect(WIFEXITED(st) && WEXITSTATUS(st) == 0, "ended with %d", WEXITSTATUS(st));
}

Test(keys, a_folder_is_no_secret)
{
    struct pass_key k;

    cr_assert_eq(mkdir(path, 0700), 0);
    cr_expect_lt(keys_pass(&k, path, true, &e), 0);
    rmdir(path);
}

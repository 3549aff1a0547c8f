/* segqctl: the operator's command line. `segqctl -h` shows everything. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/supervisor/program.h"
#include "queuemng/ctl/commands.h"
#include "queuemng/ctl/completion.h"
#include "queuemng/ctl/help.h"
#include "queuemng/ctl/options.h"
#include "queuemng/ctl_ask/context.h"
#include "queuemng/ctl_ask/round_trip.h"
#include "queuemng/ctl_ask/where.h"
#include "queuemng/ctl_view/columns.h"
#include "version.h"

#define DEFAULT_DIR "./run" /* where `make run` keeps its cluster */

static int help(void)
{
    struct buf b;

    buf_init(&b);
    buf_str(&b, "usage: segqctl [OPTION]... COMMAND [ARGUMENT]...\n\n");
    cmd_help(&b);
    buf_str(&b, "\noptions, anywhere on the line (-- ends them):\n");
    options_help(&b, NULL);
    buf_str(
        &b,
        "\nhelp COMMAND, or COMMAND --help, shows one of them, with its options and keys. For your ~/.bashrc,\n"
        "completion of commands, keys and names: source <(segqctl completion bash); also zsh, fish. As a\n"
        "manual page: segqctl man | man -l -\n\n"
        "In place of options, if they are not given: SEGQ_DIR, SEGQ_ADMIN and SEGQ_ROUTER (blanks between\n"
        "addresses), SEGQ_CONTEXT, SEGQ_TOKEN_FILE, SEGQ_CACERT; SEGQ_OPERATOR is your name in the log of\n"
        "changes. Without any of them: the context in use, or ./run\n"
        "\nexit: 0 done, 1 the cluster refused or does not answer, 2 wrong usage\n");
    if (!b.failed)
        ctl_put_out(&b);
    buf_fini(&b);
    return CTL_OK;
}

static int version(void)
{
    puts("segqctl " SEGQ_VERSION);
    ctl_put_end();
    return CTL_OK;
}

/* https://no-color.org; a terminal that shows none says TERM=dumb. */
static bool wants_colours(const struct ctl *c)
{
    const char *none = getenv("NO_COLOR"), *term = getenv("TERM");

    if (c->colours != COLOURS_AUTO || c->form != FORM_TABLE)
        return c->colours == COLOURS_ALWAYS && c->form == FORM_TABLE;
    return isatty(STDOUT_FILENO) == 1 && (none == NULL || *none == '\0') &&
           (term == NULL || strcmp(term, "dumb") != 0);
}

static const char *from_env(const char *name)
{
    const char *v = getenv(name);

    return v != NULL && *v != '\0' ? v : NULL;
}

/* The context of this name; NULL: the one in use, if there is one. */
static int where_named(struct ctl *c, const char *name, struct err *e)
{
    const struct context *x;
    struct contexts all;
    int rc = contexts_load(&all, e);

    if (rc < 0)
        return rc;
    x = contexts_find(&all, name != NULL ? name : all.current);
    if (x != NULL)
        rc = where_context(c, x, e);
    else if (name != NULL)
        rc = err_set(e, SQ_EINVAL, "no context '%s'; segqctl context list shows them", name);
    contexts_free(&all);
    return rc;
}

/* Where the cluster is: options, the environment, the context in use, ./run. Of tokens and keys one
 * that is given on its own goes before that of a folder or context. */
static int where(struct ctl *c, struct err *e)
{
    bool none = c->dir == NULL && c->use_context == NULL && c->admins.n == 0 && c->routers.n == 0;
    const char *context = none && from_env("SEGQ_DIR") == NULL && from_env("SEGQ_ADMIN") == NULL &&
                                  from_env("SEGQ_ROUTER") == NULL
                              ? from_env("SEGQ_CONTEXT") : c->use_context;
    const char *dir = none ? from_env("SEGQ_DIR") : c->dir;
    const char *token = c->token_file == NULL && c->dir == NULL && context == NULL
                            ? from_env("SEGQ_TOKEN_FILE") : c->token_file;
    int rc = token != NULL ? where_token_file(c, token, e) : 0;

    if (rc == 0 && none)
        rc = where_add_all(&c->admins, from_env("SEGQ_ADMIN"), e);
    if (rc == 0 && none)
        rc = where_add_all(&c->routers, from_env("SEGQ_ROUTER"), e);
    if (rc == 0 && c->sign_key != NULL)
        rc = where_key_file(c, c->sign_key, e);
    if (rc == 0 && (context != NULL || (none && dir == NULL && c->admins.n == 0 && c->routers.n == 0)))
        rc = where_named(c, context, e);
    if (rc == 0 && dir == NULL && c->admins.n == 0 && c->routers.n == 0 &&
        access(DEFAULT_DIR "/cluster.json", F_OK) == 0)
        dir = DEFAULT_DIR;
    if (c->cacert == NULL)
        c->cacert = from_env("SEGQ_CACERT");
    return rc == 0 && dir != NULL ? where_dir(c, dir, e) : rc;
}

static int run(struct ctl *c, int argc, char **argv)
{
    struct err e = { 0 };
    int first, rc = options_read(c, argc, argv, &first);

    if (rc != CTL_OK)
        return rc;
    argc -= first;
    argv += first;
    if (argc > 0 && (c->help || strcmp(argv[0], "help") == 0)) {
        bool word = strcmp(argv[0], "help") == 0;

        if (argc > word)
            return cmd_help_of(argc - word, argv + word);
        c->help = true;
    }
    colours_on(wants_colours(c));
    if (c->help)
        return help();
    if (c->version)
        return version();
    if (argc == 0) {
        fputs("usage: segqctl [OPTION]... COMMAND [ARGUMENT]...; segqctl -h shows everything\n",
              stderr);
        return CTL_USAGE;
    }
    if (c->use_context != NULL && (c->dir != NULL || c->admins.n > 0 || c->routers.n > 0)) {
        fputs("segqctl: --context and --dir, --admin, --router exclude each other\n", stderr);
        return CTL_USAGE;
    }
    if (strcmp(argv[0], "man") == 0)
        return cmd_man(argc - 1);
    if (strcmp(argv[0], "context") == 0) /* no cluster is looked for */
        return cmd_run(c, argc, argv);
    if (where(c, &e) < 0)
        return ctl_say_err(&e, CTL_USAGE);
    if (strcmp(argv[0], "completion") == 0)
        return cmd_completion(c, argc - 1, argv + 1);
    return cmd_run(c, argc, argv);
}

int main(int argc, char **argv)
{
    struct ctl c = { .timeout_s = 5, .ttl_s = 300 };
    int rc;

    signal(SIGPIPE, SIG_IGN);
    rc = run(&c, argc, argv);
    where_fini(&c);
    ctl_put_end();
    return rc;
}

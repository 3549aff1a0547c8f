/* segqctl: the operator's command line. `segqctl -h` shows everything. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/supervisor/program.h"
#include "queuemng/ctl/commands.h"
#include "queuemng/ctl/help.h"
#include "queuemng/ctl/options.h"
#include "queuemng/ctl/where.h"
#include "queuemng/ctl_view/columns.h"
#include "version.h"

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
        "\nhelp COMMAND, or COMMAND --help, shows one of them, with its options and keys. For your "
        "~/.bashrc,\ncompletion of commands, keys and names: source <(segqctl completion bash); "
        "also zsh, fish. As a\nmanual page: segqctl man | man -l -\n\nIn place of options, if they "
        "are not given: SEGQ_DIR, SEGQ_ADMIN and SEGQ_ROUTER (blanks between\naddresses), "
        "SEGQ_CONTEXT, SEGQ_TOKEN_FILE, SEGQ_CACERT; SEGQ_OPERATOR is your name in the log "
        "of\nchanges. Without any of them: the context in use, or ./run\n\nexit: 0 done, 1 the "
        "cluster refused or does not answer, 2 wrong usage\n");
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

static int run(struct ctl *c, int argc, char **argv)
{
    struct err e = { 0 };
    int first, rc = options_read(c, argc, argv, &first);

    if (rc != CTL_OK)
        return rc;
    argc -= first;
    argv += first;
    colours_on(wants_colours(c));
    if (argc > 0 && strcmp(argv[0], "help") == 0) {
        c->help = true;
        argc--;
        argv++;
    }
    if (c->help)
        return argc > 0 ? cmd_help_of(argv) : help();
    if (c->version)
        return version();
    if (argc == 0) {
        fputs("usage: segqctl [OPTION]... COMMAND [ARGUMENT]...; segqctl -h shows everything\n",
              stderr);
        return CTL_USAGE;
    }
    if (c->use_context != NULL && (c->dir != NULL || c->admins.n > 0 || c->routers.n > 0))
        return ctl_fail(CTL_USAGE, "--context and --dir, --admin, --router exclude each other");
    if (strcmp(argv[0], "man") == 0)
        return cmd_man(argc - 1);
    if (strcmp(argv[0], "context") == 0 || strcmp(argv[0], "rehearse") == 0 ||
        strcmp(argv[0], "measure") == 0 || /* no cluster is looked for */
        (strcmp(argv[0], "token") == 0 && argc > 1 && strcmp(argv[1], "reload") != 0))
        return cmd_run(c, argv);
    if (where_find(c, &e) < 0)
        return ctl_say_err(&e, CTL_USAGE);
    return strcmp(argv[0], "completion") == 0 ? cmd_completion(c, argv + 1) : cmd_run(c, argv);
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

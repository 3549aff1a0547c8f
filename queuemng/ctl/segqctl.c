/* segqctl: the operator's command line. `segqctl -h` shows everything. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/supervisor/prog.h"
#include "queuemng/ctl_ask/answer.h"
#include "queuemng/ctl_ask/context.h"
#include "queuemng/ctl/completion.h"
#include "queuemng/ctl/help.h"
#include "queuemng/ctl/options.h"
#include "queuemng/ctl/run.h"
#include "queuemng/ctl_ask/where.h"
#include "queuemng/ctl_view/table.h"
#include "version.h"

#define DEFAULT_DIR "./run" /* where `make run` keeps its cluster */

enum colours_when { COLOURS_AUTO, COLOURS_ALWAYS, COLOURS_NEVER };

struct given { /* options as written; refs into argv */
    const char *dir, *token_file, *key_file, *context;
    bool help, version;
    enum colours_when colours;
};

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

static bool number_set(unsigned *to, const char *name, unsigned max, const char *of, const char *s)
{
    char *end;
    unsigned long v = strtoul(s, &end, 10);

    if (*s < '0' || *s > '9' || *end != '\0' || v < 1 || v > max) {
        fprintf(stderr, "segqctl: %s takes 1 to %u %s, not '%s'\n", name, max, of, s);
        return false;
    }
    *to = (unsigned)v;
    return true;
}

/* Where the text of such an option goes; NULL: it is none. */
static const char **text_option(struct ctl *c, struct given *g, int opt)
{
    switch (opt) {
    case OPT_DIR:
        return &g->dir;
    case OPT_CONTEXT:
        return &g->context;
    case OPT_TOKEN:
        return &g->token_file;
    case OPT_CACERT:
        return &c->cacert;
    case OPT_KEY:
        return &g->key_file;
    case OPT_CLIENT:
        return &c->client;
    case OPT_SUBJECT:
        return &c->subject;
    case OPT_CLAIM:
        return &c->claim;
    case OPT_KID:
        return &c->kid;
    case 'f':
        return &c->file;
    case OPT_LABEL:
        return &c->label;
    case OPT_LANE:
        return &c->lane;
    case OPT_REPLACES:
        return &c->replaces;
    case OPT_TASK:
        return &c->task;
    case OPT_TASK_KEY:
        return &c->task_key;
    case OPT_PRIORITY:
        return &c->priority;
    default:
        return NULL;
    }
}

static bool one_of(const char *option, const char *const *words, size_t n, const char *s, int *to)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(words[i], s) == 0) {
            *to = (int)i;
            return true;
        }
    fprintf(stderr, "segqctl: %s takes", option);
    for (size_t i = 0; i < n; i++)
        fprintf(stderr, "%s%s", i == 0 ? " " : i + 1 < n ? ", " : " or ", words[i]);
    fprintf(stderr, ", not '%.40s'\n", s);
    return false;
}

static bool form_set(struct ctl *c, const char *s)
{
    static const char *const words[] = { [FORM_TABLE] = "table", [FORM_JSON] = "json", [FORM_YAML] = "yaml" };
    int form;

    if (!one_of("-o", words, ARRAY_LEN(words), s, &form))
        return false;
    c->form = (enum ctl_form)form;
    return true;
}

static bool colour_set(struct given *g, const char *s)
{
    static const char *const words[] = { [COLOURS_AUTO] = "auto", [COLOURS_ALWAYS] = "always",
                                         [COLOURS_NEVER] = "never" };
    int when;

    if (!one_of("--color", words, ARRAY_LEN(words), s, &when))
        return false;
    g->colours = (enum colours_when)when;
    return true;
}

/* https://no-color.org; a terminal that shows none says TERM=dumb. */
static bool wants_colours(const struct ctl *c, const struct given *g)
{
    const char *none = getenv("NO_COLOR"), *term = getenv("TERM");

    if (g->colours != COLOURS_AUTO || c->form != FORM_TABLE)
        return g->colours == COLOURS_ALWAYS && c->form == FORM_TABLE;
    return isatty(STDOUT_FILENO) == 1 && (none == NULL || *none == '\0') &&
           (term == NULL || strcmp(term, "dumb") != 0);
}

static bool url_add(struct urls *list)
{
    struct err e = { 0 };

    if (where_add(list, optarg, &e) == 0)
        return true;
    (void)ctl_say_err(&e, CTL_USAGE);
    return false;
}

static bool option_set(struct ctl *c, struct given *g, int opt)
{
    const char **text = text_option(c, g, opt);

    if (text != NULL) {
        *text = optarg;
        return true;
    }
    switch (opt) {
    case OPT_ADMIN:
        return url_add(&c->admins);
    case OPT_ROUTER:
        return url_add(&c->routers);
    case OPT_JSON:
        c->form = FORM_JSON;
        return true;
    case 'o':
        return form_set(c, optarg);
    case OPT_COLOR:
        return colour_set(g, optarg);
    case OPT_ALL:
        return c->all = true;
    case OPT_YES:
        return c->yes = true;
    case OPT_FORCE:
        return c->force = true;
    case OPT_DRY_RUN:
        return c->dry_run = true;
    case OPT_TTL:
        return number_set(&c->ttl_s, "--ttl", 86400, "seconds", optarg);
    case OPT_TIMEOUT:
        return number_set(&c->timeout_s, "--timeout", 3600, "seconds", optarg);
    case OPT_INTERVAL:
        return number_set(&c->every_s, "--interval", 3600, "seconds", optarg);
    case 'n':
        return number_set(&c->count, "-n", 1000000, "pictures", optarg);
    case 'h':
        return g->help = true;
    case 'V':
        return g->version = true;
    default:
        return false;
    }
}

/* In its place: getopt names the letter alone, "invalid option -- '5'" for a rate of -5. */
static int bad_option(int opt, char **argv)
{
    const char *word = argv[optind - 1];

    if (optopt > 0 && optopt < 256 && (word[0] != '-' || strchr(word, optopt) == NULL))
        word = argv[optind]; /* more letters in the word */
    if (opt == ':')
        fprintf(stderr, "segqctl: %s wants a value\n", word);
    else if (word[0] == '-' && word[1] >= '0' && word[1] <= '9')
        fprintf(stderr, "segqctl: '%.60s': no number here can be below 0\n", word);
    else
        fprintf(stderr, "segqctl: no option '%.60s'; segqctl -h lists them\n", word);
    return CTL_USAGE;
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
static int where(struct ctl *c, const struct given *g, struct err *e)
{
    bool none = g->dir == NULL && g->context == NULL && c->admins.n == 0 && c->routers.n == 0;
    const char *context = none && from_env("SEGQ_DIR") == NULL && from_env("SEGQ_ADMIN") == NULL &&
                                  from_env("SEGQ_ROUTER") == NULL
                              ? from_env("SEGQ_CONTEXT") : g->context;
    const char *dir = none ? from_env("SEGQ_DIR") : g->dir;
    const char *token = g->token_file == NULL && g->dir == NULL && context == NULL
                            ? from_env("SEGQ_TOKEN_FILE") : g->token_file;
    int rc = token != NULL ? where_token_file(c, token, e) : 0;

    if (rc == 0 && none)
        rc = where_add_all(&c->admins, from_env("SEGQ_ADMIN"), e);
    if (rc == 0 && none)
        rc = where_add_all(&c->routers, from_env("SEGQ_ROUTER"), e);
    if (rc == 0 && g->key_file != NULL)
        rc = where_key_file(c, g->key_file, e);
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
    const struct option *words = options_for_getopt();
    struct given g = { 0 };
    struct err e = { 0 };
    int opt;

    while ((opt = getopt_long(argc, argv, ":hVf:o:n:", words, NULL)) != -1) {
        if (opt == '?' || opt == ':')
            return bad_option(opt, argv);
        if (!option_set(c, &g, opt))
            return CTL_USAGE;
    }
    if (optind < argc && (g.help || strcmp(argv[optind], "help") == 0)) {
        optind += strcmp(argv[optind], "help") == 0;
        if (optind < argc)
            return cmd_help_of(argc - optind, argv + optind);
        g.help = true;
    }
    colours_on(wants_colours(c, &g));
    if (g.help)
        return help();
    if (g.version)
        return version();
    if (optind == argc) {
        fputs("usage: segqctl [OPTION]... COMMAND [ARGUMENT]...; segqctl -h shows everything\n",
              stderr);
        return CTL_USAGE;
    }
    if (g.context != NULL && (g.dir != NULL || c->admins.n > 0 || c->routers.n > 0)) {
        fputs("segqctl: --context and --dir, --admin, --router exclude each other\n", stderr);
        return CTL_USAGE;
    }
    if (strcmp(argv[optind], "man") == 0)
        return cmd_man(argc - optind - 1);
    if (strcmp(argv[optind], "context") == 0) /* no cluster is looked for */
        return cmd_run(c, argc - optind, argv + optind);
    if (where(c, &g, &e) < 0)
        return ctl_say_err(&e, CTL_USAGE);
    if (strcmp(argv[optind], "completion") == 0)
        return cmd_completion(c, argc - optind - 1, argv + optind + 1);
    return cmd_run(c, argc - optind, argv + optind);
}

int main(int argc, char **argv)
{
    struct ctl c = { .timeout_s = 5, .ttl_s = 300 };
    int rc;

    signal(SIGPIPE, SIG_IGN);
    opterr = 0;
    rc = run(&c, argc, argv);
    where_fini(&c);
    ctl_put_end();
    return rc;
}

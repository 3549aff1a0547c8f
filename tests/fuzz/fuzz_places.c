/* fuzz_places.c: what anybody posts to join several queues, to poll a group of places, and to be told of
 * the turn. A body that is taken has 2 to 8 names, each once, or one contact within its bounds; the name
 * of a group that nobody of ours wrote is refused. */
#define members places_members
#include "router/calls/places.c"
#undef members
#include "router/calls/contact.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void joins(struct slice body)
{
    struct body_error e = { 0 };
    struct said b = { 0 };
    uint64_t has;

    if (!json_members_whole(places_members, ARRAY_LEN(places_members), UINT64_MAX, body, &b, &has, &e)) {
        must(e.text[0] != '\0');
        return;
    }
    must(b.n == 0 || (b.n >= 2 && b.n <= PLACES_MAX));
    for (unsigned i = 0; i < b.n; i++) {
        must(b.queue[i].p >= body.p && b.queue[i].p + b.queue[i].n <= body.p + body.n);
        must(b.queue[i].n > 0 && b.queue[i].n <= NAME_MAX_LEN);
        for (unsigned k = 0; k < i; k++)
            must(b.queue[k].n != b.queue[i].n || memcmp(b.queue[k].p, b.queue[i].p, b.queue[i].n) != 0);
    }
}

static void contacts(struct slice body)
{
    struct body_error e = { 0 };
    struct put put = { 0 };
    struct slice said;
    uint64_t has;

    if (!json_members_whole(members, ARRAY_LEN(members), UINT64_MAX, body, &put, &has, &e)) {
        must(e.text[0] != '\0');
        return;
    }
    said = put.contact;
    must(said.p == NULL || (said.n >= 2 && said.n <= CONTACT_MAX && said.p >= body.p && said.p + said.n <= body.p + body.n));
}

static void names(struct slice text)
{
    static const struct token_key key;
    struct places p = { 0 };
    char back[GROUP_NAME_ROOM];

    must(!group_name_read(&p, &key, text));
    p = (struct places){ .n = 2 };
    group_name_write(&p, &key, back);
    if (text.n > 0) { /* one of ours, a bit of which is another one */
        back[(uint8_t)text.p[0] % strlen(back)] ^= 1;
        p = (struct places){ 0 };
        must(!group_name_read(&p, &key, (struct slice){ back, strlen(back) }));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    must(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    joins((struct slice){ text, size });
    contacts((struct slice){ text, size });
    names((struct slice){ text, size });
    free(text);
    return 0;
}

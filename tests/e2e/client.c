/* client.c BASE QUEUE: how a game client joins and polls, with libcurl and jansson.
 * Prints the pass. cc client.c -lcurl -ljansson */
#include <curl/curl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct answer {
    char body[8192];
    size_t n;
};

static size_t on_body(char *p, size_t size, size_t n, void *arg)
{
    struct answer *a = arg;

    if (a->n + size * n >= sizeof(a->body))
        return 0; /* more than segq ever says: give this answer up */
    memcpy(a->body + a->n, p, size * n);
    a->n += size * n;
    return size * n;
}

static void pause_ms(long ms)
{
    struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

    nanosleep(&t, NULL);
}

/* One call, repeated while the service is busy or away; the place is kept meanwhile. */
static json_t *ask(CURL *c, const char *url, const char *post)
{
    for (;;) {
        struct answer a = { .n = 0 };
        curl_off_t again = 0;
        long status = 0;

        curl_easy_setopt(c, CURLOPT_URL, url);
        curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
        curl_easy_setopt(c, CURLOPT_WRITEDATA, &a);
        curl_easy_setopt(c, CURLOPT_TIMEOUT, 10L);
        if (post != NULL)
            curl_easy_setopt(c, CURLOPT_POSTFIELDS, post);
        else
            curl_easy_setopt(c, CURLOPT_HTTPGET, 1L);
        if (curl_easy_perform(c) == CURLE_OK) {
            curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
            if (status != 503 && status != 429)
                return json_loadb(a.body, a.n, 0, NULL);
            curl_easy_getinfo(c, CURLINFO_RETRY_AFTER, &again);
        }
        pause_ms(again > 0 ? (long)again * 1000 : 1000);
    }
}

static const char *member(const json_t *t, const char *key)
{
    const char *s = json_string_value(json_object_get(t, key));

    return s != NULL ? s : "";
}

int main(int argc, char **argv)
{
    char url[512], token[80];
    struct curl_slist *headers = NULL;
    CURL *c = curl_easy_init();
    json_t *t;

    if (argc != 3 || c == NULL)
        return 2;
    headers = curl_slist_append(headers, "Content-Type: application/json");
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers);
    snprintf(url, sizeof(url), "%s/v1/queues/%s/tickets", argv[1], argv[2]);
    t = ask(c, url, "{\"client\":\"game\"}");
    snprintf(token, sizeof(token), "%s", member(t, "token"));
    while (t != NULL && strcmp(member(t, "state"), "waiting") == 0) {
        pause_ms((long)json_integer_value(json_object_get(t, "poll_after_ms")));
        json_decref(t);
        snprintf(url, sizeof(url), "%s/v1/tickets/%s", argv[1], token);
        t = ask(c, url, NULL);
    }
    if (t == NULL || strcmp(member(t, "state"), "admitted") != 0) {
        fprintf(stderr, "not admitted: %s\n", member(t, "detail"));
        return 1;
    }
    puts(member(t, "pass"));
    json_decref(t);
    curl_slist_free_all(headers);
    curl_easy_cleanup(c);
    return 0;
}

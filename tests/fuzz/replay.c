/* replay.c: a fuzz target over the files of a folder, without libFuzzer, so that the corpora run in
 * every build that there is anyhow (tests/run.py fuzz). An input that fails ends the program. */
#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *folder, const char *name)
{
    char path[4096];
    uint8_t *data = NULL;
    size_t size = 0, got;
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    f = fopen(path, "rb");
    if (f == NULL) {
        perror(path);
        return 1;
    }
    printf("%s\n", path);
    fflush(stdout); /* the last one named is the one that failed */
    do {
        data = realloc(data, size + 65536); /* of its own: what is read beyond it is noticed */
        if (data == NULL)
            abort();
        got = fread(data + size, 1, 65536, f);
        size += got;
    } while (got > 0);
    fclose(f);
    data = realloc(data, size + (size == 0)); /* as large as the input */
    if (data == NULL)
        abort();
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 0;
}

int main(int argc, char **argv)
{
    struct dirent **names;
    int n = argc == 2 ? scandir(argv[1], &names, NULL, alphasort) : -1, bad = 0, ran = 0;

    if (n < 0) {
        fprintf(stderr, "usage: fuzz_NAME FOLDER\n");
        return 2;
    }
    for (int i = 0; i < n; i++) {
        if (names[i]->d_name[0] != '.') {
            bad += run_file(argv[1], names[i]->d_name);
            ran++;
        }
        free(names[i]);
    }
    free(names);
    printf("replay: %d passed, %d failed\n", ran - bad, bad);
    return bad > 0 || ran == 0;
}

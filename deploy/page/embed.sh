#!/bin/sh
# embed.sh FILE...: writes C that has these files in it (run from the tree's top).
set -eu
echo '/* written by deploy/page/embed.sh */'
echo '#include "router/page_blob.h"'
i=0
for f in "$@"; do
    cat <<EOT
__asm__(".section .rodata\n"
        "page_blob_$i: .incbin \"$f\"\n"
        "page_blob_${i}_end: .byte 0\n"
        ".previous\n");
extern const char page_blob_$i[], page_blob_${i}_end[];
EOT
    i=$((i + 1))
done
echo 'const struct page_blob page_blobs[] = {'
i=0
for f in "$@"; do
    echo "    { \"${f##*/}\", page_blob_$i, page_blob_${i}_end },"
    i=$((i + 1))
done
echo '};'
echo 'const size_t page_blobs_n = sizeof(page_blobs) / sizeof(page_blobs[0]);'

#!/bin/sh
# embed.sh NAME HEADER FOLDER FILE...: writes C that has these files in it: NAME_blobs, as HEADER
# declares them (run from the tree's top). Scripts and style sheets are shortened; FOLDER: where
# that is put. Of the dashboard each file is there in gzip, too.
set -eu
name=$1 header=$2 folder=$3
shift 3
rm -rf "$folder"
mkdir -p "$folder"
echo '/* written by deploy/page/embed.sh */'
echo "#include \"$header\""
i=0
for f in "$@"; do
    base=${f##*/}
    case $f in
    *.js | *.css) awk -f deploy/page/short.awk "$f" >"$folder/$base" ;;
    *) cp "$f" "$folder/$base" ;;
    esac
    cat <<EOT
__asm__(".section .rodata\n"
        "${name}_blob_$i: .incbin \"$folder/$base\"\n"
        "${name}_blob_${i}_end: .byte 0\n"
        ".previous\n");
extern const char ${name}_blob_$i[], ${name}_blob_${i}_end[];
EOT
    [ "$name" != dash ] || {
        gzip -9nc "$folder/$base" >"$folder/$base.gz"
        cat <<EOT
__asm__(".section .rodata\n"
        "${name}_gz_$i: .incbin \"$folder/$base.gz\"\n"
        "${name}_gz_${i}_end: .byte 0\n"
        ".previous\n");
extern const char ${name}_gz_$i[], ${name}_gz_${i}_end[];
EOT
    }
    i=$((i + 1))
done
echo "const struct ${name}_blob ${name}_blobs[] = {"
i=0
for f in "$@"; do
    gz=
    [ "$name" != dash ] || gz=", ${name}_gz_$i, ${name}_gz_${i}_end"
    echo "    { \"${f##*/}\", ${name}_blob_$i, ${name}_blob_${i}_end$gz },"
    i=$((i + 1))
done
echo '};'
echo "const size_t ${name}_blobs_n = sizeof(${name}_blobs) / sizeof(${name}_blobs[0]);"

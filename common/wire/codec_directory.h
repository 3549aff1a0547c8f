/* codec_directory.h: the directory of subjects: proto/directory.proto. Pure. */
#ifndef SEGQ_CODEC_DIRECTORY_H
#define SEGQ_CODEC_DIRECTORY_H

#include "common/wire/codec_fields.h"

CODEC_DECLARE(members)
CODEC_DECLARE(dir)
CODEC_DECLARE(dir_ans)

#endif

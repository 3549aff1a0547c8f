/* codec_segment_segment.h: the parts of a copy: proto/segment_segment.proto. Pure. */
#ifndef SEGQ_CODEC_SEGMENT_SEGMENT_H
#define SEGQ_CODEC_SEGMENT_SEGMENT_H

#include "common/wire/codec_fields.h"

CODEC_DECLARE(copy_chunk)
CODEC_DECLARE(copy_touch)
CODEC_DECLARE(copy_extra)

#endif

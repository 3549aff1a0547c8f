/* codec_segment_manager.h: orders and reports with lists in them: proto/segment_manager.proto. Pure. */
#ifndef SEGQ_CODEC_SEGMENT_MANAGER_H
#define SEGQ_CODEC_SEGMENT_MANAGER_H

#include "common/wire/codec_fields.h"

CODEC_DECLARE(seg_open)
CODEC_DECLARE(seg_seal)
CODEC_DECLARE(node_reg)
CODEC_DECLARE(seg_ahead)
CODEC_DECLARE(seg_popped)
CODEC_DECLARE(seg_status)
CODEC_DECLARE(rules)

#endif

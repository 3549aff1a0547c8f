/* codec_router_manager.h: the chain map and the figures: proto/router_manager.proto. Pure. */
#ifndef SEGQ_CODEC_ROUTER_MANAGER_H
#define SEGQ_CODEC_ROUTER_MANAGER_H

#include "common/wire/codec_fields.h"

CODEC_DECLARE(map)
CODEC_DECLARE(stats)

#endif

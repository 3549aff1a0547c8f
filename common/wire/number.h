/* number.h: members of structs that are known by their offset and width. Pure. */
#ifndef SEGQ_NUMBER_H
#define SEGQ_NUMBER_H

#include "common/base/base.h"

#define INLINE static inline __attribute__((always_inline))

INLINE uint64_t load(const char *p, unsigned width)
{
    switch (width) {
    case 1:
        return *(const uint8_t *)p;
    case 2:
        return *(const uint16_t *)(const void *)p;
    case 4:
        return *(const uint32_t *)(const void *)p;
    default:
        return *(const uint64_t *)(const void *)p;
    }
}

INLINE void store(char *p, unsigned width, uint64_t v)
{
    switch (width) {
    case 1:
        *(uint8_t *)p = (uint8_t)v;
        break;
    case 2:
        *(uint16_t *)(void *)p = (uint16_t)v;
        break;
    case 4:
        *(uint32_t *)(void *)p = (uint32_t)v;
        break;
    default:
        *(uint64_t *)(void *)p = v;
    }
}

#endif

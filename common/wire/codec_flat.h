/* codec_flat.h: the messages whose members are all numbers and texts of the same name in the
 * struct and in the .proto. They are named once, here: codec_flat.c makes both ways of them,
 * and the tests their random values and their comparison. Pure. */
#ifndef SEGQ_CODEC_FLAT_H
#define SEGQ_CODEC_FLAT_H

#include "common/wire/codec_fields.h"

/* name, the generated struct without its prefix; each has its list NAME_FIELDS */
#define MSG_FLATS(X)                                                                     \
    X(ERROR, error, Error)                                                               \
    X(ROUTER_REG, router_reg, RouterReg)                                                 \
    X(NODE_OK, node_ok, NodeOk)                                                          \
    X(SEG_NEXT, seg_next, SegNext)                                                       \
    X(SEG_POP, seg_pop, SegPop)                                                          \
    X(SEG_REMOVE, seg_remove, SegRemove)                                                 \
    X(MOVE_IN, move_in, MoveIn)                                                          \
    X(MOVE_OUT, move_out, MoveOut)                                                       \
    X(MOVE_END, move_end, MoveEnd)                                                       \
    X(MOVE_STATUS, move_status, MoveStatus)                                              \
    X(WHY, why, Why)                                                                     \
    X(WHY_ANS, why_ans, WhyAns)                                                          \
    X(COPY_BEGIN, copy_begin, CopyBegin)                                                 \
    X(COPY_END, copy_end, CopyEnd)                                                       \
    X(COPY_ACK, copy_ack, CopyAck)

/* N, E, T, W: see codec_fields.h */
#define ERROR_FIELDS(N, E, T, W) N(code) N(about) W(text, CODEC_WHY_MAX)
#define ROUTER_REG_FIELDS(N, E, T, W)                                                    \
    N(map_version) N(map_epoch) T(http, CODEC_ADDR_MAX) T(admin, CODEC_ADDR_MAX)
#define NODE_OK_FIELDS(N, E, T, W)    N(epoch) N(no) N(store) N(directory)
#define SEG_NEXT_FIELDS(N, E, T, W)   N(epoch) N(seg) N(next) N(closes_ms)
#define SEG_POP_FIELDS(N, E, T, W)                                                       \
    N(epoch) N(seg) N(tick) N(n) N(released_at_ms) N(keeps) N(away_ms)
#define SEG_REMOVE_FIELDS(N, E, T, W) N(epoch) N(seg) N(force)
#define MOVE_IN_FIELDS(N, E, T, W)    N(epoch) N(move) N(from) N(to) N(expect)
#define MOVE_OUT_FIELDS(N, E, T, W)                                                      \
    N(epoch) N(move) N(from) N(to) T(peer_name, NAME_MAX_LEN) T(peer_addr, CODEC_ADDR_MAX)
#define MOVE_END_FIELDS(N, E, T, W)   N(epoch) N(move) N(from) N(to) N(commit)
#define MOVE_STATUS_FIELDS(N, E, T, W)                                                   \
    N(epoch) N(move) N(from) N(to) E(side, MOVE_SIDE_OUT, MOVE_SIDE_IN)                  \
    E(report, MOVE_ACCEPTED, MOVE_ABORTED) N(tickets) W(why, CODEC_WHY_MAX)
#define WHY_FIELDS(N, E, T, W) N(ask) N(seg) N(number) N(client)
/* A later node's states and reasons are not refused: they are shown as unknown. */
#define WHY_ANS_FIELDS(N, E, T, W)                                                       \
    N(ask) N(more) N(lines_only) N(state) N(reason) N(unstored) N(fenced) N(segment)       \
    N(moved_to) N(position) N(left_ms) N(told_ms) N(silent_ms) N(released_at_ms)         \
    N(pass_expires_s) N(trail) N(trail_whole) N(trail_bytes) T(lines, WHY_LINES_MAX)
#define COPY_BEGIN_FIELDS(N, E, T, W)                                                    \
    N(move) N(from) N(to) N(first) E(end, s->first, UINT32_MAX) N(joined) N(unit_ms)
#define COPY_END_FIELDS(N, E, T, W) N(move) N(seq) N(waiting) N(ahead)
#define COPY_ACK_FIELDS(N, E, T, W) N(move) N(seq) N(refused) W(why, CODEC_WHY_MAX)

#define X(NAME, name, Pb) CODEC_DECLARE(name)
MSG_FLATS(X)
#undef X

#endif

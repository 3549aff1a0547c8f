/* codec_records.c: the members of each message about tickets that is no batch, with their ranges,
 * and what has to hold between them. By the order of the .proto files. */
#include "common/wire/codec_records.h"

#include <string.h>

#include "common/config/gate_def.h"
#include "common/config/page_def.h"
#include "common/ticket/pass.h"
#include "common/wire/replica_bytes.h"
#include "proto/common.pb-c.h"
#include "proto/directory.pb-c.h"
#include "proto/router_manager.pb-c.h"
#include "proto/router_segment.pb-c.h"
#include "proto/segment_manager.pb-c.h"
#include "proto/segment_segment.pb-c.h"
#include "proto/why.pb-c.h"

#define URL_MAX  255        /* issuer */
#define WHY_MAX  200        /* sentences for people: cut, not refused */
#define KEYS_MAX 16         /* public keys of passes */
#define LEFT_MAX 127        /* idle units */
#define ANY      UINT32_MAX /* no bound but the frame's */

/* ---- common.proto -------------------------------------------------------------------- */

MESSAGE(error, Error, NULL, NUM(code), NUM(about), WORDS(text, WHY_MAX))

MESSAGE(load, Load, NULL, NUM(cpu_permille), NUM(rss_bytes), IN(started_ms, 0, INT64_MAX / 2),
        WORDS(version, LOAD_VERSION_MAX), NUM(late_us), NUM(answers), NUM(answers_per_s), NUM(p99_us),
        WORDS(warning, LOAD_WARNING_MAX), IN(wall_ms, 0, INT64_MAX / 2), NUM(leaves))

/* ---- router_manager.proto ------------------------------------------------------------- */

MESSAGE(router_reg, RouterReg, NULL, NUM(map_version), NUM(map_epoch), ADDR(http), ADDR(admin),
        TEXT(region, NAME_MAX_LEN), TEXT(zone, NAME_MAX_LEN))

PART(map_node, struct map_node, MapNode, NULL, NUM(no), TEXT(name, NAME_MAX_LEN), ADDR(addr))

PART(map_lane, struct map_lane, MapLane, NULL, TEXT(name, NAME_MAX_LEN),
     ROWS(segs, n_segs, n_seg, 0, ANY),
     COL(segs, id, seg), COL(segs, node, seg_node),
     COL_BYTE(segs, state, seg_state, SEG_OPEN, SEG_LOST), COL(segs, base, seg_base),
     ROWS(aliases, n_aliases, n_alias_from, 0, ANY),
     COL(aliases, from, alias_from), COL(aliases, to, alias_to), COL(aliases, base, alias_base))

/* A phase of a later version says nothing to us: `state` does. */
#define QUEUE_NUMBER(type, f) NUM(f),
PART(map_queue, struct map_queue, MapQueue, NULL, NUM(id), TEXT(name, NAME_MAX_LEN),
     IN(state, QUEUE_OPEN, QUEUE_FULL), TEXT(page, PAGE_JSON_MAX),
     TEXT(message, QUEUE_MESSAGE_MAX),
     IN_AS(when.phase, phase, 0, PHASE_LAST, .later = true),
     IN_AS(when.opens_ms, opens_ms, 0, INT64_MAX / 2),
     IN_AS(when.closes_ms, closes_ms, 0, INT64_MAX / 2),
     TEXT_AS(when.draw, draw, MAP_DRAW_MAX), TEXT(gate, GATE_JSON_MAX),
     TEXT(turn_queue, TASK_NAME_MAX), TEXT(push_key, PUSH_KEY_LEN), TEXT(push_contact, PUSH_CONTACT_MAX),
     TEXT(verify_url, VERIFY_URL_MAX), TEXT(verify_allow, VERIFY_ALLOW_MAX),
     TEXT(moved, MOVED_TEXT_MAX),
     MAP_QUEUE_NUMBERS(QUEUE_NUMBER)
     MSGS(lanes, n_lanes, lanes, map_lane, 1, LANES_MAX))

MESSAGE(map, Map, NULL, NUM(epoch), NUM(from_version), NUM(version), NUM(next_seg), NUM(more),
        NUM(format), NUM(store),
        MSGS(nodes, n_nodes, nodes, map_node, 0, ANY),
        MSGS(queues, n_queues, queues, map_queue, 0, ANY),
        NUMS(removed, n_removed, removed, ANY), BYTES(keys, n_keys, keys, KEYS_MAX))

PART(queue_stats, struct queue_stats, QueueStats, NULL, NUM(id), NUM(ready), NUM(active),
     NUM(rate_milli_per_s), NUM(entry), NUM(challenge), WORDS(limited_by, NAME_MAX_LEN),
     ROWS(lane, n_lanes, n_lane_waiting, 0, LANES_MAX),
     COL(lane, waiting, lane_waiting), COL(lane, rate_milli_per_s, lane_rate_milli_per_s),
     COL(lane, leave_ppm, lane_leave_ppm),
     COL_BYTE(lane, eta_reason, lane_eta_reason, 0, UINT8_MAX))

MESSAGE(stats, Stats, NULL, NUM(clock_ms), NUM(reach), MSGS(queues, n, queues, queue_stats, 0, ANY),
        ROWS(unreached, n_unreached, n_unreached_no, 0, ANY), COL(unreached, no, unreached_no),
        COL(unreached, silent_ms, unreached_ms))

MESSAGE(joins, Joins, NULL, ROWS(v, n, n_queue, 0, MSG_JOINS_MAX), COL(v, queue, queue), COL(v, n, joins),
        NUM(all), ROWS(suspects, n_suspects, n_suspect_queue, 0, MSG_SUSPECTS_MAX),
        COL(suspects, queue, suspect_queue), COL(suspects, net, suspect_net),
        COL_BYTE(suspects, bits, suspect_bits, 1, 64), COL_BYTE(suspects, script, suspect_script, 0, 1),
        COL(suspects, score, suspect_score), COL(suspects, places, suspect_places),
        COL(suspects, silent, suspect_silent), COL(suspects, posing, suspect_posing),
        COL(suspects, refused, suspect_refused), COL(suspects, since_s, suspect_since_s))

MESSAGE(device, Device, NULL, NUM(seg), NUM(number), TEXT(id, DEVICE_LEN))

MESSAGE(left, Left, NULL, ROWS(v, n, n_seg, 0, MSG_LEFT_MAX), COL(v, seg, seg), COL(v, number, number))

/* ---- router_segment.proto: what is no batch ------------------------------------------------ */

/* Rows of the member `pace`. */
#define PACE                                                                             \
    ROWS(pace, n_pace, n_pace_queue, 0, MSG_STATUS_MAX), COL(pace, queue, pace_queue),   \
        COL_BYTE(pace, lane, pace_lane, 0, LANES_MAX - 1), COL(pace, min_ms, pace_min_ms), \
        COL(pace, max_ms, pace_max_ms), COL(pace, us_per_place, pace_us_per_place)

/* A struct that was not read from the wire may have n 0 and p NULL. */
static struct bytes_in bytes_in(const uint8_t *p, uint32_t n)
{
    return (struct bytes_in){ p, n > 0 ? p + n : p };
}

/* The bytes of a row make sense; whoever reads them need not look again. */
static bool is_row(const struct replica_row *r)
{
    struct bytes_in dead = bytes_in(r->dead, r->n_dead), lines = bytes_in(r->lines, r->n_lines);
    uint32_t blocks = (uint32_t)(((uint64_t)r->end + BITS512_N - 1) >> BITS512_SHIFT);
    uint32_t number, next = r->head, block = 0;
    struct lines_run run;

    if (r->head > r->end)
        return false;
    while (dead.p < dead.end)
        if (!dead_get(&dead, &next, r->end, &number))
            return false;
    while (lines.p < lines.end)
        if (!lines_get(&lines, &block, blocks, &run))
            return false;
    return true;
}

static bool replica_holds(const void *p)
{
    const struct msg_replica *s = p;

    for (uint32_t i = 0; i < s->n; i++)
        if (!is_row(&s->v[i]))
            return false;
    return (s->flags & REPLICA_END) == 0 || s->stamp_ms != 0;
}

MESSAGE(replica, Replica, replica_holds, IN(stamp_ms, 0, INT64_MAX / 2),
        IN(echo_ms, 0, INT64_MAX / 2), NUM(seen), NUM(flags),
        ROWS(v, n, n_name, 0, MSG_STATUS_MAX), COL(v, name, name), COL(v, host, host),
        COL(v, queue, queue), COL_BYTE(v, lane, lane, 0, LANES_MAX - 1),
        COL_BYTE(v, flags, row_flags, 0, UINT8_MAX), COL(v, end, end), COL(v, head, head),
        COL(v, told_max_ms, told_max_ms), COL(v, before, before),
        COL_BYTES(v, dead, n_dead, dead, REPLICA_BYTES_MAX),
        COL_BYTES(v, lines, n_lines, lines, REPLICA_BYTES_MAX),
        PACE, NUMS(gone, n_gone, gone, MSG_STATUS_MAX))

static bool seen_holds(const void *p)
{
    const struct msg_seen *s = p;

    for (uint32_t i = 0; i < s->n; i++) {
        struct bytes_in in = bytes_in(s->v[i].marks, s->v[i].n_marks);
        uint32_t number = 0;
        uint8_t told;

        while (in.p < in.end)
            if (!mark_get(&in, &number, &told))
                return false;
    }
    return true;
}

MESSAGE(seen, Seen, seen_holds, IN(clock_ms, 0, INT64_MAX / 2), NUM(seq), NUM(flags),
        ROWS(v, n, n_name, 0, MSG_STATUS_MAX), COL(v, name, name),
        COL_BYTE(v, client, client, 0, CLIENT_NCLASSES - 1),
        COL_BYTES(v, marks, n_marks, marks, REPLICA_BYTES_MAX),
        ROWS(want, n_want, n_want_seg, 0, MSG_STATUS_MAX), COL(want, seg, want_seg),
        COL(want, number, want_number), COL_BYTE(want, client, want_client, 0, WANT_NO_MORE))

MESSAGE(let_in, LetIn, NULL, ROWS(v, n, n_seg, 0, MSG_BATCH_MAX), COL(v, seg, seg),
        COL(v, number, number), COL_BYTES(v, pass, pass_len, pass, MSG_PASS_MAX),
        COL(v, released_at_ms, released_at_ms), COL(v, pass_expires_s, pass_expires_s))

MESSAGE(contact, Contact, NULL, ROWS(req, n, n_seg, 0, MSG_BATCH_MAX), COL(req, seg, seg),
        COL(req, number, number), COL(req, claim_ms, claim_ms),
        COL_BYTES(req, sealed, n_sealed, sealed, CONTACT_SEALED_MAX))

MESSAGE(contact_ans, ContactAns, NULL, ROWS(ans, n, state.len, 0, MSG_BATCH_MAX),
        COL_BYTE(ans, state, state, 0, CONTACT_NSTATES - 1),
        COL_BYTE(ans, reason, reason, 0, GONE_NREASONS - 1), COL(ans, moved_to, moved_to))

MESSAGE(turn, Turn, NULL, NUM(seg), NUM(number), IN(word, TURN_SOON, TURN_NOW),
        IN(at_ms, 0, INT64_MAX / 2), IN(until_ms, 0, INT64_MAX / 2),
        BYTES(sealed, n_sealed, sealed, CONTACT_SEALED_MAX))

MESSAGE(turn_ans, TurnAns, NULL, NUM(seg), NUM(number), IN(word, TURN_SOON, TURN_NOW), NUM(told), NUM(later_ms))

/* ---- segment_manager.proto ------------------------------------------------------------- */

MESSAGE(node_reg, NodeReg, NULL, ADDR(addr), ADDR(admin),
        NUM(max_tickets), NUM(max_segments), NUM(epoch_seen), NUM(store), FIXED(pass_key),
        BYTES(other_keys.key, other_keys.n, other_keys, PASS_OTHERS_MAX),
        TEXT(region, NAME_MAX_LEN), TEXT(zone, NAME_MAX_LEN))

MESSAGE(node_ok, NodeOk, NULL, NUM(epoch), NUM(no), NUM(store))

/* Releases: rows of the member `marks`. */
#define MARKS                                                                            \
    ROWS(marks, n_marks, n_mark_stop, 0, MSG_MARKS_MAX), COL(marks, from, mark_from),    \
        COL(marks, end, mark_stop), COL(marks, at_ms, mark_at),                          \
        COL_BYTE(marks, again, mark_again, 0, 1)

static bool are_runs(const struct mark_row *v, uint32_t n, uint32_t below)
{
    for (uint32_t i = 0; i < n; i++)
        if (v[i].from >= v[i].end || v[i].end > below)
            return false;
    return true;
}

static bool seg_open_holds(const void *p)
{
    const struct msg_seg_open *s = p;

    return are_runs(s->marks, s->n_marks, s->capacity) && s->mark_end <= s->capacity &&
           s->draw.n <= s->capacity;
}

static void end_seg_open(void *p)
{
    struct msg_seg_open *s = p;
    struct mark_row *v = (struct mark_row *)(uintptr_t)s->marks; /* rows of this message */

    for (uint32_t i = 0; i < s->n_marks; i++)
        v[i].seg = s->seg;
}

MESSAGE_ENDED(seg_open, SegOpen, seg_open_holds, end_seg_open, NUM(epoch), NUM(seg), NUM(queue),
        IN(lane, 0, LANES_MAX - 1), IN(kind, OPEN_TAIL, OPEN_REBUILD), NUM(capacity), NUM(ahead),
        NUM(for_ms), NUM(mark_end), NUM(early), NUM(closes_ms), MARKS,
        NUM_AS(draw.n, draw_n), SEED(draw.seed, draw.n, draw_seed))

MESSAGE(seg_seal, SegSeal, NULL, NUM(epoch), NUM(seg), NUM(next),
        NUM_AS(draw.n, draw_n), SEED(draw.seed, draw.n, draw_seed))

MESSAGE(seg_next, SegNext, NULL, NUM(epoch), NUM(seg), NUM(next), NUM(closes_ms))

MESSAGE(seg_ahead, SegAhead, NULL, NUM(epoch),
        ROWS(v, n, n_seg, 0, MSG_STATUS_MAX), COL(v, seg, seg), COL(v, ahead, ahead),
        PACE, COL(pace, soon, pace_soon),
        ROWS(kept, n_kept, n_kept_seg, 0, MSG_STATUS_MAX), COL(kept, seg, kept_seg),
        COL(kept, tick, kept_tick))

MESSAGE(seg_pop, SegPop, NULL, NUM(epoch), NUM(seg), NUM(tick), NUM(n), NUM(released_at_ms),
        NUM(away_ms))

static bool seg_credit_holds(const void *p)
{
    const struct msg_seg_credit *c = p;

    return c->from <= c->end && c->end < UINT32_MAX;
}

MESSAGE(seg_credit, SegCredit, seg_credit_holds, NUM(epoch), NUM(seg), NUM(tick), NUM(from), NUM(end),
        NUM(lease_ms), NUM(released_at_ms), NUM(aside))

static bool seg_state_holds(const void *p)
{
    const struct seg_status *s = p;

    return are_runs(s->marks, s->n_marks, UINT32_MAX) && s->credit_at <= s->credit_end &&
           s->unused <= s->joined;
}

/* State 0: a node that has nothing to tell of the segment. */
PART(seg_state, struct seg_status, SegState, seg_state_holds, NUM(seg), NUM(queue),
     IN(lane, 0, LANES_MAX - 1), IN(state, 0, SEG_SEALED), NUM(capacity), NUM(joined),
     NUM(waiting), NUM(returning), NUM(ready), NUM(active), NUM(records), NUM(popped),
     NUM(last_tick), NUM(no_shows), NUM(expired), NUM(left), NUM(next), NUM(move),
     NUM(rebuild), NUM(claimed), NUM(drawn), NUM(away), NUM(polls), NUM(closed),
     NUM(closes_ms), NUM(shut), NUM(ahead), NUM(credit_tick), NUM(credit_at), NUM(credit_end),
     NUM(aside_end), NUM(unused), NUM(entered), NUMS(absorbed, n_absorbed, absorbed, ANY), MARKS,
     COL(marks, seg, mark_seg))

MESSAGE(seg_popped, SegPopped, NULL, NUM(epoch), NUM(seg), NUM(tick), NUM(n), NUM(busy),
        MSG(status, seg_state))

MESSAGE(seg_remove, SegRemove, NULL, NUM(epoch), NUM(seg), NUM(force))

static bool seg_status_holds(const void *p)
{
    const struct msg_seg_status *s = p;

    for (uint32_t i = 0; i < s->n; i++)
        if (s->v[i].state < SEG_OPEN)
            return false;
    return true;
}

MESSAGE(seg_status, SegStatus, seg_status_holds, NUM(epoch), NUM(full), NUM(more), NUM(tickets),
        NUM(max_tickets), MSGS(v, n, v, seg_state, 0, MSG_STATUS_MAX),
        NUMS(gone, n_gone, gone, MSG_STATUS_MAX), NUM(holds), NUM(no_room))

#define RULE(f) NUM(f),
MESSAGE(rules, Rules, NULL, NUM(epoch), NUM(queue), TEXT(name, NAME_MAX_LEN),
        TEXT(issuer, URL_MAX), NUMS_FIXED(idle_ms, idle_ms), NODE_RULES(RULE)
        NUM(session_hold_s), TEXTS(lanes, n_lanes, lanes, 1, LANES_MAX, NAME_MAX_LEN))

MESSAGE(move_in, MoveIn, NULL, NUM(epoch), NUM(move), NUM(from), NUM(to), NUM(expect))

MESSAGE(move_out, MoveOut, NULL, NUM(epoch), NUM(move), NUM(from), NUM(to),
        TEXT(peer_name, NAME_MAX_LEN), ADDR(peer_addr))

MESSAGE(move_end, MoveEnd, NULL, NUM(epoch), NUM(move), NUM(from), NUM(to), NUM(commit))

MESSAGE(move_status, MoveStatus, NULL, NUM(epoch), NUM(move), NUM(from), NUM(to),
        IN(side, MOVE_SIDE_OUT, MOVE_SIDE_IN), IN(report, MOVE_ACCEPTED, MOVE_ABORTED),
        NUM(tickets), WORDS(why, WHY_MAX))

/* ---- segment_segment.proto -------------------------------------------------------------- */

static bool copy_begin_holds(const void *p)
{
    const struct msg_copy_begin *s = p;

    return s->first <= s->end;
}

MESSAGE(copy_begin, CopyBegin, copy_begin_holds, NUM(move), NUM(from), NUM(to), NUM(first),
        NUM(end), NUM(joined), NUM(unit_ms))

static bool copy_block_holds(const void *p)
{
    const struct copy_block *s = p;
    unsigned alive = 0;

    for (size_t i = 0; i < ARRAY_LEN(s->alive); i++)
        alive += (unsigned)__builtin_popcountll(s->alive[i]);
    for (size_t i = 0; i < s->n_left; i++)
        if (s->left[i] > LEFT_MAX)
            return false;
    return s->n_left == alive;
}

PART(copy_block, struct copy_block, CopyBlock, copy_block_holds, NUM(index),
     NUMS_FIXED(alive, alive), BYTES(left, n_left, left, UINT16_MAX))

MESSAGE(copy_chunk, CopyChunk, NULL, NUM(move), NUM(seq),
        MSGS(v, n, v, copy_block, 0, MSG_COPY_BLOCKS))

MESSAGE(copy_touch, CopyTouch, NULL, NUM(move), NUM(seq), ROWS(v, n, n_number, 0, ANY),
        COL(v, number, number), COL_BYTE(v, alive, alive, 0, 1),
        COL_BYTE(v, left, left, 0, LEFT_MAX))

static bool copy_reloc_holds(const void *p)
{
    const struct reloc_rec *s = p;

    return s->n_words == ((size_t)s->bits + 63) / 64;
}

PART(copy_reloc, struct reloc_rec, CopyReloc, copy_reloc_holds, NUM(seg), NUM_AS(base, start),
     NUM(bits), NUMS(alive, n_words, alive, ANY))

MESSAGE(copy_extra, CopyExtra, NULL, NUM(move), NUM(seq),
        ROWS(sessions, n_sessions, n_session_seg, 0, ANY), COL(sessions, seg, session_seg),
        COL(sessions, number, session_number),
        COL_BYTE(sessions, state, session_state, 0, UINT8_MAX),
        COL_BYTE(sessions, client, session_client, 0, CLIENT_NCLASSES - 1),
        COL(sessions, released_at_ms, session_released_at_ms),
        COL(sessions, left_ms, session_left_ms),
        COL_BYTE(sessions, reason, session_reason, 0, UINT8_MAX),
        COL(sessions, until_s, session_until_s), COL(sessions, used, session_used),
        MSGS(relocs, n_relocs, relocs, copy_reloc, 0, ANY),
        ROWS(subjects, n_subjects, n_subject_seg, 0, ANY), COL(subjects, seg, subject_seg),
        COL(subjects, number, subject_number), COL(subjects, issued_s, subject_issued_s),
        COL_BYTE(subjects, client, subject_client, 0, CLIENT_NCLASSES - 1),
        COL(subjects, hash, subject_hash), COL_BYTE(subjects, joins, subject_joins, 0, UINT8_MAX),
        COL_BYTE(subjects, found, subject_found, 0, 1),
        COL_BYTES(subjects, text, len, subject_text, SUBJECT_TEXT_MAX),
        ROWS(contacts, n_contacts, n_contact_seg, 0, ANY), COL(contacts, seg, contact_seg),
        COL(contacts, number, contact_number),
        COL_BYTE(contacts, said, contact_said, 0, TURN_SOON | TURN_NOW),
        COL(contacts, claim_ms, contact_claim_ms),
        COL_BYTES(contacts, sealed, n_sealed, contact_sealed, CONTACT_SEALED_MAX))

MESSAGE(copy_end, CopyEnd, NULL, NUM(move), NUM(seq), NUM(waiting), NUM(ahead))

MESSAGE(copy_ack, CopyAck, NULL, NUM(move), NUM(seq), NUM(refused), WORDS(why, WHY_MAX))

/* ---- why.proto --------------------------------------------------------------------------- */

MESSAGE(why, Why, NULL, NUM(ask), NUM(seg), NUM(number), NUM(client))

/* A later node's states and reasons are not refused: they are shown as unknown. */
MESSAGE(why_ans, WhyAns, NULL, NUM(ask), NUM(more), NUM(lines_only), NUM(state), NUM(reason),
        NUM(unstored), NUM(fenced), NUM(segment), NUM(moved_to), NUM(position), NUM(left_ms),
        NUM(told_ms), NUM(silent_ms), NUM(released_at_ms), NUM(pass_expires_s), NUM(trail),
        NUM(trail_whole), NUM(trail_bytes), TEXT(lines, WHY_LINES_MAX))

/* ---- directory.proto --------------------------------------------------------------------- */

MESSAGE(members, Members, NULL, NUM(epoch), NUM(version), NUM(self),
        ROWS(v, n, n_no, 0, MSG_MEMBERS_MAX), COL(v, no, no), COL_TEXT(v, name, name, NAME_MAX_LEN),
        COL_ADDR(v, addr, addr))

#define DIR_FIELDS(n_whats)                                                              \
    NUM(version), ROWS(v, n, what.len, 0, MSG_DIR_ROWS_MAX),                             \
        COL_BYTE(v, what, what, 0, (n_whats) - 1), COL(v, hash, hash), COL(v, seg, seg), \
        COL(v, number, number), COL(v, issued_s, issued_s),                              \
        COL_BYTE(v, client, client, 0, CLIENT_NCLASSES - 1)
MESSAGE(dir, Dir, NULL, DIR_FIELDS(DIR_NASKS))
MESSAGE(dir_ans, DirAns, NULL, DIR_FIELDS(DIR_NWORDS))

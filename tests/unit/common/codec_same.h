/* codec_same.h: deep comparison of messages. For test_codec.c; see codec_gen.h. */
#ifndef SEGQ_CODEC_SAME_H
#define SEGQ_CODEC_SAME_H

#include "codec_gen.h"

/* Rows of the same count, compared by fn. */
#define SAME_ROWS(x, y, cnt, v, fn)                                                      \
    do {                                                                                 \
        if ((x)->cnt != (y)->cnt)                                                        \
            return false;                                                                \
        for (uint32_t i_ = 0; i_ < (x)->cnt; i_++)                                       \
            if (!fn(&(x)->v[i_], &(y)->v[i_]))                                           \
                return false;                                                            \
    } while (0)

static inline bool same_bytes(const void *x, const void *y, size_t n)
{
    return n == 0 || memcmp(x, y, n) == 0;
}

static inline bool same_ans(const struct place_ans *x, const struct place_ans *y)
{
    return same_place_ans(x, y) && same_bytes(x->pass, y->pass, x->pass_len);
}

static inline bool same_append(const struct append_req *x, const struct append_req *y)
{
    return same_append_req(x, y) && same_bytes(x->subject, y->subject, x->subject_len);
}

static inline bool same_session(const struct sess_ans *x, const struct sess_ans *y)
{
    return same_sess_ans(x, y) && same_bytes(x->pass, y->pass, x->pass_len);
}

static inline bool same_batch(const struct msg *x, const struct msg *y)
{
    switch (x->type) {
    case MSG_PLACE:
        SAME_ROWS(&x->place, &y->place, n, req, same_place_req);
        return true;
    case MSG_PLACE_ANS:
        SAME_ROWS(&x->place_ans, &y->place_ans, n, ans, same_ans);
        return true;
    case MSG_APPEND:
        SAME_ROWS(&x->append, &y->append, n, req, same_append);
        return true;
    case MSG_APPEND_ANS:
        SAME_ROWS(&x->append_ans, &y->append_ans, n, ans, same_append_ans);
        return true;
    case MSG_DROP:
        SAME_ROWS(&x->drop, &y->drop, n, req, same_drop_req);
        return true;
    case MSG_PASSES:
        SAME_ROWS(&x->passes, &y->passes, n, rows, same_pass_row);
        return true;
    case MSG_SESSION:
        SAME_ROWS(&x->session, &y->session, n, req, same_sess_req);
        return true;
    case MSG_SESSION_ANS:
        SAME_ROWS(&x->session_ans, &y->session_ans, n, ans, same_session);
        return true;
    default:
        SAME_ROWS(&x->drop_ans, &y->drop_ans, n, ans, same_drop_ans);
        return true;
    }
}

static inline bool same_map_seg(const struct map_seg *x, const struct map_seg *y)
{
    return x->id == y->id && x->node == y->node && x->state == y->state;
}

static inline bool same_alias(const struct map_alias *x, const struct map_alias *y)
{
    return x->from == y->from && x->to == y->to;
}

static inline bool same_lane(const struct map_lane *x, const struct map_lane *y)
{
    SAME_ROWS(x, y, n_segs, segs, same_map_seg);
    SAME_ROWS(x, y, n_aliases, aliases, same_alias);
    return strcmp(x->name, y->name) == 0;
}

static inline bool same_queue(const struct map_queue *x, const struct map_queue *y)
{
    SAME_ROWS(x, y, n_lanes, lanes, same_lane);
    return x->id == y->id && x->state == y->state && strcmp(x->name, y->name) == 0 &&
           strcmp(x->page, y->page) == 0 &&
           strcmp(x->message, y->message) == 0 && x->when.phase == y->when.phase &&
           x->when.opens_ms == y->when.opens_ms && x->when.closes_ms == y->when.closes_ms &&
           strcmp(x->when.draw, y->when.draw) == 0 && strcmp(x->gate, y->gate) == 0
#define X(type, name) &&x->name == y->name
           MAP_QUEUE_NUMBERS(X)
#undef X
        ;
}

static inline bool same_map(const struct msg_map *x, const struct msg_map *y)
{
    SAME_ROWS(x, y, n_nodes, nodes, same_map_node);
    SAME_ROWS(x, y, n_queues, queues, same_queue);
    return same_msg_map(x, y) && x->n_removed == y->n_removed && x->n_keys == y->n_keys &&
           same_bytes(x->removed, y->removed, x->n_removed * sizeof(*x->removed)) &&
           same_bytes(x->keys, y->keys, x->n_keys * (size_t)32);
}

static inline bool same_queue_stat(const struct queue_stats *x, const struct queue_stats *y)
{
    SAME_ROWS(x, y, n_lanes, lane, same_lane_stats);
    return same_queue_stats(x, y);
}

static inline bool same_stats(const struct msg_stats *x, const struct msg_stats *y)
{
    SAME_ROWS(x, y, n, queues, same_queue_stat);
    return x->clock_ms == y->clock_ms;
}

static inline bool same_mark(const struct mark_row *x, const struct mark_row *y)
{
    return x->seg == y->seg && x->from == y->from && x->end == y->end &&
           x->again == y->again && x->at_ms == y->at_ms;
}

static inline bool same_kept(const struct kept_entry *x, const struct kept_entry *y)
{
    return x->seg == y->seg && x->tick == y->tick;
}

static inline bool same_status(const struct seg_status *x, const struct seg_status *y)
{
    SAME_ROWS(x, y, n_marks, marks, same_mark);
    return same_seg_status(x, y) && x->n_absorbed == y->n_absorbed &&
           same_bytes(x->absorbed, y->absorbed, x->n_absorbed * sizeof(seg_id));
}

static inline bool same_report(const struct msg_seg_status *x, const struct msg_seg_status *y)
{
    SAME_ROWS(x, y, n, v, same_status);
    return same_msg_seg_status(x, y) && x->n_gone == y->n_gone &&
           same_bytes(x->gone, y->gone, x->n_gone * sizeof(seg_id));
}

static inline bool same_open(const struct msg_seg_open *x, const struct msg_seg_open *y)
{
    SAME_ROWS(x, y, n_marks, marks, same_mark);
    return same_msg_seg_open(x, y) && x->mark_end == y->mark_end &&
           x->draw.n == y->draw.n && memcmp(x->draw.seed, y->draw.seed, DRAW_SEED) == 0;
}

static inline bool same_ahead_entry(const struct ahead_entry *x, const struct ahead_entry *y)
{
    return x->seg == y->seg && x->ahead == y->ahead;
}

static inline bool same_ahead(const struct msg_seg_ahead *x, const struct msg_seg_ahead *y)
{
    SAME_ROWS(x, y, n, v, same_ahead_entry);
    SAME_ROWS(x, y, n_pace, pace, same_pace_entry);
    SAME_ROWS(x, y, n_kept, kept, same_kept);
    return x->epoch == y->epoch;
}

static inline bool same_text(const char *const *x, const char *const *y)
{
    return strcmp(*x, *y) == 0;
}

static inline bool same_rules(const struct msg_rules *x, const struct msg_rules *y)
{
    SAME_ROWS(x, y, n_lanes, lanes, same_text);
    return same_msg_rules(x, y);
}

static inline bool same_block(const struct copy_block *x, const struct copy_block *y)
{
    return x->index == y->index && same_bytes(x->alive, y->alive, sizeof(x->alive)) &&
           x->n_left == y->n_left && same_bytes(x->left, y->left, x->n_left);
}

static inline bool same_chunk(const struct msg_copy_chunk *x, const struct msg_copy_chunk *y)
{
    SAME_ROWS(x, y, n, v, same_block);
    return x->move == y->move && x->seq == y->seq;
}

static inline bool same_touch(const struct msg_copy_touch *x, const struct msg_copy_touch *y)
{
    SAME_ROWS(x, y, n, v, same_touch_entry);
    return x->move == y->move && x->seq == y->seq;
}

static inline bool same_reloc(const struct reloc_rec *x, const struct reloc_rec *y)
{
    return x->seg == y->seg && x->base == y->base && x->bits == y->bits &&
           x->n_words == y->n_words && same_bytes(x->alive, y->alive, x->n_words * 8u);
}

static inline bool same_subject(const struct subject_rec *x, const struct subject_rec *y)
{
    return same_subject_rec(x, y) && same_bytes(x->text, y->text, x->len);
}

static inline bool same_extra(const struct msg_copy_extra *x, const struct msg_copy_extra *y)
{
    SAME_ROWS(x, y, n_sessions, sessions, same_session_rec);
    SAME_ROWS(x, y, n_relocs, relocs, same_reloc);
    SAME_ROWS(x, y, n_subjects, subjects, same_subject);
    return x->move == y->move && x->seq == y->seq;
}

static inline bool same_member(const struct member_row *x, const struct member_row *y)
{
    return x->no == y->no && strcmp(x->name, y->name) == 0 && strcmp(x->addr, y->addr) == 0;
}

static inline bool same_members(const struct msg_members *x, const struct msg_members *y)
{
    SAME_ROWS(x, y, n, v, same_member);
    return x->epoch == y->epoch && x->version == y->version && x->self == y->self;
}

static inline bool same_dir_row(const struct dir_row *x, const struct dir_row *y)
{
    return x->hash == y->hash && x->seg == y->seg && x->number == y->number &&
           x->issued_s == y->issued_s && x->what == y->what && x->client == y->client;
}

static inline bool same_dir(const struct msg_dir *x, const struct msg_dir *y)
{
    SAME_ROWS(x, y, n, v, same_dir_row);
    return x->version == y->version;
}

static inline bool same_msg(const struct msg *x, const struct msg *y)
{
    if (x->type != y->type)
        return false;
    switch (x->type) {
#define X(NAME, name, Pb)                                                                \
    case MSG_##NAME:                                                                     \
        return same_msg_##name(&x->name, &y->name);
        MSG_FLATS(X)
#undef X
    case MSG_SEG_OPEN:
        return same_open(&x->seg_open, &y->seg_open);
    case MSG_MAP:
        return same_map(&x->map, &y->map);
    case MSG_STATS:
        return same_stats(&x->stats, &y->stats);
    case MSG_NODE_REG:
        return same_msg_node_reg(&x->node_reg, &y->node_reg) &&
               same_bytes(x->node_reg.pass_key, y->node_reg.pass_key, 32) &&
               x->node_reg.other_keys.n == y->node_reg.other_keys.n &&
               same_bytes(x->node_reg.other_keys.key, y->node_reg.other_keys.key,
                          32 * x->node_reg.other_keys.n);
    case MSG_SEG_AHEAD:
        return same_ahead(&x->seg_ahead, &y->seg_ahead);
    case MSG_SEG_POPPED:
        return same_msg_seg_popped(&x->seg_popped, &y->seg_popped) &&
               same_status(&x->seg_popped.status, &y->seg_popped.status);
    case MSG_SEG_STATUS:
        return same_report(&x->seg_status, &y->seg_status);
    case MSG_RULES:
        return same_rules(&x->rules, &y->rules);
    case MSG_MEMBERS:
        return same_members(&x->members, &y->members);
    case MSG_DIR:
    case MSG_DIR_ANS: /* the same members */
        return same_dir(&x->dir, &y->dir);
    case MSG_COPY_CHUNK:
        return same_chunk(&x->copy_chunk, &y->copy_chunk);
    case MSG_COPY_TOUCH:
        return same_touch(&x->copy_touch, &y->copy_touch);
    case MSG_COPY_EXTRA:
        return same_extra(&x->copy_extra, &y->copy_extra);
    default:
        return same_batch(x, y);
    }
}

#endif

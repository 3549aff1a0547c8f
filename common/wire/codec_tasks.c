/* codec_tasks.c: the members of the messages about tasks, with their ranges. By the order of the
 * .proto files. */
#include "common/wire/codec_tasks.h"

#include <string.h>

#include "common/task/call.h"
#include "common/task/rules.h"
#include "common/task/state.h"
#include "common/ticket/token.h"
#include "proto/router_task.pb-c.h"
#include "proto/task_manager.pb-c.h"
#include "proto/task_task.pb-c.h"

#define ANY      UINT32_MAX

#define CODE        IN(code, 0, TASK_NCODES - 1)
#define COL_CODE    COL_BYTE(v, code, code, 0, TASK_NCODES - 1)
#define COL_LIFE    COL_BYTE(v, life, life, 0, PART_NLIVES - 1)
#define NAME(f)     TEXT(f, TASK_NAME_MAX)
#define FILE_NAME(f) TEXT(f, ENDPOINT_FILE_MAX)
#define PLAIN(f, hi) BYTES(f.p, f.n, f, hi) /* a struct bytes_of */

#define KEY_COL(m, most) COL_IN(keys, m, key_##m, 0, most),
#define OWN                                                                              \
    NUM_AS(own.ttl_ms, own_ttl_ms), NUM_AS(own.max_attempts, own_max_attempts),          \
        NUM_AS(own.retry_min_ms, own_retry_min_ms), NUM_AS(own.retry_max_ms, own_retry_max_ms), \
        NUM_AS(own.retry_doublings, own_retry_doublings),                                \
        NUM_AS(own.retry_jitter, own_retry_jitter), NUM_AS(own.max_result, own_max_result),  \
        NUM_AS(own.cost, own_cost),                                                      \
        TEXT_AS(own.labels, labels, LABELS_TEXT_MAX)

/* ---- router_task.proto ------------------------------------------------------------------- */

PART(task_put_one, struct task_put, TaskPutOne, NULL, NUM(part), NUM(epoch), NAME(queue), NAME(key1),
     NAME(key2), NAME(name), PLAIN(key, TASK_IDEM_MAX), NUM(digest),
     IN(priority, 0, TASK_PRIORITIES - 1), NUM(order), IN(delay_ms, 0, DELAY_MAX_MS),
     IN(at_ms, 0, INT64_MAX / 2), PLAIN(body, TASK_BODY_MAX), OWN, PLAIN(unique, TASK_IDEM_MAX),
     IN(unique_while, 0, UNIQUE_NWHILES - 1), IN(on_conflict, 0, UNIQUE_NCONFLICTS - 1), NUM(may_wait_ms),
     PLAIN(then, CHAIN_MAX), IN(chain, 0, CHAIN_CALL | CHAIN_HOLES), NUM(after_part), NUM(after_no), NUM(read), NAME(group),
     PLAIN(offer, OFFER_TEXT))

MESSAGE(task_put, TaskPut, NULL, MSGS(v, n, v, task_put_one, 1, TASK_ROWS_MAX))

MESSAGE(task_put_ans, TaskPutAns, NULL, ROWS(v, n, code.len, 0, TASK_ROWS_MAX), COL_CODE,
        COL(v, no, no), COL_BYTE(v, state, state, 0, TASK_NSTATES - 1), COL(v, too_long_ms, too_long_ms),
        COL(v, units, units), COL(v, max_units, max_units))

MESSAGE(task_get, TaskGet, NULL, NUM(part), NUM(epoch), NUM(no), NAME(queue), NAME(name), NUM(wait_ms),
        NUM(result), NUM(window), NUM(leaves), NUM(follow),
        NUM(places))

MESSAGE(task_get_ans, TaskGetAns, NULL, CODE, NUM(no), IN(state, 0, TASK_NSTATES - 1),
        IN(priority, 0, TASK_PRIORITIES - 1), NUM(attempts), NUM(stopping), NAME(queue), NAME(key1),
        NAME(key2), NUM(order), NUM(entered_ms), NUM(until_ms), NUM(position), NUM(ahead_of_key),
        NUM(limited), NAME(limited_by), NUM(limited_until_ms), PLAIN(result, TASK_RESULT_MAX),
        NUM(result_length), PLAIN(result_sha256, RESULT_SHA256),
        OWN, NUM(eta), NUM(eta_ms), IN(status, 0, REPLY_STATUS_MAX), TEXT(content_type, REPLY_TYPE_MAX),
        PLAIN(fields, REPLY_FIELDS_MAX), NUM(fields_cut), NUM(position_capped),
        NUM(started_ms), NUM(ended_ms), NUM(earlier),
        ROWS(history, n_history, n_attempt, 0, ATTEMPTS_KEPT + 1), COL(history, no, attempt),
        COL_IN(history, end, attempt_end, 0, UINT8_MAX), COL(history, number, attempt_number),
        COL(history, started_ms, attempt_started_ms), COL(history, ended_ms, attempt_ended_ms),
        COL(history, again_ms, attempt_again_ms),
        COL_BYTES_LATER(history, reason.p, reason.n, attempt_reason, ATTEMPT_REASON),
        NUM(result_whole), NUM(waiting), NUM(waiting_capped),
        IN(target, 0, TARGET_NO_MAX), NUM(after_part), NUM(after_no), NUM(then), NUM(then_part),
        NUM(then_no), NUM(then_why), IN(cost_used, 0, TASK_COST_MAX + 1),
        NUM_AS(progress.ms, progress_ms), IN_AS(progress.percent, progress_percent, 0, 101),
        BYTES(progress.text.p, progress.text.n, progress_text, PROGRESS_TEXT),
        BYTES(progress.data.p, progress.data.n, progress_data, PROGRESS_DATA), NUM(ahead_of_priority),
        PLAIN(offer, OFFER_TEXT))

MESSAGE(task_take, TaskTake, NULL, NUM(part), NUM(epoch), NAME(queue), IN(most, 1, TASK_ROWS_MAX),
        NUM(lease_ms), NUM(wait_ms))

MESSAGE(task_take_ans, TaskTakeAns, NULL, CODE, ROWS(v, n, n_no, 0, TASK_ROWS_MAX), COL(v, no, no),
        COL(v, lease, lease), COL(v, attempt, attempt), COL(v, until_ms, until_ms),
        COL_TEXT(v, key1, key1, TASK_NAME_MAX), COL_TEXT(v, key2, key2, TASK_NAME_MAX),
        COL_BYTES(v, body.p, body.n, body, TASK_BODY_MAX))

MESSAGE(task_settle, TaskSettle, NULL, ROWS(v, n, verb.len, 1, TASK_ROWS_MAX), COL(v, part, part),
        COL(v, epoch, epoch), COL_BYTE(v, verb, verb, 0, SETTLE_NVERBS - 1), COL(v, no, no),
        COL(v, lease, lease), COL(v, ms, ms),
        COL_BYTES(v, result.p, result.n, result, TASK_BODY_MAX),
        COL_BYTES_LATER(v, reason.p, reason.n, reason, ATTEMPT_REASON),
        COL_BYTES_LATER(v, type.p, type.n, type, REPLY_TYPE_MAX),
        PLAIN(queues, QUEUES_TEXT))

MESSAGE(task_settle_ans, TaskSettleAns, NULL, ROWS(v, n, code.len, 0, TASK_ROWS_MAX), COL_CODE,
        COL_BYTE(v, state, state, 0, TASK_NSTATES - 1), COL(v, until_ms, until_ms))

MESSAGE(task_progress, TaskProgress, NULL, NUM(part), NUM(epoch), NUM(no), NUM(lease), IN(percent, 0, 101),
        PLAIN(text, PROGRESS_TEXT), PLAIN(data, PROGRESS_DATA), NUM(ms), PLAIN(queues, QUEUES_TEXT))

MESSAGE(task_progress_ans, TaskProgressAns, NULL, CODE, IN(state, 0, TASK_NSTATES - 1), NUM(until_ms))

MESSAGE(task_feed, TaskFeed, NULL, NUM(part), NUM(epoch), NAME(queue), NUM(after), IN(most, 1, FEED_ROWS_MAX),
        NUM(whose))

MESSAGE(task_feed_ans, TaskFeedAns, NULL, CODE, NUM(next), NUM(gap), ROWS(v, n, state.len, 0, FEED_ROWS_MAX),
        COL_BYTE(v, state, state, 0, TASK_NSTATES - 1), COL(v, no, no),
        COL_IN(v, attempts, attempts, 0, ATTEMPTS_MAX), COL(v, at_ms, at_ms), NUM(of_token))

MESSAGE(task_complete, TaskComplete, NULL, NUM(part), NUM(epoch), NUM(no), NUM(lease),
        IN(attempt, 0, ATTEMPTS_MAX), PLAIN(right, RIGHT_MAC_BYTES), IN(verb, 0, COMPLETE_NVERBS - 1),
        NUM(ms), IN(status, 0, REPLY_STATUS_MAX), TEXT(content_type, REPLY_TYPE_MAX),
        PLAIN(result, TASK_BODY_MAX), PLAIN(reason, ATTEMPT_REASON))

MESSAGE(task_complete_ans, TaskCompleteAns, NULL, CODE, IN(state, 0, TASK_NSTATES - 1), NUM(until_ms))

MESSAGE(task_upload, TaskUpload, NULL, NUM(part), NUM(epoch), NUM(upload), NUM(at),
        PLAIN(data, TASK_UPLOAD_MAX), NUM(length), NUM(last), NUM(left))

MESSAGE(task_upload_ans, TaskUploadAns, NULL, CODE, PLAIN(sha256, RESULT_SHA256))

MESSAGE(task_read, TaskRead, NULL, NUM(part), NUM(epoch), NUM(no), PLAIN(sha256, RESULT_SHA256),
        NUM(at), IN(most, 1, TASK_READ_MAX))

MESSAGE(task_read_ans, TaskReadAns, NULL, CODE, PLAIN(data, TASK_READ_MAX))

MESSAGE(task_piece, TaskPiece, NULL, IN(step, 0, PIECE_NSTEPS - 1), NUM(call), NUM(at),
        PLAIN(data, TASK_READ_MAX), NUM(no), NUM(part), IN(status, 0, REPLY_STATUS_MAX),
        TEXT(content_type, REPLY_TYPE_MAX), PLAIN(fields, REPLY_FIELDS_MAX), NUM(fields_cut),
        NUM(sized), NUM(length), PLAIN(sha256, RESULT_SHA256))

MESSAGE(task_places, TaskPlaces, NULL, ROWS(v, n, state.len, 1, TASK_ROWS_MAX), COL(v, rid, rid),
        COL_BYTE(v, state, state, 0, TASK_NSTATES - 1), COL_BYTE(v, capped, capped, 0, 1),
        COL_BYTE(v, eta, eta, 0, TASK_NETAS - 1), COL(v, position, position), COL(v, eta_ms, eta_ms),
        COL_IN(v, attempts, attempts, 0, ATTEMPTS_MAX), COL(v, progress.ms, progress_ms),
        COL_IN(v, progress.percent, progress_percent, 0, 101),
        COL_BYTES_LATER(v, progress.text.p, progress.text.n, progress_text, PROGRESS_TEXT),
        COL_BYTES_LATER(v, progress.data.p, progress.data.n, progress_data, PROGRESS_DATA),
        COL(v, ahead_of_priority, ahead_of_priority))

MESSAGE(task_flow, TaskFlow, NULL, NUM(call), NUM(more), NUM(left))

MESSAGE(task_change, TaskChange, NULL, NUM(part), NUM(epoch), IN(verb, 0, CHANGE_NVERBS - 1), NUM(no),
        NAME(queue), NAME(name), NUM_AS(patch.order, order),
        IN_AS(patch.delay_ms, delay_ms, 0, DELAY_MAX_MS), NUM_AS(patch.at_ms, at_ms),
        NUM_AS(patch.has, has), IN_AS(patch.priority, priority, 0, TASK_PRIORITIES - 1),
        TEXT_AS(patch.labels, labels, LABELS_TEXT_MAX), NUM(force), NUM(unbegun),
        PLAIN(queues, QUEUES_TEXT))

MESSAGE(task_change_ans, TaskChangeAns, NULL, CODE, NUM(no), IN(state, 0, TASK_NSTATES - 1),
        NUM(maybe_executed))

MESSAGE(task_schedule, TaskSchedule, NULL, NUM(part), NUM(epoch), IN(verb, 0, SCHEDULE_NVERBS - 1),
        NAME(queue), NAME(name), TEXT(cron, CRON_TEXT_MAX), IN(every_ms, 0, RECUR_EVERY_MAX),
        TEXT(zone, ZONE_NAME_MAX), IN(jitter_ms, 0, DELAY_MAX_MS),
        IN(overlap, 0, OVERLAP_NKINDS - 1), IN(catch_up, 0, CATCH_UP_NKINDS - 1),
        IN(catch_up_max, 0, RECUR_MAKE_UP), IN(from_ms, 0, RECUR_AT_MAX),
        IN(until_ms, 0, RECUR_AT_MAX), NUM(paused), PLAIN(text, SCHEDULE_TEXT_MAX),
        MSG(put, task_put_one), NUM(run))

PART(schedule_row, struct schedule_row, ScheduleRow, NULL, NAME(name),
     NUMS(next_ms, n_next, next_ms, SCHEDULE_NEXT_MAX), NUM(last_ms),
     IN(outcome, 0, TICK_NOUTCOMES - 1), NUM(fired_ms), NUM(no), IN(state, 0, TASK_NSTATES - 1),
     PLAIN(text, SCHEDULE_TEXT_MAX), TEXT(why, SCHEDULE_WHY_MAX), NUM(paused))

MESSAGE(task_schedule_ans, TaskScheduleAns, NULL, CODE, NUM(fresh), TEXT(why, SCHEDULE_WHY_MAX),
        MSGS(v, n, v, schedule_row, 0, SCHEDULES_MAX), IN(ran, 0, SCHEDULE_NRUNS - 1), NUM(ran_no))

MESSAGE(task_group, TaskGroup, NULL, NUM(part), NUM(epoch), IN(verb, 0, GROUP_NVERBS - 1), NAME(queue), NAME(name))

MESSAGE(task_group_ans, TaskGroupAns, NULL, CODE, NUM(sealed), NUM(cancelling),
        NUMS(counts, n_counts, counts, TASK_NSTATES))

MESSAGE(task_first, TaskFirst, NULL, NUM(part), NUM(epoch), NAME(queue), IN(most, 1, TASK_ROWS_MAX), NUM(bodies))

MESSAGE(task_first_ans, TaskFirstAns, NULL, CODE, NUM(waiting), NUM(now), NUM(cut),
        ROWS(v, n, n_no, 0, TASK_ROWS_MAX), COL(v, no, no), COL(v, attempts, attempts),
        COL_BYTE(v, priority, priority, 0, TASK_PRIORITIES - 1), COL(v, order, order),
        COL(v, entered_ms, entered_ms), COL_TEXT(v, key1, key1, TASK_NAME_MAX),
        COL_TEXT(v, key2, key2, TASK_NAME_MAX), COL_BYTES(v, body.p, body.n, body, TASK_BODY_MAX))

MESSAGE(task_notice, TaskNotice, NULL, NUM(part), NUM(id), NUM(no), NAME(queue),
        IN(state, 0, TASK_NSTATES - 1), IN(ended_ms, 0, RECUR_AT_MAX), PLAIN(text, NOTICE_TEXT_MAX),
        PLAIN(put, RELAY_TEXT_MAX), PLAIN(group, NOTICE_TEXT_MAX), NUM(start))

MESSAGE(task_notice_ans, TaskNoticeAns, NULL, NUM(part), NUM(id), NUM(no), CODE, NUM(to_part), NUM(to_no))

/* ---- task_manager.proto ------------------------------------------------------------------ */

MESSAGE(task_reg, TaskReg, NULL, ADDR(addr), ADDR(admin), NUM(epoch_seen),
        NUM(store), ROWS(v, n, n_part, 0, PARTS_MAX), COL(v, part, part), COL(v, epoch, part_epoch),
        COL_LIFE, NUM(shared), TEXT(region, NAME_MAX_LEN), TEXT(zone, NAME_MAX_LEN))

MESSAGE(task_ok, TaskOk, NULL, NUM(epoch), NUM(no), NUM(store))

MESSAGE(part_open, PartOpen, NULL, NUM(epoch), NUM(part), NUM(part_epoch), NAME(match),
        NUMS(rules, n_rules, rules, POOL_RULES_MAX), NUM(max_tasks), NUM(paused), NUM(had),
        NAME(endpoint), NAME(notify), NUM(notify_starts),
        TEXT(eta_url, ENDPOINT_URL_MAX), NUM(eta_every_ms), NUM(eta_timeout_ms),
        TEXTS(eta_allow, n_eta_allow, eta_allow, 0, ENDPOINT_ALLOW_MAX, ENDPOINT_NET_MAX),
        ROWS(keys, n_keys, n_key, 0, KEY_LIMITS_MAX), COL_TEXT(keys, queue, key_queue, TASK_NAME_MAX),
        COL_TEXT(keys, key, key, KEY_TEXT_MAX), KEY_LIMIT(KEY_COL)
        TEXTS(zones, n_zones, zone, 0, RATE_ZONES_MAX, ZONE_NAME_MAX))

MESSAGE(part_drop, PartDrop, NULL, NUM(epoch), NUM(part), NUM(part_epoch))

MESSAGE(part_out, PartOut, NULL, NUM(epoch), NUM(part), NUM(part_epoch), NUM(to_epoch),
        TEXT(node, NAME_MAX_LEN), ADDR(addr))

MESSAGE(endpoint, Endpoint, NULL, NUM(epoch), NAME(name), NUM(serial), NUM(version),
        TEXT(url, ENDPOINT_URL_MAX), TEXTS(allow, n_allow, allow, 0, ENDPOINT_ALLOW_MAX, ENDPOINT_NET_MAX),
        NUM(rate), NUM(burst), NUM(max_concurrent), NUM(deadline_ms), NUM(connect_timeout_ms),
        NUM(paused), IN(breaker_ratio, 0, 100), NUM(breaker_min), NUM(breaker_open_ms),
        FILE_NAME(secret_file), FILE_NAME(ca_file), FILE_NAME(cert_file), FILE_NAME(key_file),
        TEXT(proxy, ENDPOINT_URL_MAX), NUM(adaptive_min), TEXT(budget, NAME_MAX_LEN), NUM(tripped),
        NUM(resets), NUM(probe), NUM(max_answer), TEXT(auth_field, ENDPOINT_AUTH_MAX),
        FILE_NAME(auth_file), NUM(targets), NAME(of), IN(target, 0, TARGET_NO_MAX),
        NUM(weight), IN(affinity, 0, AFFINITY_NWAYS - 1), NUM(affinity_bound),
        TEXT(reading_path, READING_PATH_MAX), NUM(reading_ms), NUM(reading_stale_ms),
        ROWS(readings, n_readings, n_reading_close, 0, READINGS_MAX),
        COL(readings, close_above, reading_close), COL(readings, open_below, reading_open),
        COL(readings, narrow_from, reading_narrow), COL(readings, narrow_to, reading_least),
        COL(readings, max, reading_max), COL_TEXT(readings, metric, reading_metric, READING_METRIC_MAX),
        COL_TEXT(readings, labels, reading_labels, READING_LABELS_MAX),
        NUMS(unit_rates, n_unit_rates, unit_rates, 3 * UNIT_RATES_MAX), NUM(unit_part), NUM(unit_kept),
        IN(n_shared, 0, UNIT_RATES_MAX), NUM(shared_part),
        NUMS(unit_window, n_unit_window, unit_window, WINDOW_NUMBERS * UNIT_RATES_MAX),
        TEXT(used, COST_POINTER_MAX), TEXT(used_header, COST_HEADER_MAX), IN(used_most, 0, TASK_COST_MAX),
        IN(on_quota, 0, ON_QUOTA_NKINDS - 1), TEXT(address, ENDPOINT_NET_MAX),
        TEXT(told, TOLD_ROWS_MAX), NUMS(told_word, n_told_word, told_word, 2 * TOLD_MAX))

MESSAGE(endpoint_drop, EndpointDrop, NULL, NUM(epoch), NAME(name))

MESSAGE(endpoint_status, EndpointStatus, NULL, NUM(epoch), ROWS(v, n, n_name, 0, ENDPOINTS_MAX),
        COL_TEXT(v, name, name, TASK_NAME_MAX), COL(v, serial, serial),
        COL_BYTE(v, breaker, breaker, 0, BREAKER_NSTATES - 1), COL(v, in_flight, in_flight),
        COL(v, sent, sent), COL(v, succeeded, succeeded), COL(v, failed, failed), COL(v, ms, ms),
        COL_TEXT(v, unusable, unusable, ENDPOINT_WHY_MAX), COL(v, waiting, waiting),
        COL(v, adaptive, adaptive), COL(v, probe, probe), COL(v, probe_state, probe_state),
        COL(v, probe_ms, probe_ms), COL_TEXT(v, probe_said, probe_said, PROBE_SAID_MAX),
        COL(v, held, held), COL(v, affine, affine), COL(v, astray, astray),
        COL_BYTE(v, reading, reading, 0, READING_NSTATES - 1),
        COL_TEXT(v, reading_said, reading_said, READING_SAID_MAX),
        COL(v, units, units), COL(v, used[0], used_1), COL(v, used[1], used_2), COL(v, used[2], used_3),
        COL(v, window[0], window_1), COL(v, window[1], window_2), COL(v, window[2], window_3), COL(v, needs, needs),
        COL(v, told_left[0], told_left_1), COL(v, told_ms[0], told_ms_1), COL(v, told_left[1], told_left_2),
        COL(v, told_ms[1], told_ms_2), COL(v, told_left[2], told_left_3), COL(v, told_ms[2], told_ms_3))

MESSAGE(part_rate, PartRate, NULL, NUM(epoch), NUM(part), NUM(part_epoch),
        IN(rate, 0, RATE_PER_1000_S))

MESSAGE(part_status, PartStatus, NULL, NUM(epoch), ROWS(v, n, n_part, 0, PARTS_MAX),
        COL(v, part, part), COL(v, part_epoch, part_epoch), COL(v, scheduled, scheduled),
        COL(v, waiting, waiting), COL(v, running, running), COL(v, final, final), COL(v, dead, dead),
        COL(v, queues, queues), COL(v, oldest_ms, oldest_ms), COL(v, accepted, accepted),
        COL(v, started, started), COL(v, succeeded, succeeded), COL(v, retried, retried),
        COL_LIFE, COL(v, died, died), COL(v, expired, expired), COL(v, due, due),
        COL(v, late_ms, late_ms), COL(v, held[HOLD_KEY_RATE], held_key_rate),
        COL(v, held[HOLD_KEY_AT_ONCE], held_key_at_once),
        COL(v, held[HOLD_QUEUE_RATE], held_queue_rate),
        COL(v, held[HOLD_QUEUE_AT_ONCE], held_queue_at_once), COL(v, held[HOLD_PAUSE], held_pause),
        COL(v, held[HOLD_ORDER], held_order), COL(v, held[HOLD_LIMITS], held_limits),
        COL(v, held[HOLD_ENDPOINT], held_endpoint), COL(v, bytes, bytes),
        COL(v, schedules, schedules), COL(v, to_epoch, to_epoch), COL(v, waiting_units, waiting_units),
        COL_BYTE(v, full, full, 0, TASK_NFULLS - 1),
        COL_BYTES_LATER(v, waits.p, waits.n, waits, WAITS_BYTES))

MESSAGE(task_do, TaskDo, NULL, NUM(part), NUM(epoch), NUM(verb), NUM(no), NAME(queue), NAME(key1),
        NAME(key2), NUM(states), NUM(after), NUM(most), NUM(rate), TEXT(label, LABEL_MAX),
        NUM(force), PLAIN(body, TASK_BODY_MAX), NUM(version), NUM(since_ms),
        NUM(until_ms))

MESSAGE(task_do_ans, TaskDoAns, NULL, CODE, NUM(after), NUM(done),
        MSGS(v, n, tasks, task_get_ans, 0, TASK_ROWS_MAX),
        ROWS(keys, n_keys, n_waiting, 0, TASK_ROWS_MAX), COL_TEXT(keys, key1, key1, TASK_NAME_MAX),
        COL_TEXT(keys, key2, key2, TASK_NAME_MAX), COL(keys, waiting, waiting),
        COL(keys, running, running), COL(keys, limited, limited),
        COL(keys, limited_until_ms, limited_until_ms), COL(keys, dead, dead),
        COL(keys, redriving, redriving),
        MSGS(schedules, n_schedules, schedules, schedule_row, 0, SCHEDULES_MAX), NUM(cut),
        ROWS(more, n_more, n_place, 0, EXPORT_ROWS_MAX), COL(more, place, place),
        COL(more, attempts_left, attempts_left), COL(more, lacks, lacks),
        COL_TEXT(more, group, group, TASK_NAME_MAX), COL_BYTES(more, body.p, body.n, body, TASK_BODY_MAX),
        COL_BYTES(more, then.p, then.n, then, CHAIN_MAX), TEXT(why, SCHEDULE_WHY_MAX))

PART(map_task_node, struct map_task_node, MapTaskNode, NULL, NUM(no), TEXT(name, NAME_MAX_LEN), ADDR(addr))

PART(map_pool, struct map_pool, MapPool, NULL, NAME(match), NUM(paused), NUM(max_body),
     NAME(endpoint), TEXT(url, ENDPOINT_URL_MAX), NUM(cancel_on_disconnect), IN(left_out, 0, 100),
     NUM(max_cost), TEXTS(urls, n_urls, urls, 0, TARGETS_MAX, ENDPOINT_URL_MAX),
     ROWS(v, n, n_part, 0, PARTS_MAX), COL(v, part, part), COL(v, epoch, part_epoch),
     COL(v, node, part_node), TEXT_AS(cost.pointer, cost_pointer, COST_POINTER_MAX),
     NUM_AS(cost.per_byte, cost_per_byte), NUM_AS(cost.constant, cost_constant),
     NUM_AS(cost.least, cost_least), NUM_AS(cost.most, cost_most))

PART(map_route, struct map_route, MapRoute, NULL, NAME(name), TEXT(pointer, ROUTE_TEXT_MAX), NUM(rule),
     TEXTS(match, n_match, match, 0, ROUTE_MATCHES_MAX, ROUTE_TEXT_MAX), NAME(endpoint), NUM(max_wait_ms))

MESSAGE(task_map, TaskMap, NULL, NUM(epoch), MSGS(nodes, n_nodes, nodes, map_task_node, 0, ANY),
        MSGS(pools, n_pools, pools, map_pool, 0, ANY),
        MSGS(routes, n_routes, routes, map_route, 0, ANY))

/* ---- task_task.proto --------------------------------------------------------------------- */

MESSAGE(pcopy_begin, PcopyBegin, NULL, NUM(part), NUM(part_epoch), NAME(match), FIXED(seed),
        NUM(max_tasks), NUM(tasks))

MESSAGE(pcopy_chunk, PcopyChunk, NULL, NUM(part), NUM(part_epoch), NUM(seq),
        PLAIN(data, PCOPY_DATA_MAX), NUM(last), NUM(tasks))

MESSAGE(pcopy_ack, PcopyAck, NULL, NUM(part), NUM(part_epoch), NUM(seq),
        IN(state, 0, PCOPY_NSTATES - 1))

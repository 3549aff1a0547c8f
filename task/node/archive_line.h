/* archive_line.h: a task that has ended, as its line of the archive. Pure.
 *
 * One JSON object; proto/PROTOCOL.md section 26 says what its members mean. It begins with the time
 * of the end, so that lines can be sorted as text. Nothing of a body, a result or a token is in it. */
#ifndef SEGQ_ARCHIVE_LINE_H
#define SEGQ_ARCHIVE_LINE_H

#include "common/base/text.h"
#include "common/task/key_limit.h"
#include "common/task/own.h"
#include "common/task/state.h"

struct task_end { /* texts are borrowed; moments: Unix ms, 0: not known */
    part_no part;
    task_no no;
    enum task_state state;
    const char *queue, *key1, *key2; /* keys: "": none */
    const char *labels;              /* "a,b"; "": none */
    uint8_t priority;
    unsigned attempts;
    int64_t entered_ms, started_ms, ended_ms; /* started: of the last attempt */
    const char *why; /* how that ended, or the task without one (common/task/state.h) */
    uint32_t status; /* status of the target's answer, if a call has ended it; 0: none */
};

/* Six characters for each byte of a queue's name, a key and labels, quotes and commas; names of
 * members, numbers and moments; the last number may touch DECIMAL_ROOM bytes. */
#define ARCHIVE_LINE_MAX                                                                 \
    (6 * (TASK_NAME_MAX + KEY_TEXT_MAX + LABELS_TEXT_MAX) + 3 * LABELS_MAX + 500 + DECIMAL_ROOM)

/* Into out[ARCHIVE_LINE_MAX], with its newline; the length. */
SQ_CHECK size_t archive_line(const struct task_end *end, char *out);

#endif

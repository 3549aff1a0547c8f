package segq;

import java.util.Map;

/** News of a queue: a task has started, or is over; or a gap: some that came before are not known any more.
 *  @param id where to go on behind it
 *  @param state running, or how it ended; of a gap null, as task is
 *  @param at when, in seconds since 1970 */
public record TaskEvent(String id, boolean gap, String task, String state, int attempts, double at) {
    static TaskEvent gap(String id) {
        return new TaskEvent(id, true, null, null, 0, 0);
    }

    static TaskEvent of(String id, Map<String, Object> said) {
        if (!(said.get("task") instanceof String task))
            throw new SegqException.Network("an event without a task");
        return new TaskEvent(id, false, task, Json.text(said.get("state")),
            said.get("attempts") instanceof Number n ? n.intValue() : 0, said.get("at") instanceof Number n ? n.doubleValue() : 0);
    }
}

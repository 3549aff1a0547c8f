package segq;

import java.util.Map;
import java.util.Set;

/** A task, as last heard.
 *  @param raw all members of the answer */
public record Task(String token, String state, Map<String, Object> raw) {
    static final Set<String> FINAL = Set.of("succeeded", "dead", "cancelled", "expired");

    public boolean over() {
        return FINAL.contains(state);
    }

    /** Its JSON; null if there is none, or if it is long or no JSON: client.result(). */
    public Object result() {
        return raw.get("result");
    }

    public Long position() {
        return raw.get("position") instanceof Number n ? (Long) n.longValue() : null;
    }

    public Long etaS() {
        return raw.get("eta_s") instanceof Number n ? (Long) n.longValue() : null;
    }

    static Task of(Object said) {
        Map<String, Object> m = Json.object(said);
        if (!(m.get("task") instanceof String token))
            throw new SegqException.Network("an answer that is no task");
        return new Task(token, Json.text(m.get("state")), m);
    }

    /** What became of one row of a batch.
     *  @param status 0: no answer; it may be there
     *  @param task null: none
     *  @param error null: none */
    public record Row(int status, String task, SegqException error) { }
}

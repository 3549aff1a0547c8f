package segq;

import java.util.List;
import java.util.Map;

/** Those of a {@link Several}, as last heard ({@code Places} of proto/openapi.yaml). {@code raw} has all members.
 *  @param group save it, the last one
 *  @param places one for each queue: queue, state, reason, position, eta_s, ticket
 *  @param pass when admitted */
public record Places(String group, String state, List<Map<String, Object>> places, long pollAfterMs, String pass, Map<String, Object> raw) {
    public boolean admitted() {
        return "admitted".equals(state);
    }

    static Places of(Object said) {
        if (!(said instanceof Map) || !(Json.object(said).get("group") instanceof String group)
            || !(Json.object(said).get("state") instanceof String state) || !(Json.object(said).get("places") instanceof List))
            throw new SegqException.Network("an answer that is no places");
        Map<String, Object> m = Json.object(said);
        return new Places(group, state, Json.list(m.get("places")).stream().map(Json::object).toList(),
            m.get("poll_after_ms") instanceof Number n ? Math.max(0, Math.min(n.longValue(), 86_400_000)) : 1000,
            m.get("pass") instanceof String pass ? pass : null, m);
    }
}

package segq;

import java.util.Map;

/** A place in line, as last heard.
 *  @param state "waiting", "admitted"
 *  @param position null: not known at the moment
 *  @param positionCapped the place is further back: "5000+"
 *  @param etaS seconds; null: not known
 *  @param message the operator's notice, or null
 *  @param pass when admitted
 *  @param passExpiresAt Unix seconds
 *  @param ticket "17-123": its name, for those who ask for help
 *  @param prequeue the draw is still to come
 *  @param opensAt Unix seconds
 *  @param raw all members of the answer */
public record Ticket(String token, String queue, String lane, String state, Long position, boolean positionCapped,
                     long total, Long etaS, String etaReason, long pollAfterMs, String message, String pass,
                     Long passExpiresAt, Double releasedAt, String ticket, long segment, boolean prequeue,
                     Long opensAt, Map<String, Object> raw) {
    public boolean admitted() {
        return state.equals("admitted");
    }

    /** Network: what came is none. */
    static Ticket of(Object said) {
        try {
            Map<String, Object> m = Json.object(said);
            return new Ticket(must(m, "token"), must(m, "queue"), must(m, "lane"), must(m, "state"), whole(m, "position"),
                Boolean.TRUE.equals(m.get("position_capped")), ((Number) m.get("total")).longValue(), whole(m, "eta_s"),
                (String) m.get("eta_reason"), Math.max(0, Math.min(86_400_000, ((Number) m.get("poll_after_ms")).longValue())),
                (String) m.get("message"), (String) m.get("pass"), whole(m, "pass_expires_at"),
                m.get("released_at") == null ? null : ((Number) m.get("released_at")).doubleValue(),
                (String) m.get("ticket"), ((Number) m.get("segment")).longValue(),
                Boolean.TRUE.equals(m.get("prequeue")), whole(m, "opens_at"), m);
        } catch (ClassCastException | NullPointerException e) {
            throw new SegqException.Network("an answer that is no ticket");
        }
    }

    private static String must(Map<String, Object> m, String name) {
        return java.util.Objects.requireNonNull((String) m.get(name));
    }

    private static Long whole(Map<String, Object> m, String name) {
        return m.get(name) == null ? null : (Long) ((Number) m.get(name)).longValue();
    }
}

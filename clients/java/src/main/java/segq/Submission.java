package segq;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;

/** A task that is submitted (TaskSubmit of proto/openapi.yaml): a row of submitMany(), the task of a schedule. */
public final class Submission extends Members<Submission> {
    /** Any value that {@link Json} writes. */
    public static Submission of(Object payload) {
        return new Submission().payload(payload);
    }

    /** Of a queue that has an endpoint. */
    public static Submission ofCall(String method, String path) {
        return new Submission().method(method).path(path);
    }

    /** The next task of a chain, in then(); {@code {"$result": "/pointer"}} in its payload is that value of the
     *  first one's result. */
    public Submission inQueue(String queue) {
        return with("queue", queue);
    }

    public Submission payload(Object payload) {
        return with("payload", payload);
    }

    public Submission name(String name) {
        return with("name", name);
    }

    /** Limits and fair shares go by it: "tenant7", "tenant7/user42". */
    public Submission key(String key) {
        return with("key", key);
    }

    /** 0 to 7. */
    public Submission priority(int priority) {
        return with("priority", priority);
    }

    public Submission delay(Duration delay) {
        return with("delay", delay);
    }

    public Submission at(Instant at) {
        return with("at", at.toEpochMilli() / 1000.0);
    }

    public Submission order(long order) {
        return with("order", order);
    }

    public Submission cost(long units) {
        return with("cost", units);
    }

    /** Longest wait. */
    public Submission ttl(Duration ttl) {
        return with("ttl", ttl);
    }

    /** A key that one task of the queue has at a time. */
    public Submission unique(String key) {
        return with("unique", Map.of("key", key));
    }

    /** Likewise, with "while" and "on_conflict". */
    public Submission unique(Map<String, ?> members) {
        return with("unique", members);
    }

    public Submission labels(String... labels) {
        return with("labels", List.of(labels));
    }

    /** Further queues in which it stands, too, until it is taken from one of them. */
    public Submission offerTo(String... queues) {
        return with("offer_to", List.of(queues));
    }

    public Submission maxAttempts(int most) {
        return with("max_attempts", most);
    }

    /** "min", "max", "doublings", "jitter". */
    public Submission retry(Map<String, ?> members) {
        return with("retry", members);
    }

    /** "keep", "drop". */
    public Submission result(String what) {
        return with("result", what);
    }

    public Submission path(String path) {
        return with("path", path);
    }

    public Submission method(String method) {
        return with("method", method);
    }

    public Submission headers(Map<String, String> headers) {
        return with("headers", headers);
    }

    public Submission body(String text) {
        return with("body", text);
    }

    public Submission bodyJson(Object value) {
        return with("body_json", value);
    }

    public Submission bodyBase64(byte[] bytes) {
        return with("body_base64", java.util.Base64.getEncoder().encodeToString(bytes));
    }

    /** What is no JSON, in place of the payload. */
    public Submission payloadBase64(byte[] bytes) {
        return with("payload_base64", java.util.Base64.getEncoder().encodeToString(bytes));
    }

    /** The type of that. */
    public Submission contentType(String type) {
        return with("content_type", type);
    }

    public Submission group(String group) {
        return with("group", group);
    }

    public Submission then(Submission next) {
        return with("then", next);
    }

    /** In place of a server's token ({@link Claim}). */
    public Submission claim(String claim) {
        return with("claim", claim);
    }

    /** What you repeat after an exception needs a key of yours, or a name. */
    public Submission idempotencyKey(String key) {
        return with("idempotency_key", key);
    }

    /** As it is sent: with the trace context of what is done now. */
    Map<String, Object> body() {
        Map<String, Object> out = new java.util.LinkedHashMap<>(map);
        String trace = Trace.current();
        if (trace != null && out.containsKey("path")) {
            Map<String, Object> h = new java.util.TreeMap<>(String.CASE_INSENSITIVE_ORDER);
            h.put("traceparent", trace);
            h.putAll(Json.object(out.get("headers")));
            out.put("headers", h);
        } else if (trace != null && out.get("payload") instanceof Map<?, ?> p && !p.containsKey("traceparent")) {
            Map<String, Object> all = new java.util.LinkedHashMap<>();
            all.put("traceparent", trace);
            all.putAll(Json.object(p));
            out.put("payload", all);
        }
        if (!out.containsKey("path") && !out.containsKey("payload_base64"))
            out.putIfAbsent("payload", null);
        return out;
    }
}

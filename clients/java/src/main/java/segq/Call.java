package segq;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;

/** A request to an endpoint, through /v1/call. */
public final class Call {
    final String method;
    final String path;
    final Map<String, String> headers = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
    byte[] body;
    Duration timeout = Duration.ofMinutes(10);
    Consumer<Map<String, Object>> onProgress;

    private Call(String method, String path) {
        this.method = method;
        this.path = path;
    }

    public static Call of(String method, String path) {
        return new Call(method, path);
    }

    public Call body(byte[] bytes) {
        body = bytes;
        return this;
    }

    public Call json(Object value) {
        body = Json.write(value).getBytes(StandardCharsets.UTF_8);
        headers.putIfAbsent("Content-Type", "application/json");
        return this;
    }

    /** One to the target, and what segq does not keep for itself. Authorization is the target's. */
    public Call header(String name, String value) {
        headers.put(name, value);
        return this;
    }

    /** The longest wait for its turn. */
    public Call wait(Duration most) {
        return header("Prefer", "wait=" + most.toSeconds());
    }

    public Call cost(long units) {
        return header("segq-cost", String.valueOf(units));
    }

    /** Until it begins, and its longest silence; ten minutes. */
    public Call timeout(Duration most) {
        timeout = most;
        return this;
    }

    /** Hears of the place in line while events() is read; the answer is a stream of events then. */
    public Call onProgress(Consumer<Map<String, Object>> hears) {
        onProgress = hears;
        header("segq-progress", "events");
        headers.putIfAbsent("Accept", "text/event-stream");
        return this;
    }

    Http.Ask ask(String base, String endpoint, String token) {
        Map<String, String> h = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        h.putAll(headers);
        if (h.containsKey("Authorization") && token != null)
            h.put("segq-token", token);
        if (Trace.current() != null)
            h.putIfAbsent("traceparent", Trace.current());
        return new Http.Ask(method, base + "/" + Http.enc(endpoint) + "/" + path.replaceAll("^/+", ""), body, h);
    }
}

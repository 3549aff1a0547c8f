package segq;

import java.net.http.HttpHeaders;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/** An open answer, read once: as pieces, lines, events, or as a whole. One that breaks off is no whole one: the
 *  future fails with Network. Consumers are called one after the other; while one is busy no more is read. */
public final class Stream implements AutoCloseable {
    /** A server-sent event. */
    public record Event(String name, String data, String id) { }

    private final Http http;
    private final Http.Incoming in;
    private final long patienceMs;
    private final Consumer<Map<String, Object>> onProgress;
    private boolean begun;

    Stream(Http http, Http.Incoming in, Duration patience, Consumer<Map<String, Object>> onProgress) {
        this.http = http;
        this.in = in;
        this.patienceMs = patience.toMillis();
        this.onProgress = onProgress;
    }

    /** That of the target, if it is a call's. */
    public int status() {
        return in.status();
    }

    public HttpHeaders headers() {
        return in.headers();
    }

    /** Bytes, as they come. */
    public CompletableFuture<Void> pieces(Consumer<byte[]> each) {
        return run(new Body(http, patienceMs, true, each)).end;
    }

    /** Lines without their ends. */
    public CompletableFuture<Void> lines(Consumer<String> each) {
        Sse s = Sse.lines(each);
        return Doing.map(run(new Body(http, patienceMs, true, s)).end, v -> {
            s.end();
            return null;
        });
    }

    /** Server-sent events. One that is cut off is none. */
    public CompletableFuture<Void> events(Consumer<Event> each) {
        Body[] b = new Body[1];
        b[0] = new Body(http, patienceMs, false, Sse.events(e -> {
            b[0].news();
            if (!progress(e))
                each.accept(e);
        }));
        return run(b[0]).end;
    }

    /** The rest as a whole. */
    public CompletableFuture<Answer> read() {
        begin();
        return http.whole(in);
    }

    /** What is unread is not waited for. Of a stream that is being read cancel the future. */
    @Override
    public void close() {
        if (!begun) {
            begun = true;
            in.close(http);
        }
    }

    private void begin() {
        if (begun)
            throw new IllegalStateException("a stream is read once");
        begun = true;
    }

    private Body run(Body b) {
        begin();
        in.body().subscribe(b);
        return b;
    }

    /** Of {@code segq-progress: events}: a place in line; or the answer, where it is no stream of events. */
    private boolean progress(Event e) {
        if (onProgress == null || !(e.name().equals("segq.progress") || e.name().equals("error")))
            return false;
        Map<String, Object> said;
        try {
            said = Json.object(Json.read(e.data()));
        } catch (IllegalArgumentException bad) {
            return false;
        }
        if (e.name().equals("segq.progress")) {
            onProgress.accept(said);
            return true;
        }
        if (!(said.get("status") instanceof Number n) || n.intValue() < 400)
            return false; // the target's own error event
        throw ApiException.of(n.intValue(), said.get("error") instanceof Map ? Json.object(said.get("error"))
            : Map.of("detail", String.valueOf(said.get("body"))), null);
    }
}

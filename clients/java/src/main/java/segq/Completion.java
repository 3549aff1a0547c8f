package segq;

import java.time.Duration;
import java.util.Base64;

/** How a call ended whose target answered {@code segq-command: pending} (TaskComplete of proto/openapi.yaml). */
public final class Completion extends Members<Completion> {
    /** "succeeded", "failed" (tried again), "dead". */
    public static Completion of(String outcome) {
        return new Completion().outcome(outcome);
    }

    public Completion outcome(String outcome) {
        return with("outcome", outcome);
    }

    public Completion status(int status) {
        return with("status", status);
    }

    public Completion result(Object value) {
        return with("result", value);
    }

    public Completion body(String text) {
        return with("body", text);
    }

    public Completion bodyBase64(byte[] bytes) {
        return with("body_base64", Base64.getEncoder().encodeToString(bytes));
    }

    public Completion reason(String reason) {
        return with("reason", reason);
    }

    public Completion delay(Duration delay) {
        return with("delay", delay);
    }
}

package segq;

import java.time.Duration;
import java.time.Instant;
import java.util.List;

/** What becomes different of a task that has not begun (TaskPatch of proto/openapi.yaml). */
public final class Change extends Members<Change> {
    public Change order(long order) {
        return with("order", order);
    }

    public Change delay(Duration delay) {
        return with("delay", delay);
    }

    public Change at(Instant at) {
        return with("at", at.toEpochMilli() / 1000.0);
    }

    public Change priority(int priority) {
        return with("priority", priority);
    }

    /** Also of one that runs. */
    public Change labels(String... labels) {
        return with("labels", List.of(labels));
    }
}

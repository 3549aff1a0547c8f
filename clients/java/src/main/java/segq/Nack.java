package segq;

import java.time.Duration;

/** Thrown by a handler: the task is given back, and tried again after the delay (null: as its pool says). */
public final class Nack extends RuntimeException {
    private static final long serialVersionUID = 1;
    private final Duration delay;

    public Nack(String reason) {
        this(reason, null);
    }

    public Nack(String reason, Duration delay) {
        super(reason, null, false, false);
        this.delay = delay;
    }

    public Duration delay() {
        return delay;
    }
}

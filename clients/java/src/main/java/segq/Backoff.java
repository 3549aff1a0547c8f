package segq;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;

/** 1 s, 2 s, 4 s ... 30 s, each up to half as long again. */
final class Backoff {
    private static final long WORST_MS = 30_000;
    private final long firstMs;
    int fails;

    Backoff(long firstMs) {
        this.firstMs = firstMs;
    }

    /** Milliseconds. told: what Retry-After said, or null. */
    long next(Duration told) {
        long grown = Math.min(WORST_MS, firstMs << Math.min(fails++, 10));
        long ms = told != null && !told.isZero() ? told.toMillis() : grown;
        return ms + (long) (ms * ThreadLocalRandom.current().nextDouble() / 2);
    }

    long next(SegqException e) {
        return next(e instanceof ApiException a ? a.retryAfter() : null);
    }
}

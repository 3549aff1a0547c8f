package segq;

import java.util.concurrent.Callable;

/** The trace context (W3C, traceparent) of what this thread does now: a worker sets it around a handler, submissions
 *  and calls hand it on. */
public final class Trace {
    private static final ThreadLocal<String> CURRENT = new ThreadLocal<>();

    private Trace() { }

    /** Or null. */
    public static String current() {
        return CURRENT.get();
    }

    /** Runs it with this one: in another thread, for example. */
    public static <T> T with(String traceparent, Callable<T> run) throws Exception {
        String before = CURRENT.get();
        CURRENT.set(traceparent);
        try {
            return run.call();
        } finally {
            CURRENT.set(before);
        }
    }
}

package segq;

import java.util.concurrent.CompletionException;

/** Root of all that this package throws. It is a CompletionException, so that {@code future.join()} throws it as it
 *  is, and {@code exceptionally(e -> ...)} gets it as it is. */
public abstract class SegqException extends CompletionException {
    private final String code;
    private final String detail;

    SegqException(String code, String detail) {
        super(detail == null || detail.isEmpty() ? code : code + ": " + detail);
        this.code = code;
        this.detail = detail == null ? "" : detail;
    }

    /** One word, the same in each release. */
    public String code() {
        return code;
    }

    /** A sentence for people. */
    public String detail() {
        return detail;
    }

    /** That of HTTP; 0: there is none. */
    public int status() {
        return 0;
    }

    /** No router gave an answer that could be read: refused, timed out, broken off, no JSON. */
    public static final class Network extends SegqException {
        Network(String detail) {
            super("no_answer", detail);
        }
    }

    /** What was waited for did not come in time. */
    public static final class Deadline extends SegqException {
        Deadline(String detail) {
            super("deadline", detail);
        }
    }

    /** A webhook that nobody whom we know has signed, or that is too old. */
    public static final class Signature extends SegqException {
        Signature(String detail) {
            super("signature_invalid", detail);
        }

        @Override
        public int status() {
            return 401;
        }
    }

    /** A pass that opens nothing; {@code code()} says why in one word. */
    public static class PassInvalid extends SegqException {
        PassInvalid(String code, String detail) {
            super(code, detail);
        }

        @Override
        public int status() {
            return 401;
        }
    }

    /** A pass that was good once. */
    public static final class PassExpired extends PassInvalid {
        PassExpired(String detail) {
            super("expired", detail);
        }
    }

    /** A pass from the future: one of the two clocks is wrong. */
    public static final class PassNotYetValid extends PassInvalid {
        PassNotYetValid(String detail) {
            super("not_yet_valid", detail);
        }
    }

    /** A task that was waited for ended without success. */
    public static final class TaskFailed extends SegqException {
        private final transient Task task;

        TaskFailed(Task task) {
            super(task.state(), why(task));
            this.task = task;
        }

        /** Its state and history. */
        public Task task() {
            return task;
        }

        private static String why(Task task) {
            Object last = Json.last(Json.list(task.raw().get("history")));
            Object why = Json.object(last).get("reason");
            return String.valueOf(why != null ? why : Json.object(last).getOrDefault("end", ""));
        }
    }
}

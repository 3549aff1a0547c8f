package segq;

import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** The few calls of operators that programs make: at queuemng, with an admin token. */
public final class Operator {
    private final Http http;

    public Operator(String admin, String token) {
        http = new Http(Client.to(admin).token(token));
    }

    /** A dead task waits again, with all of its attempts. */
    public CompletableFuture<Map<String, Object>> redrive(String task) {
        return http.ask("POST", "/v1/admin/tasks/" + Http.enc(task) + "/redrive", null, Map.of());
    }

    /** All dead tasks of a queue, at most so many a second (0: as fast as it can). */
    public CompletableFuture<Map<String, Object>> redriveAll(String queue, double perSecond) {
        return http.ask("POST", "/v1/admin/task-queues/" + Http.enc(queue) + "/tasks/redrive"
            + (perSecond > 0 ? "?rate_per_s=" + perSecond : ""), null, Map.of());
    }

    /** Deletes a task that is over, and its result. */
    public CompletableFuture<Map<String, Object>> discard(String task) {
        return http.ask("POST", "/v1/admin/tasks/" + Http.enc(task) + "/discard", null, Map.of());
    }
}

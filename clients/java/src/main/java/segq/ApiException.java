package segq;

import java.time.Duration;
import java.util.Map;

/** A refusal, as segq said it ({@code Problem} of proto/openapi.yaml). */
public abstract class ApiException extends SegqException {
    private final int status;
    private final transient Map<String, Object> problem;
    private final Duration retryAfter;

    ApiException(Said said) {
        super(Json.text(said.problem.get("code")), why(said.problem));
        status = said.status;
        problem = said.problem;
        retryAfter = said.retryAfter;
    }

    private record Said(int status, Map<String, Object> problem, Duration retryAfter) { }

    private static String why(Map<String, Object> p) {
        for (String n : new String[] {"detail", "message", "title"})
            if (p.get(n) instanceof String s && !s.isEmpty())
                return s;
        return "";
    }

    @Override
    public int status() {
        return status;
    }

    /** All members of the answer. */
    public Map<String, Object> problem() {
        return problem;
    }

    /** What Retry-After said; null: nothing. */
    public Duration retryAfter() {
        return retryAfter;
    }

    @Override
    public String getMessage() {
        return status + " " + super.getMessage();
    }

    /** 400, 405, 413, 414, 415, 422, 431: the request itself is wrong; asking again does not help. */
    public static final class BadRequest extends ApiException {
        BadRequest(Said s) { super(s); }
    }

    /** 401: no token, or one that is not known. */
    public static final class Unauthorized extends ApiException {
        Unauthorized(Said s) { super(s); }
    }

    /** 403: the token is not for this; the queue is closed; a claim is not good ({@code detail()}). */
    public static final class Forbidden extends ApiException {
        Forbidden(Said s) { super(s); }
    }

    /** 404: no such queue, task, schedule, endpoint ({@code code()}). */
    public static final class NotFound extends ApiException {
        NotFound(Said s) { super(s); }
    }

    /** 409: another lease, another state, a unique key that is taken. */
    public static final class Conflict extends ApiException {
        Conflict(Said s) { super(s); }
    }

    /** 428: the join costs some work; {@link Line} does it. Where the site's own check is asked for ({@code verify}) it is
     *  for who joins (docs/challenge.md). */
    public static final class ChallengeRequired extends ApiException {
        ChallengeRequired(Said s) { super(s); }
    }

    /** 429: too many requests, or (wait_too_long) a line that is too long. */
    public static final class TooFast extends ApiException {
        TooFast(Said s) { super(s); }
    }

    /** 503 and 5xx: try again after {@code retryAfter()}. Nothing was done. */
    public static class Unavailable extends ApiException {
        Unavailable(Said s) { super(s); }
    }

    /** 503 outcome_unknown: it may have been done. */
    public static final class OutcomeUnknown extends Unavailable {
        OutcomeUnknown(Said s) { super(s); }
    }

    /** 410 task_gone: the task is kept no longer. */
    public static final class TaskGone extends ApiException {
        TaskGone(Said s) { super(s); }
    }

    /** 410 ticket_gone: the place is gone; a subclass says why. */
    public static class TicketGone extends ApiException {
        TicketGone(Said s) { super(s); }

        /** As the router said it. */
        public String reason() {
            return Json.text(problem().getOrDefault("reason", "unknown"));
        }
    }

    /** Nobody asked about the ticket for too long. */
    public static final class TicketExpired extends TicketGone {
        TicketExpired(Said s) { super(s); }
    }

    /** Its owner has left the line. */
    public static final class TicketLeft extends TicketGone {
        TicketLeft(Said s) { super(s); }
    }

    /** Its turn came, and nobody collected the pass. */
    public static final class TicketNoShow extends TicketGone {
        TicketNoShow(Said s) { super(s); }
    }

    /** Its session is over. */
    public static final class TicketFinished extends TicketGone {
        TicketFinished(Said s) { super(s); }
    }

    /** Its segment was lost: join again. */
    public static final class TicketLost extends TicketGone {
        TicketLost(Said s) { super(s); }
    }

    /** 404 ticket_unknown: a token that no router knows: malformed, or of another cluster. */
    public static final class TicketUnknown extends TicketGone {
        TicketUnknown(Said s) { super(s); }
    }

    /** That of an answer with this status and this body. */
    static ApiException of(int status, Map<String, Object> problem, Duration retryAfter) {
        Said s = new Said(status, problem, retryAfter);
        String code = Json.text(problem.get("code"));
        if (status == 410)
            return code.equals("task_gone") ? new TaskGone(s) : gone(s);
        if (code.equals("ticket_unknown"))
            return new TicketUnknown(s);
        if (status >= 500)
            return code.equals("outcome_unknown") ? new OutcomeUnknown(s) : new Unavailable(s);
        return switch (status) {
            case 401 -> new Unauthorized(s);
            case 403 -> new Forbidden(s);
            case 404 -> new NotFound(s);
            case 409 -> new Conflict(s);
            case 428 -> new ChallengeRequired(s);
            case 429 -> new TooFast(s);
            default -> new BadRequest(s);
        };
    }

    private static ApiException gone(Said s) {
        return switch (Json.text(s.problem.get("reason"))) {
            case "expired" -> new TicketExpired(s);
            case "left" -> new TicketLeft(s);
            case "no_show" -> new TicketNoShow(s);
            case "finished" -> new TicketFinished(s);
            case "segment_lost" -> new TicketLost(s);
            default -> new TicketGone(s);
        };
    }
}

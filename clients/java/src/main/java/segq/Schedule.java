package segq;

import java.time.Duration;
import java.time.Instant;

/** When a task is submitted again and again (SchedulePut of proto/openapi.yaml): cron, or every. */
public final class Schedule extends Members<Schedule> {
    public static Schedule of(Submission task) {
        return new Schedule().task(task);
    }

    public Schedule task(Submission task) {
        return with("task", task);
    }

    /** "30 2 * * *" */
    public Schedule cron(String fields) {
        return with("cron", fields);
    }

    /** "Europe/Berlin" */
    public Schedule zone(String name) {
        return with("zone", name);
    }

    public Schedule every(Duration time) {
        return with("every", time);
    }

    public Schedule jitter(Duration time) {
        return with("jitter", time);
    }

    /** "allow", "skip", "cancel_old". */
    public Schedule overlap(String what) {
        return with("overlap", what);
    }

    /** "none", "last", "all". */
    public Schedule catchUp(String what) {
        return with("catch_up", what);
    }

    public Schedule catchUpMax(int most) {
        return with("catch_up_max", most);
    }

    public Schedule from(Instant at) {
        return with("from", at.getEpochSecond());
    }

    public Schedule until(Instant at) {
        return with("until", at.getEpochSecond());
    }

    public Schedule paused(boolean paused) {
        return with("paused", paused);
    }
}

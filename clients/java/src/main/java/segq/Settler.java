package segq;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.Condition;

/** Tells the ends of a queue's tasks, many in a request. */
final class Settler {
    private static final int BATCH = 1000;
    private static final int BYTES = 200 << 10;   // of a request
    private static final int TEXT_MAX = 200;      // bytes

    private record End(Job job, Map<String, Object> row) {
        int size() {
            return row.getOrDefault("result", row.get("result_base64")) instanceof Json.Written w ? w.text().length() : 0;
        }
    }

    final Condition news;
    int untold; // under the worker's lock, as are the ends
    private final Deque<End> ends = new ArrayDeque<>();
    private final Worker worker;
    private final String path;

    Settler(Worker worker, String queue) {
        this.worker = worker;
        this.path = "/v1/queues/" + Http.enc(queue) + "/tasks/settle";
        news = worker.lock.newCondition();
        Worker.daemon(this::run, "segq-settle").start();
    }

    void add(Job j, Map<String, Object> row) {
        untold++;
        ends.add(new End(j, row));
        news.signal();
    }

    /** What people see in the task's history. */
    static String reason(Throwable e) {
        String said;
        try {
            said = plain(e instanceof Nack ? String.valueOf(e.getMessage()) : e.toString());
        } catch (RuntimeException bad) { // its own toString() fails
            said = "";
        }
        return said.isEmpty() ? e.getClass().getSimpleName() : said;
    }

    /** At most 200 bytes, no control characters. */
    static String plain(String text) {
        StringBuilder out = new StringBuilder();
        int bytes = 0;
        for (int i = 0, c; i < text.length(); i += Character.charCount(c)) {
            c = text.codePointAt(i);
            int type = Character.getType(c);
            boolean odd = Character.isISOControl(c) || type == Character.SURROGATE || type == Character.LINE_SEPARATOR
                || type == Character.PARAGRAPH_SEPARATOR;
            bytes += odd || c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
            if (bytes > TEXT_MAX)
                break;
            out.appendCodePoint(odd ? ' ' : c);
        }
        return out.toString().strip();
    }

    private void run() {
        for (List<End> some; !(some = gather()).isEmpty();) {
            tellOrSay(some);
            int n = some.size();
            worker.locked(() -> {
                untold -= n;
                worker.told();
            });
        }
    }

    /** Those of the next request; none: the worker is over. */
    private List<End> gather() {
        List<End> some = new ArrayList<>();
        worker.locked(() -> {
            while (ends.isEmpty() && !worker.isOver())
                Worker.nap(news, 200_000_000);
            for (int size = 0; !ends.isEmpty() && some.size() < BATCH && size < BYTES; size += some.get(some.size() - 1).size())
                some.add(ends.poll());
        });
        return some;
    }

    private void tellOrSay(List<End> rows) {
        try {
            tell(rows);
        } catch (RuntimeException e) { // what segq does not hear is tried again when its lease ends
            worker.say("trouble", null, Doing.bare(e));
        }
    }

    private static List<?> ask(Worker w, String path, List<Map<String, Object>> rows, Duration within) {
        List<?> said = Json.list(w.http.call("POST", path, rows, Map.of(), within, Duration.ZERO).join());
        if (said.size() != rows.size() || !said.stream().allMatch(r -> Json.object(r).get("status") instanceof Number))
            throw new SegqException.Network("an answer that is no list of outcomes");
        return said;
    }

    static int status(Object outcome) {
        return ((Number) Json.object(outcome).get("status")).intValue();
    }

    /** Until each row has an answer, as long as its lease. */
    private void tell(List<End> first) {
        List<End> rows = first;
        Backoff backoff = new Backoff(200);
        long end = System.nanoTime() + worker.lease.toNanos();
        while (!rows.isEmpty()) {
            List<?> said;
            try {
                said = ask(worker, path, rows.stream().map(End::row).toList(), worker.http.timeout);
            } catch (RuntimeException bad) {
                Throwable e = Doing.bare(bad);
                if (e instanceof SegqException s && Http.passes(s)) {
                    worker.say("trouble", null, s);
                    pause(backoff, end, s);
                    continue;
                }
                boolean one = !(e instanceof ApiException a) || a.status() == 400 || a.status() == 413;
                if (rows.size() > 1 && one) { // one of them: each alone tells which
                    rows.forEach(r -> tellOrSay(List.of(r)));
                    return;
                }
                End plain = one ? plainer(rows.get(0), e.getMessage()) : null;
                if (plain == null)
                    throw bad;
                rows = List.of(plain);
                continue;
            }
            List<End> again = new ArrayList<>();
            for (int i = 0; i < rows.size(); i++)
                heard(rows.get(i), said.get(i), again);
            rows = again;
            if (!rows.isEmpty())
                pause(backoff, end, new SegqException.Network(rows.size() + " ends could not be told"));
        }
    }

    private void heard(End r, Object said, List<End> again) {
        int status = status(said);
        if (status == 429 || status == 503) {
            again.add(r);
        } else if (status >= 400) {
            End plain = status == 400 || status == 413 ? plainer(r, Json.text(Json.object(said).get("detail"))) : null;
            if (plain != null)
                again.add(plain);
            else
                worker.say("lost", r.job, said);
        }
    }

    /** In place of an end that is refused (a result that is too long, a delay that is none): a nack that says so.
     *  null: it was that. */
    private static End plainer(End r, String why) {
        if (!r.row.containsKey("delay") && !r.row.containsKey("result") && !r.row.containsKey("result_base64"))
            return null;
        Map<String, Object> row = new LinkedHashMap<>(r.row);
        row.remove("delay");
        row.remove("result");
        row.remove("result_base64");
        row.remove("content_type");
        row.put("verb", "nack");
        row.put("reason", reason(new Nack("its end was refused: " + why)));
        return new End(r.job, row);
    }

    private static void pause(Backoff backoff, long end, SegqException e) {
        long ms = backoff.next(e);
        if (System.nanoTime() + ms * 1_000_000 - end > 0)
            throw e;
        sleep(ms);
    }

    static void sleep(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            // nobody else's thread
        }
    }

    // ---- leases ----

    /** Extends those of a queue. */
    static void extend(Worker w, String queue, List<Job> jobs) {
        long asked = System.nanoTime();
        List<?> said;
        try {
            List<Map<String, Object>> rows = new ArrayList<>();
            for (Job j : jobs) {
                Map<String, Object> row = Worker.row(j, "extend");
                row.put("lease", w.lease.toMillis() / 1000.0);
                rows.add(row);
            }
            said = ask(w, "/v1/queues/" + Http.enc(queue) + "/tasks/settle", rows,
                Duration.ofMillis(Math.max(1000, w.lease.toMillis() / 4)));
        } catch (RuntimeException e) { // the next turn tries again
            w.say("trouble", null, Doing.bare(e));
            return;
        }
        for (int i = 0; i < jobs.size(); i++) {
            int status = status(said.get(i));
            if (status < 400) {
                jobs.get(i).extended(asked);
                w.say("extended", jobs.get(i), null);
            } else if (status != 429 && status != 503) {
                w.lose(jobs.get(i), said.get(i));
            }
        }
    }
}

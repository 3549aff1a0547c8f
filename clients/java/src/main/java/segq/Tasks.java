package segq;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/** The part of {@link Client} that is about tasks. Futures that are cancelled, or time out, ask no more. */
public abstract class Tasks {
    private static final int BATCH = 1000;
    private static final int BATCH_BYTES = 512 << 10; // of a request, about
    private static final int WAIT_S = 20;             // of one question that waits
    private static final Map<String, String> NONE = Map.of();

    final Http http;

    Tasks(Http http) {
        this.http = http;
    }

    private static String q(String name) {
        return Http.enc(name);
    }

    // ---- submit ----

    /** One task. A submission without a name gets an Idempotency-Key, so a lost answer never makes two. */
    public CompletableFuture<Task> submit(String queue, Object payload) {
        return submit(queue, payload instanceof Submission s ? s : Submission.of(payload));
    }

    public CompletableFuture<Task> submit(String queue, Submission task) {
        return submit(queue, task, null);
    }

    /** wait: the answer comes with the result, or after so long. */
    public CompletableFuture<Task> submit(String queue, Submission task, Duration wait) {
        Map<String, Object> body = task.body();
        Map<String, String> h = new java.util.HashMap<>();
        Object key = body.remove("idempotency_key");
        if (key != null || !(body.containsKey("name") || body.containsKey("claim")))
            h.put("Idempotency-Key", key != null ? key.toString() : UUID.randomUUID().toString());
        if (wait != null)
            h.put("Prefer", "wait=" + wait.toSeconds());
        return Doing.map(http.call("POST", "/v1/queues/" + q(queue) + "/tasks", body, h,
            wait == null ? http.timeout : http.timeout.plus(wait), http.retryFor), Task::of);
    }

    /** Many, 1000 in a request. Their outcomes in that order; rows that were put off are asked again as long as
     *  retryFor says. */
    public CompletableFuture<List<Task.Row>> submitMany(String queue, List<Submission> rows) {
        List<Map<String, Object>> bodies = new ArrayList<>();
        List<Integer> sizes = new ArrayList<>();
        for (Submission s : rows) {
            Map<String, Object> b = s.body();
            if (!b.containsKey("name"))
                b.putIfAbsent("idempotency_key", UUID.randomUUID().toString());
            bodies.add(b);
            sizes.add(Json.bytes(b).length);
        }
        Doing<List<Task.Row>> all = new Doing<>();
        new Batches("/v1/queues/" + q(queue) + "/tasks/batch", bodies, sizes, all).next();
        return all;
    }

    private final class Batches {
        private final String path;
        private final List<Map<String, Object>> bodies;
        private final List<Integer> sizes;
        private final Doing<List<Task.Row>> all;
        private final List<Task.Row> out = new ArrayList<>();

        Batches(String path, List<Map<String, Object>> bodies, List<Integer> sizes, Doing<List<Task.Row>> all) {
            this.path = path;
            this.bodies = bodies;
            this.sizes = sizes;
            this.all = all;
        }

        void next() {
            int first = out.size();
            if (first == bodies.size()) {
                all.complete(out);
                return;
            }
            int end = first;
            for (long size = 0; end < bodies.size() && end - first < BATCH
                && (end == first || size + sizes.get(end) <= BATCH_BYTES); end++)
                size += sizes.get(end);
            boolean alone = end == first + 1;
            Doing<List<Task.Row>> some = new Doing<>();
            new Rows(path, bodies.subList(first, end), some).next();
            all.under(some);
            some.whenComplete((rows, e) -> {
                if (e == null)
                    out.addAll(rows);
                else if (!(e instanceof SegqException s) || (out.isEmpty() && !(alone && s.status() == 413)))
                    all.fail(e);
                else if (alone && s.status() == 413) // this one alone is too large
                    out.add(new Task.Row(413, null, s));
                else // those before it are there
                    out.addAll(Collections.nCopies(bodies.size() - first, new Task.Row(s.status(), null, s)));
                if (!all.isDone())
                    next();
            });
        }
    }

    /** The rows of one request, until none of them is put off. */
    private final class Rows {
        private final String path;
        private final List<Map<String, Object>> bodies;
        private final Doing<List<Task.Row>> all;
        private final Task.Row[] out;
        private final Backoff backoff = new Backoff(1000);
        private final long end = System.nanoTime() + http.retryFor.toNanos();
        private List<Integer> todo = new ArrayList<>();

        Rows(String path, List<Map<String, Object>> bodies, Doing<List<Task.Row>> all) {
            this.path = path;
            this.bodies = bodies;
            this.all = all;
            out = new Task.Row[bodies.size()];
            for (int i = 0; i < out.length; i++)
                todo.add(i);
        }

        void next() {
            Doing<Object> asked = http.call("POST", path, todo.stream().map(bodies::get).toList(), NONE);
            all.under(asked);
            asked.whenComplete((said, e) -> {
                try {
                    if (e == null)
                        heard(Json.list(said));
                    else if (todo.size() == out.length)
                        all.fail(e);
                    else // what was put off stays so
                        all.complete(List.of(out));
                } catch (Throwable t) {
                    all.fail(t);
                }
            });
        }

        private void heard(List<?> said) {
            if (said.size() != todo.size())
                throw new SegqException.Network("an answer that is no list of outcomes");
            List<Integer> again = new ArrayList<>();
            for (int i = 0; i < said.size(); i++) {
                Map<String, Object> row = Http.object(said.get(i));
                int status = row.get("status") instanceof Number n ? n.intValue() : 0;
                SegqException error = status < 400 ? null : ApiException.of(status, row, null);
                out[todo.get(i)] = new Task.Row(status, (String) row.get("task"), error);
                if (error instanceof ApiException.Unavailable)
                    again.add(todo.get(i));
            }
            todo = again;
            long ms = backoff.next((Duration) null);
            if (todo.isEmpty() || System.nanoTime() + ms * 1_000_000 - end > 0)
                all.complete(List.of(out));
            else
                all.under(http.later(ms, this::next));
        }
    }

    // ---- look ----

    public CompletableFuture<Task> look(String task) {
        return Doing.map(http.call("GET", "/v1/tasks/" + q(task), null, NONE), Task::of);
    }

    public CompletableFuture<Task> lookByName(String queue, String name) {
        return Doing.map(http.call("GET", "/v1/queues/" + q(queue) + "/tasks/" + q(name), null, NONE), Task::of);
    }

    /** How many wait, and how long one that is submitted now would (TaskCount). */
    public CompletableFuture<Map<String, Object>> count(String queue) {
        return http.ask("GET", "/v1/queues/" + q(queue) + "/tasks", null, NONE);
    }

    /** Until it is over. TaskFailed: without success. */
    public CompletableFuture<Task> await(String task) {
        return await(task, null);
    }

    public CompletableFuture<Task> await(Task task) {
        return await(task.token(), null);
    }

    /** Likewise; Deadline: not in time. */
    public CompletableFuture<Task> await(String task, Duration most) {
        Doing<Task> all = new Doing<>();
        if (most != null) {
            var timer = http.later(most.toMillis(), () -> all.fail(new SegqException.Deadline("the task is not over yet")));
            all.whenComplete((t, e) -> timer.cancel(false));
        }
        awaitMore(task, all);
        return all;
    }

    private void awaitMore(String task, Doing<Task> all) {
        if (all.isDone())
            return;
        long asked = System.nanoTime();
        Doing<Object> one = http.call("GET", "/v1/tasks/" + q(task), null, Map.of("Prefer", "wait=" + WAIT_S),
            http.timeout.plusSeconds(WAIT_S), null);
        all.under(one);
        one.whenComplete((said, e) -> {
            try {
                if (e != null) {
                    all.fail(e);
                    return;
                }
                Task t = Task.of(said);
                if (t.over()) {
                    if (!t.state().equals("succeeded"))
                        throw new SegqException.TaskFailed(t);
                    all.complete(t);
                } else { // a router that stops does not wait
                    long ms = 500 - (System.nanoTime() - asked) / 1_000_000;
                    all.under(http.later(ms, () -> awaitMore(task, all)));
                }
            } catch (Throwable bad) {
                all.fail(bad);
            }
        });
    }

    /** What becomes of it, as it comes: state, place, progress ({@code raw()}). Completes with the last word: it is
     *  over. A stream that breaks off is asked for again. */
    public CompletableFuture<Task> watch(String task, Consumer<Task> news) {
        Watching<Task> w = new Watching.OfTask(http, task, news);
        w.begin();
        return w.all;
    }

    /** Starts and ends of a queue's tasks, as they come, until the future is cancelled; it fails when the token may
     *  not look any more, or with what news throws. A stream that breaks off is asked for again behind the last event
     *  that news has dealt with. after: the id of one that was heard before; null: from now on. */
    public CompletableFuture<Void> watchQueue(String queue, String after, Consumer<TaskEvent> news) {
        if (after != null && !Sse.isId(after))
            throw new IllegalArgumentException("after is no id of an event");
        Watching<Void> w = new Watching.OfQueue(http, queue, after, news);
        w.begin();
        return w.all;
    }

    /** Its result, byte for byte; null: it is not over. ack: deletes it. */
    public CompletableFuture<Answer> result(String task, boolean ack) {
        Http.Ask a = new Http.Ask("GET", "/v1/tasks/" + q(task) + "/result" + (ack ? "?ack=1" : ""), null, NONE);
        return Doing.map(http.untilAnswered(r -> Doing.map(http.once(r, a, http.timeout), Http::raw), http.retryFor, w -> { }),
            got -> got.status() == 202 ? null : got);
    }

    // ---- change ----

    /** After the answer no attempt begins; force: the one that runs is over, too. */
    public CompletableFuture<Map<String, Object>> cancel(String task, boolean force) {
        return http.ask("DELETE", "/v1/tasks/" + q(task) + (force ? "?force=1" : ""), null, NONE);
    }

    public CompletableFuture<Map<String, Object>> cancelByName(String queue, String name, boolean force) {
        return http.ask("DELETE", "/v1/queues/" + q(queue) + "/tasks/" + q(name) + (force ? "?force=1" : ""), null, NONE);
    }

    public CompletableFuture<Task> change(String task, Change change) {
        return Doing.map(http.call("PATCH", "/v1/tasks/" + q(task), change.map, NONE), Task::of);
    }

    // ---- groups ----

    /** Its tasks, counted by their states (TaskGroup). */
    public CompletableFuture<Map<String, Object>> group(String queue, String name) {
        return http.ask("GET", "/v1/groups/" + q(queue) + "/" + q(name), null, NONE);
    }

    /** No more tasks get in; when all are over, the group is. */
    public CompletableFuture<Map<String, Object>> sealGroup(String queue, String name) {
        return http.ask("POST", "/v1/groups/" + q(queue) + "/" + q(name) + "/seal", null, NONE);
    }

    /** Seals it, and cancels what is left of it. */
    public CompletableFuture<Map<String, Object>> cancelGroup(String queue, String name) {
        return http.ask("POST", "/v1/groups/" + q(queue) + "/" + q(name) + "/cancel", null, NONE);
    }

    // ---- schedules ----

    private static String schedulePath(String queue, String name) {
        return "/v1/schedules/" + q(queue) + "/" + q(name);
    }

    /** Creates or changes it. */
    public CompletableFuture<Map<String, Object>> putSchedule(String queue, String name, Schedule schedule) {
        return http.ask("PUT", schedulePath(queue, name), schedule.map, NONE);
    }

    public CompletableFuture<Map<String, Object>> schedule(String queue, String name) {
        return http.ask("GET", schedulePath(queue, name), null, NONE);
    }

    public CompletableFuture<List<?>> schedules(String queue) {
        return Doing.map(http.ask("GET", schedulePath(queue, ""), null, NONE), m -> Json.list(m.get("schedules")));
    }

    /** Submits its task now. */
    public CompletableFuture<Map<String, Object>> runSchedule(String queue, String name) {
        return http.ask("POST", schedulePath(queue, name) + "/run", null,
            Map.of("Idempotency-Key", UUID.randomUUID().toString()));
    }

    public CompletableFuture<Void> deleteSchedule(String queue, String name) {
        return Doing.map(http.call("DELETE", schedulePath(queue, name), null, NONE), said -> null);
    }

    // ---- calls ----

    /** A request to an endpoint, when its turn has come: the answer as it comes, whatever its status. segq's own
     *  refusals are thrown. Not repeated, but where segq says that nothing was done (and a GET over a connection that
     *  was closed before any answer): give an Idempotency-Key, and repeat it yourself. */
    public CompletableFuture<Stream> call(String endpoint, Call call) {
        return begun(call, call.ask("/v1/call", endpoint, http.token));
    }

    /** Likewise, by a route: it chooses among endpoints. */
    public CompletableFuture<Stream> route(String route, Call call) {
        return begun(call, call.ask("/v1/route", route, http.token));
    }

    private Doing<Stream> begun(Call call, Http.Ask ask) {
        Doing<Stream> all = new Doing<>();
        new Calling(call, ask, all).next();
        return all;
    }

    private final class Calling {
        private final Call call;
        private final Http.Ask ask;
        private final Doing<Stream> all;
        private final Backoff backoff = new Backoff(1000);
        private final long end = System.nanoTime() + http.retryFor.toNanos();

        Calling(Call call, Http.Ask ask, Doing<Stream> all) {
            this.call = call;
            this.ask = ask;
            this.all = all;
        }

        void next() {
            if (all.isDone())
                return;
            String router = http.router();
            Doing<Stream> one = Doing.then(http.stream(router, ask, call.timeout), in -> {
                if (in.status() < 400 || in.header("segq-status") != null)
                    return Doing.done(new Stream(http, in, call.timeout, call.onProgress));
                return Doing.map(http.within(http.whole(in), http.timeout, router), a -> {
                    throw Http.refusal(a);
                });
            });
            all.under(one);
            one.whenComplete((s, e) -> {
                long ms = e instanceof ApiException.Unavailable u ? backoff.next(u) : 0;
                if (e == null) {
                    if (!all.complete(s))
                        s.close();
                } else if (e instanceof ApiException.Unavailable u && u.code().equals("queue_unavailable")
                    && System.nanoTime() + ms * 1_000_000 - end < 0) {
                    http.rotate(router);
                    all.under(http.later(ms, this::next));
                } else {
                    all.fail(e);
                }
            });
        }
    }

    /** The answer of a task's call, as it comes: what there is, then the rest. Waits until there is something. One
     *  that breaks off may be asked for again. patience: its longest silence. */
    public CompletableFuture<Stream> follow(String task, Duration patience) {
        Doing<Stream> all = new Doing<>();
        followMore("/v1/tasks/" + q(task) + "/result?follow=1&wait=" + WAIT_S, patience, all);
        return all;
    }

    private void followMore(String path, Duration patience, Doing<Stream> all) {
        if (all.isDone())
            return;
        long asked = System.nanoTime();
        Doing<Http.Incoming> one = http.untilAnswered(router -> Doing.then(
            http.stream(router, new Http.Ask("GET", path, null, NONE), http.timeout.plusSeconds(WAIT_S)),
            in -> in.status() < 400 ? Doing.done(in)
                : Doing.map(http.within(http.whole(in), http.timeout, router), a -> {
                    throw Http.refusal(a);
                })), null, w -> { });
        all.under(one);
        one.whenComplete((in, e) -> {
            if (e != null) {
                all.fail(e);
            } else if (in.status() != 202) {
                if (!all.complete(new Stream(http, in, patience, null)))
                    in.close(http);
            } else {
                in.close(http);
                all.under(http.later(500 - (System.nanoTime() - asked) / 1_000_000, () -> followMore(path, patience, all)));
            }
        });
    }

    // ---- as a target that answered `segq-command: pending` ----

    private static String right(String url) {
        String[] parts = url.split("/v1/tasks/");
        return q(parts[parts.length - 1].split("/")[0]);
    }

    /** Says how the call ended. url: its {@code segq-complete-url}, of which only the right counts. */
    public CompletableFuture<Map<String, Object>> complete(String url, Completion how) {
        return http.ask("POST", "/v1/tasks/" + right(url) + "/complete", how.map, NONE);
    }

    /** Gives such a call more time. */
    public CompletableFuture<Map<String, Object>> keep(String url, Duration lease) {
        return http.ask("POST", "/v1/tasks/" + right(url) + "/extend", Map.of("lease", lease.toMillis() / 1000.0), NONE);
    }
}

package segq;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/** Events of a stream after another, until the last word is said.
 *  @param <T> that word */
abstract class Watching<T> {
    private static final long BEAT_MS = 20_000; // the longest silence of a stream that lives

    final Doing<T> all = new Doing<>();
    final Http http;
    private final String path;
    private final Backoff backoff = new Backoff(1000); // while streams bring nothing
    String last; // the id of the event that was dealt with last; null: none

    private Watching(Http http, String path) {
        this.http = http;
        this.path = path;
    }

    /** No router has room for this stream now. */
    abstract void noRoom(Http.Incoming in);

    /** An event that is not of all streams. */
    abstract void event(Stream.Event e, Map<String, Object> said);

    <A> void then(CompletableFuture<A> f, Consumer<A> good, Consumer<Throwable> bad) {
        all.under(f);
        f.whenComplete((v, e) -> {
            try {
                if (e == null)
                    good.accept(v);
                else
                    bad.accept(Doing.bare(e));
            } catch (Throwable t) {
                all.fail(t);
            }
        });
    }

    void begin() {
        if (all.isDone())
            return;
        Map<String, String> headers = new HashMap<>(Map.of("Accept", "text/event-stream"));
        if (last != null)
            headers.put("Last-Event-ID", last);
        Http.Ask ask = new Http.Ask("GET", path, null, headers);
        then(http.untilAnswered(router -> Doing.then(http.stream(router, ask, http.timeout), in -> in.status() < 300 ? Doing.done(in)
            : Doing.map(http.within(http.whole(in), http.timeout, router), a -> {
                Http.judge(a);
                return in;
            })), null, w -> { }), in -> {
                if (in.status() == 200) {
                    new Listening(in);
                    return;
                }
                in.close(http);
                noRoom(in);
            }, all::fail);
    }

    /** What the caller throws ends it, and is no fault of the stream. */
    <N> void tell(Consumer<N> news, N what) {
        try {
            news.accept(what);
        } catch (Throwable t) {
            all.fail(t);
        }
    }

    /** told: null or 0, nobody said when. */
    void again(Duration told) {
        if (!all.isDone())
            all.under(http.later(backoff.next(told), this::begin));
    }

    /** One stream. */
    private final class Listening {
        private final String router = http.router();
        private final Body body = new Body(http, BEAT_MS, false, Sse.events(this::heard));
        private Duration pause;

        Listening(Http.Incoming in) {
            then(body.end, v -> again(pause), e -> {
                if (!(e instanceof SegqException.Network)) {
                    all.fail(e);
                    return;
                }
                http.rotate(router); // it may be dead: another one knows
                again(null);
            });
            in.body().subscribe(body);
        }

        private void heard(Stream.Event e) {
            body.news();
            if (body.end.isDone())
                return;
            if (!e.name().equals("beat")) {
                Map<String, Object> said;
                try {
                    said = Http.object(Json.read(e.data()));
                } catch (IllegalArgumentException bad) {
                    throw new SegqException.Network("an event that is no JSON");
                }
                switch (e.name()) {
                    case "away" -> pause = Duration.ofMillis(said.get("poll_after_ms") instanceof Number n ? Math.max(0, Math.min(n.longValue(), 86_400_000)) : 0);
                    case "gone" -> throw ApiException.of(said.get("status") instanceof Number n ? n.intValue() : 410, said, null);
                    default -> event(e, said);
                }
            }
            backoff.fails = 0; // an event that cannot be read would come again
            if (all.isDone())
                body.end.complete(null);
            else if (!e.id().isEmpty())
                last = e.id();
        }
    }

    /** A task's, until it is over: or looks where a router has no room for a stream. */
    static final class OfTask extends Watching<Task> {
        private final String task;
        private final String path;
        private final Consumer<Task> news;

        OfTask(Http http, String task, Consumer<Task> news) {
            super(http, "/v1/tasks/" + Http.enc(task) + "/events");
            this.task = task;
            this.path = "/v1/tasks/" + Http.enc(task);
            this.news = news;
        }

        @Override
        void noRoom(Http.Incoming in) {
            then(http.call("GET", path, null, Map.of()), said -> {
                Task t = Task.of(said);
                told(t);
                again(Duration.ofMillis(t.raw().get("poll_after_ms") instanceof Number n ? Math.max(1000, Math.min(n.longValue(), 86_400_000)) : 1000));
            }, all::fail);
        }

        @Override
        void event(Stream.Event e, Map<String, Object> said) {
            if (e.name().equals("message") || e.name().equals("end"))
                told(new Task(task, Json.text(said.get("state")), said));
        }

        private void told(Task t) {
            tell(news, t);
            if (t.over())
                all.complete(t);
        }
    }

    /** A queue's, without end. */
    static final class OfQueue extends Watching<Void> {
        private final Consumer<TaskEvent> news;

        OfQueue(Http http, String queue, String after, Consumer<TaskEvent> news) {
            super(http, "/v1/queues/" + Http.enc(queue) + "/tasks/events");
            this.last = after == null || after.isEmpty() ? null : after;
            this.news = news;
        }

        @Override
        void noRoom(Http.Incoming in) {
            again(Http.seconds(in.header("retry-after")));
        }

        @Override
        void event(Stream.Event e, Map<String, Object> said) {
            String id = e.id().isEmpty() ? last : e.id();
            if (e.name().equals("gap"))
                tell(news, TaskEvent.gap(id));
            else if (e.name().equals("message"))
                tell(news, TaskEvent.of(id, said));
        }
    }
}

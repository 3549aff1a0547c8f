package segq;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/** Events of a task, until it is over: of a stream after another, or looks where a router has no room for one. */
final class Watching {
    private static final long BEAT_MS = 20_000; // the longest silence of a stream that lives

    final Doing<Task> all = new Doing<>();
    private final Http http;
    private final String task;
    private final String path;
    private final Consumer<Task> news;
    private final Backoff backoff = new Backoff(1000); // while streams bring nothing

    Watching(Http http, String task, Consumer<Task> news) {
        this.http = http;
        this.task = task;
        this.path = "/v1/tasks/" + Http.enc(task);
        this.news = news;
    }

    private <A> void then(CompletableFuture<A> f, Consumer<A> good, Consumer<Throwable> bad) {
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
        Http.Ask ask = new Http.Ask("GET", path + "/events", null, Map.of("Accept", "text/event-stream"));
        then(http.untilAnswered(router -> Doing.then(http.stream(router, ask, http.timeout), in -> in.status() < 300 ? Doing.done(in)
            : Doing.map(http.within(http.whole(in), http.timeout, router), a -> {
                Http.judge(a);
                return in;
            })), null, w -> { }), this::opened, all::fail);
    }

    private void opened(Http.Incoming in) {
        if (in.status() == 200) {
            new Listening(in);
            return;
        }
        in.close(http);
        then(http.call("GET", path, null, Map.of()), said -> {
            Task t = Task.of(said);
            told(t);
            again(t.raw().get("poll_after_ms") instanceof Number n ? Math.max(1000, Math.min(n.longValue(), 86_400_000)) : 1000);
        }, all::fail);
    }

    private void told(Task t) {
        news.accept(t);
        if (t.over())
            all.complete(t);
    }

    /** 0: nobody said when. */
    private void again(long ms) {
        if (!all.isDone())
            all.under(http.later(backoff.next(Duration.ofMillis(ms)), this::begin));
    }

    /** One stream. */
    private final class Listening {
        private final String router = http.router();
        private final Body body = new Body(http, BEAT_MS, false, Sse.events(this::event));
        private long pauseMs;

        Listening(Http.Incoming in) {
            then(body.end, v -> again(pauseMs), e -> {
                if (!(e instanceof SegqException.Network || e instanceof IllegalArgumentException)) {
                    all.fail(e);
                    return;
                }
                http.rotate(router); // it may be dead: another one knows
                again(0);
            });
            in.body().subscribe(body);
        }

        private void event(Stream.Event e) {
            body.news();
            backoff.fails = 0;
            if (body.end.isDone() || e.name().equals("beat"))
                return;
            Map<String, Object> said = Http.object(Json.read(e.data()));
            switch (e.name()) {
                case "message", "end" -> told(new Task(task, Json.text(said.get("state")), said));
                case "away" -> pauseMs = said.get("poll_after_ms") instanceof Number n ? Math.max(0, Math.min(n.longValue(), 86_400_000)) : 0;
                case "gone" -> throw ApiException.of(said.get("status") instanceof Number n ? n.intValue() : 410, said, null);
                default -> { }
            }
            if (all.isDone())
                body.end.complete(null);
        }
    }
}

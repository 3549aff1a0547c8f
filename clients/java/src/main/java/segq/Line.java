package segq;

import java.security.KeyPair;
import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** One place in one queue. It is told by events where a router has room for that, and polls as it is told otherwise.
 *  A router that dies costs nothing: the place is kept, and another router knows it. Not for two awaits at once. */
public final class Line {
    private static final long FIRST_MS = 5000;   // for the first event
    private static final long LATE_MS = 3000;    // so late a beat may be
    private static final long QUIET_MS = 90_000; // a router says the place anew sooner, or after the told interval
    private static final long DEAF_MS = 60_000;  // then it tries to listen again
    private static final int PROOFS = 2;         // of a request, at most: the first may lack a nonce
    private static final int CHALLENGES = 4;     // of a join, at most
    private static final Pattern DEVICE = Pattern.compile("segq_device_[^\\s=;,]+=[\\w.-]+"); // the one cookie that is kept

    private final Http http;
    private final String queue;
    private final Map<String, Object> body = new LinkedHashMap<>();
    private final String key = UUID.randomUUID().toString();
    private boolean events = true;
    private Consumer<String> onTrouble = why -> { };
    private volatile Proof proof; // null: no key
    private volatile String token;
    private volatile String device;
    private volatile Ticket ticket;
    private volatile String trouble = "";
    private volatile long deafUntil = System.nanoTime();
    private volatile int missed; // streams in a row that did not begin
    private volatile String id = "";

    Line(Http http, String queue) {
        this.http = http;
        this.queue = queue;
        body.put("client", "game");
    }

    // ---- options ----

    /** That of an earlier run: it goes on in the same place. */
    public Line token(String saved) {
        token = saved;
        return this;
    }

    /** That which was saved with the token. */
    public Line device(String saved) {
        device = saved;
        return this;
    }

    /** The device's own, of the curve P-256, for a queue with {@code bind: key}: {@link Client#newDeviceKey()}, or one
     *  whose private half is in hardware. Keep it as long as the place; with the token it goes on without
     *  {@link #device()}, too. IllegalArgumentException: another kind of key. */
    public Line key(KeyPair pair) {
        proof = pair == null ? null : new Proof(pair);
        return this;
    }

    /** Who joins; at most one live ticket each. */
    public Line subject(String subject) {
        return with("subject", subject);
    }

    /** "browser", "mobile", "game": sets the idle time-out. */
    public Line client(String kind) {
        return with("client", kind);
    }

    public Line lane(String lane) {
        return with("lane", lane);
    }

    /** The right to a lane ({@link Claim}). */
    public Line claim(String claim) {
        return with("claim", claim);
    }

    /** false: only polls. */
    public Line events(boolean listen) {
        events = listen;
        return this;
    }

    /** Hears "offline", "busy" while nobody answers, and "" when somebody does; the place is kept. */
    public Line onTrouble(Consumer<String> hears) {
        onTrouble = hears;
        return this;
    }

    private Line with(String name, String value) {
        if (value == null)
            body.remove(name);
        else
            body.put(name, value);
        return this;
    }

    // ---- what callers use ----

    /** Save it: it is the place. */
    public String token() {
        return token;
    }

    /** The cookie of a queue with {@code bind: device}, else null: save it with the token. */
    public String device() {
        return device;
    }

    /** As last heard, or null. */
    public Ticket ticket() {
        return ticket;
    }

    /** "", "offline", "busy". */
    public String trouble() {
        return trouble;
    }

    /** Takes the place, or finds it again, and works for it where joins cost work. */
    public CompletableFuture<Ticket> join() {
        return token != null ? poll() : joined(CHALLENGES, "Content-Type", "application/json", "Idempotency-Key", key);
    }

    /** Asks once; also tells segq that somebody still waits. TicketGone: it is over. */
    public CompletableFuture<Ticket> poll() {
        return asked("GET", path(), null);
    }

    /** Gives the place up, or ends the session. */
    public CompletableFuture<Void> leave() {
        if (token == null)
            return Doing.done(null);
        Doing<Object> d = new Doing<>();
        Doing<Object> gone = http.call("DELETE", path(), null, own());
        d.under(gone);
        gone.whenComplete((v, e) -> {
            if (e == null)
                d.complete(v);
            else if (mayProve(Doing.bare(e)))
                d.as(Doing.then(http.untilAnswered(router -> prove(router, PROOFS), http.retryFor, why -> { }),
                    proved -> http.call("DELETE", path(), null, own())));
            else
                d.fail(e);
        });
        return Doing.map(d, said -> null);
    }

    /** Completes when it is let in, with the pass. Cancelled, or too late (orTimeout()): it asks no more, and the
     *  place is kept for a while. */
    public CompletableFuture<Ticket> await() {
        return await(t -> { });
    }

    /** Likewise; news hears of each answer, one at a time. */
    public CompletableFuture<Ticket> await(Consumer<Ticket> news) {
        Waiting w = new Waiting(news);
        w.ask(join());
        return w.all;
    }

    // ---- within ----

    private String path() {
        return "/v1/tickets/" + Http.enc(token == null ? "" : token);
    }

    /** Headers of a request of this person. */
    private Map<String, String> own(String... more) {
        Map<String, String> h = Http.people(more);
        if (device != null)
            h.put("Cookie", device);
        return h;
    }

    /** more: its headers, the answer to a challenge at their end, if there is one. */
    private Doing<Ticket> joined(int left, String... more) {
        Doing<Ticket> d = new Doing<>(), asked = asked("POST", "/v1/queues/" + Http.enc(queue) + "/tickets", Json.bytes(body), more);
        String[] plain = Arrays.copyOf(more, 4);
        d.under(asked);
        asked.whenComplete((t, e) -> {
            Throwable why = e == null ? null : Doing.bare(e);
            if (e == null)
                d.complete(t);
            else if (left > 0 && why instanceof ApiException.ChallengeRequired a && a.problem().get("challenge") instanceof Map)
                http.executor().execute(() -> work(d, a, left, plain));
            else if (left > 0 && why instanceof ApiException.Forbidden a && a.code().startsWith("challenge_"))
                d.as(joined(left - 1, plain)); // slept over, or from another network
            else
                d.fail(e);
        });
        return d;
    }

    private void work(Doing<Ticket> d, ApiException asks, int left, String... plain) {
        try {
            String answer = Challenge.answer(Json.object(asks.problem().get("challenge")), d::isDone);
            String[] more = Arrays.copyOf(plain, plain.length + 2);
            more[plain.length] = "segq-challenge";
            more[plain.length + 1] = answer;
            if (answer == null)
                d.fail(asks);
            else
                d.as(joined(left - 1, more));
        } catch (Throwable t) {
            d.fail(t);
        }
    }

    private Doing<Ticket> asked(String method, String path, byte[] body, String... more) {
        return http.untilAnswered(router -> asked(router, method, path, body, PROOFS, more), null, this::say);
    }

    private Doing<Ticket> asked(String router, String method, String path, byte[] body, int left, String... more) {
        boolean proves = method.equals("POST");
        return Doing.then(once(router, method, path, body, proves, more), got -> {
            try {
                return Doing.done(heard(Ticket.of(Http.judge(got))));
            } catch (ApiException e) {
                if (left == 0 || !mayProve(e))
                    throw e;
            }
            Doing<Void> proved = proves ? Doing.done(null) : prove(router, PROOFS);
            return Doing.then(proved, v -> asked(router, method, path, body, left - 1, more));
        });
    }

    /** One try; proves: with a proof of the key, if there is one. */
    private Doing<Answer> once(String router, String method, String path, byte[] body, boolean proves, String... more) {
        Map<String, String> h = own(more);
        if (proves && proof != null)
            h.put("DPoP", proof.of(router + path));
        return Doing.map(http.once(router, new Http.Ask(method, path, body, h), http.timeout), got -> {
            for (String set : got.headers().allValues("set-cookie")) { // also of a 503: a ticket that was rebound
                Matcher m = DEVICE.matcher(set);
                if (m.lookingAt())
                    device = m.group();
            }
            if (proof != null)
                proof.heard(got.headers());
            return got;
        });
    }

    /** Gets a fresh cookie for the key. Forbidden: the ticket is another key's. */
    private Doing<Void> prove(String router, int left) {
        return Doing.then(once(router, "POST", path() + "/device", null, true), got -> {
            if (got.status() == 401 && left > 0)
                return prove(router, left - 1);
            if (got.status() >= 300)
                Http.judge(got);
            return Doing.done(null);
        });
    }

    /** Whether the key mends it: the cookie is ten minutes old, or not there. */
    private boolean mayProve(Throwable e) {
        return proof != null && e instanceof ApiException a && ("proof_required".equals(a.code()) || "other_device".equals(a.code()));
    }

    private Ticket heard(Ticket t) {
        token = t.token();
        ticket = t;
        return t;
    }

    private void say(String why) {
        if (!why.equals(trouble)) {
            trouble = why;
            onTrouble.accept(why);
        }
    }

    private void beDeaf(long ms) {
        deafUntil = System.nanoTime() + (long) (ms * 1e6 * (1 + ThreadLocalRandom.current().nextDouble()));
    }

    private final class Waiting {
        final Doing<Ticket> all = new Doing<>();
        private final Consumer<Ticket> news;

        Waiting(Consumer<Ticket> news) {
            this.news = news;
        }

        /** Goes on with what comes; whatever fails in it ends the wait. */
        private <A> void then(CompletableFuture<A> f, Consumer<A> good, Consumer<Throwable> bad) {
            all.under(f);
            f.whenComplete((v, e) -> {
                try {
                    if (all.isDone())
                        return;
                    if (e == null)
                        good.accept(v);
                    else
                        bad.accept(Doing.bare(e));
                } catch (Throwable t) {
                    all.fail(t);
                }
            });
        }

        void ask(CompletableFuture<Ticket> asked) {
            then(asked, this::answered, all::fail);
        }

        private void pollAfter(long ms) {
            then(http.pause(ms), v -> ask(poll()), all::fail);
        }

        /** False: it is over. */
        private boolean told(Ticket t) {
            news.accept(t);
            if (t.admitted())
                all.complete(t);
            return !t.admitted();
        }

        private void answered(Ticket t) {
            if (!told(t))
                return;
            if (events && System.nanoTime() - deafUntil >= 0)
                listen(t);
            else
                pollAfter(t.pollAfterMs());
        }

        private void listen(Ticket t) {
            Map<String, String> h = own("Accept", "text/event-stream");
            if (!id.isEmpty())
                h.put("Last-Event-ID", id);
            String router = http.router();
            then(http.stream(router, new Http.Ask("GET", path() + "/events", null, h), http.timeout), in -> {
                if (in.status() == 200)
                    new Listening(this, router, t).begin(in);
                else
                    then(http.within(http.whole(in), http.timeout, router), a -> refused(t, a), e -> unheard(t, e));
            }, e -> unheard(t, e));
        }

        private void refused(Ticket t, Answer a) {
            if (a.status() >= 400) {
                unheard(t, Http.refusal(a));
                return;
            }
            Duration told = Http.seconds(a.header("retry-after"));
            beDeaf(told == null ? DEAF_MS : told.toMillis());
            pollAfter(t.pollAfterMs());
        }

        private void unheard(Ticket t, Throwable e) {
            if (e instanceof SegqException.Network) { // its router may be dead: another one knows
                http.rotate(http.router());
                if (++missed > 1)
                    beDeaf(DEAF_MS);
                pollAfter(0);
            } else if (e instanceof ApiException.Unavailable || e instanceof ApiException.TooFast) {
                beDeaf(DEAF_MS);
                Duration told = ((ApiException) e).retryAfter();
                pollAfter(told == null ? t.pollAfterMs() : told.toMillis());
            } else if (mayProve(e)) {
                if (++missed > 1)
                    beDeaf(DEAF_MS);
                pollAfter(0); // the poll does
            } else {
                all.fail(e);
            }
        }
    }

    /** One stream of events: until there are no more of them, or none for too long. */
    private final class Listening {
        private final Waiting w;
        private final String router;
        private final Body body;
        private Ticket t;
        private boolean heard;
        private long placeBy = System.nanoTime() + QUIET_MS * 1_000_000;
        private long pauseMs = -1; // of what ended it; -1: nothing did

        Listening(Waiting w, String router, Ticket t) {
            this.w = w;
            this.router = router;
            this.t = t;
            body = new Body(http, FIRST_MS, false, Sse.events(this::event));
        }

        void begin(Http.Incoming in) {
            w.then(body.end, v -> ended(), e -> {
                if (e instanceof SegqException.Network || e instanceof IllegalArgumentException)
                    ended();
                else
                    w.all.fail(e);
            });
            in.body().subscribe(body);
        }

        private void over(long ms) {
            pauseMs = ms;
            body.end.complete(null);
        }

        private void event(Stream.Event e) {
            body.news();
            if (body.end.isDone())
                return;
            switch (e.name()) {
                case "message" -> {
                    t = Line.this.heard(Ticket.of(Json.read(e.data())));
                    heard = true;
                    id = e.id();
                    missed = 0;
                    placeBy = System.nanoTime() + Math.max(QUIET_MS, 2 * t.pollAfterMs()) * 1_000_000;
                    say("");
                    if (!w.told(t))
                        over(0);
                }
                case "beat" -> {
                    body.patience(Math.min(600_000, Long.parseLong(e.data().strip())) + LATE_MS);
                    if (System.nanoTime() - placeBy > 0) // beats without places: its node is away
                        over(0);
                }
                case "gone" -> throw ApiException.of(410, Http.object(Json.read(e.data())), null);
                case "away" -> {
                    http.rotate(router);
                    over(Http.object(Json.read(e.data())).get("poll_after_ms") instanceof Number n
                        ? Math.max(0, Math.min(n.longValue(), 86_400_000)) : 0);
                }
                default -> { }
            }
        }

        private void ended() {
            if (w.all.isDone())
                return;
            if (pauseMs >= 0) {
                w.pollAfter(pauseMs);
                return;
            }
            http.rotate(router);
            if (!heard) // something on the way buffers
                beDeaf(DEAF_MS);
            w.pollAfter(!heard ? 0 // all who were told at once come apart
                : ThreadLocalRandom.current().nextLong(Math.max(t.pollAfterMs(), FIRST_MS)));
        }
    }
}

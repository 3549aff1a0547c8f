package segq;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Collectors;

/** HTTP to any of several routers: back-off with jitter, Retry-After, redirects of load balancers.
 *  What is asked here may be asked again: joins and submissions have an Idempotency-Key, everything else is the same
 *  when it is done twice (docs/api.md). So a broken connection, a body that breaks off and a 503 are answered by the
 *  next try, at another router if there is one. */
final class Http {
    static final String VERSION = "0.2.0";
    static final int BODY_MAX = 64 << 20;
    private static final int REDIRECTS = 4;
    private static final Set<String> SECRET = Set.of("authorization", "cookie", "dpop", "segq-token", "x-segq-gate-secret");
    private static final ScheduledThreadPoolExecutor TIMER = new ScheduledThreadPoolExecutor(1, run -> {
        Thread t = new Thread(run, "segq-timer");
        t.setDaemon(true);
        return t;
    });

    static {
        TIMER.setRemoveOnCancelPolicy(true);
    }

    final String token;
    final Duration timeout;
    final Duration retryFor;
    private final HttpClient client;
    private final Executor executor;
    private final Map<String, String> always;
    private final List<String> routers;
    private final Set<String> named; // their origins

    /** One request: a router's address goes before its path. */
    record Ask(String method, String path, byte[] body, Map<String, String> headers) { }

    /** An answer whose body is still to come. */
    record Incoming(int status, HttpHeaders headers, Flow.Publisher<List<ByteBuffer>> body) {
        String header(String name) {
            return headers.firstValue(name).orElse(null);
        }

        /** What is unread is not waited for. */
        void close(Http http) {
            Body b = new Body(http, 0, true, piece -> { });
            b.end.complete(null);
            body.subscribe(b);
        }
    }

    Http(Client.Builder b) {
        for (String u : b.routers)
            if (!u.startsWith("http://") && !u.startsWith("https://"))
                throw new IllegalArgumentException("routers: addresses like https://q1.example, not " + u);
        if (b.routers.isEmpty())
            throw new IllegalArgumentException("routers: at least one");
        always = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        always.put("User-Agent", "segq-java/" + VERSION);
        always.putAll(b.headers);
        if (b.token != null && (b.token.contains("\n") || b.token.contains("\r")))
            throw new IllegalArgumentException("a line break in the token: strip() what a file has");
        token = b.token;
        timeout = b.timeout;
        retryFor = b.retryFor;
        executor = b.executor;
        List<String> all = new ArrayList<>();
        b.routers.forEach(u -> all.add(u.replaceAll("/+$", "")));
        Collections.shuffle(all);
        routers = all;
        named = all.stream().map(URI::create).filter(u -> u.getHost() != null).map(Http::origin).collect(Collectors.toSet());
        HttpClient.Builder h = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).executor(executor)
            .followRedirects(HttpClient.Redirect.NEVER).connectTimeout(Duration.ofSeconds(5))
            .proxy(HttpClient.Builder.NO_PROXY);
        if (b.ssl != null)
            h.sslContext(b.ssl);
        client = h.build();
    }

    /** Runs it then; what it takes is not the clock's time. */
    ScheduledFuture<?> later(long ms, Runnable run) {
        return TIMER.schedule(() -> executor.execute(run), Math.max(0, ms), TimeUnit.MILLISECONDS);
    }

    Executor executor() {
        return executor;
    }

    Doing<Void> pause(long ms) {
        Doing<Void> d = new Doing<>();
        d.under(later(ms, () -> d.complete(null)));
        return d;
    }

    synchronized String router() {
        return routers.get(0);
    }

    synchronized int count() {
        return routers.size();
    }

    /** Another router is asked first from now on. */
    synchronized void rotate(String failed) {
        if (routers.get(0).equals(failed))
            Collections.rotate(routers, -1);
    }

    /** Percent-encoded, as one part of a path. */
    static String enc(String part) {
        StringBuilder out = new StringBuilder();
        for (byte b : part.getBytes(StandardCharsets.UTF_8)) {
            char c = (char) (b & 255);
            if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || "-._~".indexOf(c) >= 0)
                out.append(c);
            else
                out.append(String.format("%%%02X", (int) c));
        }
        return out.toString();
    }

    static Map<String, String> people(String... more) {
        Map<String, String> h = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        h.put("Authorization", "");
        for (int k = 0; k < more.length; k += 2)
            h.put(more[k], more[k + 1]);
        return h;
    }

    static SegqException broken(String where, Throwable e) {
        Throwable bare = Doing.bare(e);
        if (bare instanceof SegqException s)
            return s;
        SegqException n = new SegqException.Network(where + ": "
            + (bare.getMessage() == null ? bare.getClass().getSimpleName() : bare.getMessage()));
        n.addSuppressed(bare);
        return n;
    }

    // ---- one try ----

    /** The head of the answer is there. Redirects that keep method and body are followed. */
    Doing<Incoming> stream(String router, Ask a, Duration within) {
        Map<String, String> h = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        h.putAll(always);
        if (token != null)
            h.put("Authorization", "Bearer " + token);
        h.putAll(a.headers);
        h.values().removeIf(String::isEmpty);
        try {
            URI u = URI.create(router + a.path);
            return within(open(u, new Ask(a.method, a.path, a.body, h), 0), within, u.getAuthority());
        } catch (IllegalArgumentException e) {
            return Doing.failed(e);
        }
    }

    /** Its answer, whatever it says; Network: there is none. */
    Doing<Answer> once(String router, Ask a, Duration within) {
        return within(Doing.then(stream(router, a, within), this::whole), within, router);
    }

    Doing<Answer> whole(Incoming in) {
        return Doing.map(Body.whole(this, in.body, BODY_MAX), body -> new Answer(in.status, in.headers, body));
    }

    <T> Doing<T> within(Doing<T> d, Duration time, String where) {
        ScheduledFuture<?> t = later(time.toMillis(), () -> d.fail(new SegqException.Network(where + ": no answer in time")));
        d.whenComplete((v, e) -> t.cancel(false));
        return d;
    }

    private Doing<Incoming> open(URI u, Ask a, int hops) {
        HttpRequest.Builder q = HttpRequest.newBuilder(u).method(a.method, a.body != null
            ? HttpRequest.BodyPublishers.ofByteArray(a.body) : HttpRequest.BodyPublishers.noBody());
        a.headers.forEach(q::setHeader);
        Doing<Incoming> d = new Doing<>();
        CompletableFuture<HttpResponse<Flow.Publisher<List<ByteBuffer>>>> sent =
            client.sendAsync(q.build(), HttpResponse.BodyHandlers.ofPublisher());
        d.under(sent);
        sent.whenComplete((r, e) -> {
            try {
                if (e != null) {
                    d.fail(Doing.bare(e) instanceof IOException ? broken(u.getAuthority(), e) : e);
                    return;
                }
                Incoming in = new Incoming(r.statusCode(), r.headers(), r.body());
                String to = in.header("location");
                if ((in.status == 307 || in.status == 308) && to != null && in.header("segq-status") == null) {
                    in.close(this);
                    d.as(follow(u, to, a, hops));
                } else if (!d.complete(in)) {
                    in.close(this); // nobody waits for it any more
                }
            } catch (Throwable t) {
                d.fail(t);
            }
        });
        return d;
    }

    private Doing<Incoming> follow(URI from, String to, Ask a, int hops) {
        URI there;
        try {
            there = from.resolve(to);
        } catch (IllegalArgumentException e) {
            throw broken(from.getAuthority() + ": a redirect to what is no address", e);
        }
        boolean fits = "https".equals(there.getScheme()) || ("http".equals(there.getScheme()) && "http".equals(from.getScheme()));
        if (hops >= REDIRECTS || !fits || there.getHost() == null)
            throw new SegqException.Network(from.getAuthority() + ": a redirect to " + to + ": is not followed");
        Map<String, String> h = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        h.putAll(a.headers);
        if (!origin(there).equals(origin(from)) && !named.contains(origin(there))) // a token is for those whom the caller named
            SECRET.forEach(h::remove);
        return open(there, new Ask(a.method, a.path, a.body, h), hops + 1);
    }

    /** Scheme, host and port, as they are compared. */
    private static String origin(URI u) {
        int port = u.getPort() >= 0 ? u.getPort() : "https".equals(u.getScheme()) ? 443 : 80;
        return u.getScheme() + "://" + u.getHost().toLowerCase(Locale.ROOT) + ":" + port;
    }

    // ---- until it is answered ----

    /** The answer's JSON, after as many tries as retryFor has room for; else what segq said last, or Network. */
    Doing<Object> call(String method, String path, Object value, Map<String, String> headers, Duration within, Duration tries) {
        Map<String, String> h = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        h.putAll(headers);
        if (value != null)
            h.putIfAbsent("Content-Type", "application/json");
        Ask a;
        try {
            a = new Ask(method, path, value == null ? null : Json.bytes(value), h);
        } catch (IllegalArgumentException e) {
            return Doing.failed(e);
        }
        return untilAnswered(router -> Doing.map(once(router, a, within), Http::judge), tries, why -> { });
    }

    Doing<Object> call(String method, String path, Object value, Map<String, String> headers) {
        return call(method, path, value, headers, timeout, retryFor);
    }

    /** call(), of an answer that is an object. */
    Doing<Map<String, Object>> ask(String method, String path, Object value, Map<String, String> headers) {
        return Doing.map(call(method, path, value, headers), Http::object);
    }

    static Map<String, Object> object(Object said) {
        if (!(said instanceof Map))
            throw new SegqException.Network("an answer that is no object");
        return Json.object(said);
    }

    /** ask(router) until it does not fail with what a later try, or another router, may mend; after so long what it
     *  failed with last (null: without end). trouble: is told "offline", "busy", and "" at the end. */
    <T> Doing<T> untilAnswered(Function<String, Doing<T>> ask, Duration tries, Consumer<String> trouble) {
        Doing<T> all = new Doing<>();
        new Tries<>(ask, all, new Backoff(1000), tries == null ? Long.MAX_VALUE : tries.toMillis(), trouble).next();
        return all;
    }

    private final class Tries<T> {
        private final Function<String, Doing<T>> ask;
        private final Doing<T> all;
        private final Backoff backoff;
        private final long triesMs;
        private final Consumer<String> trouble;
        private final long began = System.nanoTime();

        Tries(Function<String, Doing<T>> ask, Doing<T> all, Backoff backoff, long triesMs, Consumer<String> trouble) {
            this.ask = ask;
            this.all = all;
            this.backoff = backoff;
            this.triesMs = triesMs;
            this.trouble = trouble;
        }

        void next() {
            if (all.isDone())
                return;
            String router = router();
            Doing<T> one;
            try {
                one = ask.apply(router);
            } catch (Throwable e) {
                all.fail(e);
                return;
            }
            all.under(one);
            one.whenComplete((v, e) -> {
                try {
                    if (e == null) {
                        trouble.accept("");
                        all.complete(v);
                    } else {
                        failed(router, Doing.bare(e));
                    }
                } catch (Throwable t) {
                    all.fail(t);
                }
            });
        }

        private void failed(String router, Throwable e) {
            if (!(e instanceof SegqException s) || !passes(s)) {
                all.fail(e);
                return;
            }
            boolean offline = e instanceof SegqException.Network;
            trouble.accept(offline ? "offline" : "busy");
            rotate(router);
            long ms = backoff.next(s);
            if (backoff.fails == 1 && offline && count() > 1)
                ms = ThreadLocalRandom.current().nextInt(100); // another one may well be there
            if ((System.nanoTime() - began) / 1_000_000 + ms > triesMs)
                all.fail(e);
            else
                all.under(later(ms, this::next));
        }
    }

    /** Whether a later try may mend it. */
    static boolean passes(Throwable e) {
        return e instanceof SegqException.Network || ((e instanceof ApiException.Unavailable || e instanceof ApiException.TooFast)
            && !Set.of("wait_too_long", "endpoint_failed", "wait_over").contains(((SegqException) e).code()));
    }

    /** Its JSON; throws what it is else. */
    static Object judge(Answer a) {
        if (a.status() >= 300 && a.status() < 400)
            throw new SegqException.Network("a redirect (" + a.status() + ") that is not followed");
        if (a.status() >= 400)
            throw refusal(a);
        try {
            return a.json();
        } catch (IllegalArgumentException e) {
            throw broken("an answer that is no JSON", e);
        }
    }

    /** The answer itself, where its bytes are what counts. */
    static Answer raw(Answer a) {
        if (a.status() >= 300 && !(a.status() < 400 && a.header("segq-status") != null))
            judge(a);
        return a;
    }

    static ApiException refusal(Answer a) {
        Map<String, Object> problem;
        try {
            problem = Json.object(a.json());
        } catch (IllegalArgumentException e) {
            problem = Map.of();
        }
        Duration after = problem.get("poll_after_ms") instanceof Number n // finer
            ? Duration.ofMillis(Math.min(n.longValue(), 86_400_000)) : seconds(a.header("retry-after"));
        return ApiException.of(a.status(), problem, after);
    }

    /** Of Retry-After, at most a day; null: it is none. */
    static Duration seconds(String text) {
        try {
            double s = text == null ? 0 : Double.parseDouble(text.trim());
            return s > 0 ? Duration.ofMillis((long) (Math.min(s, 86400) * 1000)) : null;
        } catch (NumberFormatException e) {
            return null;
        }
    }
}

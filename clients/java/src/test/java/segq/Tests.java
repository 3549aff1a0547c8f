package segq;

import com.sun.net.httpserver.HttpServer;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.Signature;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;

/** What needs no cluster. Each method test...() is one test. */
final class Tests {
    private Tests() { }

    public static void main(String[] args) throws Exception {
        int passed = 0;
        int failed = 0;
        for (Method m : Tests.class.getDeclaredMethods()) {
            if (!m.getName().startsWith("test"))
                continue;
            try {
                m.invoke(null);
                passed++;
            } catch (InvocationTargetException e) {
                failed++;
                System.out.println("FAIL " + m.getName());
                e.getCause().printStackTrace(System.out);
            }
        }
        System.out.println("java: " + passed + " passed, " + failed + " failed");
        System.exit(failed);
    }

    private static void is(Object got, Object want) {
        if (!java.util.Objects.equals(got, want))
            throw new AssertionError(got + ", not " + want);
    }

    private interface Throwing {
        Object run() throws Exception;
    }

    private static <E extends Throwable> E fails(Class<E> how, Throwing what) {
        Object got;
        try {
            got = what.run();
        } catch (Throwable e) {
            if (how.isInstance(e))
                return how.cast(e);
            throw new AssertionError("another failure", e);
        }
        throw new AssertionError(got + ", and no failure");
    }

    // ---- JSON ----

    static void testJsonOfAllKinds() {
        String text = "{\"a\":[1,-2,3.5,1e3,12345678901234567890,true,false,null],\"b\":{},\"c\":[],\"d\":\"x\\u00fc\\n\\\"\\ud83d\\ude00\"}";
        Object o = Json.read(text);
        is(Json.read(Json.write(o)), o);
        is(Json.list(Json.object(o).get("a")).get(0), 1L);
        is(Json.object(o).get("d"), "xü\n\"\ud83d\ude00");
        is(Json.read(String.valueOf(Long.MIN_VALUE)), Long.MIN_VALUE);
        is(Json.write(new int[] {1, 2}), "[1,2]");
        is(Json.write("\ud800"), "\"\\ud800\"");
    }

    /** A value that a caller has of its own. */
    private record Order(String dish, int n, List<String> notes) { }

    static void testJsonOfRecords() {
        is(Json.write(new Order("soup", 2, List.of("hot"))), "{\"dish\":\"soup\",\"n\":2,\"notes\":[\"hot\"]}");
    }

    static void testJsonThatIsNone() {
        for (String bad : new String[] {"", " ", "{", "[1,]", "{\"a\":1,}", "01", "1.", ".5", "+1", "1e", "nul", "\"", "\"\\x\"", "\"\\u12g4\"",
            "\"\n\"", "[1]x", "{1:2}", "NaN", "-", "\"\\ud8", "[".repeat(100_000), "١"})
            fails(IllegalArgumentException.class, () -> Json.read(bad));
        fails(IllegalArgumentException.class, () -> Json.write(Double.NaN));
        fails(IllegalArgumentException.class, () -> Json.readStrict("{\"a\":1,\"a\":2}".getBytes(StandardCharsets.UTF_8)));
        List<Object> round = new ArrayList<>();
        round.add(round);
        fails(IllegalArgumentException.class, () -> Json.write(round));
    }

    private static Object random(Random r, int depth) {
        switch (r.nextInt(depth > 5 ? 5 : 7)) {
            case 0: return r.nextLong() >> r.nextInt(64);
            case 1: return r.nextBoolean() ? null : (Object) r.nextBoolean();
            case 2: return (double) r.nextLong() / (1L << r.nextInt(62)) + 0.1;
            case 3: return new java.math.BigInteger(100, r).setBit(99);
            case 4:
                StringBuilder s = new StringBuilder();
                for (int n = r.nextInt(8); n > 0; n--)
                    s.append((char) r.nextInt(r.nextBoolean() ? 128 : 65536));
                return s.toString();
            case 5:
                Map<String, Object> m = new LinkedHashMap<>();
                for (int n = r.nextInt(4); n > 0; n--)
                    m.put((String) random(new Random(r.nextLong()) {
                        @Override
                        public int nextInt(int bound) {
                            return bound == 7 || bound == 5 ? 4 : super.nextInt(bound);
                        }
                    }, 0), random(r, depth + 1));
                return m;
            default:
                List<Object> l = new ArrayList<>();
                for (int n = r.nextInt(4); n > 0; n--)
                    l.add(random(r, depth + 1));
                return l;
        }
    }

    /** What is written is read as the same; what is damaged is read, or refused, and nothing else. */
    static void testJsonFuzz() {
        Random r = new Random(7);
        String odd = "{}[]\",:\\u0e-. \0é";
        for (int i = 0; i < 3000; i++) {
            Object o = random(r, 0);
            String text = Json.write(o);
            is(Json.read(text), o);
            StringBuilder damaged = new StringBuilder(text);
            for (int n = r.nextInt(3); n >= 0 && damaged.length() > 0; n--) {
                int at = r.nextInt(damaged.length());
                if (r.nextBoolean())
                    damaged.deleteCharAt(at);
                else
                    damaged.setCharAt(at, odd.charAt(r.nextInt(odd.length())));
            }
            try {
                Object again = Json.read(damaged.toString());
                is(Json.read(Json.write(again)), again);
            } catch (IllegalArgumentException e) {
                // refused
            }
        }
    }

    // ---- futures ----

    static void testWhoCancelsEndsWhatIsUnderWay() {
        CompletableFuture<String> first = new CompletableFuture<>();
        Doing.then(first, v -> new Doing<String>()).cancel(true);
        is(first.isCancelled(), true);
        Doing<String> second = new Doing<>();
        Doing.then(Doing.done("x"), v -> second).thenApply(v -> v).thenApply(v -> v).cancel(true);
        is(second.isCancelled(), true);
        Doing<String> third = new Doing<>();
        CompletableFuture<String> late = Doing.then(Doing.done("x"), v -> third).orTimeout(10, TimeUnit.MILLISECONDS);
        fails(ExecutionException.class, late::get);
        fails(CancellationException.class, () -> third.get(10, TimeUnit.SECONDS)); // the timer's thread does it, behind that
    }

    static void testFailuresAreWhatTheyAre() {
        CompletableFuture<Object> f = Doing.map(Doing.done("x"), v -> {
            throw new SegqException.Network("gone");
        });
        is(fails(SegqException.Network.class, f::join).code(), "no_answer");
        is(fails(SegqException.Network.class, f.thenApply(v -> v)::join).detail(), "gone");
        is(fails(ExecutionException.class, f.thenApply(v -> v)::get).getCause() instanceof SegqException.Network, true);
    }

    // ---- HTTP ----

    private static HttpServer site(com.sun.net.httpserver.HttpHandler says) throws Exception {
        HttpServer s = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        s.createContext("/", says);
        s.setExecutor(java.util.concurrent.Executors.newCachedThreadPool(run -> Worker.daemon(run, "site")));
        s.start();
        return s;
    }

    private static String url(HttpServer s) {
        return "http://127.0.0.1:" + s.getAddress().getPort();
    }

    static void testCancelledWaitsLeaveTheRouter() throws Exception {
        CountDownLatch asked = new CountDownLatch(1);
        CountDownLatch left = new CountDownLatch(1);
        HttpServer s = site(x -> {
            asked.countDown();
            x.sendResponseHeaders(200, 0);
            try {
                for (;;) {
                    x.getResponseBody().write(' ');
                    x.getResponseBody().flush();
                    Thread.sleep(10);
                }
            } catch (java.io.IOException | InterruptedException e) {
                left.countDown();
            }
        });
        CompletableFuture<Task> f = Client.of(url(s)).look("t");
        is(asked.await(5, TimeUnit.SECONDS), true);
        f.cancel(true);
        is(left.await(5, TimeUnit.SECONDS), true);
        s.stop(0);
    }

    private static Map<String, Object> part(String b64) {
        return Json.object(Json.read(new String(Base64.getUrlDecoder().decode(b64), StandardCharsets.UTF_8)));
    }

    private static final String PLACE = "{\"token\":\"T\",\"queue\":\"q\",\"lane\":\"l\",\"state\":\"waiting\",\"position\":2,"
        + "\"total\":9,\"eta_s\":1,\"poll_after_ms\":100,\"segment\":1}";

    /** A router that says these in turn: "401 code nonce", "204 cookie", "200", and hears what is asked. */
    private static HttpServer says(List<String[]> asked, String... answers) throws Exception {
        return site(x -> {
            asked.add(new String[] {x.getRequestMethod(), x.getRequestURI().getPath(), x.getRequestHeaders().getFirst("DPoP"),
                x.getRequestHeaders().getFirst("Cookie")});
            String[] a = answers[Math.min(asked.size(), answers.length) - 1].split(" ");
            int status = Integer.parseInt(a[0]);
            if (a.length > 2)
                x.getResponseHeaders().set("DPoP-Nonce", a[2]);
            if (status < 300 && a.length > 1)
                x.getResponseHeaders().set("Set-Cookie", "segq_device_q=" + a[1] + "; Path=/");
            byte[] b = (status == 204 ? "" : status < 300 ? PLACE : "{\"code\":\"" + a[1] + "\"}").getBytes(StandardCharsets.UTF_8);
            x.sendResponseHeaders(status, b.length == 0 ? -1 : b.length);
            x.getResponseBody().write(b);
            x.close();
        });
    }

    private static String methods(List<String[]> asked) {
        return String.join(" ", asked.stream().map(q -> q[0] + (q[2] == null ? "" : "!")).toList());
    }

    static void testAKeyIsProvedAtTheJoinAndWhenItsCookieIsOld() throws Exception {
        List<String[]> asked = new ArrayList<>();
        HttpServer s = says(asked, "401 proof_required n1", "201 ab.c-_1", "401 proof_required n2", "204 ab.c-_2", "200");
        KeyPair key = Client.newDeviceKey();
        Line line = Client.of(url(s)).line("q").key(key);
        is(line.join().join().position(), 2L);
        is(line.device(), "segq_device_q=ab.c-_1");
        line.poll().join();
        is(line.device(), "segq_device_q=ab.c-_2");
        is(methods(asked), "POST! POST! GET POST! GET");
        is(asked.get(4)[3], line.device());
        is(asked.get(3)[1], "/v1/tickets/T/device");
        for (int at : new int[] {0, 1, 3}) {
            String[] parts = asked.get(at)[2].split("\\.");
            Map<String, Object> jwk = Json.object(part(parts[0]).get("jwk"));
            Map<String, Object> body = part(parts[1]);
            is(List.of(part(parts[0]).get("typ"), part(parts[0]).get("alg"), jwk.get("kty"), jwk.get("crv")), List.of("dpop+jwt", "ES256", "EC", "P-256"));
            is(List.of(body.get("htm"), body.get("htu"), body.get("nonce")),
                List.of("POST", url(s) + asked.get(at)[1], at == 0 ? "" : at == 1 ? "n1" : "n2"));
            is(new java.math.BigInteger(1, Base64.getUrlDecoder().decode((String) jwk.get("x"))),
                ((java.security.interfaces.ECPublicKey) key.getPublic()).getW().getAffineX());
            Signature v = Signature.getInstance("SHA256withECDSAinP1363Format");
            v.initVerify(key.getPublic());
            v.update((parts[0] + "." + parts[1]).getBytes(StandardCharsets.US_ASCII));
            is(v.verify(Base64.getUrlDecoder().decode(parts[2])), true);
        }
        s.stop(0);
    }

    static void testAKeyThatIsRefusedEndsTheJoin() throws Exception {
        List<String[]> asked = new ArrayList<>();
        HttpServer s = says(asked, "401 proof_required n1");
        is(fails(ApiException.class, () -> Client.of(url(s)).line("q").key(Client.newDeviceKey()).join().join()).code(), "proof_required");
        is(asked.size(), 3);
        s.stop(0);
        KeyPairGenerator g = KeyPairGenerator.getInstance("EC");
        g.initialize(new java.security.spec.ECGenParameterSpec("secp384r1"));
        fails(IllegalArgumentException.class, () -> Client.of("http://x").line("q").key(g.generateKeyPair()));
        fails(IllegalArgumentException.class, () -> Client.of("http://x").line("q").key(KeyPairGenerator.getInstance("Ed25519").generateKeyPair()));
    }

    static void testALeaveProvesAKeyWhoseCookieIsOld() throws Exception {
        List<String[]> asked = new ArrayList<>();
        HttpServer s = says(asked, "403 other_device", "204", "204");
        Client.of(url(s)).line("q").token("T").key(Client.newDeviceKey()).leave().join();
        is(methods(asked), "DELETE POST! DELETE");
        s.stop(0);
    }

    static void testSignaturesInDer() {
        byte[] der = new byte[8 + 33 + 1];
        System.arraycopy(new byte[] {0x30, 38, 2, 33, 0, (byte) 0x80}, 0, der, 0, 6);
        System.arraycopy(new byte[] {2, 1, 7}, 0, der, 37, 3);
        byte[] raw = Proof.raw(der);
        is(raw[0], (byte) 0x80);
        is(raw[63], (byte) 7);
        is(raw.length, 64);
        for (byte[] bad : new byte[][] {{}, {0x30}, {0x30, 4, 2, 9, 1, 1}, {0x31, 6, 2, 1, 1, 2, 1, 1}, {0x30, 6, 2, -1, 1, 2, 1, 1}})
            fails(IllegalArgumentException.class, () -> Proof.raw(bad));
    }

    static void testTokensStayWithTheirHosts() throws Exception {
        List<String> seen = new ArrayList<>();
        HttpServer there = site(x -> {
            seen.add(String.valueOf(x.getRequestHeaders().getFirst("Authorization")));
            byte[] b = "{\"task\":\"T\",\"state\":\"waiting\"}".getBytes(StandardCharsets.UTF_8);
            x.sendResponseHeaders(200, b.length);
            x.getResponseBody().write(b);
            x.close();
        });
        HttpServer here = site(x -> {
            x.getResponseHeaders().set("Location", url(there).replace("127.0.0.1", "localhost") + "/v1/tasks/T");
            x.sendResponseHeaders(307, -1);
            x.close();
        });
        Client c = Client.to(url(here)).token("s3cret").build();
        is(c.look("T").join().state(), "waiting");
        is(seen, List.of("null"));
        here.stop(0);
        there.stop(0);
        fails(IllegalArgumentException.class, () -> Client.to("http://x").token("a\nb").build());
        fails(IllegalArgumentException.class, () -> Client.of("ftp://x"));
    }

    static void testStreamsThatAreMute() throws Exception {
        HttpServer s = site(x -> {
            x.getResponseHeaders().set("segq-status", "200");
            x.sendResponseHeaders(200, 0);
            x.getResponseBody().write('a');
            x.getResponseBody().flush();
        });
        StringBuilder got = new StringBuilder();
        Stream t = Client.of(url(s)).call("e", Call.of("GET", "/").timeout(Duration.ofMillis(300))).join();
        fails(SegqException.Network.class, () -> t.pieces(p -> got.append(new String(p, StandardCharsets.UTF_8))).join());
        is(got.toString(), "a");
        s.stop(0);
    }

    static void testAQueueIsHeardOnBehindWhatWasDealtWith() throws Exception {
        List<String> after = new ArrayList<>();
        HttpServer s = site(x -> {
            after.add(x.getRequestHeaders().getFirst("Last-Event-ID"));
            byte[] b = (after.size() == 1 ? "id: 5\ndata: {\"task\":\"A\",\"state\":\"running\"}\n\nid: 6\ndata: {\"task\n\n"
                : "id: 6\ndata: {\"task\":\"B\",\"state\":\"dead\"}\n\n").getBytes(StandardCharsets.UTF_8);
            x.sendResponseHeaders(200, b.length);
            x.getResponseBody().write(b);
            x.close();
        });
        List<String> got = new ArrayList<>();
        Throwable why = Client.of(url(s)).watchQueue("q", "3", e -> {
            got.add(e.id() + " " + e.task());
            if (e.task().equals("B"))
                throw new IllegalArgumentException("the reader's own");
        }).handle((v, e) -> e).get(10, TimeUnit.SECONDS);
        s.stop(0);
        is(why.getMessage(), "the reader's own");
        is(got, List.of("5 A", "6 B"));
        is(after, List.of("3", "5"));
    }

    // ---- workers ----

    /** A router that has so many tasks, and to which all is well. */
    private static HttpServer tasks(int n) throws Exception {
        AtomicInteger left = new AtomicInteger(n);
        return site(x -> {
            Object asked = Json.read(x.getRequestBody().readAllBytes());
            List<Object> rows = new ArrayList<>();
            if (x.getRequestURI().getPath().endsWith("/take"))
                for (int k = ((Long) Json.object(asked).get("n")).intValue(); k > 0 && left.getAndDecrement() > 0; k--)
                    rows.add(Map.of("task", "T" + left.get(), "lease_id", "L", "attempt", 1, "payload", 1));
            else
                Json.list(asked).forEach(r -> rows.add(Map.of("status", 200)));
            byte[] b = Json.bytes(x.getRequestURI().getPath().endsWith("/take") ? Map.of("tasks", rows) : rows);
            x.sendResponseHeaders(200, b.length);
            x.getResponseBody().write(b);
            x.close();
        });
    }

    private static long threads() {
        return Thread.getAllStackTraces().keySet().stream().filter(t -> t.getName().equals("segq-work")).count();
    }

    /** A result whose map fails as it is read, or no bytes, and a listener that fails: each task has an end, and the next one is done. */
    static void testWhatFailsBesideTheHandler() throws Exception {
        HttpServer s = tasks(6);
        CountDownLatch done = new CountDownLatch(6);
        AtomicInteger good = new AtomicInteger();
        Worker w = new Worker(Client.of(url(s)), "q", j -> {
            Object odd = new java.util.AbstractMap<String, Object>() {
                @Override
                public java.util.Set<Map.Entry<String, Object>> entrySet() {
                    throw new java.util.ConcurrentModificationException();
                }
            };
            switch (j.task()) {
                case "T5": return odd;
                case "T4": return CompletableFuture.completedFuture(odd);
                case "T3": return new Bytes(null, "text/plain");
                default: return 1;
            }
        }).concurrency(1).wait(Duration.ofMillis(50)).onEvent((what, j, info) -> {
            if (what.equals("succeeded"))
                good.incrementAndGet();
            if (what.equals("succeeded") || what.equals("failed"))
                done.countDown();
            if (what.equals("started") && j.task().equals("T2"))
                throw new AssertionError("a listener's own, of which the log says");
        });
        w.start();
        boolean all = done.await(10, TimeUnit.SECONDS);
        w.stop(Duration.ZERO);
        w.join();
        s.stop(0);
        is(all, true);
        is(good.get(), 3);
    }

    /** What a worker's handlers do at most at a time, and the threads that it has meanwhile. */
    private static int[] most(Worker.Handler handler, AtomicInteger now) throws Exception {
        HttpServer s = tasks(150);
        int[] most = new int[2];
        CountDownLatch done = new CountDownLatch(150);
        Worker w = new Worker(Client.of(url(s)), "q", j -> {
            int n = now.incrementAndGet();
            synchronized (most) {
                most[0] = Math.max(most[0], n);
            }
            return handler.handle(j);
        }).concurrency(100).onEvent((what, j, info) -> {
            if (what.equals("succeeded"))
                done.countDown();
        });
        w.start();
        while (!done.await(50, TimeUnit.MILLISECONDS))
            most[1] = Math.max(most[1], (int) threads());
        w.stop();
        w.join();
        s.stop(0);
        for (int i = 0; threads() > 0 && i < 1000; i++)
            Thread.sleep(10);
        is(threads(), 0L);
        return most;
    }

    static void testHandlersThatBlockHaveAThreadEach() throws Exception {
        AtomicInteger now = new AtomicInteger();
        int[] most = most(j -> {
            Thread.sleep(1000);
            return now.decrementAndGet();
        }, now);
        is(most[0], 100);
    }

    static void testHandlersThatReturnStagesKeepNone() throws Exception {
        AtomicInteger now = new AtomicInteger();
        int[] most = most(j -> new CompletableFuture<Integer>().completeOnTimeout(1, 500, TimeUnit.MILLISECONDS)
            .thenApply(v -> now.decrementAndGet()), now);
        is(most[0], 100);
        if (most[1] > 50)
            throw new AssertionError(most[1] + " threads");
    }

    static void testEvents() {
        List<Stream.Event> got = new ArrayList<>();
        Sse s = Sse.events(got::add);
        for (String piece : new String[] {": c\r\n\r\ndata: a\r", "\ndata:b\n\nev", "ent: x\nid: 7\ndata: \u00fc\n\ndata: cut"})
            s.accept(piece.getBytes(StandardCharsets.UTF_8));
        is(got, List.of(new Stream.Event("message", "a\nb", ""), new Stream.Event("x", "\u00fc", "7")));
    }

    // ---- signatures ----

    static void testWebhooksOfPublicKeys() throws Exception {
        KeyPair k = KeyPairGenerator.getInstance("Ed25519").generateKeyPair();
        byte[] der = k.getPublic().getEncoded();
        String key = "whpk_" + Base64.getEncoder().encodeToString(Arrays.copyOfRange(der, der.length - 32, der.length));
        String at = String.valueOf(System.currentTimeMillis() / 1000);
        Signature s = Signature.getInstance("Ed25519");
        s.initSign(k.getPrivate());
        s.update(("id." + at + ".body").getBytes(StandardCharsets.UTF_8));
        Map<String, String> h = Map.of("Webhook-Id", "id", "Webhook-Timestamp", at, "Webhook-Signature",
            "v1a,AAAA v1a," + Base64.getEncoder().encodeToString(s.sign()));
        is(new Webhook(key).verify(h, "body".getBytes(StandardCharsets.UTF_8)), "id");
        fails(SegqException.Signature.class, () -> new Webhook(key).verify(h, "Body".getBytes(StandardCharsets.UTF_8)));
        fails(IllegalArgumentException.class, () -> new Webhook("whsec_AAAA"));
    }

    static void testKeysOfASmallOrder() {
        byte[] one = new byte[32];
        one[0] = 1;
        byte[] over = new byte[32];
        Arrays.fill(over, (byte) 0xff);
        for (byte[] bad : List.of(new byte[32], one, over, new byte[31]))
            fails(IllegalArgumentException.class, () -> Ed25519.key(bad));
    }

    static void testReasons() {
        is(Settler.reason(new IllegalStateException("no\npaper")), "java.lang.IllegalStateException: no paper");
        is(Settler.reason(new Nack("ü".repeat(200))), "ü".repeat(100));
        is(Settler.reason(new Nack("\ud83d")), "Nack");
    }

    // ---- the servlet filter, where its API is ----

    private static Object stub(Class<?> of, Map<String, Object> answers, List<String> told) {
        return java.lang.reflect.Proxy.newProxyInstance(of.getClassLoader(), new Class<?>[] {of}, (p, m, a) -> {
            String call = m.getName() + (a == null ? "" : Arrays.toString(a));
            told.add(call);
            Object v = answers.containsKey(call) ? answers.get(call) : answers.get(m.getName());
            return v instanceof List<?> l ? java.util.Collections.enumeration(l) : v;
        });
    }

    static void testServletFilter() throws Exception {
        Class<?> filter;
        try {
            filter = Class.forName("segq.servlet.GateFilter");
        } catch (ClassNotFoundException | NoClassDefFoundError e) {
            System.out.println("     the servlet filter is not tried: there is no libservlet-api-java");
            return;
        }
        AtomicInteger bad = new AtomicInteger();
        HttpServer router = site(x -> {
            boolean good = "Bearer good".equals(x.getRequestHeaders().getFirst("Authorization"));
            if (x.getRequestURI().getPath().equals("/v1/session"))
                bad.incrementAndGet();
            x.getResponseHeaders().set("X-Segq-Ticket", "17-1");
            x.getResponseHeaders().set("X-Segq-Queue", "login");
            x.sendResponseHeaders(good ? 204 : 401, -1);
            x.close();
        });
        Object f = filter.getConstructor(Gate.class).newInstance(new Gate(Client.of(url(router)), "login"));
        Class<?> q = Class.forName("javax.servlet.http.HttpServletRequest");
        Class<?> r = Class.forName("javax.servlet.http.HttpServletResponse");
        Class<?> chain = Class.forName("javax.servlet.FilterChain");
        Method go = Arrays.stream(filter.getMethods()).filter(m -> m.getName().equals("doFilter")).findFirst().orElseThrow();
        for (String pass : new String[] {"good", "bad"}) {
            List<String> asked = new ArrayList<>();
            List<String> answered = new ArrayList<>();
            List<Object> passed = new ArrayList<>();
            Object request = stub(q, Map.of("getMethod", "HEAD", "getRequestURI", "/cart", "getHeaderNames",
                List.of("Authorization", "X-Segq-Ticket"), "getHeaders", List.of("Bearer " + pass)), asked);
            Object answer = stub(r, Map.of(), answered);
            Object next = java.lang.reflect.Proxy.newProxyInstance(chain.getClassLoader(), new Class<?>[] {chain}, (p, m, a) -> {
                passed.addAll(Arrays.asList(a));
                return null;
            });
            go.invoke(f, request, answer, next);
            is(passed.size(), pass.equals("good") ? 2 : 0);
            if (pass.equals("bad")) {
                is(answered.contains("setStatus[401]"), true);
                continue;
            }
            is(asked.stream().anyMatch(c -> c.startsWith("setAttribute[segq.pass, Verdict[queue=login")), true);
            is(q.getMethod("getHeader", String.class).invoke(passed.get(0), "x-segq-ticket"), null);
            r.getMethod("setHeader", String.class, String.class).invoke(passed.get(1), "X-Segq-Command", "release");
            is(answered.stream().noneMatch(c -> c.contains("Command")), true);
            for (int i = 0; bad.get() == 0 && i < 500; i++)
                Thread.sleep(10);
            is(bad.get(), 1);
        }
        router.stop(0);
    }
}

package segq;

import com.sun.net.httpserver.HttpServer;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.lang.reflect.RecordComponent;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.KeyPair;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** The client behind the line protocol of clients/conformance/README.md. */
final class Conformance {
    private static final List<String> OPERATIONS = List.of(("join joinSeveral getQueue poll pollSeveral proveDevice leave leaveSeveral listen verify session getKeys countTasks "
        + "submitTask submitTasks takeTasks takeTasksOfQueues settleTasks tellProgress getTaskByName cancelTaskByName getTask watchTask watchQueue "
        + "cancelTask patchTask getTaskResult completeTask extendTask getGroup sealGroup cancelGroup listSchedules putSchedule getSchedule "
        + "deleteSchedule runSchedule getCall postCall putCall patchCall deleteCall getRoutedCall postRoutedCall putRoutedCall "
        + "patchRoutedCall deleteRoutedCall").split(" "));

    private static final Map<Long, Client> CLIENTS = new ConcurrentHashMap<>();
    private static final Map<String, Gate> GATES = new ConcurrentHashMap<>();
    private static final Map<String, KeyPair> KEYS = new ConcurrentHashMap<>(); // of devices, by their names here
    private static final Map<Long, Worker> WORKERS = new ConcurrentHashMap<>();
    private static final ExecutorService POOL = Executors.newCachedThreadPool(run -> Worker.daemon(run, "row"));
    private static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);

    private Conformance() { }

    public static void main(String[] args) throws Exception {
        java.util.logging.LogManager.getLogManager().reset(); // handlers throw since rows say so
        Runtime.getRuntime().addShutdownHook(new Thread(Conformance::drain));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null;) {
            Map<String, Object> a = Json.object(Json.read(line));
            long id = number(a, "id", 0).longValue();
            POOL.execute(() -> run(id, a));
        }
        Runtime.getRuntime().halt(0);
    }

    /** SIGTERM: workers drain, and the program ends well. */
    private static void drain() {
        WORKERS.values().forEach(w -> w.stop(Duration.ofSeconds(10)));
        WORKERS.values().forEach(Worker::join);
        Runtime.getRuntime().halt(0);
    }

    private static synchronized void say(long id, String what, Object value) {
        Map<String, Object> m = new LinkedHashMap<>();
        m.put("id", id);
        m.put(what, value);
        OUT.println(Json.write(m));
        OUT.flush();
    }

    private static void run(long id, Map<String, Object> a) {
        try {
            Object said = answer(id, a);
            say(id, "ok", said instanceof CompletableFuture<?> f ? f.join() : said);
        } catch (Throwable bad) {
            say(id, "error", error(Doing.bare(bad)));
        }
    }

    private static Map<String, Object> error(Throwable e) {
        Map<String, Object> m = new HashMap<>();
        m.put("kind", e instanceof SegqException.PassInvalid ? "pass" : e instanceof SegqException.Signature ? "signature"
            : e instanceof SegqException.TaskFailed ? "task" : e instanceof SegqException.Network ? "network"
            : e instanceof SegqException.Deadline || e instanceof TimeoutException ? "deadline"
            : e instanceof CancellationException ? "cancelled" : e instanceof ApiException ? "api" : "other");
        m.put("type", e.getClass().getSimpleName());
        m.put("detail", String.valueOf(e));
        if (e instanceof SegqException s) {
            m.put("status", s.status());
            m.put("code", s.code());
        }
        if (e instanceof ApiException.TicketGone g)
            m.put("reason", g.reason());
        return m;
    }

    private static Number number(Map<String, Object> a, String name, Number or) {
        return a.get(name) instanceof Number n ? n : or;
    }

    private static Duration seconds(Map<String, Object> a, String name, double or) {
        return Duration.ofMillis((long) (1000 * number(a, name, or).doubleValue()));
    }

    private static boolean is(Map<String, Object> a, String name) {
        return Boolean.TRUE.equals(a.get(name));
    }

    private static Gate gate(Map<String, Object> a, Client c) {
        return GATES.computeIfAbsent(a.get("client") + " " + a.get("queue"), k -> new Gate(c, (String) a.get("queue")));
    }

    // ---- what rows ask for ----

    private static Object answer(long id, Map<String, Object> a) throws Exception {
        Client c = CLIENTS.get(number(a, "client", 0).longValue());
        String queue = (String) a.get("queue");
        String task = (String) a.get("task");
        String token = (String) a.get("token");
        switch ((String) a.get("do")) {
            case "open": return open(id, a);
            case "wait_pass": return await(id, a, c);
            case "poll":
                Line line = line(a, c);
                return line.poll().thenApply(t -> ticket(t, line));
            case "leave": return line(a, c).leave();
            case "wait_places": return c.several(Json.list(a.get("queues")).toArray(String[]::new)).group((String) a.get("group"))
                .name((String) a.get("name")).others((String) a.get("others")).claim((String) a.get("claim"))
                .await(p -> say(id, "event", p.raw())).thenApply(Places::raw);
            case "leave_places": return c.several().group((String) a.get("group")).leave();
            case "check_pass": return gate(a, c).check(token);
            case "verify_pass": return gate(a, c).verify(token);
            case "serve": return serve(a, c);
            case "claim": return Claim.with((String) a.get("secret"), (String) a.get("kid")).sign(Json.object(a.get("members")));
            case "submit": return c.submit(queue, submission(a)).thenApply(t -> Map.of("task", t.token(), "state", t.state()));
            case "submit_many": return many(a, c);
            case "wait_task": return c.await(task, a.get("timeout_s") == null ? null : seconds(a, "timeout_s", 0)).thenApply(t -> {
                Map<String, Object> m = new HashMap<>();
                m.put("state", t.state());
                m.put("result", t.result());
                return m;
            });
            case "watch": return c.watch(task, t -> {
                Map<String, Object> m = new HashMap<>();
                m.put("state", t.state());
                m.put("position", t.position());
                m.put("progress", t.raw().get("progress"));
                say(id, "event", m);
            }).thenApply(t -> Map.of("state", t.state()));
            case "watch_queue": return c.watchQueue(queue, (String) a.get("after"), e -> {
                Map<String, Object> m = new HashMap<>();
                m.put("id", e.id());
                m.put("gap", e.gap());
                m.put("task", e.task());
                m.put("state", e.state());
                say(id, "event", m);
            });
            case "look": return c.look(task).thenApply(Task::raw);
            case "cancel": return c.cancel(task, is(a, "force"));
            case "group": return switch (Json.text(a.get("then"))) {
                case "seal" -> c.sealGroup(queue, (String) a.get("group"));
                case "cancel" -> c.cancelGroup(queue, (String) a.get("group"));
                default -> c.group(queue, (String) a.get("group"));
            };
            case "call": return call(id, a, c);
            case "follow": return read(id, c.follow(task, Duration.ofMinutes(1)));
            case "fields": return fields();
            case "webhook": return new Webhook(Json.list(a.get("keys")).toArray(String[]::new)).verify(texts(a.get("headers")),
                ((String) a.get("body")).getBytes(StandardCharsets.UTF_8));
            case "work": return work(id, a, c);
            case "stop":
                Worker w = WORKERS.get(number(a, "work", 0).longValue());
                w.stop(seconds(a, "drain_s", 10));
                w.join();
                return null;
            default: throw new IllegalArgumentException("no such verb: " + a.get("do"));
        }
    }

    private static Map<String, String> texts(Object o) {
        Map<String, String> out = new HashMap<>();
        Json.object(o).forEach((k, v) -> out.put(k, (String) v));
        return out;
    }

    private static Object open(long id, Map<String, Object> a) {
        CLIENTS.put(id, Client.to(Json.list(a.get("routers")).toArray(String[]::new)).token((String) a.get("token"))
            .timeout(seconds(a, "timeout_s", 10)).retryFor(seconds(a, "retry_for_s", 60)).build());
        return null;
    }

    private static Line line(Map<String, Object> a, Client c) {
        Line line = c.line(Json.text(a.get("queue"))).token((String) a.get("token")).device((String) a.get("device"));
        return a.get("key") == null ? line : line.key(KEYS.computeIfAbsent((String) a.get("key"), name -> Client.newDeviceKey()));
    }

    private static Map<String, Object> ticket(Ticket t, Line line) {
        Map<String, Object> m = new HashMap<>();
        m.put("device", line.device());
        m.put("token", t.token());
        m.put("state", t.state());
        m.put("position", t.position());
        m.put("eta_s", t.etaS());
        m.put("pass", t.pass());
        return m;
    }

    private static Object await(long id, Map<String, Object> a, Client c) {
        Line line = line(a, c);
        CompletableFuture<Ticket> f = line.await(t -> say(id, "event", ticket(t, line)));
        if (a.get("timeout_s") != null)
            f.orTimeout(seconds(a, "timeout_s", 0).toMillis(), TimeUnit.MILLISECONDS);
        return f.thenApply(t -> ticket(t, line));
    }

    private static Submission submission(Map<String, Object> a) {
        Submission s = new Submission();
        a.forEach((k, v) -> {
            if (!List.of("id", "do", "client", "queue").contains(k))
                s.with(k, v);
        });
        return s;
    }

    private static Object many(Map<String, Object> a, Client c) {
        List<Submission> rows = Json.list(a.get("rows")).stream().map(r -> submission(Json.object(r))).toList();
        return c.submitMany((String) a.get("queue"), rows).thenApply(out -> out.stream().map(r -> {
            Map<String, Object> m = new HashMap<>();
            m.put("status", r.status());
            m.put("task", r.task());
            m.put("code", r.error() == null ? null : r.error().code());
            return m;
        }).toList());
    }

    /** A site behind the middleware: tells its address, and whom it lets in. /bye ends the session. */
    private static Object serve(Map<String, Object> a, Client c) throws Exception {
        Gate gate = new Gate(c, (String) a.get("queue")).timeout(Duration.ofSeconds(1))
            .ask(Gate.Ask.valueOf(String.valueOf(a.getOrDefault("ask", "always")).toUpperCase()));
        HttpServer site = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        site.setExecutor(POOL);
        site.createContext("/", x -> {
            Map<String, Object> m = new HashMap<>();
            m.put("ticket", GateFilter.of(x).ticket());
            m.put("path", x.getRequestURI().getPath());
            byte[] body = Json.bytes(m);
            if (x.getRequestURI().getPath().equals("/bye"))
                x.getResponseHeaders().set("X-Segq-Command", "release");
            x.sendResponseHeaders(200, body.length);
            x.getResponseBody().write(body);
            x.close();
        }).getFilters().add(new GateFilter(gate));
        site.start();
        return Map.of("url", "http://127.0.0.1:" + site.getAddress().getPort());
    }

    private static Object call(long id, Map<String, Object> a, Client c) {
        Call call = Call.of((String) a.getOrDefault("method", "GET"), (String) a.get("path"));
        if (!is(a, "progress"))
            return read(id, c.call((String) a.get("endpoint"), call));
        call.onProgress(p -> say(id, "event", p));
        return c.call((String) a.get("endpoint"), call).thenCompose(s ->
            s.events(e -> say(id, "event", Map.of("piece", e.data()))).thenApply(v -> Map.of("status", s.status())));
    }

    private static Object read(long id, CompletableFuture<Stream> f) {
        return f.thenCompose(s -> s.pieces(p -> say(id, "event", Map.of("piece", new String(p, StandardCharsets.UTF_8))))
            .thenApply(v -> Map.of("status", s.status())));
    }

    // ---- what this client knows of proto/openapi.yaml ----

    private static String snake(String name) {
        return name.replaceAll("([A-Z])", "_$1").toLowerCase();
    }

    /** Names of a builder's members. */
    private static List<String> members(Class<?> of, String... without) {
        return Arrays.stream(of.getDeclaredMethods())
            .filter(m -> m.getReturnType() == of && java.lang.reflect.Modifier.isPublic(m.getModifiers()) && !m.isBridge()
                && !java.lang.reflect.Modifier.isStatic(m.getModifiers()))
            .map(Method::getName).distinct().filter(n -> !List.of(without).contains(n)).map(Conformance::snake).toList();
    }

    private static Object fields() {
        Map<String, Object> m = new HashMap<>();
        m.put("operations", OPERATIONS);
        m.put("TaskSubmit", members(Submission.class, "inQueue"));
        m.put("TaskPatch", members(Change.class));
        m.put("SchedulePut", members(Schedule.class));
        m.put("TaskComplete", members(Completion.class));
        m.put("Join", members(Line.class, "token", "device", "key", "events", "onTrouble"));
        m.put("Ticket", Arrays.stream(Ticket.class.getRecordComponents()).map(RecordComponent::getName)
            .filter(n -> !n.equals("raw")).map(Conformance::snake).toList());
        m.put("TaskTaken", Arrays.stream(Job.class.getDeclaredMethods())
            .filter(f -> java.lang.reflect.Modifier.isPublic(f.getModifiers()) && f.getParameterCount() == 0).map(Method::getName)
            .filter(n -> !List.of("lost", "traceparent", "begin", "lose").contains(n)).map(Conformance::snake).toList());
        m.put("reasons", List.of("expired", "left", "no_show", "finished", "segment_lost"));
        m.put("final", Task.FINAL);
        return m;
    }

    // ---- workers ----

    private static Object handle(Job j) {
        if (j.contentType() != null) {
            byte[] b = j.payloadBase64();
            for (int i = 0; i < b.length / 2; i++) {
                byte first = b[i];
                b[i] = b[b.length - 1 - i];
                b[b.length - 1 - i] = first;
            }
            return new Bytes(b, j.contentType());
        }
        long times = number(Json.object(j.payload()), "times", 99).longValue();
        if (j.get("fail") instanceof String why && j.attempt() <= times)
            throw new IllegalStateException(why);
        if (j.get("nack") instanceof String why && j.attempt() <= times)
            throw new Nack(why, j.get("delay") instanceof String d ? Duration.parse("PT" + d.toUpperCase()) : null);
        return j.get("result");
    }

    private static Object work(long id, Map<String, Object> a, Client c) {
        boolean stages = is(a, "coroutines");
        Worker w = new Worker(c, Json.list(a.get("queues")).stream().map(String::valueOf).toList(), j -> {
            long ms = number(Json.object(j.payload()), "ms", 0).longValue();
            if (stages)
                return CompletableFuture.supplyAsync(() -> handle(j), CompletableFuture.delayedExecutor(ms, TimeUnit.MILLISECONDS, POOL));
            Thread.sleep(ms);
            if (j.get("progress") instanceof Map<?, ?> p)
                j.progress(number(Json.object(p), "percent", null).intValue(), (String) p.get("text"), p.get("data"));
            Thread.sleep(number(Json.object(j.payload()), "then_ms", 0).longValue());
            return handle(j);
        }).concurrency(number(a, "concurrency", 4).intValue()).lease(seconds(a, "lease_s", 30)).wait(Duration.ofSeconds(1))
            .onEvent((what, job, info) -> {
                Map<String, Object> m = new HashMap<>();
                m.put("what", what);
                m.put("task", job == null ? null : job.task());
                m.put("attempt", job == null ? null : job.attempt());
                say(id, "event", m);
            });
        WORKERS.put(id, w);
        w.start();
        w.join();
        return null;
    }
}

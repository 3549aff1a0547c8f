package segq;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** Takes tasks, runs a handler for each, and says how it ended. It takes only what it can begin, extends the leases
 *  of what runs, tells ends together, and at the end finishes what runs or gives it back.
 *  A task may run twice (a worker that dies, an answer that is lost): make repeats harmless, for example with
 *  {@code job.task()} as idempotency key. */
public final class Worker {
    private static final System.Logger LOG = System.getLogger("segq");
    private static final int BATCH = 1000;
    private static final int UNSETTLED_MAX = 2000;           // ends that wait to be told: no more is taken
    private static final long IDLE_NS = 10_000_000_000L;     // so long a thread waits for a job
    private static final long GATHER_NS = 2_000_000;         // so long a take waits for more slots while others work

    /** Does a task. What it returns is the result (null: none; a byte[] or {@link Bytes}: what is no JSON); a CompletionStage is waited for, and keeps no thread.
     *  What it throws gives the task back: {@link Nack}, or anything else, whose words are the reason. It is
     *  interrupted, or the stage cancelled, when the task is lost. */
    @FunctionalInterface
    public interface Handler {
        Object handle(Job job) throws Exception;
    }

    /** Hears of taken, started, succeeded, failed, given_back, extended, lost (each with its job) and trouble (job
     *  null), for metrics and traces. info: an exception, what segq said, or null. It must be quick. */
    @FunctionalInterface
    public interface Listener {
        void on(String what, Job job, Object info);
    }

    final Http http;
    Duration lease = Duration.ofSeconds(30);
    private final List<String> queues;
    private final Handler handler;
    private int concurrency = 8;
    private int prefetch;
    private Duration wait = Duration.ofSeconds(2);
    private Duration drain = Duration.ofSeconds(25);
    private Listener listener;

    final ReentrantLock lock = new ReentrantLock();
    private final Condition room = lock.newCondition();     // as many slots are free as a take wants; it stops
    private final Condition more = lock.newCondition();     // there is a job for a thread that has none
    private final Condition quiet = lock.newCondition();    // a job is over, ends were told
    private final Set<Job> jobs = new HashSet<>();          // taken, and not over
    private final Deque<Job> ahead = new ArrayDeque<>();    // taken, and not begun
    private int running;                                    // handlers, also those that keep no thread
    private int wanted = 1;
    private int threads;
    private int idle;
    private boolean starting;                               // a thread that has no job yet
    // By queue, each told by a thread: one whose node is away delays no other's.
    private final Map<String, Settler> settlers = new HashMap<>();
    private Thread taker;
    private volatile boolean stopping;
    private volatile boolean takerOver;
    private volatile long endNs;
    private volatile CompletableFuture<?> taking;
    private volatile SegqException refused;
    private final CountDownLatch stopped = new CountDownLatch(1);

    public Worker(Client client, String queue, Handler handler) {
        this(client, List.of(queue), handler);
    }

    /** 1 to 16 queues. */
    public Worker(Client client, List<String> queues, Handler handler) {
        if (queues.isEmpty() || queues.size() > 16)
            throw new IllegalArgumentException("a worker has 1 to 16 queues");
        this.http = client.http;
        this.queues = List.copyOf(queues);
        this.handler = handler;
    }

    // ---- options, before it starts ----

    /** So many tasks at a time; 8. */
    public Worker concurrency(int most) {
        if (most < 1)
            throw new IllegalArgumentException("concurrency: at least 1");
        concurrency = most;
        return this;
    }

    /** So many are taken ahead; their leases run. */
    public Worker prefetch(int more) {
        if (more < 0)
            throw new IllegalArgumentException("prefetch: at least 0");
        prefetch = more;
        return this;
    }

    /** Extended at a third of it while the handler runs; 30 s. */
    public Worker lease(Duration time) {
        if (time.isZero() || time.isNegative())
            throw new IllegalArgumentException("lease: more than 0");
        lease = time;
        return this;
    }

    /** So long a take waits for tasks; idle, a worker ends within it. 2 s. */
    public Worker wait(Duration most) {
        wait = most;
        return this;
    }

    /** At the end, for what runs; 25 s. */
    public Worker drain(Duration most) {
        drain = most;
        return this;
    }

    public Worker onEvent(Listener hears) {
        listener = hears;
        return this;
    }

    // ---- what callers use ----

    /** Works until stop(), or until the JVM is told to end (SIGTERM, Ctrl-C): then that waits until it has drained.
     *  Throws what segq says where no later try can help (a token that may not take). */
    public void run() {
        Thread hook = new Thread(() -> {
            stop();
            join();
        }, "segq-drain");
        Runtime.getRuntime().addShutdownHook(hook);
        start();
        try {
            stopped.await();
        } catch (InterruptedException e) {
            stop();
            Thread.currentThread().interrupt();
        }
        join();
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            return; // it is the hook that ended it
        }
        if (refused != null)
            throw refused;
    }

    /** Begins, and returns. */
    public void start() {
        taker = daemon(this::take, "segq-take");
        taker.start();
        daemon(new Leases(this)::run, "segq-extend").start();
    }

    public void stop() {
        stop(drain);
    }

    /** Takes nothing more; what runs has so long. Called again: none. */
    public void stop(Duration most) {
        boolean again = stopping;
        endNs = System.nanoTime() + (again ? 0 : most.toNanos());
        stopping = true;
        stopped.countDown();
        CompletableFuture<?> asked = taking;
        if (again && asked != null)
            asked.cancel(true);
        locked(() -> {
            room.signalAll();
            quiet.signalAll();
        });
    }

    /** Returns when what ran is over, or given back, and segq knows it. */
    public void join() {
        boolean interrupted = false;
        while (taker.isAlive()) // the take under way: what it brings is begun
            try {
                taker.join();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        List<Job> left = new ArrayList<>();
        locked(() -> {
            while (!jobs.isEmpty() && endNs - System.nanoTime() > 0)
                nap(quiet, endNs - System.nanoTime());
            left.addAll(jobs);
        });
        for (Job j : left) {
            Map<String, Object> row = row(j, "nack");
            row.put("reason", "the worker stops");
            row.put("delay", 0);
            if (end(j, row, "given_back", null))
                j.lose();
        }
        locked(() -> {
            while (settlers.values().stream().anyMatch(s -> s.untold > 0))
                nap(quiet, 100_000_000);
            settlers.values().forEach(s -> s.news.signalAll());
            more.signalAll();
        });
        if (interrupted)
            Thread.currentThread().interrupt();
    }

    // ---- within ----

    static Thread daemon(Runnable run, String name) {
        Thread t = new Thread(run, name);
        t.setDaemon(true);
        return t;
    }

    void locked(Runnable run) {
        lock.lock();
        try {
            run.run();
        } finally {
            lock.unlock();
        }
    }

    /** Waits under the lock; may return sooner. */
    static void nap(Condition c, long ns) {
        try {
            c.awaitNanos(Math.max(1, ns));
        } catch (InterruptedException e) {
            // nobody else's threads: they look again
        }
    }

    void say(String what, Job job, Object info) {
        if (listener == null)
            return;
        try {
            listener.on(what, job, info);
        } catch (Throwable e) { // also an Error: the thread is ours
            LOG.log(System.Logger.Level.ERROR, "onEvent", e);
        }
    }

    /** Nothing more comes, and nothing is left. */
    boolean isOver() {
        return stopping && takerOver && jobs.isEmpty();
    }

    List<Job> due(long now) {
        lock.lock();
        try {
            return jobs.stream().filter(j -> j.extendNs - now <= 0).toList();
        } finally {
            lock.unlock();
        }
    }

    static Map<String, Object> row(Job j, String verb) {
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("task", j.task());
        row.put("verb", verb);
        row.put("lease_id", j.leaseId());
        return row;
    }

    /** Under the lock: slots that no handler has, and none will. */
    private int room() {
        return concurrency + prefetch - running - ahead.size();
    }

    private boolean isFull() {
        return room() <= 0 || settlers.values().stream().mapToInt(s -> s.untold).sum() >= UNSETTLED_MAX;
    }

    // ---- taking ----

    /** Waits for a slot, and a moment longer for more of them; 0: it stops. */
    private int free() {
        lock.lock();
        try {
            wanted = 1;
            while (!stopping && isFull())
                nap(room, 200_000_000);
            wanted = (concurrency + prefetch + 1) / 2;
            if (!stopping && room() < wanted)
                nap(room, GATHER_NS);
            return stopping ? 0 : Math.min(BATCH, room());
        } finally {
            lock.unlock();
        }
    }

    private void take() {
        try {
            boolean many = queues.size() > 1;
            String path = many ? "/v1/tasks/take" : "/v1/queues/" + Http.enc(queues.get(0)) + "/tasks/take";
            Map<String, Object> body = new LinkedHashMap<>();
            if (many)
                body.put("queues", queues);
            body.put("lease", lease.toMillis() / 1000.0);
            body.put("wait", wait.toMillis() / 1000.0);
            Backoff backoff = new Backoff(200);
            for (int n; (n = free()) > 0 && !stopping;)
                takeSome(path, body, n, backoff);
        } finally {
            takerOver = true;
            locked(() -> settlers.values().forEach(s -> s.news.signalAll()));
        }
    }

    private void takeSome(String path, Map<String, Object> body, int n, Backoff backoff) {
        body.put("n", n);
        long asked = System.nanoTime();
        try {
            Doing<Object> f = http.call("POST", path, body, Map.of(), http.timeout.plus(wait), Duration.ZERO);
            taking = f;
            List<?> tasks = Json.list(Http.object(f.join()).get("tasks"));
            begin(tasks);
            backoff.fails = 0;
            if (tasks.isEmpty() && System.nanoTime() - asked < Math.max(100_000_000, wait.toNanos() / 2))
                pause(100); // a router that stops does not wait
        } catch (RuntimeException | OutOfMemoryError e) { // whatever was answered: this thread goes on
            Throwable why = Doing.bare(e);
            if (stopping || isHopeless(why))
                return;
            say("trouble", null, why);
            pause(why instanceof SegqException s ? backoff.next(s) : backoff.next((Duration) null));
        }
    }

    private void pause(long ms) {
        try {
            stopped.await(ms, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            // nobody else's thread
        }
    }

    /** It can never work: the token, the queue, our own request. */
    private boolean isHopeless(Throwable e) {
        if (!(e instanceof ApiException a) || a.status() >= 500 || a.status() == 429)
            return false;
        refused = a;
        LOG.log(System.Logger.Level.ERROR, "segq worker: " + a.getMessage());
        stop();
        return true;
    }

    private void begin(List<?> tasks) {
        long now = System.nanoTime();
        List<Job> taken = new ArrayList<>(tasks.size());
        for (Object t : tasks)
            taken.add(new Job(this, Http.object(t), queues.get(0), now));
        taken.forEach(j -> say("taken", j, null));
        locked(() -> {
            jobs.addAll(taken);
            ahead.addAll(taken);
            hire();
        });
    }

    // ---- running ----

    /** Under the lock: somebody does what there is to do. One thread after the other: those of handlers that do not
     *  block do more than one job meanwhile. */
    private void hire() {
        if (ahead.isEmpty() || running >= concurrency)
            return;
        if (idle > 0) {
            more.signal();
        } else if (!starting && threads < concurrency) {
            daemon(this::work, "segq-work").start();
            starting = true; // until it has the lock
            threads++;
        }
    }

    private void work() {
        locked(() -> starting = false);
        for (Job j; (j = pick()) != null;)
            if (handle(j))
                freed();
    }

    /** The next job of a thread; null: it has been idle for long, or the worker is over. */
    private Job pick() {
        lock.lock();
        try {
            for (;;) {
                if (!ahead.isEmpty() && running < concurrency) {
                    running++;
                    Job j = ahead.poll();
                    hire();
                    return j;
                }
                long since = System.nanoTime();
                if (!isOver()) {
                    idle++;
                    nap(more, IDLE_NS);
                    idle--;
                }
                if (ahead.isEmpty() && (isOver() || System.nanoTime() - since >= IDLE_NS)) {
                    threads--;
                    return null;
                }
            }
        } finally {
            lock.unlock();
        }
    }

    /** A handler is done. */
    private void freed() {
        locked(() -> {
            running--;
            if (room() >= wanted)
                room.signal();
        });
    }

    /** False: it goes on without this thread. */
    private boolean handle(Job j) {
        if (!j.begin())
            return true;
        Object result;
        say("started", j, null);
        try {
            result = Trace.with(j.traceparent(), () -> handler.handle(j));
        } catch (Throwable e) { // also an Error: the thread is ours
            j.returned(null);
            failed(j, e);
            return true;
        }
        if (!(result instanceof CompletionStage<?> stage)) {
            j.returned(null);
            succeeded(j, result);
            return true;
        }
        j.returned(stage.toCompletableFuture());
        stage.whenComplete((v, e) -> {
            if (e == null)
                succeeded(j, v);
            else
                failed(j, Doing.bare(e));
            freed();
            locked(this::hire);
        });
        return false;
    }

    private void succeeded(Job j, Object result) {
        Map<String, Object> row = row(j, "ack");
        try {
            Object bytes = result instanceof byte[] b ? new Bytes(b, "application/octet-stream") : result;
            if (bytes instanceof Bytes b) {
                row.put("result_base64", new Json.Written(Json.write(Base64.getEncoder().encodeToString(b.body()))));
                row.put("content_type", b.contentType());
            } else if (result != null) {
                row.put("result", new Json.Written(Json.write(result)));
            }
        } catch (RuntimeException | Error e) { // of its lists and maps, too, which another thread may still write
            failed(j, new Nack("the result is no JSON: " + (e instanceof IllegalArgumentException ? e.getMessage() : Settler.reason(e))));
            return;
        }
        end(j, row, "succeeded", null);
    }

    private void failed(Job j, Throwable e) {
        Map<String, Object> row = row(j, "nack");
        row.put("reason", Settler.reason(e));
        if (e instanceof Nack n) {
            if (n.delay() != null)
                row.put("delay", n.delay().toMillis() / 1000.0);
        } else if (!j.lost()) {
            LOG.log(System.Logger.Level.WARNING, "segq handler: task " + j.task().substring(0, Math.min(12, j.task().length())) + "...", e);
        }
        end(j, row, "failed", e);
    }

    /** False: it was over. */
    private boolean end(Job j, Map<String, Object> row, String what, Object info) {
        lock.lock();
        try {
            if (j.over)
                return false;
            j.over = true;
            jobs.remove(j);
            ahead.remove(j);
            settlers.computeIfAbsent(j.queue(), q -> new Settler(this, q)).add(j, row);
            quiet.signalAll();
        } finally {
            lock.unlock();
        }
        say(what, j, info);
        return true;
    }

    /** Ends were told. */
    void told() {
        room.signal();
        quiet.signalAll();
    }

    /** It is not ours any more: its handler is told, and its end is nobody's business. */
    void lose(Job j, Object said) {
        lock.lock();
        try {
            if (j.over)
                return;
            j.over = true;
            jobs.remove(j);
            ahead.remove(j);
            told();
        } finally {
            lock.unlock();
        }
        j.lose();
        say("lost", j, said);
    }
}

package segq;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** A task in a handler's hands. */
public final class Job {
    private static final long PROGRESS_NS = 250_000_000; // between two words

    private final Worker worker;
    private final Map<String, Object> said;
    private final String queue;
    private volatile boolean lost;
    private Thread thread;                // that runs its handler
    private CompletableFuture<?> doing;   // what its handler returned
    volatile long untilNs;                // of its lease
    volatile long extendNs;
    volatile boolean over;                // written under the worker's lock
    private Map<String, Object> progress; // that is still to be told
    private boolean telling;
    private long toldNs = System.nanoTime() - PROGRESS_NS;

    Job(Worker worker, Map<String, Object> said, String queue, long now) {
        this.worker = worker;
        this.said = said;
        this.queue = said.get("queue") instanceof String s ? s : queue;
        if (!(said.get("task") instanceof String) || !(said.get("lease_id") instanceof String) || !(said.get("attempt") instanceof Number))
            throw new SegqException.Network("an answer that is no task");
        extended(now);
    }

    void extended(long now) {
        long leaseNs = worker.lease.toNanos();
        untilNs = now + leaseNs;
        extendNs = now + leaseNs / 3;
    }

    /** Its token: an idempotency key for what you do. */
    public String task() {
        return (String) said.get("task");
    }

    public String queue() {
        return queue;
    }

    /** Or null. */
    public String key() {
        return (String) said.get("key");
    }

    /** 1: the first one. */
    public int attempt() {
        return ((Number) said.get("attempt")).intValue();
    }

    /** Its JSON: a Map, List, String ... ({@link Json}). */
    public Object payload() {
        return said.get("payload");
    }

    /** What is no JSON, in place of it; else null. */
    public byte[] payloadBase64() {
        return said.get("payload_base64") instanceof String s ? java.util.Base64.getDecoder().decode(s) : null;
    }

    /** The type of that; else null. */
    public String contentType() {
        return (String) said.get("content_type");
    }

    /** A member of a payload that is an object; else null. */
    public Object get(String member) {
        return Json.object(payload()).get(member);
    }

    public String leaseId() {
        return (String) said.get("lease_id");
    }

    /** Unix seconds, when it was taken. */
    public double leaseExpiresAt() {
        return said.get("lease_expires_at") instanceof Number n ? n.doubleValue() : 0;
    }

    /** Cancelled by force, or its lease has ended: another worker may have it. */
    public boolean lost() {
        return lost;
    }

    /** The trace context that its submitter handed on (of payloads that are objects), or null. */
    public String traceparent() {
        return get("traceparent") instanceof String s ? s : null;
    }

    /** Says how far it is: 0 to 100, 200 bytes, any JSON of 1 KiB; null: not said. Returns at once: the newest word is
     *  told, four times a second at most; one that is refused is "trouble" of onEvent(). */
    public void progress(Integer percent, String text, Object data) {
        Map<String, Object> m = new LinkedHashMap<>();
        if (percent != null)
            m.put("percent", percent);
        if (text != null && !Settler.plain(text).isEmpty())
            m.put("text", Settler.plain(text));
        if (data != null)
            m.put("data", data);
        synchronized (this) {
            progress = m.isEmpty() ? null : m;
        }
        tell();
    }

    /** Likewise. */
    public void progress(int percent, String text) {
        progress(percent, text, null);
    }

    /** One word at a time, and the next one not too soon. */
    private synchronized void tell() {
        if (progress == null || telling || over)
            return;
        telling = true;
        long ms = (toldNs + PROGRESS_NS - System.nanoTime()) / 1_000_000;
        worker.http.later(ms, this::tellNow);
    }

    private void tellNow() {
        Map<String, Object> row = new LinkedHashMap<>();
        synchronized (this) {
            if (progress == null || over) { // it was taken back, or is of no interest any more
                telling = false;
                return;
            }
            row.put("lease_id", leaseId());
            row.putAll(progress);
            toldNs = System.nanoTime();
            progress = null;
        }
        worker.http.call("POST", "/v1/tasks/" + Http.enc(task()) + "/progress", row, Map.of(),
            worker.http.timeout, Duration.ZERO).whenComplete((v, e) -> {
                if (e instanceof ApiException a && (a.status() == 409 || a.status() == 410))
                    worker.lose(this, a.problem());
                else if (e != null)
                    worker.say("trouble", this, Doing.bare(e));
                synchronized (this) {
                    telling = false;
                }
                tell();
            });
    }

    /** Its handler begins in this thread; false: it is lost already. */
    synchronized boolean begin() {
        thread = lost ? null : Thread.currentThread();
        return !lost;
    }

    /** The handler has returned, and this thread is another job's. */
    synchronized void returned(CompletableFuture<?> more) {
        if (thread != null) {
            thread = null;
            Thread.interrupted();
        }
        doing = more;
        if (lost && more != null)
            more.cancel(true);
    }

    /** Whoever works at it is told. */
    synchronized void lose() {
        lost = true;
        if (thread != null)
            thread.interrupt();
        if (doing != null)
            doing.cancel(true);
    }
}

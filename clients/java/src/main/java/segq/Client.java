package segq;

import java.security.KeyPair;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import javax.net.ssl.SSLContext;

/** All of segq that a program asks. Threads may share it. Its futures are ended by cancel() and orTimeout(), also what
 *  is under way for them; join() throws {@link SegqException} as it is. */
public final class Client extends Tasks {
    private static final AtomicInteger NUMBER = new AtomicInteger();
    private static final Executor POOL = new ThreadPoolExecutor(0, Integer.MAX_VALUE, 10, TimeUnit.SECONDS,
        new SynchronousQueue<>(), run -> {
            Thread t = new Thread(run, "segq-" + NUMBER.incrementAndGet());
            t.setDaemon(true);
            return t;
        });

    private Client(Builder b) {
        super(new Http(b));
    }

    /** Without a token: for people. Any of the routers will do. */
    public static Client of(String... routers) {
        return to(routers).build();
    }

    public static Builder to(String... routers) {
        return new Builder(List.of(routers));
    }

    /** What a client needs to know. */
    public static final class Builder {
        final List<String> routers;
        final Map<String, String> headers = new HashMap<>();
        String token;
        Duration timeout = Duration.ofSeconds(10);
        Duration retryFor = Duration.ofSeconds(60);
        SSLContext ssl;
        Executor executor = POOL;

        private Builder(List<String> routers) {
            this.routers = routers;
        }

        /** Of a server that submits or takes tasks; people's calls never send it. */
        public Builder token(String token) {
            this.token = token;
            return this;
        }

        /** Of one whole answer. */
        public Builder timeout(Duration most) {
            timeout = most;
            return this;
        }

        /** How long a call is tried again, all tries together. People in line wait as long as it takes. */
        public Builder retryFor(Duration most) {
            retryFor = most;
            return this;
        }

        /** Other authorities than the system's. */
        public Builder ssl(SSLContext context) {
            ssl = context;
            return this;
        }

        /** Where callbacks run; it needs threads enough for those that wait. */
        public Builder executor(Executor executor) {
            this.executor = executor;
            return this;
        }

        /** Sent with each request. */
        public Builder header(String name, String value) {
            headers.put(name, value);
            return this;
        }

        public Client build() {
            return new Client(this);
        }
    }

    /** A place in a line of people. Nothing is asked yet. */
    public Line line(String queue) {
        return new Line(http, queue);
    }

    /** A key for {@link Line#key}, in memory; a KeyStore keeps one. */
    public static KeyPair newDeviceKey() {
        return Proof.newKey();
    }

    /** Places in several queues, of which the first turn is taken. Nothing is asked yet. */
    public Several several(String... queues) {
        return new Several(http, List.of(queues));
    }

    /** Joins, and completes when it is let in: {@code pass()}. */
    public CompletableFuture<Ticket> awaitPass(String queue, Consumer<Ticket> news) {
        return line(queue).await(news);
    }

    /** A queue's figures (Queue of proto/openapi.yaml). */
    public CompletableFuture<Map<String, Object>> figures(String queue) {
        return http.ask("GET", "/v1/queues/" + Http.enc(queue), null, Http.people());
    }
}

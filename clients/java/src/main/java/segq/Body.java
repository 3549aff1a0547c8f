package segq;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.Flow;
import java.util.concurrent.ScheduledFuture;
import java.util.function.Consumer;

/** The body of an answer, as it comes: one piece at a time, and no more is read before it has been dealt with. */
final class Body implements Flow.Subscriber<List<ByteBuffer>> {
    /** Completes at the end of the body; Network: it breaks off, or is silent for too long. */
    final Doing<Void> end = new Doing<>();
    private final Http http;
    private final Consumer<byte[]> each;
    private final boolean pieceIsNews;
    private volatile Flow.Subscription from;
    private volatile long patienceMs;
    private volatile long heard = System.nanoTime();
    private volatile boolean busy;
    private volatile ScheduledFuture<?> timer;

    /** patienceMs: the longest silence, 0: any. pieceIsNews: a piece ends it; else only news() does. */
    Body(Http http, long patienceMs, boolean pieceIsNews, Consumer<byte[]> each) {
        this.http = http;
        this.each = each;
        this.pieceIsNews = pieceIsNews;
        end.whenComplete((v, e) -> stop());
        patience(patienceMs);
    }

    void patience(long ms) {
        patienceMs = ms;
        ScheduledFuture<?> t = timer;
        if (t != null)
            t.cancel(false);
        if (ms > 0 && !end.isDone())
            timer = http.later(left(), this::late);
    }

    void news() {
        heard = System.nanoTime();
    }

    private long left() {
        return patienceMs - (System.nanoTime() - heard) / 1_000_000;
    }

    private void late() {
        if (end.isDone() || patienceMs == 0)
            return;
        if (!busy && left() <= 0)
            end.fail(new SegqException.Network("nothing comes any more"));
        else
            timer = http.later(Math.max(left(), 10), this::late);
    }

    private void stop() {
        ScheduledFuture<?> t = timer;
        if (t != null)
            t.cancel(false);
        Flow.Subscription s = from;
        if (s != null)
            s.cancel();
    }

    @Override
    public void onSubscribe(Flow.Subscription s) {
        from = s;
        if (end.isDone())
            s.cancel();
        else
            s.request(1);
    }

    @Override
    public void onNext(List<ByteBuffer> item) {
        busy = true;
        try {
            for (ByteBuffer b : item) {
                byte[] piece = new byte[b.remaining()];
                b.get(piece);
                if (piece.length > 0 && !end.isDone())
                    each.accept(piece);
            }
        } catch (Throwable e) {
            end.fail(e);
        }
        if (pieceIsNews)
            news();
        busy = false;
        if (!end.isDone())
            from.request(1);
    }

    @Override
    public void onError(Throwable e) {
        end.fail(Http.broken("the answer breaks off", e));
    }

    @Override
    public void onComplete() {
        end.complete(null);
    }

    /** Collects a body of at most so many bytes. */
    static Doing<byte[]> whole(Http http, Flow.Publisher<List<ByteBuffer>> from, int max) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        Body b = new Body(http, 0, true, piece -> {
            if (all.size() + piece.length > max)
                throw new SegqException.Network("an answer of more than " + max + " bytes");
            all.writeBytes(piece);
        });
        from.subscribe(b);
        return Doing.map(b.end, v -> all.toByteArray());
    }
}

package segq;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Future;
import java.util.function.Function;

/** A future that ends what is done for it when somebody else ends it: by cancel(), orTimeout(), complete(). So does
 *  one that depends on it (thenApply() and so on). */
final class Doing<T> extends CompletableFuture<T> {
    private volatile Future<?> under;

    @Override
    public <U> CompletableFuture<U> newIncompleteFuture() {
        Doing<U> d = new Doing<>();
        d.under = this;
        return d;
    }

    /** What is done for it now. */
    void under(Future<?> f) {
        under = f;
        if (isDone())
            f.cancel(true);
    }

    private boolean ended(boolean now) {
        Future<?> f = under;
        if (now && f != null && !f.isDone())
            f.cancel(true);
        return now;
    }

    @Override
    public boolean cancel(boolean interrupt) {
        return ended(super.cancel(interrupt));
    }

    @Override
    public boolean complete(T value) {
        return ended(super.complete(value));
    }

    @Override
    public boolean completeExceptionally(Throwable e) {
        return ended(super.completeExceptionally(e));
    }

    /** Likewise, without what futures wrap around it. */
    void fail(Throwable e) {
        completeExceptionally(bare(e));
    }

    static Throwable bare(Throwable e) {
        return e instanceof CompletionException && !(e instanceof SegqException) && e.getCause() != null ? e.getCause() : e;
    }

    /** It ends as this one. */
    void as(CompletableFuture<T> f) {
        under(f);
        f.whenComplete((v, e) -> {
            if (e != null)
                fail(e);
            else
                complete(v);
        });
    }

    static <A, B> Doing<B> then(CompletableFuture<A> a, Function<? super A, ? extends CompletableFuture<B>> next) {
        Doing<B> d = new Doing<>();
        d.under(a);
        a.whenComplete((v, e) -> {
            try {
                if (e != null)
                    d.fail(e);
                else
                    d.as(next.apply(v));
            } catch (Throwable t) {
                d.fail(t);
            }
        });
        return d;
    }

    static <A, B> Doing<B> map(CompletableFuture<A> a, Function<? super A, ? extends B> f) {
        return then(a, v -> done(f.apply(v)));
    }

    static <T> Doing<T> done(T value) {
        Doing<T> d = new Doing<>();
        d.complete(value);
        return d;
    }

    static <T> Doing<T> failed(Throwable e) {
        Doing<T> d = new Doing<>();
        d.fail(e);
        return d;
    }
}

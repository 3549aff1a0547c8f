package segq;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/** One person's places in several queues: the first turn is taken, the others are given up ({@code join_groups} of
 *  the routers), or kept: then each place that is let in has its own pass, and the wait ends when none waits any more.
 *  Not for two awaits at once. */
public final class Several {
    private final Http http;
    private final List<String> queues;
    private final String key = UUID.randomUUID().toString();
    private String client = "game";
    private String name;
    private String others;
    private String claim;
    private volatile String group;

    Several(Http http, List<String> queues) {
        this.http = http;
        this.queues = queues;
    }

    /** The last one of an earlier run: it goes on in the same places. */
    public Several group(String saved) {
        group = saved;
        return this;
    }

    /** A group of the routers' configuration, in place of queues. */
    public Several name(String ofGroup) {
        name = ofGroup;
        return this;
    }

    /** "give_up" or "keep": the other places, at a turn. */
    public Several others(String rule) {
        others = rule;
        return this;
    }

    /** A signed claim for all queues. */
    public Several claim(String jwt) {
        claim = jwt;
        return this;
    }

    /** "browser", "mobile", "game": sets the idle time-out. */
    public Several client(String kind) {
        client = kind;
        return this;
    }

    /** Save it: each answer has another one, all of them stay good. */
    public String group() {
        return group;
    }

    /** Takes the places, all or none, or finds them again. */
    public CompletableFuture<Places> join() {
        if (group != null)
            return poll();
        Map<String, Object> body = new LinkedHashMap<>();
        body.put("queues", queues.isEmpty() ? null : queues);
        body.put("group", name);
        body.put("others", others);
        body.put("claim", claim);
        body.put("client", client);
        body.values().removeIf(Objects::isNull);
        return asked(new Http.Ask("POST", "/v1/places", Json.bytes(body),
            Http.people("Content-Type", "application/json", "Idempotency-Key", key)));
    }

    /** Asks once; also tells segq that somebody still waits. TicketGone: no place is left. */
    public CompletableFuture<Places> poll() {
        return asked(new Http.Ask("GET", path(), null, Http.people()));
    }

    /** Gives all places up, or ends the session. */
    public CompletableFuture<Void> leave() {
        return group == null ? Doing.done(null) : Doing.map(http.call("DELETE", path(), null, Http.people()), said -> null);
    }

    /** Completes when the first turn has come, with its pass; news hears of each answer, one at a time. */
    public CompletableFuture<Places> await(Consumer<Places> news) {
        Doing<Places> all = new Doing<>();
        next(all, join(), news);
        return all;
    }

    private void next(Doing<Places> all, CompletableFuture<Places> asked, Consumer<Places> news) {
        all.under(asked);
        asked.whenComplete((p, e) -> {
            try {
                if (e != null) {
                    all.fail(e);
                } else if (!all.isDone()) {
                    news.accept(p);
                    if (p.admitted())
                        all.complete(p);
                    else
                        next(all, Doing.then(http.pause(p.pollAfterMs()), v -> Doing.map(poll(), x -> x)), news);
                }
            } catch (Throwable t) {
                all.fail(t);
            }
        });
    }

    private String path() {
        return "/v1/places/" + Http.enc(group);
    }

    private CompletableFuture<Places> asked(Http.Ask a) {
        return Doing.map(http.untilAnswered(router -> Doing.map(http.once(router, a, http.timeout),
            got -> Places.of(Http.judge(got))), null, why -> { }), p -> {
                group = p.group();
                if ("over".equals(p.state()))
                    throw ApiException.of(410, Map.of("code", "ticket_gone", "detail", "no place is left: join again"), null);
                return p;
            });
    }
}

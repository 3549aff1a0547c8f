package segq;

import java.security.PublicKey;
import java.time.Duration;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The routers' public keys: fetched when needed, kept for as long as their answer says, and fetched anew for a kid
 *  that is not known. */
final class Keys {
    private static final long KEYS_S = 60;        // if the answer does not say for how long
    private static final long KEYS_MAX_S = 3600;  // whatever the answer says
    private static final long AGAIN_S = 5;        // they are asked for at most so often
    private static final long STALE_S = 86400;    // while no router answers, old keys do
    private static final Pattern AGE = Pattern.compile("max-age=(\\d{1,9})");

    private final Http http;
    private final ReentrantLock lock = new ReentrantLock();
    private volatile Map<String, PublicKey> keys = Map.of();
    private volatile long until;
    private volatile long asked;
    private long got;

    Keys(Http http) {
        this.http = http;
        until = asked = got = System.nanoTime() - s(STALE_S);
    }

    private static long s(long seconds) {
        return seconds * 1_000_000_000;
    }

    /** Has them fetched beside, if they are old: for the time when no router answers. */
    void warm() {
        long now = System.nanoTime();
        if (now - until < 0 || now - asked < s(AGAIN_S))
            return;
        asked = now;
        http.executor().execute(() -> {
            lock.lock();
            try {
                fetch(System.nanoTime());
            } catch (SegqException e) {
                // who needs them asks again, and hears why
            } finally {
                lock.unlock();
            }
        });
    }

    /** null: there is no such key. Network, Unavailable: none is known. */
    PublicKey get(String kid) {
        long now = System.nanoTime();
        PublicKey known = keys.get(kid);
        if (now - until < 0 && (known != null || now - asked < s(AGAIN_S)))
            return known;
        if (known == null)
            lock.lock();
        else if (!lock.tryLock())
            return known; // who has a key that will do does not wait
        try {
            if (now - asked >= 0) // nobody else has asked meanwhile
                fetch(now);
        } finally {
            lock.unlock();
        }
        if (keys.isEmpty()) // who waited for another's question: it was in vain
            throw new SegqException.Network("no router has told its keys yet");
        return keys.get(kid);
    }

    private void fetch(long now) {
        asked = System.nanoTime();
        Answer a;
        try {
            Http.Ask q = new Http.Ask("GET", "/.well-known/jwks.json", null, Http.people());
            a = http.untilAnswered(r -> Doing.map(http.once(r, q, http.timeout), Http::raw),
                keys.isEmpty() ? Duration.ofSeconds(3) : Duration.ZERO, w -> { }).join();
            keys = read(a);
        } catch (SegqException e) {
            asked = System.nanoTime(); // who waited meanwhile does not ask the same again
            if (keys.isEmpty() || now - got > s(STALE_S))
                throw e;
            until = now + s(AGAIN_S);
            return;
        }
        Matcher m = AGE.matcher(a.headers().firstValue("cache-control").orElse(""));
        got = asked = System.nanoTime();
        until = got + s(m.find() ? Math.min(KEYS_MAX_S, Math.max(AGAIN_S, Long.parseLong(m.group(1)))) : KEYS_S);
    }

    private static Map<String, PublicKey> read(Answer a) {
        Map<String, PublicKey> out = new HashMap<>();
        try {
            for (Object o : Json.list(Json.object(a.json()).get("keys"))) {
                Map<String, Object> k = Json.object(o);
                if ("OKP".equals(k.get("kty")) && "Ed25519".equals(k.get("crv")))
                    out.put((String) k.get("kid"), Ed25519.key(Base64.getUrlDecoder().decode((String) k.get("x"))));
            }
        } catch (IllegalArgumentException | ClassCastException | NullPointerException e) {
            throw Http.broken("the keys cannot be read", e);
        }
        if (out.isEmpty())
            throw new SegqException.Network("none of the keys is for passes");
        return out;
    }
}

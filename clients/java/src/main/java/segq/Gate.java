package segq;

import java.nio.charset.StandardCharsets;
import java.security.PublicKey;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;

/** At the door of one queue: passes, checked here or by a router. A pass is a JWT (EdDSA) of the routers' published
 *  keys; its audience is the queue. One that was revoked is seen by routers only: verify(). */
public final class Gate {
    private static final int JWT_MAX = 4096;
    private static final int KNOWN_MAX = 4096;
    private static final long AWAY_NS = 1_000_000_000; // so long nobody asks after no router has answered
    private static final Pattern ODD = Pattern.compile("[%\\\\;#\\x00-\\x20\\x7f]|//|/\\.\\.?(/|$)");
    private static final System.Logger LOG = System.getLogger("segq");

    /** Of the middleware. ALWAYS: a router decides about each request (renewal, revocation, bypass), and passes are
     *  checked here only while none answers. RENEW: here, and a router is asked when a third of the pass is over, so
     *  that it is renewed. NEVER: only here. */
    public enum Ask { ALWAYS, RENEW, NEVER }

    private record Known(String kid, Pass pass) { }

    private static final String DEVICE = "segq_device_";

    /** A pass that came with a request, as a bearer or as a cookie; or a cookie of its device, whole. */
    private record Token(boolean bearer, String text) { }

    /** About a visitor's request. status 0: come in, with {@code headers} for the answer; else the answer itself.
     *  given: a {@link Pass} or a {@link Pass.Verdict}. */
    public record Decision(int status, Object given, Map<String, String> headers, byte[] body) {
        /** Whose it is, or null. */
        public String ticket() {
            return given instanceof Pass p ? p.ticket() : given instanceof Pass.Verdict v ? v.ticket() : null;
        }
    }

    private final Http http;
    private final String queue;
    private final Keys keys;
    private final Map<String, Known> known = new ConcurrentHashMap<>();
    private Duration leeway = Duration.ofSeconds(30);
    private Duration timeout = Duration.ofSeconds(2);
    private Ask ask = Ask.ALWAYS;
    private String room = "";
    private String secret;
    private volatile long away = System.nanoTime();

    public Gate(Client client, String queue) {
        this.http = client.http;
        this.queue = queue;
        this.keys = new Keys(http);
    }

    // ---- options ----

    /** How far clocks may differ; 30 s. */
    public Gate leeway(Duration most) {
        leeway = most;
        return this;
    }

    /** How long a visitor waits for a router; 2 s. */
    public Gate timeout(Duration most) {
        timeout = most;
        return this;
    }

    public Gate ask(Ask when) {
        ask = when;
        return this;
    }

    /** Another address of this site that has the waiting page; visitors come back there. */
    public Gate room(String site) {
        room = site;
        return this;
    }

    /** That of gate_secret_file. */
    public Gate secret(String text) {
        secret = text;
        return this;
    }

    // ---- here ----

    /** PassInvalid, PassExpired, PassNotYetValid: it opens nothing. No router is asked, but for keys. */
    public Pass check(String token) {
        return check(token, null, null);
    }

    /** A pass that is bound needs the request's method and path; one that is good once needs a router: verify(). */
    public Pass check(String token, String method, String path) {
        if (token == null)
            throw new SegqException.PassInvalid("none", "no pass");
        Known k = known.get(token);
        if (k == null || keys.get(k.kid) == null)
            k = opened(token);
        inTime(k.pass);
        bound(k.pass.claims(), method, path);
        return k.pass;
    }

    /** base64url without padding, in its one form. */
    private static byte[] base64(String text) {
        byte[] raw = Base64.getUrlDecoder().decode(text);
        if (!Claim.base64(raw).equals(text))
            throw new IllegalArgumentException("not canonical");
        return raw;
    }

    private static Map<String, Object> object(byte[] raw) {
        if (!(Json.readStrict(raw) instanceof Map<?, ?> m))
            throw new IllegalArgumentException("no object");
        return Json.object(m);
    }

    private Known opened(String token) {
        String[] parts = token.split("\\.", -1);
        Map<String, Object> head;
        Map<String, Object> claims;
        byte[] signature;
        try {
            if (parts.length != 3 || token.length() > JWT_MAX)
                throw new IllegalArgumentException("not three parts");
            head = object(base64(parts[0]));
            claims = object(base64(parts[1]));
            signature = base64(parts[2]);
        } catch (IllegalArgumentException e) {
            throw new SegqException.PassInvalid("malformed", e.getMessage());
        }
        if (!"EdDSA".equals(head.get("alg")) || head.containsKey("crit"))
            throw new SegqException.PassInvalid("algorithm", "a pass is signed with EdDSA, and needs no extension");
        if (!(head.get("kid") instanceof String kid))
            throw new SegqException.PassInvalid("malformed", "it does not say which key has signed it");
        PublicKey key = keys.get(kid);
        byte[] signed = token.substring(0, token.lastIndexOf('.')).getBytes(StandardCharsets.US_ASCII);
        if (key == null || !Ed25519.verify(key, signature, signed))
            throw new SegqException.PassInvalid(key == null ? "unknown_key" : "signature", "no router of this cluster has signed it");
        Known k = new Known(kid, pass(claims));
        if (known.size() >= KNOWN_MAX)
            known.clear();
        known.put(token, k);
        return k;
    }

    private Pass pass(Map<String, Object> c) {
        for (String n : new String[] {"exp", "iat", "nbf"})
            if (!(c.get(n) instanceof Long))
                throw new SegqException.PassInvalid("malformed", "a pass has a number " + n);
        for (String n : new String[] {"aud", "jti", "sub", "lane"})
            if (!(c.get(n) instanceof String))
                throw new SegqException.PassInvalid("malformed", "a pass has a text " + n);
        if (!c.get("aud").equals(queue))
            throw new SegqException.PassInvalid("other_queue", "it is for " + c.get("aud"));
        return new Pass(queue, (String) c.get("jti"), (String) c.get("sub"), (String) c.get("lane"), (Long) c.get("iat"),
            (Long) c.get("exp"), c);
    }

    private void inTime(Pass p) {
        double now = System.currentTimeMillis() / 1000.0;
        double skew = leeway.toMillis() / 1000.0;
        if (now >= p.expiresAt() + skew)
            throw new SegqException.PassExpired("since " + Math.round(now - p.expiresAt()) + " s");
        long from = (Long) p.claims().get("nbf");
        if (now < from - skew)
            throw new SegqException.PassNotYetValid("for " + Math.round(from - now) + " s; are the clocks right?");
    }

    private static void bound(Map<String, Object> c, String method, String path) {
        if (c.containsKey("use"))
            throw new SegqException.PassInvalid("once", "it is good once, which only a router can tell: verify()");
        Object htm = c.get("htm");
        Object htu = c.get("htu");
        if (htm != null && !htm.equals(method))
            throw new SegqException.PassInvalid("other_method", "it is for " + htm);
        if (htu == null)
            return;
        String plain = path == null ? "" : path.replaceAll("(?s)\\?.*", "");
        String below = htu.toString().replaceAll("/+$", "") + "/";
        if (!(plain.equals(htu) || plain.startsWith(below)) || ODD.matcher(plain).find())
            throw new SegqException.PassInvalid("other_url", "it is for " + htu);
    }

    // ---- by a router ----

    /** Asks a router; ApiException with its code: no. */
    public CompletableFuture<Pass.Verdict> verify(String token) {
        return verify(token, Map.of(), false);
    }

    /** headers: of the visitor's request, and X-Original-URI, X-Original-Method (believed of a trusted proxy). */
    public CompletableFuture<Pass.Verdict> verify(String token, Map<String, String> headers, boolean once) {
        Map<String, String> h = Http.people();
        if (token != null)
            h.put("Authorization", "Bearer " + token);
        h.putAll(headers);
        if (secret != null) { // asked again it is the same question: a pass that is good once is used once
            h.put("X-Segq-Ask", UUID.randomUUID().toString());
            h.put("X-Segq-Gate-Secret", secret);
        }
        String path = "/v1/verify?queue=" + Http.enc(queue) + (once ? "&use=once" : "");
        return each(new Http.Ask("GET", path, null, h), http.count() - 1);
    }

    /** Each router once: a visitor waits. */
    private Doing<Pass.Verdict> each(Http.Ask q, int more) {
        Doing<Pass.Verdict> d = new Doing<>();
        Doing<Pass.Verdict> one = http.untilAnswered(r -> Doing.map(http.once(r, q, timeout), this::verdict), Duration.ZERO, w -> { });
        d.under(one);
        one.whenComplete((v, bad) -> {
            Throwable e = Doing.bare(bad == null ? new Error() : bad);
            if (bad == null)
                d.complete(v);
            else if (e instanceof IllegalArgumentException)
                d.fail(new SegqException.PassInvalid("malformed", String.valueOf(e.getMessage())));
            else if (more > 0 && (e instanceof SegqException.Network || e instanceof ApiException.Unavailable))
                d.as(each(q, more - 1));
            else
                d.fail(e);
        });
        return d;
    }

    private Pass.Verdict verdict(Answer a) {
        Http.raw(a);
        String ticket = a.header("x-segq-ticket");
        String bypass = a.header("x-segq-bypass");
        String theirs = a.header("x-segq-queue");
        if (a.status() != 204 || (theirs != null && !theirs.equals(queue)) || (ticket == null && bypass == null))
            throw new SegqException.Network("what answers (" + a.status() + ") is no router: it lets nobody in");
        String until = a.header("x-segq-expires");
        return new Pass.Verdict(queue, bypass, ticket, a.header("x-segq-subject"), a.header("x-segq-lane"),
            until != null && until.matches("\\d{1,18}") ? Long.valueOf(until) : null, a.header("set-cookie"), a.header("x-segq-pass"));
    }

    /** "release": its slot is free; "revoke", "extend", "extend=600" need the secret. */
    public CompletableFuture<Void> session(String token, String command) {
        return session(List.of(new Token(true, token)), command);
    }

    private CompletableFuture<Void> session(List<Token> tokens, String command) {
        Map<String, String> h = passes(tokens);
        h.put("X-Segq-Gate-Secret", secret == null ? "" : secret);
        return Doing.map(http.call("POST", "/v1/session", Map.of("command", command), h), said -> null);
    }

    // ---- middleware ----

    /** About a visitor's request. It may wait for a router. */
    public Decision decide(String method, String uri, Map<String, String> headers) {
        Map<String, String> h = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        h.putAll(headers);
        List<Token> tokens = presented(h);
        if (ask != Ask.ALWAYS) {
            Object p = firstGood(tokens, method, uri);
            if (p instanceof SegqException why) {
                if (ask == Ask.NEVER || !why.code().equals("once"))
                    return refuse(method, uri, h, why);
            } else if (ask == Ask.NEVER || isYoung((Pass) p)) {
                return new Decision(0, p, Map.of(), new byte[0]);
            }
        }
        try {
            if (System.nanoTime() - away < 0)
                throw new SegqException.Network("no router answered a moment ago");
            Pass.Verdict v = verify(null, visitor(method, uri, h, tokens), false).join();
            keys.warm();
            Map<String, String> more = new LinkedHashMap<>();
            if (v.setCookie() != null)
                more.put("Set-Cookie", v.setCookie());
            if (v.newPass() != null)
                more.put("X-Segq-Pass", v.newPass());
            return new Decision(0, v, more, new byte[0]);
        } catch (SegqException e) {
            if (e instanceof SegqException.PassInvalid) // cannot even be asked about
                return refuse(method, "/", h, e);
            if (!Http.passes(e))
                return refuse(method, uri, h, e);
            if (e instanceof SegqException.Network && System.nanoTime() - away >= 0)
                away = System.nanoTime() + AWAY_NS;
            Object p = firstGood(tokens, method, uri);
            return p instanceof Pass ? new Decision(0, p, Map.of(), new byte[0]) : refuse(method, uri, h, e);
        }
    }

    private static boolean isYoung(Pass p) {
        return System.currentTimeMillis() / 1000 < p.issuedAt() + (p.expiresAt() - p.issuedAt()) / 3;
    }

    /** At most four passes, as routers do; and cookies of the device. */
    private static List<Token> presented(Map<String, String> h) {
        List<Token> out = new ArrayList<>(), devices = new ArrayList<>();
        String given = h.getOrDefault("authorization", "").strip();
        if (given.regionMatches(true, 0, "bearer ", 0, 7) && !given.substring(7).isBlank())
            out.add(new Token(true, given.substring(7).strip()));
        for (String part : h.getOrDefault("cookie", "").split("[;,]")) {
            String c = part.strip();
            if (c.startsWith("segq_pass=") && c.length() > 10)
                out.add(new Token(false, c.substring(10)));
            else if (c.startsWith(DEVICE))
                devices.add(new Token(false, c));
        }
        List<Token> all = new ArrayList<>(out.subList(0, Math.min(4, out.size())));
        all.addAll(devices.subList(0, Math.min(8, devices.size())));
        return all;
    }

    /** A Pass, or why there is none. */
    private Object firstGood(List<Token> tokens, String method, String uri) {
        SegqException why = new SegqException.PassInvalid("none", "no pass");
        for (Token t : tokens)
            if (!t.text.startsWith(DEVICE)) try {
                return check(t.text, method, uri);
            } catch (SegqException e) {
                if (why instanceof SegqException.PassInvalid && !why.code().equals("once")) // which a router can tell
                    why = e;
            }
        return why;
    }

    /** What the router is told of the visitor: not the site's other cookies. */
    private static Map<String, String> visitor(String method, String uri, Map<String, String> h, List<Token> tokens) {
        Map<String, String> out = passes(tokens);
        for (String n : new String[] {"Accept", "Referer", "Sec-Fetch-Mode", "Sec-Fetch-Dest"})
            if (h.containsKey(n))
                out.put(n, h.get(n));
        out.put("X-Original-URI", uri);
        out.put("X-Original-Method", method);
        return out;
    }

    private static Map<String, String> passes(List<Token> tokens) {
        Map<String, String> out = Http.people();
        List<String> cookies = new ArrayList<>();
        for (Token t : tokens)
            if (t.bearer)
                out.put("Authorization", "Bearer " + t.text);
            else
                cookies.add(t.text.startsWith(DEVICE) ? t.text : "segq_pass=" + t.text);
        out.put("Cookie", String.join("; ", cookies));
        return out;
    }

    private Decision refuse(String method, String uri, Map<String, String> h, SegqException why) {
        boolean said = why instanceof SegqException.PassInvalid || why instanceof ApiException;
        Map<String, String> more = new LinkedHashMap<>();
        more.put("Cache-Control", "no-store");
        if (!said || why.status() >= 500 || why.status() == 429) {
            more.put("Content-Type", "application/problem+json");
            more.put("Retry-After", "2");
            return new Decision(503, null, more, problem(503, "Busy", "queue_unavailable",
                "nobody can say whether you may come in: try again", null));
        }
        boolean get = method.equals("GET") || method.equals("HEAD");
        String back = get && uri.startsWith("/") && !uri.startsWith("//") ? uri : "/";
        String where = room + "/q/" + Http.enc(queue) + "?return=" + Http.enc(back).replace("%2F", "/");
        more.put("X-Segq-Location", where);
        boolean goes = h.getOrDefault("sec-fetch-mode", "navigate").equals("navigate")
            && h.getOrDefault("accept", "").contains("text/html");
        boolean astray = room.isEmpty() && uri.startsWith("/q/");   // what should be the room: it would go in circles
        if (goes && (get || method.equals("POST")) && !why.code().equals("pass_used") && !astray) {
            more.put("Location", where);
            return new Decision(303, null, more, new byte[0]);
        }
        more.put("Content-Type", "application/problem+json");
        return new Decision(why.status(), null, more, problem(why.status(), "No pass", why.code(),
            astray ? "/q/ and /v1/ of this site have to lead to the routers" : why.detail(), where));
    }

    private static byte[] problem(int status, String title, String code, String detail, String where) {
        Map<String, Object> m = new LinkedHashMap<>();
        m.put("title", title);
        m.put("status", status);
        m.put("code", code);
        m.put("detail", detail);
        if (where != null)
            m.put("location", where);
        return Json.bytes(m);
    }

    /** {@code X-Segq-Command: release} of the application's answer, in the background: for us, not for the visitor. */
    public void obey(String command, Map<String, String> headers) {
        Map<String, String> h = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        h.putAll(headers);
        List<Token> tokens = presented(h);
        if (command == null || tokens.isEmpty())
            return;
        session(tokens, command).whenComplete((v, e) -> {
            if (e != null)
                LOG.log(System.Logger.Level.WARNING, "segq gate: " + command + ": " + e.getMessage());
        });
    }
}

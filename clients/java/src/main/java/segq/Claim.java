package segq;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.PrivateKey;
import java.security.Signature;
import java.time.Duration;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** A signed claim ({@code claim_keys} of conf/router.yaml). For a lane: aud (the queue), lane, and sub (binds the
 *  subject), replaces. For a task: queues, jti, and key, priority. */
public final class Claim {
    private final String alg;
    private final String kid;
    private final Signer signer;
    private Duration ttl = Duration.ofMinutes(5);

    private interface Signer {
        byte[] sign(byte[] text) throws GeneralSecurityException;
    }

    private Claim(String alg, String kid, Signer signer) {
        this.alg = alg;
        this.kid = kid;
        this.signer = signer;
    }

    /** HS256; the secret as it stands in its file. kid: or null. */
    public static Claim with(String secret, String kid) {
        byte[] raw = secret.strip().getBytes(StandardCharsets.UTF_8);
        return new Claim("HS256", kid, text -> {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(raw, "HmacSHA256"));
            return mac.doFinal(text);
        });
    }

    /** EdDSA. */
    public static Claim with(PrivateKey key, String kid) {
        return new Claim("EdDSA", kid, text -> {
            Signature s = Signature.getInstance("Ed25519");
            s.initSign(key);
            s.update(text);
            return s.sign();
        });
    }

    /** How long it is good; five minutes. */
    public Claim ttl(Duration time) {
        ttl = time;
        return this;
    }

    public String sign(Map<String, ?> members) {
        Map<String, Object> head = new LinkedHashMap<>();
        head.put("alg", alg);
        head.put("typ", "JWT");
        if (kid != null)
            head.put("kid", kid);
        long now = System.currentTimeMillis() / 1000;
        Map<String, Object> body = new LinkedHashMap<>();
        body.put("iat", now);
        body.put("exp", now + ttl.toSeconds());
        body.putAll(members);
        String signed = base64(Json.bytes(head)) + "." + base64(Json.bytes(body));
        try {
            return signed + "." + base64(signer.sign(signed.getBytes(StandardCharsets.US_ASCII)));
        } catch (GeneralSecurityException e) {
            throw new IllegalArgumentException("a key that cannot sign: " + e.getMessage(), e);
        }
    }

    static String base64(byte[] raw) {
        return Base64.getUrlEncoder().withoutPadding().encodeToString(raw);
    }
}

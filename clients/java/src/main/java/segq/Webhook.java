package segq;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.PublicKey;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Calls and notices that segq sends: are they segq's? (Standard Webhooks,
 *  https://github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md) */
public final class Webhook {
    private static final int SIGNATURES = 16; // of one call, that are looked at

    private final List<SecretKeySpec> secrets = new ArrayList<>();
    private final List<PublicKey> publics = new ArrayList<>();
    private Duration tolerance = Duration.ofMinutes(5);

    /** Secrets (whsec_) and public keys (whpk_); any of them may have signed, so that old and new ones go side by
     *  side. */
    public Webhook(String... keys) {
        if (keys.length == 0)
            throw new IllegalArgumentException("no keys");
        for (String k : keys)
            add(k.strip());
    }

    /** How far the clocks, and an old call, may be off. */
    public Webhook tolerance(Duration most) {
        tolerance = most;
        return this;
    }

    private void add(String key) {
        int n = key.indexOf('_') + 1;
        byte[] raw = base64(key.substring(n));
        if (key.startsWith("whsec_") && raw.length >= 24 && raw.length <= 64)
            secrets.add(new SecretKeySpec(raw, "HmacSHA256"));
        else if (key.startsWith("whpk_") && raw.length == 32)
            publics.add(Ed25519.key(raw));
        else
            throw new IllegalArgumentException("a webhook key: whsec_ and base64 of 24 to 64 bytes, or whpk_ and base64 of 32");
    }

    private static byte[] base64(String text) {
        try {
            return Base64.getDecoder().decode(text);
        } catch (IllegalArgumentException e) {
            return new byte[0];
        }
    }

    /** headers: names in any case. Returns webhook-id, the same in each attempt; else throws Signature. */
    public String verify(Map<String, String> headers, byte[] body) {
        Map<String, String> h = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        h.putAll(headers);
        String id = must(h, "webhook-id");
        String stamp = must(h, "webhook-timestamp");
        String said = must(h, "webhook-signature");
        if (id.contains(".")) // it parts what is signed, which could be parted in another place
            throw new SegqException.Signature("webhook-id has a full stop");
        if (!stamp.matches("[0-9]{1,18}"))
            throw new SegqException.Signature("webhook-timestamp is no number");
        if (Math.abs(System.currentTimeMillis() / 1000 - Long.parseLong(stamp)) > tolerance.toSeconds())
            throw new SegqException.Signature("too old, or one of the two clocks is wrong");
        byte[] head = (id + "." + stamp + ".").getBytes(StandardCharsets.UTF_8);
        String[] all = said.strip().split("\\s+");
        for (int i = 0; i < Math.min(all.length, SIGNATURES); i++)
            if (isGood(all[i], head, body))
                return id;
        throw new SegqException.Signature("no signature of a key that is known");
    }

    private static String must(Map<String, String> h, String name) {
        String v = h.get(name);
        if (v == null)
            throw new SegqException.Signature("the header " + name + " is missing");
        return v;
    }

    private boolean isGood(String one, byte[] head, byte[] body) {
        byte[] signature = base64(one.substring(one.indexOf(',') + 1));
        try {
            if (one.startsWith("v1,"))
                for (SecretKeySpec k : secrets) {
                    Mac mac = Mac.getInstance("HmacSHA256");
                    mac.init(k);
                    mac.update(head);
                    if (MessageDigest.isEqual(mac.doFinal(body), signature))
                        return true;
                }
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
        if (one.startsWith("v1a,")) {
            byte[] signed = new byte[head.length + body.length];
            System.arraycopy(head, 0, signed, 0, head.length);
            System.arraycopy(body, 0, signed, head.length, body.length);
            return publics.stream().anyMatch(k -> Ed25519.verify(k, signature, signed));
        }
        return false;
    }
}

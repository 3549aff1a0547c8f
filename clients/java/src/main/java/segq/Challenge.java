package segq;

import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.BooleanSupplier;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** The work that a join costs at times (docs/challenge.md). */
final class Challenge {
    private static final int COUNTERS = 1 << 22; // far more than any challenge has, as these two:
    private static final int ROUNDS = 1 << 20;   // of one key
    private static final int WORK = 1 << 30;     // rounds in all
    private static final byte[] FIRST_BLOCK = { 0, 0, 0, 1 };

    private Challenge() { }

    /** A key of 32 bytes (RFC 8018), one block of HMAC-SHA-256. (Java's own takes passwords of characters.) */
    static byte[] pbkdf2(byte[] password, byte[] salt, long rounds) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(password, "HmacSHA256"));
            mac.update(salt);
            byte[] u = mac.doFinal(FIRST_BLOCK), key = u.clone();
            for (long i = 1; i < rounds; i++) {
                u = mac.doFinal(u);
                for (int k = 0; k < key.length; k++)
                    key[k] ^= u[k];
            }
            return key;
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("this Java has no HMAC-SHA-256", e);
        }
    }

    /** The answer to the challenge of a 428, for the header segq-challenge: a second of work, or some. null: it has
     *  none, or nobody wants it any more. */
    static String answer(Map<String, Object> challenge, BooleanSupplier unwanted) {
        Map<String, Object> p = Json.object(challenge.get("parameters"));
        byte[] nonce, salt, prefix;
        try {
            nonce = HexFormat.of().parseHex(Json.text(p.get("nonce")));
            salt = HexFormat.of().parseHex(Json.text(p.get("salt")));
            prefix = HexFormat.of().parseHex(Json.text(p.get("keyPrefix")));
        } catch (IllegalArgumentException e) {
            return null;
        }
        if (prefix.length == 0 || prefix.length > 32 || !(p.get("cost") instanceof Number cost))
            return null;
        long rounds = cost.longValue();
        if (rounds < 1 || rounds > ROUNDS)
            return null;
        ByteBuffer password = ByteBuffer.allocate(nonce.length + 4).put(nonce);
        for (int counter = 0; counter < COUNTERS && counter < WORK / rounds && !unwanted.getAsBoolean(); counter++) {
            byte[] key = pbkdf2(password.putInt(nonce.length, counter).array(), salt, rounds);
            if (Arrays.equals(key, 0, prefix.length, prefix, 0, prefix.length)) {
                Map<String, Object> solution = new LinkedHashMap<>(), said = new LinkedHashMap<>();
                solution.put("counter", (long) counter);
                solution.put("derivedKey", HexFormat.of().formatHex(key));
                said.put("challenge", challenge);
                said.put("solution", solution);
                return Base64.getEncoder().encodeToString(Json.bytes(said));
            }
        }
        return null;
    }
}

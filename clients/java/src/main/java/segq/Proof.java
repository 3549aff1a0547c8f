package segq;

import java.math.BigInteger;
import java.net.http.HttpHeaders;
import java.nio.charset.StandardCharsets;
import java.security.AlgorithmParameters;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.SecureRandom;
import java.security.Signature;
import java.security.interfaces.ECPublicKey;
import java.security.spec.ECGenParameterSpec;
import java.security.spec.ECParameterSpec;
import java.security.spec.ECPoint;
import java.util.Arrays;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;

/** Proofs of RFC 9449 by a device's key (queues with {@code bind: key}), and the nonce for the next one. */
final class Proof {
    private static final ECGenParameterSpec P256 = new ECGenParameterSpec("secp256r1");
    private static final Base64.Encoder B64 = Base64.getUrlEncoder().withoutPadding();
    private static final SecureRandom RANDOM = new SecureRandom();

    private final KeyPair key;
    private final Map<String, Object> jwk = new LinkedHashMap<>();
    private volatile String nonce = "";

    /** IllegalArgumentException: it is no pair of keys of that curve. */
    Proof(KeyPair key) {
        if (!(key.getPublic() instanceof ECPublicKey pub) || !isP256(pub.getParams()))
            throw new IllegalArgumentException("the device's key is none of the curve P-256");
        ECPoint w = pub.getW();
        this.key = key;
        jwk.put("kty", "EC");
        jwk.put("crv", "P-256");
        jwk.put("x", B64.encodeToString(word(w.getAffineX())));
        jwk.put("y", B64.encodeToString(word(w.getAffineY())));
    }

    static KeyPair newKey() {
        try {
            KeyPairGenerator g = KeyPairGenerator.getInstance("EC");
            g.initialize(P256);
            return g.generateKeyPair();
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("this Java has no keys of the curve P-256", e);
        }
    }

    private static boolean isP256(ECParameterSpec s) {
        try {
            AlgorithmParameters p = AlgorithmParameters.getInstance("EC");
            p.init(P256);
            ECParameterSpec want = p.getParameterSpec(ECParameterSpec.class);
            return s.getCurve().equals(want.getCurve()) && s.getGenerator().equals(want.getGenerator());
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("this Java has no keys of the curve P-256", e);
        }
    }

    /** Keeps the nonce of an answer. */
    void heard(HttpHeaders h) {
        h.firstValue("dpop-nonce").ifPresent(n -> nonce = n);
    }

    /** The header DPoP for a POST to that address. */
    String of(String url) {
        Map<String, Object> head = new LinkedHashMap<>();
        head.put("typ", "dpop+jwt");
        head.put("alg", "ES256");
        head.put("jwk", jwk);
        byte[] jti = new byte[12];
        RANDOM.nextBytes(jti);
        Map<String, Object> body = new LinkedHashMap<>();
        body.put("htm", "POST");
        body.put("htu", url);
        body.put("iat", System.currentTimeMillis() / 1000);
        body.put("jti", B64.encodeToString(jti));
        body.put("nonce", nonce);
        String text = B64.encodeToString(Json.bytes(head)) + "." + B64.encodeToString(Json.bytes(body));
        try { // as DER, which every provider has, those of hardware too
            Signature s = Signature.getInstance("SHA256withECDSA");
            s.initSign(key.getPrivate());
            s.update(text.getBytes(StandardCharsets.US_ASCII));
            return text + "." + B64.encodeToString(raw(s.sign()));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("the device's key does not sign", e);
        }
    }

    /** r and s, 32 bytes each, of a signature in DER. */
    static byte[] raw(byte[] der) {
        byte[] out = new byte[64];
        try {
            int at = 2;
            for (int k = 0; k < 2; k++) {
                int n = der[at + 1];
                if (der[0] != 0x30 || der[at] != 2)
                    throw new IllegalArgumentException("no signature of ECDSA");
                System.arraycopy(word(new BigInteger(Arrays.copyOfRange(der, at + 2, at + 2 + n))), 0, out, 32 * k, 32);
                at += 2 + n;
            }
        } catch (IndexOutOfBoundsException | NumberFormatException e) {
            throw new IllegalArgumentException("no signature of ECDSA", e);
        }
        return out;
    }

    /** A number of at most 256 bits, as 32 bytes. */
    private static byte[] word(BigInteger v) {
        byte[] b = v.toByteArray(); // a byte more, if its first bit is set
        int skip = Math.max(0, b.length - 32);
        byte[] out = new byte[32];
        System.arraycopy(b, skip, out, 32 - (b.length - skip), b.length - skip);
        return out;
    }
}

package segq;

import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PublicKey;
import java.security.Signature;
import java.security.spec.X509EncodedKeySpec;
import java.util.Arrays;
import java.util.HexFormat;

/** Signatures of the JDK (RFC 8032), with keys as segq writes them: 32 bytes. */
final class Ed25519 {
    private static final byte[] HEAD = HexFormat.of().parseHex("302a300506032b6570032100");
    // y of points whose order divides 8: such a key has signed anything. Little endian, without the sign of x.
    private static final String[] SMALL = {
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"};

    private Ed25519() { }

    /** IllegalArgumentException: it is no key. */
    static PublicKey key(byte[] raw) {
        byte[] y = raw.clone();
        if (y.length == 32)
            y[31] &= 0x7f;
        if (y.length != 32 || isOver(y) || Arrays.asList(SMALL).contains(HexFormat.of().formatHex(y)))
            throw new IllegalArgumentException("no Ed25519 key");
        byte[] der = Arrays.copyOf(HEAD, HEAD.length + 32);
        System.arraycopy(raw, 0, der, HEAD.length, 32);
        try {
            return KeyFactory.getInstance("Ed25519").generatePublic(new X509EncodedKeySpec(der));
        } catch (GeneralSecurityException e) {
            throw new IllegalArgumentException("no Ed25519 key: " + e.getMessage(), e);
        }
    }

    /** Not below 2^255 - 19. */
    private static boolean isOver(byte[] y) {
        boolean high = y[31] == 0x7f;
        for (int i = 1; i < 31; i++)
            high &= y[i] == (byte) 0xff;
        return high && (y[0] & 255) >= 0xed;
    }

    static boolean verify(PublicKey key, byte[] signature, byte[] signed) {
        try {
            Signature s = Signature.getInstance("Ed25519");
            s.initVerify(key);
            s.update(signed);
            return s.verify(signature);
        } catch (GeneralSecurityException e) {
            return false;
        }
    }
}

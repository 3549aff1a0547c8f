using System;
using System.Collections.Generic;
using System.Security.Cryptography;
using System.Text;

namespace Segq
{
    /// <summary>Proofs of RFC 9449 by a device's key (queues with "bind: key"), and the nonce for the next one.</summary>
    internal sealed class Proof
    {
        private const string P256 = "1.2.840.10045.3.1.7";

        private readonly ECDsa key;
        private readonly Dictionary<string, object> jwk;
        private volatile string nonce = "";

        /// <summary>ArgumentException: it is no key of that curve.</summary>
        internal Proof(ECDsa key)
        {
            var p = key.ExportParameters(false);
            if (!IsP256(p.Curve) || p.Q.X?.Length != 32 || p.Q.Y?.Length != 32)
                throw new ArgumentException("the device's key is none of the curve P-256");
            this.key = key;
            jwk = new Dictionary<string, object> { { "kty", "EC" }, { "crv", "P-256" }, { "x", B64(p.Q.X) }, { "y", B64(p.Q.Y) } };
        }

        private static bool IsP256(ECCurve c)
        {
            if (!c.IsNamed)
                return false;
            var name = c.Oid.FriendlyName; // some runtimes have no number of it
            return c.Oid.Value == P256 || (c.Oid.Value == null && (name == "nistP256" || name == "ECDSA_P256"));
        }

        private static string B64(byte[] b)
        {
            return Convert.ToBase64String(b).TrimEnd('=').Replace('+', '-').Replace('/', '_');
        }

        /// <summary>Keeps the nonce of an answer.</summary>
        internal void Heard(Answer a)
        {
            nonce = a.Header("dpop-nonce") ?? nonce;
        }

        /// <summary>The header DPoP for a POST to that address.</summary>
        internal string Of(string url)
        {
            var jti = new byte[12];
            using (var dice = RandomNumberGenerator.Create())
                dice.GetBytes(jti);
            var text = B64(Json.Bytes(new Dictionary<string, object> { { "typ", "dpop+jwt" }, { "alg", "ES256" }, { "jwk", jwk } })) + "."
                + B64(Json.Bytes(new Dictionary<string, object>
                {
                    { "htm", "POST" }, { "htu", url }, { "iat", DateTimeOffset.UtcNow.ToUnixTimeSeconds() }, { "jti", B64(jti) }, { "nonce", nonce },
                }));
            using (var sha = SHA256.Create())
            {
                byte[] signature, hash = sha.ComputeHash(Encoding.ASCII.GetBytes(text));
                lock (key) // other lines may have it, too
                    signature = key.SignHash(hash); // r and s, as .NET has it
                if (signature.Length != 64)
                    throw new ArgumentException("the device's key signs with " + signature.Length + " bytes, not with r and s of 32 each");
                return text + "." + B64(signature);
            }
        }
    }
}

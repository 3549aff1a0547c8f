using System;
using System.Collections.Generic;
using System.Linq;
using System.Security.Cryptography;
using System.Threading;

namespace Segq
{
    /// <summary>The work that a join costs at times (docs/challenge.md).</summary>
    internal static class Challenge
    {
        private const int Counters = 1 << 22; // far more than any challenge has, as these two:
        private const int Rounds = 1 << 20;   // of one key
        private const int Work = 1 << 30;     // rounds in all

        /// <summary>A key of 32 bytes (RFC 8018), one block of HMAC-SHA-256. (netstandard2.0 has it for SHA-1 alone.)
        /// </summary>
        internal static byte[] Pbkdf2(byte[] password, byte[] salt, long rounds)
        {
            using (var mac = new HMACSHA256(password))
            {
                var u = mac.ComputeHash(salt.Concat(new byte[] { 0, 0, 0, 1 }).ToArray());
                var key = (byte[])u.Clone();
                for (long i = 1; i < rounds; i++)
                {
                    u = mac.ComputeHash(u);
                    for (int k = 0; k < key.Length; k++)
                        key[k] ^= u[k];
                }
                return key;
            }
        }

        /// <summary>The answer to the challenge of a 428, for the header segq-challenge: a second of work, or some. null:
        /// it has none.</summary>
        internal static string Answer(Dictionary<string, object> challenge, CancellationToken cancel)
        {
            var p = Json.Get(challenge, "parameters");
            byte[] nonce = Bytes(Json.Get(p, "nonce")), salt = Bytes(Json.Get(p, "salt")), prefix = Bytes(Json.Get(p, "keyPrefix"));
            var rounds = Json.Number(Json.Get(p, "cost"));
            if (nonce == null || salt == null || prefix == null || prefix.Length == 0 || rounds == null || !(rounds >= 1 && rounds <= Rounds))
                return null;
            var password = nonce.Concat(new byte[4]).ToArray();
            for (int counter = 0; counter < Counters && counter < Work / rounds.Value; counter++)
            {
                cancel.ThrowIfCancellationRequested();
                for (int k = 0; k < 4; k++)
                    password[nonce.Length + k] = (byte)(counter >> (24 - 8 * k));
                var key = Pbkdf2(password, salt, (long)rounds.Value);
                if (key.Take(prefix.Length).SequenceEqual(prefix))
                {
                    var solution = new Dictionary<string, object> { { "counter", (long)counter }, { "derivedKey", Hex(key) } };
                    return Convert.ToBase64String(Json.Bytes(new Dictionary<string, object> { { "challenge", challenge }, { "solution", solution } }));
                }
            }
            return null;
        }

        private static string Hex(byte[] b)
        {
            return BitConverter.ToString(b).Replace("-", "").ToLowerInvariant();
        }

        private static byte[] Bytes(object hex)
        {
            var s = hex as string;
            if (s == null || s.Length % 2 != 0 || !s.All(Uri.IsHexDigit))
                return null;
            return Enumerable.Range(0, s.Length / 2).Select(i => Convert.ToByte(s.Substring(2 * i, 2), 16)).ToArray();
        }
    }
}

using System;
using System.Collections.Generic;
using System.Linq;
using System.Security.Cryptography;
using System.Text;

namespace Segq
{
    /// <summary>Calls and notices that segq sends: are they segq's? (Standard Webhooks,
    /// https://github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md)</summary>
    public sealed class Webhook
    {
        private const int Signatures = 16; // of one call, that are looked at
        private readonly List<byte[]> secrets = new List<byte[]>();
        private readonly List<byte[]> publics = new List<byte[]>();

        /// <summary>How far the clocks, and an old call, may be off.</summary>
        public TimeSpan Tolerance = TimeSpan.FromMinutes(5);

        /// <summary>Secrets (whsec_) and public keys (whpk_); any of them may have signed, so that old and new ones go side
        /// by side.</summary>
        public Webhook(params string[] keys)
        {
            if (keys.Length == 0)
                throw new ArgumentException("no keys");
            foreach (var k in keys.Select(k => k.Trim()))
            {
                var raw = Base64(k.Substring(k.IndexOf('_') + 1));
                if (k.StartsWith("whsec_") && raw.Length >= 24 && raw.Length <= 64)
                    secrets.Add(raw);
                else if (k.StartsWith("whpk_") && Ed25519.IsKey(raw))
                    publics.Add(raw);
                else
                    throw new ArgumentException("a webhook key: whsec_ and base64 of 24 to 64 bytes, or whpk_ and base64 of 32");
            }
        }

        private static byte[] Base64(string text)
        {
            try
            {
                return Convert.FromBase64String(text);
            }
            catch (FormatException)
            {
                return new byte[0];
            }
        }

        /// <summary>headers: names in any case. Returns webhook-id, the same in each attempt; else throws
        /// SignatureException.</summary>
        public string Verify(IEnumerable<KeyValuePair<string, string>> headers, byte[] body)
        {
            var h = new Dictionary<string, string>(StringComparer.OrdinalIgnoreCase);
            foreach (var e in headers)
                h[e.Key] = e.Value;
            string id = Must(h, "webhook-id"), stamp = Must(h, "webhook-timestamp"), said = Must(h, "webhook-signature");
            if (id.Contains(".")) // it parts what is signed, which could be parted in another place
                throw new SignatureException("webhook-id has a full stop");
            if (stamp.Length == 0 || stamp.Length > 18 || stamp.Any(c => c < '0' || c > '9'))
                throw new SignatureException("webhook-timestamp is no number");
            if (Math.Abs(DateTimeOffset.UtcNow.ToUnixTimeSeconds() - long.Parse(stamp)) > Tolerance.TotalSeconds)
                throw new SignatureException("too old, or one of the two clocks is wrong");
            var signed = Encoding.UTF8.GetBytes(id + "." + stamp + ".").Concat(body).ToArray();
            foreach (var one in said.Split(new[] { ' ', '\t' }, StringSplitOptions.RemoveEmptyEntries).Take(Signatures))
                if (IsGood(one, signed))
                    return id;
            throw new SignatureException("no signature of a key that is known");
        }

        private static string Must(Dictionary<string, string> h, string name)
        {
            string v;
            if (!h.TryGetValue(name, out v) || v == null)
                throw new SignatureException("the header " + name + " is missing");
            return v;
        }

        private bool IsGood(string one, byte[] signed)
        {
            var signature = Base64(one.Substring(one.IndexOf(',') + 1));
            if (one.StartsWith("v1a,"))
                return publics.Any(k => Ed25519.Verify(k, signature, signed));
            return one.StartsWith("v1,") && secrets.Any(k => Same(Hmac(k, signed), signature));
        }

        internal static byte[] Hmac(byte[] key, byte[] text)
        {
            using (var mac = new HMACSHA256(key))
                return mac.ComputeHash(text);
        }

        /// <summary>In a time that does not tell where they differ.</summary>
        private static bool Same(byte[] a, byte[] b)
        {
            int d = a.Length ^ b.Length;
            for (int i = 0; i < a.Length && i < b.Length; i++)
                d |= a[i] ^ b[i];
            return d == 0;
        }
    }

    /// <summary>A signed claim (claim_keys of conf/router.yaml), HS256. For a lane: aud (the queue), lane, and sub (binds
    /// the subject), replaces. For a task: queues, jti, and key, priority.</summary>
    public static class Claim
    {
        /// <summary>secret: as it stands in its file. kid: or null. ttl: five minutes.</summary>
        public static string Sign(string secret, string kid, IReadOnlyDictionary<string, object> members, TimeSpan? ttl = null)
        {
            var head = new Dictionary<string, object> { { "alg", "HS256" }, { "typ", "JWT" } };
            if (kid != null)
                head["kid"] = kid;
            var now = DateTimeOffset.UtcNow.ToUnixTimeSeconds();
            var body = new Dictionary<string, object> { { "iat", now }, { "exp", now + (long)(ttl ?? TimeSpan.FromMinutes(5)).TotalSeconds } };
            foreach (var m in members)
                body[m.Key] = m.Value;
            var signed = Base64Url(Json.Bytes(head)) + "." + Base64Url(Json.Bytes(body));
            return signed + "." + Base64Url(Webhook.Hmac(Encoding.UTF8.GetBytes(secret.Trim()), Encoding.ASCII.GetBytes(signed)));
        }

        internal static string Base64Url(byte[] raw)
        {
            return Convert.ToBase64String(raw).TrimEnd('=').Replace('+', '-').Replace('/', '_');
        }

        /// <summary>Without padding, in its one form; FormatException: it is none.</summary>
        internal static byte[] FromBase64Url(string text)
        {
            var raw = Convert.FromBase64String(text.Replace('-', '+').Replace('_', '/') + new string('=', (4 - text.Length % 4) % 4));
            if (Base64Url(raw) != text)
                throw new FormatException("not canonical");
            return raw;
        }
    }
}

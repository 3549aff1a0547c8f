using System;
using System.Numerics;
using System.Security.Cryptography;

namespace Segq
{
    /// <summary>Ed25519 signatures, checked in managed code (RFC 8032, section 5.1.7), since netstandard2.0 has none, as
    /// libsodium checks them: S below the group's order, the bytes of R compared, no key of a small order. Some
    /// milliseconds a signature. Public data only: it need not be constant in time.</summary>
    internal static class Ed25519
    {
        private static readonly BigInteger P = BigInteger.Pow(2, 255) - 19;
        private static readonly BigInteger L = BigInteger.Pow(2, 252) + BigInteger.Parse("27742317777372353535851937790883648493");
        private static readonly BigInteger D = Mod(-121665 * BigInteger.ModPow(121666, P - 2, P));
        private static readonly BigInteger I = BigInteger.ModPow(2, (P - 1) / 4, P);
        private static readonly BigInteger Y8 = BigInteger.Parse("2707385501144840649318225287225658788936804267575313519463743609750303402022");
        private static readonly BigInteger[] Small = { 0, 1, P - 1, Y8, P - Y8 }; // of points whose order divides 8: such a key has signed anything
        private static readonly Point B = Decode(Base());

        /// <summary>Extended coordinates: X, Y, Z, T = XY/Z.</summary>
        private sealed class Point
        {
            internal BigInteger X, Y, Z, T;
        }

        private static byte[] Base()
        {
            var b = new byte[32];
            for (int i = 0; i < 32; i++)
                b[i] = 0x66;
            b[0] = 0x58;
            return b;
        }

        private static BigInteger Mod(BigInteger x)
        {
            var r = BigInteger.Remainder(x, P);
            return r.Sign < 0 ? r + P : r;
        }

        /// <summary>Little endian, not negative.</summary>
        private static BigInteger Number(byte[] b, int from, int n)
        {
            var c = new byte[n + 1];
            Array.Copy(b, from, c, 0, n);
            return new BigInteger(c);
        }

        private static Point Add(Point p, Point q)
        {
            var a = (p.Y - p.X) * (q.Y - q.X);
            var b = (p.Y + p.X) * (q.Y + q.X);
            var c = 2 * Mod(p.T * q.T) * D;
            var d = 2 * p.Z * q.Z;
            BigInteger e = Mod(b - a), f = Mod(d - c), g = Mod(d + c), h = Mod(b + a);
            return new Point { X = Mod(e * f), Y = Mod(g * h), Z = Mod(f * g), T = Mod(e * h) };
        }

        private static Point Double(Point p)
        {
            BigInteger a = p.X * p.X, b = p.Y * p.Y, s = p.X + p.Y;
            BigInteger h = Mod(a + b), e = Mod(a + b - s * s), g = Mod(a - b), f = Mod(2 * p.Z * p.Z + g);
            return new Point { X = Mod(e * f), Y = Mod(g * h), Z = Mod(f * g), T = Mod(e * h) };
        }

        /// <summary>null: it is none.</summary>
        private static Point Decode(byte[] text)
        {
            var y = Number(text, 0, 32);
            bool sign = (text[31] & 0x80) != 0;
            if (sign)
                y -= BigInteger.Pow(2, 255);
            if (y >= P)
                return null;
            BigInteger u = Mod(y * y - 1), v = Mod(D * y * y + 1), v3 = Mod(v * v * v);
            var x = Mod(u * v3 * BigInteger.ModPow(Mod(u * v3 * v3 * v), (P - 5) / 8, P));
            if (Mod(v * x * x) != u)
            {
                x = Mod(x * I);
                if (Mod(v * x * x) != u)
                    return null;
            }
            if (x.IsZero && sign)
                return null;
            if (x.IsEven == sign)
                x = P - x;
            return new Point { X = x, Y = y, Z = 1, T = Mod(x * y) };
        }

        private static byte[] Encode(Point p)
        {
            var z = BigInteger.ModPow(p.Z, P - 2, P);
            BigInteger x = Mod(p.X * z), y = Mod(p.Y * z);
            var o = new byte[32];
            var raw = y.ToByteArray();
            Array.Copy(raw, o, Math.Min(32, raw.Length));
            if (!x.IsEven)
                o[31] |= 0x80;
            return o;
        }

        private static bool Bit(BigInteger k, int i)
        {
            return !((k >> i) & 1).IsZero;
        }

        /// <summary>s B - k A, both at once.</summary>
        private static Point Combine(BigInteger s, BigInteger k, Point minusA)
        {
            var both = Add(B, minusA);
            var r = new Point { X = 0, Y = 1, Z = 1, T = 0 };
            for (int i = 252; i >= 0; i--)
            {
                r = Double(r);
                bool a = Bit(s, i), b = Bit(k, i);
                if (a || b)
                    r = Add(r, a && b ? both : a ? B : minusA);
            }
            return r;
        }

        /// <summary>Whether these 32 bytes are a key that can be believed.</summary>
        internal static bool IsKey(byte[] key)
        {
            if (key.Length != 32)
                return false;
            var p = Decode(key);
            return p != null && Array.IndexOf(Small, p.Y) < 0;
        }

        internal static bool Verify(byte[] key, byte[] signature, byte[] signed)
        {
            if (signature.Length != 64 || !IsKey(key))
                return false;
            var s = Number(signature, 32, 32);
            if (s >= L)
                return false;
            var a = Decode(key);
            var text = new byte[64 + signed.Length];
            Array.Copy(signature, text, 32);
            Array.Copy(key, 0, text, 32, 32);
            Array.Copy(signed, 0, text, 64, signed.Length);
            byte[] hash;
            using (var sha = SHA512.Create())
                hash = sha.ComputeHash(text);
            var r = Encode(Combine(s, BigInteger.Remainder(Number(hash, 0, 64), L), new Point { X = Mod(-a.X), Y = a.Y, Z = 1, T = Mod(-a.T) }));
            for (int i = 0; i < 32; i++)
                if (r[i] != signature[i])
                    return false;
            return true;
        }
    }
}

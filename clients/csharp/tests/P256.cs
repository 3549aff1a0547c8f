using System;
using System.Linq;
using System.Numerics;
using System.Security.Cryptography;
using System.Threading;

namespace Segq
{
    /// <summary>A device's key in plain C#, for tests under Mono: slow, and it tells who watches its time the key.</summary>
    internal sealed class P256 : ECDsa
    {
        private static readonly BigInteger P = BigInteger.Pow(2, 256) - BigInteger.Pow(2, 224) + BigInteger.Pow(2, 192) + BigInteger.Pow(2, 96) - 1;
        private static readonly BigInteger N = Hex("FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551");
        private static readonly Tuple<BigInteger, BigInteger> G = Tuple.Create(
            Hex("6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296"),
            Hex("4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5"));

        private static readonly Tuple<BigInteger, BigInteger>[] Doubles = new Tuple<BigInteger, BigInteger>[256]; // G, 2 G, 4 G ...

        private readonly BigInteger d = Below(N);
        private readonly Tuple<BigInteger, BigInteger> q;

        static P256()
        {
            Doubles[0] = G;
            for (int i = 1; i < Doubles.Length; i++)
                Doubles[i] = Add(Doubles[i - 1], Doubles[i - 1]);
        }

        internal P256()
        {
            q = TimesG(d);
        }

        /// <summary>As another curve would say.</summary>
        internal ECCurve Curve = ECCurve.NamedCurves.nistP256;

        public override ECParameters ExportParameters(bool includePrivateParameters)
        {
            return new ECParameters { Curve = Curve, Q = new ECPoint { X = Bytes(q.Item1), Y = Bytes(q.Item2) } };
        }

        private int signs;

        /// <summary>It was asked to sign while it signed, which ECDsa does not promise to bear.</summary>
        internal bool WasHurried;

        public override byte[] SignHash(byte[] hash)
        {
            if (Interlocked.Increment(ref signs) > 1)
                WasHurried = true;
            var k = Below(N);
            var r = TimesG(k).Item1 % N;
            var rs = Bytes(r).Concat(Bytes(Inverse(k, N) * (Whole(hash) + r * d) % N)).ToArray();
            Interlocked.Decrement(ref signs);
            return rs;
        }

        public override bool VerifyHash(byte[] hash, byte[] signature)
        {
            BigInteger r = Whole(signature.Take(32).ToArray()), w = Inverse(Whole(signature.Skip(32).ToArray()), N);
            return Add(TimesG(Whole(hash) * w % N), Times(r * w % N, q)).Item1 % N == r;
        }

        private static BigInteger Hex(string digits)
        {
            return BigInteger.Parse("0" + digits, System.Globalization.NumberStyles.HexNumber);
        }

        private static BigInteger Whole(byte[] big)
        {
            return new BigInteger(big.Reverse().Concat(new byte[1]).ToArray());
        }

        private static byte[] Bytes(BigInteger v)
        {
            return v.ToByteArray().Concat(new byte[32]).Take(32).Reverse().ToArray();
        }

        private static BigInteger Below(BigInteger n)
        {
            var b = new byte[40];
            using (var dice = RandomNumberGenerator.Create())
                dice.GetBytes(b);
            return Whole(b) % (n - 1) + 1;
        }

        private static BigInteger Inverse(BigInteger v, BigInteger of)
        {
            BigInteger a = Mod(v, of), b = of, x = 1, y = 0; // Euclid's: a = x v, b = y v
            while (a > 1)
            {
                var n = b / a;
                Swap(ref a, ref b, b - n * a);
                Swap(ref x, ref y, y - n * x);
            }
            return Mod(x, of);
        }

        private static void Swap(ref BigInteger a, ref BigInteger b, BigInteger next)
        {
            b = a;
            a = next;
        }

        private static BigInteger Mod(BigInteger v, BigInteger of)
        {
            return (v % of + of) % of;
        }

        private static Tuple<BigInteger, BigInteger> Add(Tuple<BigInteger, BigInteger> a, Tuple<BigInteger, BigInteger> b)
        {
            if (a == null || b == null)
                return a ?? b;
            if (a.Item1 == b.Item1 && Mod(a.Item2 + b.Item2, P) == 0)
                return null;
            var m = Mod(a.Equals(b) ? (3 * a.Item1 * a.Item1 - 3) * Inverse(2 * a.Item2, P) : (b.Item2 - a.Item2) * Inverse(b.Item1 - a.Item1, P), P);
            var x = Mod(m * m - a.Item1 - b.Item1, P);
            return Tuple.Create(x, Mod(m * (a.Item1 - x) - a.Item2, P));
        }

        private static Tuple<BigInteger, BigInteger> TimesG(BigInteger k)
        {
            Tuple<BigInteger, BigInteger> sum = null;
            for (int i = 0; k > 0; k >>= 1, i++)
                if (!k.IsEven)
                    sum = Add(sum, Doubles[i]);
            return sum;
        }

        private static Tuple<BigInteger, BigInteger> Times(BigInteger k, Tuple<BigInteger, BigInteger> a)
        {
            Tuple<BigInteger, BigInteger> sum = null;
            for (; k > 0; k >>= 1, a = Add(a, a))
                if (!k.IsEven)
                    sum = Add(sum, a);
            return sum;
        }
    }
}

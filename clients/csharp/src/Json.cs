using System;
using System.Collections;
using System.Collections.Generic;
using System.Globalization;
using System.Reflection;
using System.Text;

namespace Segq
{
    /// <summary>JSON (RFC 8259). Read: Dictionary&lt;string, object&gt;, List&lt;object&gt;, string, long (decimal or double
    /// where it is longer), double, bool, null. Written: these, dictionaries, lists, enums, public properties of other
    /// objects.</summary>
    public sealed class Json
    {
        private const int Depth = 200;
        private readonly string s;
        private readonly bool once;
        private int i;

        private Json(string text, bool once)
        {
            s = text;
            this.once = once;
        }

        /// <summary>FormatException: it is none.</summary>
        public static object Read(string text)
        {
            return new Json(text, false).Whole();
        }

        /// <summary>Likewise; a member that is there twice is refused.</summary>
        internal static object ReadStrict(byte[] text)
        {
            return new Json(Encoding.UTF8.GetString(text), true).Whole();
        }

        /// <summary>FormatException: a number that is none, or too deep.</summary>
        public static string Write(object value)
        {
            var o = new StringBuilder();
            Write(o, value, 0);
            return o.ToString();
        }

        internal static byte[] Bytes(object value)
        {
            return Encoding.UTF8.GetBytes(Write(value));
        }

        // ---- what may be something else ----

        internal static readonly Dictionary<string, object> Nothing = new Dictionary<string, object>();

        internal static Dictionary<string, object> Object(object o)
        {
            return o as Dictionary<string, object> ?? Nothing;
        }

        internal static object Get(object o, string name)
        {
            object v;
            return Object(o).TryGetValue(name, out v) ? v : null;
        }

        internal static List<object> Items(object o)
        {
            return o as List<object> ?? new List<object>();
        }

        internal static string Text(object o)
        {
            return o as string ?? "";
        }

        /// <summary>null: it is no number.</summary>
        internal static double? Number(object o)
        {
            if (o is long)
                return (long)o;
            if (o is double)
                return (double)o;
            if (o is decimal)
                return (double)(decimal)o;
            return null;
        }

        // ---- reading ----

        private FormatException Bad(string what)
        {
            return new FormatException("JSON, at " + i + ": " + what);
        }

        private object Whole()
        {
            var o = Value(0);
            Blanks();
            if (i < s.Length)
                throw Bad("something behind it");
            return o;
        }

        private void Blanks()
        {
            while (i < s.Length && " \t\r\n".IndexOf(s[i]) >= 0)
                i++;
        }

        private char Next()
        {
            if (i >= s.Length)
                throw Bad("it breaks off");
            return s[i++];
        }

        /// <summary>Whether the next character, after blanks, is this one; then it is behind us.</summary>
        private bool Is(char c)
        {
            Blanks();
            if (i >= s.Length || s[i] != c)
                return false;
            i++;
            return true;
        }

        private void Must(char c)
        {
            if (!Is(c))
                throw Bad("no " + c);
        }

        private object Value(int depth)
        {
            if (depth > Depth)
                throw Bad("too deep");
            Blanks();
            switch (Next())
            {
                case '{': return Members(depth + 1);
                case '[': return Elements(depth + 1);
                case '"': return Quoted();
                case 't': return Word("true", true);
                case 'f': return Word("false", false);
                case 'n': return Word("null", null);
            }
            i--;
            return Figure();
        }

        private object Word(string w, object value)
        {
            if (string.CompareOrdinal(s, i - 1, w, 0, w.Length) != 0)
                throw Bad("no such word");
            i += w.Length - 1;
            return value;
        }

        private Dictionary<string, object> Members(int depth)
        {
            var o = new Dictionary<string, object>();
            if (Is('}'))
                return o;
            do
            {
                Must('"');
                var name = Quoted();
                Must(':');
                if (once && o.ContainsKey(name))
                    throw Bad("a member is there twice");
                o[name] = Value(depth);
            }
            while (Is(','));
            Must('}');
            return o;
        }

        private List<object> Elements(int depth)
        {
            var o = new List<object>();
            if (Is(']'))
                return o;
            do
                o.Add(Value(depth));
            while (Is(','));
            Must(']');
            return o;
        }

        private string Quoted()
        {
            int from = i;
            while (i < s.Length && s[i] != '"' && s[i] != '\\' && s[i] >= ' ')
                i++;
            if (i < s.Length && s[i] == '"')
                return s.Substring(from, i++ - from);
            var o = new StringBuilder(s, from, i - from, 2 * (i - from) + 16);
            for (char c; (c = Next()) != '"';)
            {
                if (c < ' ')
                    throw Bad("a control character in a string");
                o.Append(c == '\\' ? Escaped() : c);
            }
            return o.ToString();
        }

        private char Escaped()
        {
            char c = Next();
            int k = "\"\\/bfnrt".IndexOf(c);
            if (k >= 0)
                return "\"\\/\b\f\n\r\t"[k];
            if (c != 'u')
                throw Bad("no such escape");
            int code = 0;
            for (int n = 0; n < 4; n++)
            {
                int d = "0123456789abcdef".IndexOf(char.ToLowerInvariant(Next()));
                if (d < 0)
                    throw Bad("four hexadecimal digits");
                code = code * 16 + d;
            }
            return (char)code;
        }

        private int Digits()
        {
            int from = i;
            while (i < s.Length && s[i] >= '0' && s[i] <= '9')
                i++;
            if (i == from)
                throw Bad("no digit");
            return i - from;
        }

        private bool Sign(string any)
        {
            bool there = i < s.Length && any.IndexOf(s[i]) >= 0;
            if (there)
                i++;
            return there;
        }

        private object Figure()
        {
            int from = i;
            Sign("-");
            char first = i < s.Length ? s[i] : ' ';
            int n = Digits();
            if (first == '0' && n > 1)
                throw Bad("a number that begins with 0");
            bool whole = true;
            if (Sign("."))
            {
                whole = false;
                Digits();
            }
            if (Sign("eE"))
            {
                whole = false;
                Sign("+-");
                Digits();
            }
            var t = s.Substring(from, i - from);
            long l;
            decimal d;
            double f;
            if (whole && long.TryParse(t, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out l))
                return l;
            if (whole && decimal.TryParse(t, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out d))
                return d;
            if (!double.TryParse(t, NumberStyles.Float, CultureInfo.InvariantCulture, out f) || double.IsInfinity(f))
                throw Bad("a number that is too large");
            return f;
        }

        // ---- writing ----

        /// <summary>What has been written already.</summary>
        internal sealed class Written
        {
            internal readonly string Text;

            internal Written(string text)
            {
                Text = text;
            }
        }

        private static void Write(StringBuilder o, object v, int depth)
        {
            if (depth > Depth)
                throw new FormatException("JSON: too deep");
            if (v == null)
                o.Append("null");
            else if (v is Written)
                o.Append(((Written)v).Text);
            else if (v is bool)
                o.Append((bool)v ? "true" : "false");
            else if (v is double || v is float)
                Float(o, Convert.ToDouble(v));
            else if (v is string || v is char || v is Enum || v is Guid || v is Uri)
                Quoted(o, v.ToString());
            else if (v is IDictionary)
                Members(o, (IDictionary)v, depth + 1);
            else if (v is IEnumerable)
                Elements(o, (IEnumerable)v, depth + 1);
            else if (v is IFormattable && v.GetType().GetTypeInfo().IsPrimitive || v is decimal)
                o.Append(((IFormattable)v).ToString(null, CultureInfo.InvariantCulture));
            else if (v is IFormattable)
                Quoted(o, ((IFormattable)v).ToString(null, CultureInfo.InvariantCulture));
            else
                Members(o, Properties(v), depth + 1);
        }

        private static void Float(StringBuilder o, double d)
        {
            if (double.IsNaN(d) || double.IsInfinity(d))
                throw new FormatException("JSON has no " + d);
            o.Append(d.ToString("R", CultureInfo.InvariantCulture));
        }

        private static IDictionary Properties(object v)
        {
            var m = new Dictionary<string, object>();
            foreach (var p in v.GetType().GetRuntimeProperties())
                if (p.GetMethod != null && p.GetMethod.IsPublic && !p.GetMethod.IsStatic && p.GetIndexParameters().Length == 0)
                    m[p.Name] = p.GetValue(v);
            return m;
        }

        private static void Members(StringBuilder o, IDictionary m, int depth)
        {
            char before = '{';
            foreach (DictionaryEntry e in m)
            {
                o.Append(before);
                before = ',';
                Quoted(o, Convert.ToString(e.Key, CultureInfo.InvariantCulture));
                o.Append(':');
                Write(o, e.Value, depth);
            }
            o.Append(before == '{' ? "{}" : "}");
        }

        private static void Elements(StringBuilder o, IEnumerable l, int depth)
        {
            char before = '[';
            foreach (var v in l)
            {
                o.Append(before);
                before = ',';
                Write(o, v, depth);
            }
            o.Append(before == '[' ? "[]" : "]");
        }

        private static void Quoted(StringBuilder o, string t)
        {
            o.Append('"');
            for (int k = 0; k < t.Length; k++)
            {
                char c = t[k];
                int e = "\"\\\b\f\n\r\t".IndexOf(c);
                if (e >= 0)
                    o.Append('\\').Append("\"\\bfnrt"[e]);
                else if (c < ' ' || (char.IsSurrogate(c) && !Paired(t, k)))
                    o.Append("\\u").Append(((int)c).ToString("x4"));
                else
                    o.Append(c);
            }
            o.Append('"');
        }

        /// <summary>A surrogate of a pair: one alone cannot be written as UTF-8.</summary>
        private static bool Paired(string t, int k)
        {
            return char.IsHighSurrogate(t[k]) ? k + 1 < t.Length && char.IsLowSurrogate(t[k + 1])
                : k > 0 && char.IsHighSurrogate(t[k - 1]);
        }
    }
}

package segq;

import java.lang.reflect.Array;
import java.lang.reflect.RecordComponent;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON (RFC 8259). Read: Map, List, String, Long (BigInteger where it is longer), Double, Boolean, null. Written:
 *  these, records, arrays, enums, and what has a text. */
public final class Json {
    private static final int DEPTH = 200;

    /** What has been written already. */
    record Written(String text) { }

    private final String s;
    private final boolean once;
    private int i;

    private Json(String s, boolean once) {
        this.s = s;
        this.once = once;
    }

    /** IllegalArgumentException: it is none. */
    public static Object read(String text) {
        return new Json(text, false).whole();
    }

    static Object read(byte[] text) {
        return read(new String(text, StandardCharsets.UTF_8));
    }

    /** Likewise; a member that is there twice is refused. */
    static Object readStrict(byte[] text) {
        return new Json(new String(text, StandardCharsets.UTF_8), true).whole();
    }

    /** IllegalArgumentException: a number that is none, or too deep. */
    public static String write(Object value) {
        StringBuilder out = new StringBuilder();
        write(out, value, 0);
        return out.toString();
    }

    static byte[] bytes(Object value) {
        return write(value).getBytes(StandardCharsets.UTF_8);
    }

    // ---- what may be something else ----

    @SuppressWarnings("unchecked")
    static Map<String, Object> object(Object o) {
        return o instanceof Map<?, ?> m ? (Map<String, Object>) m : Map.of();
    }

    static List<?> list(Object o) {
        return o instanceof List<?> l ? l : List.of();
    }

    static Object last(List<?> l) {
        return l.isEmpty() ? null : l.get(l.size() - 1);
    }

    static String text(Object o) {
        return o instanceof String t ? t : "";
    }

    // ---- reading ----

    private IllegalArgumentException bad(String what) {
        return new IllegalArgumentException("JSON, at " + i + ": " + what);
    }

    private Object whole() {
        Object o = value(0);
        blanks();
        if (i < s.length())
            throw bad("something behind it");
        return o;
    }

    private void blanks() {
        while (i < s.length() && " \t\r\n".indexOf(s.charAt(i)) >= 0)
            i++;
    }

    private char next() {
        if (i >= s.length())
            throw bad("it breaks off");
        return s.charAt(i++);
    }

    /** Whether the next character, after blanks, is this one; then it is behind us. */
    private boolean is(char c) {
        blanks();
        if (i >= s.length() || s.charAt(i) != c)
            return false;
        i++;
        return true;
    }

    private void must(char c) {
        if (!is(c))
            throw bad("no " + c);
    }

    private Object value(int depth) {
        if (depth > DEPTH)
            throw bad("too deep");
        blanks();
        char c = next();
        switch (c) {
            case '{': return members(depth + 1);
            case '[': return elements(depth + 1);
            case '"': return string();
            case 't': return word("true", true);
            case 'f': return word("false", false);
            case 'n': return word("null", null);
            default:
        }
        i--;
        return number();
    }

    private Object word(String w, Object value) {
        if (!s.startsWith(w, i - 1))
            throw bad("no such word");
        i += w.length() - 1;
        return value;
    }

    private Map<String, Object> members(int depth) {
        Map<String, Object> out = new LinkedHashMap<>();
        if (is('}'))
            return out;
        do {
            must('"');
            String name = string();
            must(':');
            boolean again = out.containsKey(name);
            if (again && once)
                throw bad("a member is there twice");
            out.put(name, value(depth));
        } while (is(','));
        must('}');
        return out;
    }

    private List<Object> elements(int depth) {
        List<Object> out = new ArrayList<>();
        if (is(']'))
            return out;
        do
            out.add(value(depth));
        while (is(','));
        must(']');
        return out;
    }

    private String string() {
        int from = i;
        while (i < s.length() && s.charAt(i) != '"' && s.charAt(i) != '\\' && s.charAt(i) >= ' ')
            i++;
        if (i < s.length() && s.charAt(i) == '"')
            return s.substring(from, i++);
        StringBuilder out = new StringBuilder(s.substring(from, i));
        for (char c; (c = next()) != '"';) {
            if (c < ' ')
                throw bad("a control character in a string");
            out.append(c == '\\' ? escaped() : c);
        }
        return out.toString();
    }

    private char escaped() {
        char c = next();
        int k = "\"\\/bfnrt".indexOf(c);
        if (k >= 0)
            return "\"\\/\b\f\n\r\t".charAt(k);
        if (c != 'u')
            throw bad("no such escape");
        int code = 0;
        for (int n = 0; n < 4; n++) {
            char h = next();
            int d = h < 128 ? Character.digit(h, 16) : -1;
            if (d < 0)
                throw bad("four hexadecimal digits");
            code = code * 16 + d;
        }
        return (char) code;
    }

    private int digits() {
        int from = i;
        while (i < s.length() && s.charAt(i) >= '0' && s.charAt(i) <= '9')
            i++;
        if (i == from)
            throw bad("no digit");
        return i - from;
    }

    private boolean sign(String any) {
        boolean there = i < s.length() && any.indexOf(s.charAt(i)) >= 0;
        if (there)
            i++;
        return there;
    }

    private Number number() {
        int from = i;
        sign("-");
        char first = i < s.length() ? s.charAt(i) : ' ';
        int n = digits();
        if (first == '0' && n > 1)
            throw bad("a number that begins with 0");
        boolean whole = true;
        if (sign(".")) {
            whole = false;
            digits();
        }
        if (sign("eE")) {
            whole = false;
            sign("+-");
            digits();
        }
        String t = s.substring(from, i);
        if (!whole)
            return Double.valueOf(t);
        if (n < 19)
            return Long.valueOf(t);
        if (n > 1000)
            throw bad("a number of more than 1000 digits");
        BigInteger b = new BigInteger(t);
        return b.bitLength() < 64 ? (Number) b.longValue() : b;
    }

    // ---- writing ----

    private static void write(StringBuilder out, Object v, int depth) {
        if (depth > DEPTH)
            throw new IllegalArgumentException("JSON: too deep");
        if (v == null || v instanceof Boolean) {
            out.append(v);
        } else if (v instanceof Written w) {
            out.append(w.text);
        } else if (v instanceof Number n) {
            if (!Double.isFinite(n.doubleValue()) && (n instanceof Double || n instanceof Float))
                throw new IllegalArgumentException("JSON has no " + n);
            out.append(n);
        } else if (v instanceof Map<?, ?> m) {
            members(out, m, depth + 1);
        } else if (v instanceof Iterable<?> l) {
            elements(out, l, depth + 1);
        } else if (v instanceof Record r) {
            members(out, components(r), depth + 1);
        } else if (v.getClass().isArray()) {
            List<Object> l = new ArrayList<>();
            for (int k = 0; k < Array.getLength(v); k++)
                l.add(Array.get(v, k));
            elements(out, l, depth + 1);
        } else {
            quoted(out, v.toString());
        }
    }

    private static Map<String, Object> components(Record r) {
        Map<String, Object> m = new LinkedHashMap<>();
        try {
            for (RecordComponent c : r.getClass().getRecordComponents()) {
                c.getAccessor().setAccessible(true);
                m.put(c.getName(), c.getAccessor().invoke(r));
            }
        } catch (ReflectiveOperationException | RuntimeException e) {
            throw new IllegalArgumentException("a record that cannot be read: " + e, e);
        }
        return m;
    }

    private static void members(StringBuilder out, Map<?, ?> m, int depth) {
        char before = '{';
        for (Map.Entry<?, ?> e : m.entrySet()) {
            out.append(before);
            before = ',';
            quoted(out, String.valueOf(e.getKey()));
            out.append(':');
            write(out, e.getValue(), depth);
        }
        out.append(before == '{' ? "{}" : "}");
    }

    private static void elements(StringBuilder out, Iterable<?> l, int depth) {
        char before = '[';
        for (Object o : l) {
            out.append(before);
            before = ',';
            write(out, o, depth);
        }
        out.append(before == '[' ? "[]" : "]");
    }

    private static void quoted(StringBuilder out, String t) {
        out.append('"');
        for (int k = 0; k < t.length(); k++) {
            char c = t.charAt(k);
            int e = "\"\\\b\f\n\r\t".indexOf(c);
            if (e >= 0)
                out.append('\\').append("\"\\bfnrt".charAt(e));
            else if (c < ' ' || (Character.isSurrogate(c) && !paired(t, k)))
                out.append(String.format("\\u%04x", (int) c));
            else
                out.append(c);
        }
        out.append('"');
    }

    /** A surrogate of a pair: one alone cannot be written as UTF-8. */
    private static boolean paired(String t, int k) {
        return Character.isHighSurrogate(t.charAt(k)) ? k + 1 < t.length() && Character.isLowSurrogate(t.charAt(k + 1))
            : k > 0 && Character.isHighSurrogate(t.charAt(k - 1));
    }
}

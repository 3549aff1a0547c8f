package segq;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.function.Consumer;

/** Lines of a stream, and its server-sent events (WHATWG HTML, section 9.2). What is cut off before its blank line
 *  is no event. */
final class Sse implements Consumer<byte[]> {
    private final ByteArrayOutputStream rest = new ByteArrayOutputStream();
    private final Consumer<String> each;

    private Sse(Consumer<String> each) {
        this.each = each;
    }

    /** Another one is a stranger's: no header could send it back. */
    static boolean isId(String value) {
        return value.matches("[ -~]{0,128}");
    }

    static Sse lines(Consumer<String> each) {
        return new Sse(each);
    }

    static Sse events(Consumer<Stream.Event> each) {
        return new Sse(new Parser(each));
    }

    @Override
    public void accept(byte[] piece) {
        int from = 0;
        for (int i = 0; i < piece.length; i++) {
            if (piece[i] == '\n') {
                rest.write(piece, from, i - from);
                from = i + 1;
                line();
            }
        }
        rest.write(piece, from, piece.length - from);
        if (rest.size() > Http.BODY_MAX)
            throw new SegqException.Network("a line of more than " + Http.BODY_MAX + " bytes");
    }

    private void line() {
        String s = rest.toString(StandardCharsets.UTF_8);
        rest.reset();
        each.accept(s.endsWith("\r") ? s.substring(0, s.length() - 1) : s);
    }

    /** The last line may have no end. */
    void end() {
        if (rest.size() > 0)
            line();
    }

    private static final class Parser implements Consumer<String> {
        private final Consumer<Stream.Event> each;
        private final StringBuilder data = new StringBuilder();
        private String name = "";
        private String id = "";
        private boolean any;

        Parser(Consumer<Stream.Event> each) {
            this.each = each;
        }

        @Override
        public void accept(String line) {
            if (line.isEmpty()) {
                String n = name.isEmpty() ? "message" : name;
                String d = data.toString();
                boolean was = any;
                name = "";
                any = false;
                data.setLength(0);
                if (was)
                    each.accept(new Stream.Event(n, d, id));
                return;
            }
            int colon = line.indexOf(':');
            String field = colon < 0 ? line : line.substring(0, colon);
            String value = colon < 0 ? "" : line.substring(colon + (line.startsWith(" ", colon + 1) ? 2 : 1));
            switch (field) {
                case "event" -> name = value;
                case "id" -> {
                    if (isId(value))
                        id = value;
                }
                case "data" -> {
                    data.append(any ? "\n" : "").append(value);
                    any = true;
                }
                default -> { }
            }
        }
    }
}

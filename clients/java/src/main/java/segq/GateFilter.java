package segq;

import com.sun.net.httpserver.Filter;
import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpContext;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpPrincipal;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.Map;
import java.util.TreeMap;

/** The gate before a site of the JDK's own HttpServer: {@code context.getFilters().add(new GateFilter(gate))}. Handlers
 *  find who is in with {@code GateFilter.of(exchange)}. For servlets there is segq.servlet.GateFilter. */
public final class GateFilter extends Filter {
    private static final String COMMAND = "X-Segq-Command";

    private final Gate gate;

    public GateFilter(Gate gate) {
        this.gate = gate;
    }

    @Override
    public String description() {
        return "segq gate";
    }

    /** Who is in. */
    public static Gate.Decision of(HttpExchange x) {
        return ((Gated) x).decision;
    }

    @Override
    public void doFilter(HttpExchange x, Chain chain) throws IOException {
        Map<String, String> h = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        x.getRequestHeaders().forEach((k, v) -> h.put(k, String.join("; ", v)));
        Gate.Decision d = gate.decide(x.getRequestMethod(), x.getRequestURI().toString(), h);
        if (d.status() == 0) {
            chain.doFilter(new Gated(x, d, gate, h));
            return;
        }
        d.headers().forEach(x.getResponseHeaders()::set);
        boolean none = x.getRequestMethod().equals("HEAD") || d.body().length == 0;
        x.sendResponseHeaders(d.status(), none ? -1 : d.body().length);
        if (!none)
            x.getResponseBody().write(d.body());
        x.close();
    }

    /** What handlers see. */
    private static final class Gated extends HttpExchange {
        private final HttpExchange x;
        private final Gate.Decision decision;
        private final Gate gate;
        private final Map<String, String> asked;
        private final Headers theirs = new Headers();

        Gated(HttpExchange x, Gate.Decision decision, Gate gate, Map<String, String> asked) {
            this.x = x;
            this.decision = decision;
            this.gate = gate;
            this.asked = asked;
            x.getRequestHeaders().forEach((k, v) -> {
                if (!k.regionMatches(true, 0, "X-Segq-", 0, 7)) // the visitor's; applications believe a gate's
                    theirs.put(k, v);
            });
        }

        @Override
        public void sendResponseHeaders(int status, long length) throws IOException {
            gate.obey(x.getResponseHeaders().getFirst(COMMAND), asked);
            x.getResponseHeaders().remove(COMMAND);
            decision.headers().forEach(x.getResponseHeaders()::add);
            x.sendResponseHeaders(status, length);
        }

        @Override
        public Headers getRequestHeaders() {
            return theirs;
        }

        @Override
        public Headers getResponseHeaders() {
            return x.getResponseHeaders();
        }

        @Override
        public URI getRequestURI() {
            return x.getRequestURI();
        }

        @Override
        public String getRequestMethod() {
            return x.getRequestMethod();
        }

        @Override
        public HttpContext getHttpContext() {
            return x.getHttpContext();
        }

        @Override
        public void close() {
            x.close();
        }

        @Override
        public InputStream getRequestBody() {
            return x.getRequestBody();
        }

        @Override
        public OutputStream getResponseBody() {
            return x.getResponseBody();
        }

        @Override
        public InetSocketAddress getRemoteAddress() {
            return x.getRemoteAddress();
        }

        @Override
        public int getResponseCode() {
            return x.getResponseCode();
        }

        @Override
        public InetSocketAddress getLocalAddress() {
            return x.getLocalAddress();
        }

        @Override
        public String getProtocol() {
            return x.getProtocol();
        }

        @Override
        public Object getAttribute(String name) {
            return x.getAttribute(name);
        }

        @Override
        public void setAttribute(String name, Object value) {
            x.setAttribute(name, value);
        }

        @Override
        public void setStreams(InputStream in, OutputStream out) {
            x.setStreams(in, out);
        }

        @Override
        public HttpPrincipal getPrincipal() {
            return x.getPrincipal();
        }
    }
}

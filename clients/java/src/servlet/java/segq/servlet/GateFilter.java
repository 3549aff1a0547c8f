package segq.servlet;

import java.io.IOException;
import java.util.Collections;
import java.util.Enumeration;
import java.util.Map;
import java.util.TreeMap;
import javax.servlet.Filter;
import javax.servlet.FilterChain;
import javax.servlet.FilterConfig;
import javax.servlet.ServletException;
import javax.servlet.ServletRequest;
import javax.servlet.ServletResponse;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletRequestWrapper;
import javax.servlet.http.HttpServletResponse;
import javax.servlet.http.HttpServletResponseWrapper;
import segq.Gate;

/** The gate before servlets. {@code request.getAttribute("segq.pass")} is the segq.Pass or segq.Pass.Verdict of who is in.
 *  It is compiled with javax.servlet, and with {@code javax} made {@code jakarta} for newer containers. */
public final class GateFilter implements Filter {
    private static final String COMMAND = "X-Segq-Command";

    private final Gate gate;

    public GateFilter(Gate gate) {
        this.gate = gate;
    }

    @Override
    public void init(FilterConfig config) { }

    @Override
    public void destroy() { }

    @Override
    public void doFilter(ServletRequest asked, ServletResponse answer, FilterChain chain) throws IOException, ServletException {
        HttpServletRequest q = (HttpServletRequest) asked;
        HttpServletResponse a = (HttpServletResponse) answer;
        Map<String, String> h = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        for (String n : Collections.list(q.getHeaderNames()))
            h.put(n, String.join("; ", Collections.list(q.getHeaders(n))));
        String query = q.getQueryString();
        Gate.Decision d = gate.decide(q.getMethod(), q.getRequestURI() + (query == null ? "" : "?" + query), h);
        if (d.status() == 0) {
            d.headers().forEach(a::addHeader);
            q.setAttribute("segq.pass", d.given());
            chain.doFilter(new Plain(q), new Obeying(a, command -> gate.obey(command, h)));
            return;
        }
        d.headers().forEach(a::setHeader);
        a.setStatus(d.status());
        a.setContentLength(d.body().length);
        if (!q.getMethod().equals("HEAD"))
            a.getOutputStream().write(d.body());
    }

    /** Without the visitor's own X-Segq- headers. */
    private static final class Plain extends HttpServletRequestWrapper {
        Plain(HttpServletRequest q) {
            super(q);
        }

        private static boolean isOurs(String name) {
            return name.regionMatches(true, 0, "X-Segq-", 0, 7);
        }

        @Override
        public String getHeader(String name) {
            return isOurs(name) ? null : super.getHeader(name);
        }

        @Override
        public Enumeration<String> getHeaders(String name) {
            return isOurs(name) ? Collections.emptyEnumeration() : super.getHeaders(name);
        }

        @Override
        public Enumeration<String> getHeaderNames() {
            return Collections.enumeration(Collections.list(super.getHeaderNames()).stream().filter(n -> !isOurs(n)).toList());
        }
    }

    /** What the application tells segq does not reach the visitor. */
    private static final class Obeying extends HttpServletResponseWrapper {
        private final java.util.function.Consumer<String> obey;

        Obeying(HttpServletResponse a, java.util.function.Consumer<String> obey) {
            super(a);
            this.obey = obey;
        }

        @Override
        public void setHeader(String name, String value) {
            if (COMMAND.equalsIgnoreCase(name))
                obey.accept(value);
            else
                super.setHeader(name, value);
        }

        @Override
        public void addHeader(String name, String value) {
            if (COMMAND.equalsIgnoreCase(name))
                obey.accept(value);
            else
                super.addHeader(name, value);
        }
    }
}

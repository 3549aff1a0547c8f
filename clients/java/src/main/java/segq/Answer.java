package segq;

import java.net.http.HttpHeaders;

/** What came back, as a whole. */
public record Answer(int status, HttpHeaders headers, byte[] body) {
    /** Its JSON; IllegalArgumentException: it is none. */
    public Object json() {
        return body.length == 0 ? java.util.Map.of() : Json.read(body);
    }

    String header(String name) {
        return headers.firstValue(name).orElse(null);
    }
}

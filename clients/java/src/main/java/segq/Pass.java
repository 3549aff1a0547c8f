package segq;

import java.util.Map;

/** A good pass.
 *  @param ticket "17-123"
 *  @param subject who joined; else the ticket
 *  @param issuedAt Unix seconds
 *  @param expiresAt Unix seconds */
public record Pass(String queue, String ticket, String subject, String lane, long issuedAt, long expiresAt,
                   Map<String, Object> claims) {
    /** What a router says of a request.
     *  @param bypass no pass, but a rule lets it past the room; or null, as what follows may be
     *  @param setCookie the pass was renewed: for the visitor
     *  @param newPass likewise, if it came as a bearer */
    public record Verdict(String queue, String bypass, String ticket, String subject, String lane, Long expiresAt,
                          String setCookie, String newPass) { }
}

package segq;

/** A handler's result that is no JSON, with its Content-Type; a byte[] alone is application/octet-stream. */
public record Bytes(byte[] body, String contentType) { }

package segq;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

/** Members of a request's body. */
public abstract class Members<T extends Members<T>> {
    final Map<String, Object> map = new LinkedHashMap<>();

    Members() { }

    /** Any member, also one that this release does not know. A Duration is a time. */
    @SuppressWarnings("unchecked")
    public T with(String member, Object value) {
        Object v = value instanceof Duration d ? (Object) (d.toMillis() / 1000.0) : value;
        map.put(member, v instanceof Members<?> m ? m.map : v);
        return (T) this;
    }

    @Override
    public String toString() {
        return Json.write(map);
    }
}

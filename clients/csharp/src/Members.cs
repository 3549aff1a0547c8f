using System;
using System.Collections;
using System.Collections.Generic;
using System.Threading;

namespace Segq
{
    /// <summary>The trace context (W3C, traceparent) of what is done now: a worker sets it around a handler, submissions
    /// and calls hand it on.</summary>
    public static class Trace
    {
        private static readonly AsyncLocal<string> Now = new AsyncLocal<string>();

        public static string Current
        {
            get { return Now.Value; }
            set { Now.Value = value; }
        }
    }

    /// <summary>Members of a request's body. Those that are null are not sent.</summary>
    public abstract class Members
    {
        internal readonly Dictionary<string, object> Map = new Dictionary<string, object>();

        /// <summary>Any member, also one that this release does not know. A TimeSpan is a time.</summary>
        public object this[string member]
        {
            get { return Json.Get(Map, member); }
            set { Map[member] = Plain(value); }
        }

        internal static object Plain(object v)
        {
            if (v is TimeSpan)
                return ((TimeSpan)v).TotalSeconds;
            if (v is DateTimeOffset)
                return ((DateTimeOffset)v).ToUnixTimeMilliseconds() / 1000.0;
            return v is Members ? ((Members)v).Map : v;
        }

        internal void Set(string member, object value)
        {
            if (value == null)
                Map.Remove(member);
            else
                Map[member] = Plain(value);
        }
    }

    /// <summary>A task that is submitted (TaskSubmit of proto/openapi.yaml): a row of SubmitManyAsync(), the task of a
    /// schedule.</summary>
    public sealed class Submission : Members
    {
        public Submission() { }

        /// <summary>Any value that Json writes.</summary>
        public Submission(object payload)
        {
            Map["payload"] = payload;
        }

        /// <summary>Of the next task of a chain, in Then; {"$result": "/pointer"} in its payload is that value of the first
        /// one's result.</summary>
        public string Queue { set { Set("queue", value); } }

        public object Payload { set { Map["payload"] = value; } }
        public string Name { set { Set("name", value); } }

        /// <summary>Limits and fair shares go by it: "tenant7", "tenant7/user42".</summary>
        public string Key { set { Set("key", value); } }

        /// <summary>0 to 7.</summary>
        public int? Priority { set { Set("priority", value); } }

        public TimeSpan? Delay { set { Set("delay", value); } }
        public DateTimeOffset? At { set { Set("at", value); } }
        public long? Order { set { Set("order", value); } }
        public long? Cost { set { Set("cost", value); } }

        /// <summary>Longest wait.</summary>
        public TimeSpan? Ttl { set { Set("ttl", value); } }

        /// <summary>"key", "while", "on_conflict": one task of the queue has that key at a time.</summary>
        public IDictionary Unique { set { Set("unique", value); } }

        public IEnumerable<string> Labels { set { Set("labels", value); } }

        /// <summary>Further queues in which it stands, too, until it is taken from one of them.</summary>
        public IEnumerable<string> OfferTo { set { Set("offer_to", value); } }
        public int? MaxAttempts { set { Set("max_attempts", value); } }

        /// <summary>"min", "max", "doublings", "jitter".</summary>
        public IDictionary Retry { set { Set("retry", value); } }

        /// <summary>"keep", "drop".</summary>
        public string Result { set { Set("result", value); } }

        /// <summary>Of a queue that has an endpoint, in place of the payload, and so what follows.</summary>
        public string Path { set { Set("path", value); } }

        public string Method { set { Set("method", value); } }
        public IDictionary<string, string> Headers { set { Set("headers", value); } }
        public string Body { set { Set("body", value); } }
        public object BodyJson { set { Set("body_json", value); } }
        public byte[] BodyBase64 { set { Set("body_base64", value == null ? null : Convert.ToBase64String(value)); } }

        /// <summary>What is no JSON, in place of the payload; and its type.</summary>
        public byte[] PayloadBase64 { set { Set("payload_base64", value == null ? null : Convert.ToBase64String(value)); } }
        public string ContentType { set { Set("content_type", value); } }

        public string Group { set { Set("group", value); } }
        public Submission Then { set { Set("then", value); } }

        /// <summary>In place of a server's token (Claim).</summary>
        public string Claim { set { Set("claim", value); } }

        /// <summary>What you repeat after an exception needs a key of yours, or a name.</summary>
        public string IdempotencyKey { set { Set("idempotency_key", value); } }

        /// <summary>As it is sent: with the trace context of what is done now.</summary>
        internal Dictionary<string, object> Sent()
        {
            var o = new Dictionary<string, object>(Map);
            var trace = Trace.Current;
            if (!o.ContainsKey("path") && !o.ContainsKey("payload") && !o.ContainsKey("payload_base64"))
                o["payload"] = null;
            if (trace == null)
                return o;
            var name = o.ContainsKey("path") ? "headers" : "payload";
            var all = new Dictionary<string, object>(name == "headers" ? StringComparer.OrdinalIgnoreCase : StringComparer.Ordinal);
            if (name == "payload" && !(o.ContainsKey("payload") && o["payload"] is IDictionary))
                return o;
            all["traceparent"] = trace;
            if (o.ContainsKey(name) && o[name] is IDictionary)
                foreach (DictionaryEntry e in (IDictionary)o[name])
                    all[e.Key.ToString()] = e.Value;
            o[name] = all;
            return o;
        }
    }

    /// <summary>When a task is submitted again and again (SchedulePut of proto/openapi.yaml): Cron, or Every.</summary>
    public sealed class Schedule : Members
    {
        public Submission Task { set { Set("task", value); } }

        /// <summary>"30 2 * * *"</summary>
        public string Cron { set { Set("cron", value); } }

        /// <summary>"Europe/Berlin"</summary>
        public string Zone { set { Set("zone", value); } }

        public TimeSpan? Every { set { Set("every", value); } }
        public TimeSpan? Jitter { set { Set("jitter", value); } }

        /// <summary>"allow", "skip", "cancel_old".</summary>
        public string Overlap { set { Set("overlap", value); } }

        /// <summary>"none", "last", "all".</summary>
        public string CatchUp { set { Set("catch_up", value); } }

        public int? CatchUpMax { set { Set("catch_up_max", value); } }
        public DateTimeOffset? From { set { Set("from", value); } }
        public DateTimeOffset? Until { set { Set("until", value); } }
        public bool? Paused { set { Set("paused", value); } }
    }

    /// <summary>What becomes different of a task that has not begun (TaskPatch of proto/openapi.yaml).</summary>
    public sealed class Change : Members
    {
        public long? Order { set { Set("order", value); } }
        public TimeSpan? Delay { set { Set("delay", value); } }
        public DateTimeOffset? At { set { Set("at", value); } }
        public int? Priority { set { Set("priority", value); } }

        /// <summary>Also of one that runs.</summary>
        public IEnumerable<string> Labels { set { Set("labels", value); } }
    }

    /// <summary>How a call ended whose target answered segq-command: pending (TaskComplete of proto/openapi.yaml).</summary>
    public sealed class Completion : Members
    {
        /// <summary>"succeeded", "failed" (tried again), "dead".</summary>
        public string Outcome { set { Set("outcome", value); } }

        public int? Status { set { Set("status", value); } }
        public object Result { set { Set("result", value); } }
        public string Body { set { Set("body", value); } }
        public byte[] BodyBase64 { set { Set("body_base64", value == null ? null : Convert.ToBase64String(value)); } }
        public string Reason { set { Set("reason", value); } }
        public TimeSpan? Delay { set { Set("delay", value); } }
    }

    /// <summary>News of a queue: a task has started, or is over; or a gap: some before it are not known any more.</summary>
    public sealed class TaskEvent
    {
        /// <summary>Where to go on behind it.</summary>
        public string Id { get; internal set; }

        public bool Gap { get; internal set; }

        /// <summary>Null of a gap.</summary>
        public string Task { get; internal set; }

        /// <summary>running, or how it ended; null of a gap.</summary>
        public string State { get; internal set; }

        public int Attempts { get; internal set; }

        /// <summary>Seconds since 1970.</summary>
        public double At { get; internal set; }

        internal static TaskEvent Of(string id, IReadOnlyDictionary<string, object> m)
        {
            var task = Json.Get(m, "task") as string;
            if (task == null)
                throw new NetworkException("an event without a task");
            return new TaskEvent { Id = id, Task = task, State = Json.Text(Json.Get(m, "state")),
                Attempts = (int)(Json.Number(Json.Get(m, "attempts")) ?? 0), At = Json.Number(Json.Get(m, "at")) ?? 0 };
        }
    }

    /// <summary>A task, as last heard.</summary>
    public sealed class QueuedTask
    {
        internal static readonly string[] Final = { "succeeded", "dead", "cancelled", "expired" };

        public string Token { get; internal set; }
        public string State { get; internal set; }

        /// <summary>All members of the answer.</summary>
        public IReadOnlyDictionary<string, object> Raw { get; internal set; }

        public bool Over { get { return Array.IndexOf(Final, State) >= 0; } }

        /// <summary>Its JSON; null if there is none, or if it is long or no JSON: ResultAsync().</summary>
        public object Result { get { return Json.Get(Raw, "result"); } }

        public long? Position { get { return (long?)Json.Number(Json.Get(Raw, "position")); } }
        public long? EtaS { get { return (long?)Json.Number(Json.Get(Raw, "eta_s")); } }

        internal static QueuedTask Of(object said)
        {
            var m = Json.Object(said);
            var token = Json.Get(m, "task") as string;
            if (token == null)
                throw new NetworkException("an answer that is no task");
            return new QueuedTask { Token = token, State = Json.Text(Json.Get(m, "state")), Raw = m };
        }
    }

    /// <summary>What became of one row of a batch.</summary>
    public sealed class Row
    {
        /// <summary>0: no answer; it may be there.</summary>
        public int Status { get; internal set; }

        /// <summary>null: none.</summary>
        public string Task { get; internal set; }

        /// <summary>null: none.</summary>
        public SegqException Error { get; internal set; }
    }

    /// <summary>A request to an endpoint, through /v1/call.</summary>
    public sealed class Call
    {
        public string Method = "POST";
        public string Path = "/";
        public byte[] Body;

        /// <summary>To the target, and what segq does not keep for itself. Authorization is the target's.</summary>
        public IDictionary<string, string> Headers = new Dictionary<string, string>();

        /// <summary>The longest wait for its turn.</summary>
        public TimeSpan? Wait;

        public long? Cost;

        /// <summary>Until it begins, and its longest silence.</summary>
        public TimeSpan Timeout = TimeSpan.FromMinutes(10);

        /// <summary>Hears of the place in line while EventsAsync() runs; the answer is a stream of events then.</summary>
        public Action<IReadOnlyDictionary<string, object>> OnProgress;

        internal Ask Ask(string path, string token)
        {
            var q = new Ask { Method = Method, Path = path + "/" + Path.TrimStart('/'), Body = Body };
            foreach (var h in Headers)
                q.Headers[h.Key] = h.Value;
            if (token != null && q.Headers.ContainsKey("Authorization"))
                q.Headers["segq-token"] = token;
            if (Trace.Current != null && !q.Headers.ContainsKey("traceparent"))
                q.Headers["traceparent"] = Trace.Current;
            if (Wait != null)
                q.Headers["Prefer"] = "wait=" + (long)Wait.Value.TotalSeconds;
            if (Cost != null)
                q.Headers["segq-cost"] = Cost.ToString();
            if (OnProgress != null)
            {
                q.Headers["segq-progress"] = "events";
                if (!q.Headers.ContainsKey("Accept"))
                    q.Headers["Accept"] = "text/event-stream";
            }
            return q;
        }
    }
}

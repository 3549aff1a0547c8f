using System;
using System.Collections.Generic;
using System.Globalization;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Segq
{
    /// <summary>What came back, as a whole.</summary>
    public sealed class Answer
    {
        public int Status { get; internal set; }
        public IReadOnlyDictionary<string, string> Headers { get; internal set; }
        public byte[] Body { get; internal set; }

        /// <summary>FormatException: it is none.</summary>
        public object Json()
        {
            return Body.Length == 0 ? new Dictionary<string, object>() : Segq.Json.Read(Encoding.UTF8.GetString(Body));
        }

        internal string Header(string name)
        {
            string v;
            return Headers.TryGetValue(name, out v) ? v : null;
        }
    }

    /// <summary>1 s, 2 s, 4 s ... 30 s, each up to half as long again.</summary>
    internal sealed class Backoff
    {
        private static readonly Random Dice = new Random();
        private readonly double first;
        internal int Fails;

        internal Backoff(double firstS = 1)
        {
            first = firstS;
        }

        internal static double Random()
        {
            lock (Dice)
                return Dice.NextDouble();
        }

        internal TimeSpan Next(Exception e)
        {
            return Told((e as ApiException)?.RetryAfter);
        }

        /// <summary>told: null or none, nobody said when.</summary>
        internal TimeSpan Told(TimeSpan? told)
        {
            var grown = Math.Min(30, first * Math.Pow(2, Math.Min(Fails++, 10)));
            return TimeSpan.FromSeconds((told != null && told.Value > TimeSpan.Zero ? told.Value.TotalSeconds : grown) * (1 + Random() / 2));
        }
    }

    /// <summary>One request: a router's address goes before its path.</summary>
    internal sealed class Ask
    {
        internal string Method = "GET";
        internal string Path;
        internal byte[] Body;
        internal Dictionary<string, string> Headers = new Dictionary<string, string>(StringComparer.OrdinalIgnoreCase);

        /// <summary>Of people: without the token of a server.</summary>
        internal static Ask People(string method, string path)
        {
            var q = new Ask { Method = method, Path = path };
            q.Headers["Authorization"] = "";
            return q;
        }

        internal Ask With(string name, string value)
        {
            Headers[name] = value;
            return this;
        }
    }

    /// <summary>HTTP to any of several routers: back-off with jitter, Retry-After, redirects of load balancers.
    /// What is asked here may be asked again: joins and submissions have an Idempotency-Key, everything else is the same
    /// when it is done twice (docs/api.md). So a broken connection, a body that breaks off and a 503 are answered by the
    /// next try, at another router if there is one.</summary>
    internal sealed class Routers
    {
        internal const string Version = "0.2.0";
        internal const int BodyMax = 64 << 20;
        private const int Redirects = 4;
        private static readonly string[] Secret = { "Authorization", "Cookie", "DPoP", "segq-token", "X-Segq-Gate-Secret" };

        internal readonly string Token;
        internal readonly TimeSpan Timeout;
        internal readonly TimeSpan RetryFor;
        internal readonly ITransport Transport;
        private readonly List<string> routers;
        private readonly HashSet<string> named = new HashSet<string>(); // their origins
        private readonly IDictionary<string, string> always;

        internal Routers(IEnumerable<string> urls, ClientOptions o)
        {
            routers = new List<string>();
            foreach (var u in urls)
            {
                if (!u.StartsWith("http://") && !u.StartsWith("https://"))
                    throw new ArgumentException("routers: addresses like https://q1.example, not " + u);
                named.Add(Origin(new Uri(u)));
                routers.Insert((int)(Backoff.Random() * (routers.Count + 1)), u.TrimEnd('/'));
            }
            if (routers.Count == 0)
                throw new ArgumentException("routers: at least one");
            if (o.Token != null && !Sendable(o.Token))
                throw new ArgumentException("the token is no text of one line: Trim() what a file has");
            Token = o.Token;
            Timeout = o.Timeout;
            RetryFor = o.RetryFor;
            Transport = o.Transport ?? new HttpClientTransport();
            always = o.Headers;
        }

        internal string First
        {
            get
            {
                lock (routers)
                    return routers[0];
            }
        }

        internal int Count { get { return routers.Count; } }

        /// <summary>Another router is asked first from now on.</summary>
        internal void Rotate(string failed)
        {
            lock (routers)
            {
                if (routers[0] != failed)
                    return;
                routers.RemoveAt(0);
                routers.Add(failed);
            }
        }

        internal static bool Sendable(string header)
        {
            foreach (char c in header)
                if (c < ' ' && c != '\t' || c >= 0x7f)
                    return false;
            return true;
        }

        internal static string Enc(string part)
        {
            if (part == "." || part == "..") // addresses would lose what stands before
                throw new ArgumentException("\".\" and \"..\" name nothing");
            return Uri.EscapeDataString(part);
        }

        // ---- time ----

        /// <summary>run(), for so long; then it is over, also if it does not hear of it.</summary>
        internal async Task<T> Within<T>(Func<CancellationToken, Task<T>> run, TimeSpan time, string where, CancellationToken cancel)
        {
            using (var stop = CancellationTokenSource.CreateLinkedTokenSource(cancel))
            {
                var clock = Transport.DelayAsync(time, stop.Token);
                var work = run(stop.Token);
                try
                {
                    if (await Task.WhenAny(work, clock).ConfigureAwait(false) == work)
                        return await work.ConfigureAwait(false);
                }
                catch (OperationCanceledException e)
                {
                    cancel.ThrowIfCancellationRequested();
                    throw new NetworkException(where + ": it was cut off", e);
                }
                finally
                {
                    stop.Cancel();
                    Forget(work);
                    Forget(clock);
                }
                cancel.ThrowIfCancellationRequested();
                throw new NetworkException(where + ": no answer in time");
            }
        }

        /// <summary>Nobody waits for it any more.</summary>
        private static void Forget(Task t)
        {
            if (!t.IsCompleted)
                t.ContinueWith(x =>
                {
                    var why = x.Exception; // it has been seen
                    var late = why == null && !x.IsCanceled ? x as Task<TransportAnswer> : null;
                    if (late != null)
                        late.Result.Dispose();
                });
        }

        // ---- one try ----

        /// <summary>The head of the answer is there. Redirects that keep method and body are followed.</summary>
        internal async Task<TransportAnswer> StreamAsync(string router, Ask ask, TimeSpan within, CancellationToken cancel)
        {
            var headers = new Dictionary<string, string>(always, StringComparer.OrdinalIgnoreCase);
            headers["User-Agent"] = "segq-csharp/" + Version;
            if (Token != null)
                headers["Authorization"] = "Bearer " + Token;
            foreach (var h in ask.Headers)
                if (h.Value == "")
                    headers.Remove(h.Key);
                else
                    headers[h.Key] = h.Value;
            foreach (var h in headers)
                if (!Sendable(h.Value))
                    throw new ArgumentException("the header " + h.Key + " has what no header can have");
            var q = new TransportRequest { Method = ask.Method, Url = new Uri(router + ask.Path), Headers = headers, Body = ask.Body };
            for (int hops = 0; ; hops++)
            {
                TransportAnswer a;
                try
                {
                    a = await Within(c => Transport.SendAsync(q, c), within, q.Url.Authority, cancel).ConfigureAwait(false);
                }
                catch (Exception e) when (!(e is OperationCanceledException || e is SegqException))
                {
                    throw new NetworkException(q.Url.Authority + ": " + Innermost(e), e);
                }
                var to = a.Header("location");
                if ((a.Status != 307 && a.Status != 308) || to == null || a.Header("segq-status") != null)
                    return a;
                a.Dispose();
                q = Follow(q, to, hops);
            }
        }

        private static string Innermost(Exception e)
        {
            while (e.InnerException != null)
                e = e.InnerException;
            return e.Message;
        }

        private static string Origin(Uri u)
        {
            return u.Scheme + "://" + u.Host + ":" + u.Port;
        }

        private TransportRequest Follow(TransportRequest q, string to, int hops)
        {
            Uri there;
            if (!Uri.TryCreate(q.Url, to, out there) || hops >= Redirects
                || !(there.Scheme == "https" || (there.Scheme == "http" && q.Url.Scheme == "http")))
                throw new NetworkException(q.Url.Authority + ": a redirect to " + to + ": is not followed");
            var headers = new Dictionary<string, string>(q.Headers, StringComparer.OrdinalIgnoreCase);
            if (Origin(there) != Origin(q.Url) && !named.Contains(Origin(there))) // a token is for those whom the caller named
                foreach (var n in Secret)
                    headers.Remove(n);
            return new TransportRequest { Method = q.Method, Url = there, Headers = headers, Body = q.Body };
        }

        /// <summary>The body as a whole; a part of one is a broken connection.</summary>
        internal async Task<Answer> WholeAsync(TransportAnswer a, CancellationToken cancel)
        {
            using (a)
            using (var all = new System.IO.MemoryStream())
            {
                var piece = new byte[16384];
                try
                {
                    for (int n; (n = await a.ReadAsync(piece, cancel).ConfigureAwait(false)) > 0;)
                    {
                        all.Write(piece, 0, n);
                        if (all.Length > BodyMax)
                            throw new NetworkException("an answer of more than " + BodyMax + " bytes");
                    }
                }
                catch (Exception e) when (!(e is OperationCanceledException || e is SegqException))
                {
                    cancel.ThrowIfCancellationRequested();
                    throw new NetworkException("the answer breaks off: " + Innermost(e), e);
                }
                return new Answer { Status = a.Status, Headers = a.Headers, Body = all.ToArray() };
            }
        }

        /// <summary>Its answer, whatever it says; NetworkException: there is none.</summary>
        internal Task<Answer> OnceAsync(string router, Ask ask, TimeSpan within, CancellationToken cancel)
        {
            return Within(async c => await WholeAsync(await StreamAsync(router, ask, within, c).ConfigureAwait(false), c).ConfigureAwait(false),
                within, router, cancel);
        }

        // ---- until it is answered ----

        internal async Task<object> CallAsync(string method, string path, object value, CancellationToken cancel,
            Action<Ask> more = null, TimeSpan? within = null, TimeSpan? tries = null)
        {
            var q = new Ask { Method = method, Path = path };
            if (value != null)
            {
                q.Body = Json.Bytes(value);
                q.Headers["Content-Type"] = "application/json";
            }
            if (more != null)
                more(q);
            return await UntilAnsweredAsync(async r => Judge(await OnceAsync(r, q, within ?? Timeout, cancel).ConfigureAwait(false)),
                tries ?? RetryFor, cancel).ConfigureAwait(false);
        }

        /// <summary>CallAsync(), of an answer that is an object.</summary>
        internal async Task<Dictionary<string, object>> AskAsync(string method, string path, object value, CancellationToken cancel,
            Action<Ask> more = null)
        {
            return Object(await CallAsync(method, path, value, cancel, more).ConfigureAwait(false));
        }

        internal static Dictionary<string, object> Object(object said)
        {
            var o = said as Dictionary<string, object>;
            if (o == null)
                throw new NetworkException("an answer that is no object");
            return o;
        }

        internal static readonly TimeSpan Endless = TimeSpan.MaxValue;

        /// <summary>ask(router) until it does not fail with what a later try, or another router, may mend; after so long
        /// what it failed with last. trouble: is told "offline", "busy", and "" at the end.</summary>
        internal async Task<T> UntilAnsweredAsync<T>(Func<string, Task<T>> ask, TimeSpan tries, CancellationToken cancel,
            Func<string, Task> trouble = null)
        {
            var backoff = new Backoff();
            var clock = System.Diagnostics.Stopwatch.StartNew();
            for (; ; )
            {
                cancel.ThrowIfCancellationRequested();
                var router = First;
                TimeSpan pause;
                try
                {
                    var said = await ask(router).ConfigureAwait(false);
                    if (trouble != null)
                        await trouble("").ConfigureAwait(false);
                    return said;
                }
                catch (SegqException e) when (Passes(e))
                {
                    bool offline = e is NetworkException;
                    if (trouble != null)
                        await trouble(offline ? "offline" : "busy").ConfigureAwait(false);
                    Rotate(router);
                    pause = backoff.Next(e);
                    if (backoff.Fails == 1 && offline && Count > 1)
                        pause = TimeSpan.FromSeconds(Backoff.Random() / 10); // another one may well be there
                    if (tries != Endless && clock.Elapsed + pause > tries)
                        throw;
                }
                await Transport.DelayAsync(pause, cancel).ConfigureAwait(false);
            }
        }

        /// <summary>Whether a later try may mend it.</summary>
        internal static bool Passes(Exception e)
        {
            if (e is NetworkException)
                return true;
            var code = (e as SegqException)?.Code;
            return (e is UnavailableException || e is TooFastException) && code != "wait_too_long" && code != "endpoint_failed" && code != "wait_over";
        }

        /// <summary>Its JSON; throws what it is else.</summary>
        internal static object Judge(Answer a)
        {
            if (a.Status >= 300 && a.Status < 400)
                throw new NetworkException("a redirect (" + a.Status + ") that is not followed");
            if (a.Status >= 400)
                throw Refusal(a);
            try
            {
                return a.Json();
            }
            catch (FormatException e)
            {
                throw new NetworkException("an answer that is no JSON: " + e.Message, e);
            }
        }

        /// <summary>The answer itself, where its bytes are what counts.</summary>
        internal static Answer Raw(Answer a)
        {
            if (a.Status >= 300 && !(a.Status < 400 && a.Header("segq-status") != null))
                Judge(a);
            return a;
        }

        internal static ApiException Refusal(Answer a)
        {
            Dictionary<string, object> problem;
            try
            {
                problem = Json.Object(a.Json());
            }
            catch (FormatException)
            {
                problem = Json.Nothing;
            }
            var told = Json.Number(Json.Get(problem, "poll_after_ms")); // finer
            return ApiException.Of(a.Status, problem, told != null ? Ms(told.Value) : Seconds(a.Header("retry-after")));
        }

        /// <summary>At most a day.</summary>
        internal static TimeSpan Ms(double ms)
        {
            return TimeSpan.FromMilliseconds(Math.Max(0, Math.Min(ms, 86400e3)));
        }

        /// <summary>Of Retry-After; null: it is none.</summary>
        internal static TimeSpan? Seconds(string text)
        {
            double s;
            return text != null && double.TryParse(text, NumberStyles.Float, CultureInfo.InvariantCulture, out s) && s > 0
                ? (TimeSpan?)Ms(s * 1000) : null;
        }
    }
}

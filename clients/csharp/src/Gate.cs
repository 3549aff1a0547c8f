using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Text;
using System.Text.RegularExpressions;
using System.Threading;
using System.Threading.Tasks;

namespace Segq
{
    /// <summary>A good pass.</summary>
    public sealed class Pass
    {
        public string Queue { get; internal set; }

        /// <summary>"17-123"</summary>
        public string Ticket { get; internal set; }

        /// <summary>Who joined; else the ticket.</summary>
        public string Subject { get; internal set; }

        public string Lane { get; internal set; }

        /// <summary>Unix seconds.</summary>
        public long IssuedAt { get; internal set; }

        public long ExpiresAt { get; internal set; }
        public IReadOnlyDictionary<string, object> Claims { get; internal set; }
    }

    /// <summary>What a router says of a request.</summary>
    public sealed class Verdict
    {
        public string Queue { get; internal set; }

        /// <summary>No pass, but a rule lets it past the room; or null, as what follows may be.</summary>
        public string Bypass { get; internal set; }

        public string Ticket { get; internal set; }
        public string Subject { get; internal set; }
        public string Lane { get; internal set; }
        public long? ExpiresAt { get; internal set; }

        /// <summary>The pass was renewed: for the visitor.</summary>
        public string SetCookie { get; internal set; }

        /// <summary>Likewise, if it came as a bearer.</summary>
        public string NewPass { get; internal set; }
    }

    /// <summary>About a visitor's request. Status 0: come in, with Headers for the answer; else the answer itself.</summary>
    public sealed class Decision
    {
        public int Status { get; internal set; }
        public Pass Pass { get; internal set; }
        public Verdict Verdict { get; internal set; }
        public IDictionary<string, string> Headers { get; internal set; } = new Dictionary<string, string>();
        public byte[] Body { get; internal set; } = new byte[0];

        /// <summary>Whose it is, or null.</summary>
        public string Ticket { get { return Pass?.Ticket ?? Verdict?.Ticket; } }
    }

    /// <summary>Of the middleware. Always: a router decides about each request (renewal, revocation, bypass), and passes
    /// are checked here only while none answers. Renew: here, and a router is asked when a third of the pass is over, so
    /// that it is renewed. Never: only here.</summary>
    public enum GateAsk
    {
        Always,
        Renew,
        Never,
    }

    public sealed class GateOptions
    {
        /// <summary>How far clocks may differ.</summary>
        public TimeSpan Leeway = TimeSpan.FromSeconds(30);

        /// <summary>How long a visitor waits for a router.</summary>
        public TimeSpan Timeout = TimeSpan.FromSeconds(2);

        public GateAsk Ask = GateAsk.Always;

        /// <summary>Another address of this site that has the waiting page; visitors come back there.</summary>
        public string Room = "";

        /// <summary>That of gate_secret_file.</summary>
        public string Secret;
    }

    /// <summary>At the door of one queue: passes, checked here or by a router. A pass is a JWT (EdDSA) of the routers'
    /// published keys; its audience is the queue. One that was revoked is seen by routers only: VerifyAsync().</summary>
    public sealed class Gate
    {
        private const int JwtMax = 4096;
        private const string Device = "segq_device_";
        private const int KnownMax = 4096;
        private static readonly TimeSpan AwayFor = TimeSpan.FromSeconds(1); // so long nobody asks after no router has answered
        private static readonly Regex Odd = new Regex(@"[%\\;#\x00-\x20\x7f]|//|/\.\.?(/|$)", RegexOptions.CultureInvariant);

        /// <summary>A pass that came with a request, as a bearer or as a cookie; or a cookie of its device, whole.</summary>
        private sealed class Token
        {
            internal bool Bearer;
            internal string Text;
        }

        private readonly Routers routers;
        private readonly string queue;
        private readonly GateOptions o;
        private readonly Keys keys;
        private readonly ConcurrentDictionary<string, KeyValuePair<string, Pass>> known = new ConcurrentDictionary<string, KeyValuePair<string, Pass>>();
        private readonly Stopwatch clock = Stopwatch.StartNew();
        private TimeSpan away;

        public Gate(Client client, string queue, GateOptions options = null)
        {
            routers = client.Routers;
            this.queue = queue;
            o = options ?? new GateOptions();
            keys = new Keys(routers);
        }

        // ---- here ----

        /// <summary>PassInvalidException, PassExpiredException, PassNotYetValidException: it opens nothing. No router is
        /// asked, but for keys. A pass that is bound needs the request's method and path; one that is good once needs a
        /// router: VerifyAsync().</summary>
        public async Task<Pass> CheckAsync(string token, string method = null, string path = null, CancellationToken cancel = default(CancellationToken))
        {
            if (token == null)
                throw new PassInvalidException("none", "no pass");
            KeyValuePair<string, Pass> k;
            if (!known.TryGetValue(token, out k) || await keys.GetAsync(k.Key, cancel).ConfigureAwait(false) == null)
                k = await OpenedAsync(token, cancel).ConfigureAwait(false);
            InTime(k.Value);
            Bound(k.Value.Claims, method, path);
            return k.Value;
        }

        private static Dictionary<string, object> Object(byte[] raw)
        {
            var m = Json.ReadStrict(raw) as Dictionary<string, object>;
            if (m == null)
                throw new FormatException("no object");
            return m;
        }

        private async Task<KeyValuePair<string, Pass>> OpenedAsync(string token, CancellationToken cancel)
        {
            var parts = token.Split('.');
            Dictionary<string, object> head, claims;
            byte[] signature;
            try
            {
                if (parts.Length != 3 || token.Length > JwtMax)
                    throw new FormatException("not three parts");
                head = Object(Claim.FromBase64Url(parts[0]));
                claims = Object(Claim.FromBase64Url(parts[1]));
                signature = Claim.FromBase64Url(parts[2]);
            }
            catch (FormatException e)
            {
                throw new PassInvalidException("malformed", e.Message);
            }
            if (!"EdDSA".Equals(Json.Get(head, "alg")) || head.ContainsKey("crit"))
                throw new PassInvalidException("algorithm", "a pass is signed with EdDSA, and needs no extension");
            var kid = Json.Get(head, "kid") as string;
            if (kid == null)
                throw new PassInvalidException("malformed", "it does not say which key has signed it");
            var key = await keys.GetAsync(kid, cancel).ConfigureAwait(false);
            if (key == null || !Ed25519.Verify(key, signature, Encoding.ASCII.GetBytes(parts[0] + "." + parts[1])))
                throw new PassInvalidException(key == null ? "unknown_key" : "signature", "no router of this cluster has signed it");
            var k = new KeyValuePair<string, Pass>(kid, Read(claims));
            if (known.Count >= KnownMax)
                known.Clear();
            known[token] = k;
            return k;
        }

        private Pass Read(Dictionary<string, object> c)
        {
            if (new[] { "exp", "iat", "nbf" }.Any(n => !(Json.Get(c, n) is long)) || new[] { "aud", "jti", "sub", "lane" }.Any(n => !(Json.Get(c, n) is string)))
                throw new PassInvalidException("malformed", "members of a pass are missing");
            if (!queue.Equals(c["aud"]))
                throw new PassInvalidException("other_queue", "it is for " + c["aud"]);
            return new Pass
            {
                Queue = queue, Ticket = (string)c["jti"], Subject = (string)c["sub"], Lane = (string)c["lane"], IssuedAt = (long)c["iat"],
                ExpiresAt = (long)c["exp"], Claims = c,
            };
        }

        private static double Clock()
        {
            return DateTimeOffset.UtcNow.ToUnixTimeMilliseconds() / 1000.0;
        }

        private void InTime(Pass p)
        {
            double now = Clock(), skew = o.Leeway.TotalSeconds;
            if (now >= p.ExpiresAt + skew)
                throw new PassExpiredException("since " + (long)(now - p.ExpiresAt) + " s");
            long from = (long)p.Claims["nbf"];
            if (now < from - skew)
                throw new PassNotYetValidException("for " + (long)(from - now) + " s; are the clocks right?");
        }

        private static void Bound(IReadOnlyDictionary<string, object> c, string method, string path)
        {
            if (c.ContainsKey("use"))
                throw new PassInvalidException("once", "it is good once, which only a router can tell: VerifyAsync()");
            object htm = Json.Get(c, "htm"), htu = Json.Get(c, "htu");
            if (htm != null && !htm.Equals(method))
                throw new PassInvalidException("other_method", "it is for " + htm);
            if (htu == null)
                return;
            var plain = (path ?? "").Split('?')[0];
            bool below = plain == htu as string || plain.StartsWith(htu.ToString().TrimEnd('/') + "/", StringComparison.Ordinal);
            if (!below || Odd.IsMatch(plain))
                throw new PassInvalidException("other_url", "it is for " + htu);
        }

        // ---- by a router ----

        /// <summary>Asks a router; ApiException with its code: no. headers: of the visitor's request, and X-Original-URI,
        /// X-Original-Method (believed of a trusted proxy).</summary>
        public async Task<Verdict> VerifyAsync(string token, IDictionary<string, string> headers = null, bool once = false,
            CancellationToken cancel = default(CancellationToken))
        {
            var q = Ask.People("GET", "/v1/verify?queue=" + Routers.Enc(queue) + (once ? "&use=once" : ""));
            if (token != null)
                q.With("Authorization", "Bearer " + token);
            foreach (var h in headers ?? new Dictionary<string, string>())
                q.With(h.Key, h.Value);
            if (o.Secret != null) // asked again it is the same question: a pass that is good once is used once
                q.With("X-Segq-Ask", Guid.NewGuid().ToString()).With("X-Segq-Gate-Secret", o.Secret);
            for (int more = routers.Count - 1; ; more--) // each router once: a visitor waits
            {
                try
                {
                    return await routers.UntilAnsweredAsync(async r => Said(await routers.OnceAsync(r, q, o.Timeout, cancel).ConfigureAwait(false)),
                        TimeSpan.Zero, cancel).ConfigureAwait(false);
                }
                catch (ArgumentException e)
                {
                    throw new PassInvalidException("malformed", e.Message);
                }
                catch (SegqException e) when (more > 0 && (e is NetworkException || e is UnavailableException))
                {
                    // the next one
                }
            }
        }

        private Verdict Said(Answer a)
        {
            Routers.Raw(a);
            string ticket = a.Header("x-segq-ticket"), bypass = a.Header("x-segq-bypass"), theirs = a.Header("x-segq-queue");
            if (a.Status != 204 || (theirs != null && theirs != queue) || (ticket == null && bypass == null))
                throw new NetworkException("what answers (" + a.Status + ") is no router: it lets nobody in");
            long until;
            return new Verdict
            {
                Queue = queue, Bypass = bypass, Ticket = ticket, Subject = a.Header("x-segq-subject"), Lane = a.Header("x-segq-lane"),
                ExpiresAt = long.TryParse(a.Header("x-segq-expires"), out until) ? (long?)until : null,
                SetCookie = a.Header("set-cookie"), NewPass = a.Header("x-segq-pass"),
            };
        }

        /// <summary>"release": its slot is free; "revoke", "extend", "extend=600" need the secret.</summary>
        public Task SessionAsync(string token, string command, CancellationToken cancel = default(CancellationToken))
        {
            return SessionAsync(new List<Token> { new Token { Bearer = true, Text = token } }, command, cancel);
        }

        private Task SessionAsync(List<Token> tokens, string command, CancellationToken cancel)
        {
            return routers.CallAsync("POST", "/v1/session", new Dictionary<string, object> { { "command", command } }, cancel, q =>
            {
                foreach (var h in Passes(tokens))
                    q.With(h.Key, h.Value);
                q.With("X-Segq-Gate-Secret", o.Secret ?? "");
            });
        }

        // ---- middleware ----

        /// <summary>About a visitor's request: uri with its query; headers with names in any case.</summary>
        public async Task<Decision> DecideAsync(string method, string uri, IEnumerable<KeyValuePair<string, string>> headers,
            CancellationToken cancel = default(CancellationToken))
        {
            var h = Plain(headers);
            var tokens = Presented(h);
            SegqException why;
            if (o.Ask != GateAsk.Always)
            {
                var first = await FirstGoodAsync(tokens, method, uri, cancel).ConfigureAwait(false);
                why = first.Value;
                if (first.Key != null && (o.Ask == GateAsk.Never || Clock() < first.Key.IssuedAt + (first.Key.ExpiresAt - first.Key.IssuedAt) / 3.0))
                    return new Decision { Pass = first.Key };
                if (first.Key == null && (o.Ask == GateAsk.Never || why.Code != "once"))
                    return Refuse(method, uri, h, why);
            }
            try
            {
                if (clock.Elapsed < away)
                    throw new NetworkException("no router answered a moment ago");
                var v = await VerifyAsync(null, Visitor(method, uri, h, tokens), false, cancel).ConfigureAwait(false);
                keys.Warm();
                var d = new Decision { Verdict = v };
                if (v.SetCookie != null)
                    d.Headers["Set-Cookie"] = v.SetCookie;
                if (v.NewPass != null)
                    d.Headers["X-Segq-Pass"] = v.NewPass;
                return d;
            }
            catch (SegqException e)
            {
                why = e;
            }
            if (!Routers.Passes(why))
                return Refuse(method, why is PassInvalidException ? "/" : uri, h, why); // that cannot even be asked about
            if (why is NetworkException && clock.Elapsed >= away)
                away = clock.Elapsed + AwayFor;
            var p = (await FirstGoodAsync(tokens, method, uri, cancel).ConfigureAwait(false)).Key;
            return p != null ? new Decision { Pass = p } : Refuse(method, uri, h, why);
        }

        private static Dictionary<string, string> Plain(IEnumerable<KeyValuePair<string, string>> headers)
        {
            var h = new Dictionary<string, string>(StringComparer.OrdinalIgnoreCase);
            foreach (var e in headers)
                h[e.Key] = e.Value;
            return h;
        }

        private static string Get(Dictionary<string, string> h, string name, string or = "")
        {
            string v;
            return h.TryGetValue(name, out v) ? v : or;
        }

        /// <summary>At most four passes, as routers do; and cookies of the device.</summary>
        private static List<Token> Presented(Dictionary<string, string> h)
        {
            var all = new List<Token>();
            var devices = new List<Token>();
            var given = Get(h, "Authorization").Trim();
            if (given.StartsWith("bearer ", StringComparison.OrdinalIgnoreCase) && given.Substring(7).Trim() != "")
                all.Add(new Token { Bearer = true, Text = given.Substring(7).Trim() });
            foreach (var c in Get(h, "Cookie").Split(';', ',').Select(c => c.Trim()))
                if (c.StartsWith("segq_pass=", StringComparison.Ordinal) && c.Length > 10)
                    all.Add(new Token { Text = c.Substring(10) });
                else if (c.StartsWith(Device, StringComparison.Ordinal))
                    devices.Add(new Token { Text = c });
            return all.Take(4).Concat(devices.Take(8)).ToList();
        }

        /// <summary>A pass, or why there is none.</summary>
        private async Task<KeyValuePair<Pass, SegqException>> FirstGoodAsync(List<Token> tokens, string method, string uri, CancellationToken cancel)
        {
            SegqException why = new PassInvalidException("none", "no pass");
            foreach (var t in tokens.Where(t => !t.Text.StartsWith(Device, StringComparison.Ordinal)))
                try
                {
                    return new KeyValuePair<Pass, SegqException>(await CheckAsync(t.Text, method, uri, cancel).ConfigureAwait(false), null);
                }
                catch (SegqException e)
                {
                    if (why is PassInvalidException && why.Code != "once") // which a router can tell
                        why = e;
                }
            return new KeyValuePair<Pass, SegqException>(null, why);
        }

        /// <summary>What the router is told of the visitor: not the site's other cookies.</summary>
        private static Dictionary<string, string> Visitor(string method, string uri, Dictionary<string, string> h, List<Token> tokens)
        {
            var told = Passes(tokens);
            foreach (var n in new[] { "Accept", "Referer", "Sec-Fetch-Mode", "Sec-Fetch-Dest" })
                if (Get(h, n) != "")
                    told[n] = h[n];
            told["X-Original-URI"] = uri;
            told["X-Original-Method"] = method;
            return told;
        }

        private static Dictionary<string, string> Passes(List<Token> tokens)
        {
            return new Dictionary<string, string>(StringComparer.OrdinalIgnoreCase)
            {
                { "Authorization", tokens.Where(t => t.Bearer).Select(t => "Bearer " + t.Text).FirstOrDefault() ?? "" },
                { "Cookie", string.Join("; ", tokens.Where(t => !t.Bearer).Select(t => t.Text.StartsWith(Device, StringComparison.Ordinal) ? t.Text : "segq_pass=" + t.Text)) },
            };
        }

        private Decision Refuse(string method, string uri, Dictionary<string, string> h, SegqException why)
        {
            var d = new Decision();
            d.Headers["Cache-Control"] = "no-store";
            if (!(why is PassInvalidException || why is ApiException) || why.Status >= 500 || why.Status == 429)
            {
                d.Headers["Retry-After"] = "2";
                return Problem(d, 503, "Busy", "queue_unavailable", "nobody can say whether you may come in: try again", null);
            }
            bool get = method == "GET" || method == "HEAD";
            var back = get && uri.StartsWith("/") && !uri.StartsWith("//") ? uri : "/";
            var where = o.Room + "/q/" + Routers.Enc(queue) + "?return=" + Routers.Enc(back).Replace("%2F", "/");
            d.Headers["X-Segq-Location"] = where;
            bool goes = Get(h, "Sec-Fetch-Mode", "navigate") == "navigate" && Get(h, "Accept").Contains("text/html");
            bool astray = o.Room == "" && uri.StartsWith("/q/", StringComparison.Ordinal); // what should be the room: it would go in circles
            if (astray)
                return Problem(d, why.Status, "No pass", why.Code, "/q/ and /v1/ of this site have to lead to the routers", where);
            if (!goes || !(get || method == "POST") || why.Code == "pass_used")
                return Problem(d, why.Status, "No pass", why.Code, why.Detail, where);
            d.Headers["Location"] = where;
            d.Status = 303;
            return d;
        }

        private static Decision Problem(Decision d, int status, string title, string code, string detail, string where)
        {
            var m = new Dictionary<string, object> { { "title", title }, { "status", status }, { "code", code }, { "detail", detail } };
            if (where != null)
                m["location"] = where;
            d.Headers["Content-Type"] = "application/problem+json";
            d.Status = status;
            d.Body = Json.Bytes(m);
            return d;
        }

        /// <summary>X-Segq-Command: release of the application's answer, in the background: for us, not for the
        /// visitor.</summary>
        public void Obey(string command, IEnumerable<KeyValuePair<string, string>> headers)
        {
            var tokens = Presented(Plain(headers));
            if (command == null || tokens.Count == 0)
                return;
            Task.Run(async () =>
            {
                try
                {
                    await SessionAsync(tokens, command, CancellationToken.None).ConfigureAwait(false);
                }
                catch (SegqException e)
                {
                    System.Diagnostics.Trace.TraceWarning("segq gate: " + command + ": " + e.Message);
                }
            });
        }
    }

    /// <summary>The routers' public keys: fetched when needed, kept for as long as their answer says, and fetched anew for a
    /// kid that is not known.</summary>
    internal sealed class Keys
    {
        private const double KeysS = 60;       // if the answer does not say for how long
        private const double KeysMaxS = 3600;  // whatever the answer says
        private const double AgainS = 5;       // they are asked for at most so often
        private const double StaleS = 86400;   // while no router answers, old keys do
        private static readonly Regex Age = new Regex(@"max-age=([0-9]{1,9})");

        private readonly Routers routers;
        private readonly SemaphoreSlim turn = new SemaphoreSlim(1);
        private readonly Stopwatch clock = Stopwatch.StartNew();
        private volatile Dictionary<string, byte[]> keys = new Dictionary<string, byte[]>();
        private double until = -StaleS, asked = -StaleS, got = -StaleS;

        internal Keys(Routers routers)
        {
            this.routers = routers;
        }

        private double Now { get { return clock.Elapsed.TotalSeconds; } }

        /// <summary>Has them fetched beside, if they are old: for the time when no router answers.</summary>
        internal void Warm()
        {
            double now = Now;
            if (now < until || now < asked + AgainS)
                return;
            asked = now;
            Task.Run(async () =>
            {
                await turn.WaitAsync().ConfigureAwait(false);
                try
                {
                    await FetchAsync(CancellationToken.None).ConfigureAwait(false);
                }
                catch (SegqException)
                {
                    // who needs them asks again, and hears why
                }
                finally
                {
                    turn.Release();
                }
            });
        }

        /// <summary>null: there is no such key. NetworkException, UnavailableException: none is known.</summary>
        internal async Task<byte[]> GetAsync(string kid, CancellationToken cancel)
        {
            double now = Now;
            byte[] key;
            bool has = keys.TryGetValue(kid, out key);
            if (now < until && (has || now < asked + AgainS))
                return key;
            if (!await turn.WaitAsync(has ? 0 : -1, cancel).ConfigureAwait(false))
                return key; // who has a key that will do does not wait
            try
            {
                if (now >= asked) // nobody else has asked meanwhile
                    await FetchAsync(cancel).ConfigureAwait(false);
            }
            finally
            {
                turn.Release();
            }
            if (keys.Count == 0) // who waited for another's question: it was in vain
                throw new NetworkException("no router has told its keys yet");
            return keys.TryGetValue(kid, out key) ? key : null;
        }

        private async Task FetchAsync(CancellationToken cancel)
        {
            double now = asked = Now;
            Answer a;
            try
            {
                var q = Ask.People("GET", "/.well-known/jwks.json");
                a = await routers.UntilAnsweredAsync(async r => Routers.Raw(await routers.OnceAsync(r, q, routers.Timeout, cancel).ConfigureAwait(false)),
                    TimeSpan.FromSeconds(keys.Count == 0 ? 3 : 0), cancel).ConfigureAwait(false);
                keys = Read(a);
            }
            catch (SegqException)
            {
                asked = Now; // who waited meanwhile does not ask the same again
                if (keys.Count == 0 || now - got > StaleS)
                    throw;
                until = now + AgainS;
                return;
            }
            var m = Age.Match(a.Header("cache-control") ?? "");
            got = asked = Now;
            until = got + (m.Success ? Math.Min(KeysMaxS, Math.Max(AgainS, double.Parse(m.Groups[1].Value))) : KeysS);
        }

        private static Dictionary<string, byte[]> Read(Answer a)
        {
            var all = new Dictionary<string, byte[]>();
            try
            {
                foreach (var k in Json.Items(Json.Get(a.Json(), "keys")))
                {
                    if (!"OKP".Equals(Json.Get(k, "kty")) || !"Ed25519".Equals(Json.Get(k, "crv")))
                        continue;
                    var x = Claim.FromBase64Url(Json.Text(Json.Get(k, "x")));
                    if (Json.Get(k, "kid") is string && Ed25519.IsKey(x))
                        all[(string)Json.Get(k, "kid")] = x;
                }
            }
            catch (FormatException e)
            {
                throw new NetworkException("the keys cannot be read: " + e.Message, e);
            }
            if (all.Count == 0)
                throw new NetworkException("none of the keys is for passes");
            return all;
        }
    }
}

using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Globalization;
using System.Security.Cryptography;
using System.Text.RegularExpressions;
using System.Threading;
using System.Threading.Tasks;

namespace Segq
{
    /// <summary>A place in line, as last heard.</summary>
    public sealed class Ticket
    {
        public string Token { get; private set; }
        public string Queue { get; private set; }
        public string Lane { get; private set; }

        /// <summary>"waiting", "admitted".</summary>
        public string State { get; private set; }

        /// <summary>null: not known at the moment.</summary>
        public long? Position { get; private set; }

        /// <summary>The place is further back: "5000+".</summary>
        public bool PositionCapped { get; private set; }

        public long Total { get; private set; }

        /// <summary>Seconds; null: not known.</summary>
        public long? EtaS { get; private set; }

        public string EtaReason { get; private set; }
        public long PollAfterMs { get; private set; }

        /// <summary>The operator's notice, or null.</summary>
        public string Message { get; private set; }

        /// <summary>When admitted.</summary>
        public string Pass { get; private set; }

        /// <summary>Unix seconds.</summary>
        public long? PassExpiresAt { get; private set; }

        public double? ReleasedAt { get; private set; }

        /// <summary>"17-123": its name, for those who ask for help. (A member cannot have its class's name.)</summary>
        public string TicketName { get; private set; }

        public long Segment { get; private set; }

        /// <summary>The draw is still to come.</summary>
        public bool Prequeue { get; private set; }

        /// <summary>Unix seconds.</summary>
        public long? OpensAt { get; private set; }

        /// <summary>All members of the answer.</summary>
        public IReadOnlyDictionary<string, object> Raw { get; private set; }

        public bool Admitted { get { return State == "admitted"; } }

        /// <summary>NetworkException: what came is none.</summary>
        internal static Ticket Of(object said)
        {
            var m = Json.Object(said);
            Func<string, string> text = n => Json.Get(m, n) as string;
            Func<string, long?> whole = n => (long?)Json.Number(Json.Get(m, n));
            if (text("token") == null || text("queue") == null || text("lane") == null || text("state") == null
                || whole("total") == null || whole("poll_after_ms") == null || whole("segment") == null)
                throw new NetworkException("an answer that is no ticket");
            return new Ticket
            {
                Token = text("token"), Queue = text("queue"), Lane = text("lane"), State = text("state"),
                Position = whole("position"), PositionCapped = true.Equals(Json.Get(m, "position_capped")),
                Total = whole("total").Value, EtaS = whole("eta_s"), EtaReason = text("eta_reason"),
                PollAfterMs = Math.Max(0, Math.Min(86400000, whole("poll_after_ms").Value)), Message = text("message"),
                Pass = text("pass"), PassExpiresAt = whole("pass_expires_at"), ReleasedAt = Json.Number(Json.Get(m, "released_at")),
                TicketName = text("ticket"), Segment = whole("segment").Value, Prequeue = true.Equals(Json.Get(m, "prequeue")),
                OpensAt = whole("opens_at"), Raw = m,
            };
        }
    }

    /// <summary>Who joins, and how.</summary>
    public sealed class LineOptions
    {
        /// <summary>That of an earlier run: it goes on in the same place.</summary>
        public string Token;

        /// <summary>That which was saved with the token.</summary>
        public string Device;

        /// <summary>The device's own, of the curve P-256, for a queue with "bind: key": Client.NewDeviceKey(), or one whose
        /// private half is in hardware. Keep it as long as the place; with the token it goes on without Device, too.
        /// </summary>
        public ECDsa Key;

        /// <summary>Who joins; at most one live ticket each.</summary>
        public string Subject;

        /// <summary>"browser", "mobile", "game": sets the idle time-out.</summary>
        public string Client = "game";

        public string Lane;

        /// <summary>The right to a lane (Claim).</summary>
        public string Claim;

        /// <summary>false: only polls.</summary>
        public bool Events = true;

        /// <summary>Hears "offline", "busy" while nobody answers, and "" when somebody does; the place is kept.</summary>
        public Action<string> OnTrouble;
    }

    /// <summary>One place in one queue. It is told by events where a router has room for that, and polls as it is told
    /// otherwise. A router that dies costs nothing: the place is kept, and another router knows it. Not for two waits at
    /// once.</summary>
    public sealed class Line
    {
        private const double FirstS = 5;  // for the first event
        private const double LateS = 3;   // so late a beat may be
        private const double QuietS = 90; // a router says the place anew sooner, or after the told interval
        private const double DeafS = 60;  // then it tries to listen again
        private const int Proofs = 2;     // of a request, at most: the first may lack a nonce
        private const int Challenges = 4; // of a join, at most

        private static readonly Regex ItsCookie = new Regex(@"(^|, ?)(segq_device_[^\s=;,]+=[A-Za-z0-9_.-]+)");

        private readonly Routers routers;
        private readonly string queue;
        private readonly LineOptions options;
        private readonly Proof proof; // null: no key
        private readonly string key = Guid.NewGuid().ToString();
        private readonly Stopwatch clock = Stopwatch.StartNew();
        private double deafUntil;
        private int missed; // streams in a row that did not begin
        private string id = "";

        internal Line(Routers routers, string queue, LineOptions options)
        {
            this.routers = routers;
            this.queue = queue;
            this.options = options ?? new LineOptions();
            Token = this.options.Token;
            Device = this.options.Device;
            proof = this.options.Key == null ? null : new Proof(this.options.Key);
            Trouble = "";
        }

        /// <summary>Save it: it is the place.</summary>
        public string Token { get; private set; }

        /// <summary>The cookie of a queue with "bind: device", else null: the only one that is kept. Save it with the
        /// token.</summary>
        public string Device { get; private set; }

        /// <summary>As last heard, or null.</summary>
        public Ticket Ticket { get; private set; }

        /// <summary>"", "offline", "busy".</summary>
        public string Trouble { get; private set; }

        /// <summary>Takes the place, or finds it again, and works for it where joins cost work.</summary>
        public Task<Ticket> JoinAsync(CancellationToken cancel = default(CancellationToken))
        {
            return JoinAsync(new Caller(), cancel);
        }

        /// <summary>Asks once; also tells segq that somebody still waits. TicketGoneException: it is over.</summary>
        public Task<Ticket> PollAsync(CancellationToken cancel = default(CancellationToken))
        {
            return AskedAsync(Ask.People("GET", Path()), new Caller(), cancel);
        }

        /// <summary>Gives the place up, or ends the session.</summary>
        public async Task LeaveAsync(CancellationToken cancel = default(CancellationToken))
        {
            if (Token == null)
                return;
            try
            {
                await GiveUpAsync(cancel).ConfigureAwait(false);
                return;
            }
            catch (ApiException e) when (MayProve(e))
            {
                // it does, now
            }
            await routers.UntilAnsweredAsync(r => ProveAsync(r, cancel), routers.RetryFor, cancel).ConfigureAwait(false);
            await GiveUpAsync(cancel).ConfigureAwait(false);
        }

        /// <summary>Returns when it is let in, with the pass. news hears of each answer. Cancelled it asks no more, and
        /// the place is kept for a while.</summary>
        public async Task<Ticket> WaitAsync(Action<Ticket> news = null, CancellationToken cancel = default(CancellationToken))
        {
            var caller = new Caller();
            var t = await JoinAsync(caller, cancel).ConfigureAwait(false);
            for (; ; )
            {
                if (await ToldAsync(t, news, caller).ConfigureAwait(false))
                    return t;
                double pause = t.PollAfterMs / 1000.0;
                if (options.Events && clock.Elapsed.TotalSeconds >= deafUntil)
                {
                    try
                    {
                        pause = await ListenAsync(t, news, caller, cancel).ConfigureAwait(false);
                    }
                    catch (NetworkException) // its router may be dead: another one knows
                    {
                        routers.Rotate(routers.First);
                        if (++missed > 1)
                            BeDeaf(DeafS);
                        pause = 0;
                    }
                    catch (ApiException e) when (e is UnavailableException || e is TooFastException)
                    {
                        BeDeaf(DeafS);
                        pause = e.RetryAfter?.TotalSeconds ?? pause;
                    }
                    catch (ApiException e) when (MayProve(e)) // the poll does
                    {
                        if (++missed > 1)
                            BeDeaf(DeafS);
                        pause = 0;
                    }
                    if (Ticket.Admitted)
                        return Ticket;
                }
                await routers.Transport.DelayAsync(TimeSpan.FromSeconds(pause), cancel).ConfigureAwait(false);
                t = await AskedAsync(Ask.People("GET", Path()), caller, cancel).ConfigureAwait(false);
            }
        }

        // ---- within ----

        private string Path()
        {
            return "/v1/tickets/" + Routers.Enc(Token ?? "");
        }

        private async Task<Ticket> JoinAsync(Caller caller, CancellationToken cancel)
        {
            string answer = null;
            if (Token != null)
                return await AskedAsync(Ask.People("GET", Path()), caller, cancel).ConfigureAwait(false);
            for (int left = Challenges; ; left--)
            {
                ApiException why;
                try
                {
                    return await JoinAsync(answer, caller, cancel).ConfigureAwait(false);
                }
                catch (ApiException e) when (left > 0 && (Asks(e) != null || (e is ForbiddenException && e.Code.StartsWith("challenge_", StringComparison.Ordinal))))
                {
                    why = e;
                }
                if (Asks(why) == null)
                {
                    answer = null; // slept over, or from another network
                    continue;
                }
                answer = await Task.Run(() => Challenge.Answer(Asks(why), cancel), cancel).ConfigureAwait(false);
                if (answer == null)
                    throw why;
            }
        }

        /// <summary>The challenge of a 428; null: it is none, or the site's own check is asked for.</summary>
        private static Dictionary<string, object> Asks(ApiException e)
        {
            object challenge;
            return e is ChallengeRequiredException && e.Problem.TryGetValue("challenge", out challenge)
                ? challenge as Dictionary<string, object> : null;
        }

        private Task<Ticket> JoinAsync(string answer, Caller caller, CancellationToken cancel)
        {
            var body = new Dictionary<string, object>();
            foreach (var m in new[] { Tuple.Create("client", options.Client), Tuple.Create("subject", options.Subject),
                                      Tuple.Create("lane", options.Lane), Tuple.Create("claim", options.Claim) })
                if (m.Item2 != null)
                    body[m.Item1] = m.Item2;
            var q = Ask.People("POST", "/v1/queues/" + Routers.Enc(queue) + "/tickets")
                .With("Content-Type", "application/json").With("Idempotency-Key", key);
            if (answer != null)
                q.With("segq-challenge", answer);
            q.Body = Json.Bytes(body);
            return AskedAsync(q, caller, cancel);
        }

        private Ask Own(Ask q)
        {
            return Device != null ? q.With("Cookie", Device) : q;
        }

        private Task GiveUpAsync(CancellationToken cancel)
        {
            return routers.CallAsync("DELETE", Path(), null, cancel, q => Own(q.With("Authorization", "")));
        }

        private Task<Ticket> AskedAsync(Ask q, Caller caller, CancellationToken cancel)
        {
            return routers.UntilAnsweredAsync(async r =>
            {
                bool proves = q.Method == "POST";
                for (int left = Proofs; ; left--)
                {
                    var a = await OnceAsync(r, q, proves, cancel).ConfigureAwait(false);
                    try
                    {
                        return Heard(Ticket.Of(Routers.Judge(a)));
                    }
                    catch (ApiException e) when (left > 0 && MayProve(e))
                    {
                        // it does, now
                    }
                    if (!proves)
                        await ProveAsync(r, cancel).ConfigureAwait(false);
                }
            }, Routers.Endless, cancel, why => SayAsync(why, caller));
        }

        /// <summary>One try; proves: with a proof of the key, if there is one.</summary>
        private async Task<Answer> OnceAsync(string router, Ask q, bool proves, CancellationToken cancel)
        {
            if (proves && proof != null)
                q.With("DPoP", proof.Of(router + q.Path));
            var a = await routers.OnceAsync(router, Own(q), routers.Timeout, cancel).ConfigureAwait(false);
            var its = ItsCookie.Match(a.Header("set-cookie") ?? ""); // also of a 503: a ticket that was rebound
            if (its.Success)
                Device = its.Groups[2].Value;
            if (proof != null)
                proof.Heard(a);
            return a;
        }

        /// <summary>Gets a fresh cookie for the key. ForbiddenException: the ticket is another key's.</summary>
        private async Task<bool> ProveAsync(string router, CancellationToken cancel)
        {
            for (int left = Proofs; ; left--)
            {
                var a = await OnceAsync(router, Ask.People("POST", Path() + "/device"), true, cancel).ConfigureAwait(false);
                if (a.Status < 300)
                    return true;
                if (a.Status != 401 || left == 0)
                    Routers.Judge(a);
            }
        }

        /// <summary>Whether the key mends it: the cookie is ten minutes old, or not there.</summary>
        private bool MayProve(ApiException e)
        {
            return proof != null && (e.Code == "proof_required" || e.Code == "other_device");
        }

        private Ticket Heard(Ticket t)
        {
            Token = t.Token;
            Ticket = t;
            return t;
        }

        private Task SayAsync(string why, Caller caller)
        {
            if (why == Trouble)
                return Caller.Done;
            Trouble = why;
            return options.OnTrouble == null ? Caller.Done : caller.Tell(() => options.OnTrouble(why));
        }

        /// <summary>True: it is let in.</summary>
        private static async Task<bool> ToldAsync(Ticket t, Action<Ticket> news, Caller caller)
        {
            if (news != null)
                await caller.Tell(() => news(t)).ConfigureAwait(false);
            return t.Admitted;
        }

        private void BeDeaf(double seconds)
        {
            deafUntil = clock.Elapsed.TotalSeconds + seconds * (1 + Backoff.Random());
        }

        /// <summary>News by events, until there are none; returns how long to wait before a poll.</summary>
        private async Task<double> ListenAsync(Ticket t, Action<Ticket> news, Caller caller, CancellationToken cancel)
        {
            var q = Own(Ask.People("GET", Path() + "/events").With("Accept", "text/event-stream"));
            if (id != "")
                q.With("Last-Event-ID", id);
            var router = routers.First;
            bool heard = false;
            double? pause = null;
            var answer = await routers.StreamAsync(router, q, routers.Timeout, cancel).ConfigureAwait(false);
            using (answer)
            {
                if (answer.Status != 200)
                {
                    var a = await routers.Within(c => routers.WholeAsync(answer, c), routers.Timeout, router, cancel).ConfigureAwait(false);
                    if (a.Status >= 400)
                        throw Routers.Refusal(a);
                    BeDeaf(Routers.Seconds(a.Header("retry-after"))?.TotalSeconds ?? DeafS);
                    return t.PollAfterMs / 1000.0;
                }
                var s = new AnswerStream(routers, answer, TimeSpan.FromSeconds(FirstS));
                double placeBy = clock.Elapsed.TotalSeconds + QuietS;
                try
                {
                    await s.EventsAsync(async e =>
                    {
                        if (e.Name == "message")
                        {
                            t = Heard(Ticket.Of(Json.Read(e.Data)));
                            heard = true;
                            id = e.Id;
                            missed = 0;
                            placeBy = clock.Elapsed.TotalSeconds + Math.Max(QuietS, 2 * t.PollAfterMs / 1000.0);
                            await SayAsync("", caller).ConfigureAwait(false);
                            if (await ToldAsync(t, news, caller).ConfigureAwait(false))
                                pause = 0;
                        }
                        else if (e.Name == "beat")
                        {
                            s.Patience = TimeSpan.FromSeconds(Math.Min(600, double.Parse(e.Data, CultureInfo.InvariantCulture) / 1000) + LateS);
                            if (clock.Elapsed.TotalSeconds > placeBy) // beats without places: its node is away
                                pause = 0;
                        }
                        else if (e.Name == "gone")
                        {
                            throw ApiException.Of(410, Routers.Object(Json.Read(e.Data)));
                        }
                        else if (e.Name == "away")
                        {
                            routers.Rotate(router);
                            pause = Routers.Ms(Json.Number(Json.Get(Json.Read(e.Data), "poll_after_ms")) ?? 0).TotalSeconds;
                        }
                        return pause == null;
                    }, cancel).ConfigureAwait(false);
                }
                catch (Exception e) when (e is NetworkException || e is FormatException)
                {
                    // it broke off
                }
            }
            if (pause != null)
                return pause.Value;
            routers.Rotate(router);
            if (!heard) // something on the way buffers
            {
                BeDeaf(DeafS);
                return 0;
            }
            return Backoff.Random() * Math.Max(t.PollAfterMs / 1000.0, FirstS); // all who were told at once come apart
        }
    }
}

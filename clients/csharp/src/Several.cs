using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

namespace Segq
{
    /// <summary>Those of a Several, as last heard.</summary>
    public sealed class Places
    {
        /// <summary>Save it, the last one.</summary>
        public string Group { get; private set; }

        /// <summary>"waiting", "admitted".</summary>
        public string State { get; private set; }

        /// <summary>One for each queue: queue, state, reason, position, eta_s, ticket.</summary>
        public IReadOnlyList<IReadOnlyDictionary<string, object>> Each { get; private set; }

        public long PollAfterMs { get; private set; }

        /// <summary>When admitted.</summary>
        public string Pass { get; private set; }

        /// <summary>All members of the answer.</summary>
        public IReadOnlyDictionary<string, object> Raw { get; private set; }

        public bool Admitted { get { return State == "admitted"; } }

        /// <summary>NetworkException: what came is none.</summary>
        internal static Places Of(object said)
        {
            var m = Json.Object(said);
            string group = Json.Get(m, "group") as string, state = Json.Get(m, "state") as string;
            if (group == null || state == null)
                throw new NetworkException("an answer that is no places");
            return new Places
            {
                Group = group, State = state, Each = Json.Items(Json.Get(m, "places")).Select(p => Json.Object(p)).ToList(),
                PollAfterMs = (long)Math.Max(0, Math.Min(86400000, Json.Number(Json.Get(m, "poll_after_ms")) ?? 1000)),
                Pass = Json.Get(m, "pass") as string, Raw = m,
            };
        }
    }

    /// <summary>One person's places in several queues: the first turn is taken, the others are given up (join_groups of
    /// the routers), or kept: then each place that is let in has its own pass, and the wait ends when none waits any
    /// more. Not for two waits at once.</summary>
    public sealed class Several
    {
        private readonly Routers routers;
        private readonly Dictionary<string, object> body = new Dictionary<string, object>();
        private readonly string key = Guid.NewGuid().ToString();

        internal Several(Routers routers, IEnumerable<string> queues, string group, string client, string name, string others, string claim)
        {
            this.routers = routers;
            Group = group;
            if (queues != null && queues.Any())
                body["queues"] = queues.ToArray();
            foreach (var m in new Dictionary<string, string> { { "group", name }, { "others", others }, { "claim", claim }, { "client", client } })
                if (m.Value != null)
                    body[m.Key] = m.Value;
        }

        /// <summary>Save it: each answer has another one, all of them stay good.</summary>
        public string Group { get; private set; }

        /// <summary>Takes the places, all or none, or finds them again.</summary>
        public Task<Places> JoinAsync(CancellationToken cancel = default(CancellationToken))
        {
            if (Group != null)
                return PollAsync(cancel);
            var q = Ask.People("POST", "/v1/places").With("Content-Type", "application/json").With("Idempotency-Key", key);
            q.Body = Json.Bytes(body);
            return AskedAsync(q, cancel);
        }

        /// <summary>Asks once; also tells segq that somebody still waits. TicketGoneException: no place is left.</summary>
        public Task<Places> PollAsync(CancellationToken cancel = default(CancellationToken))
        {
            return AskedAsync(Ask.People("GET", Path()), cancel);
        }

        /// <summary>Gives all places up, or ends the session.</summary>
        public async Task LeaveAsync(CancellationToken cancel = default(CancellationToken))
        {
            if (Group != null)
                await routers.CallAsync("DELETE", Path(), null, cancel, q => q.With("Authorization", "")).ConfigureAwait(false);
        }

        /// <summary>Returns when the first turn has come, with its pass. news hears of each answer.</summary>
        public async Task<Places> WaitAsync(Action<Places> news = null, CancellationToken cancel = default(CancellationToken))
        {
            var caller = new Caller();
            for (var p = await JoinAsync(cancel).ConfigureAwait(false); ; p = await PollAsync(cancel).ConfigureAwait(false))
            {
                if (news != null)
                    await caller.Tell(() => news(p)).ConfigureAwait(false);
                if (p.Admitted)
                    return p;
                await routers.Transport.DelayAsync(TimeSpan.FromMilliseconds(p.PollAfterMs), cancel).ConfigureAwait(false);
            }
        }

        private string Path()
        {
            return "/v1/places/" + Routers.Enc(Group);
        }

        private async Task<Places> AskedAsync(Ask q, CancellationToken cancel)
        {
            var p = await routers.UntilAnsweredAsync(async r => Places.Of(Routers.Judge(
                await routers.OnceAsync(r, q, routers.Timeout, cancel).ConfigureAwait(false))), Routers.Endless, cancel).ConfigureAwait(false);
            Group = p.Group;
            if (p.State == "over")
                throw ApiException.Of(410, new Dictionary<string, object> { { "code", "ticket_gone" }, { "detail", "no place is left: join again" } });
            return p;
        }
    }
}

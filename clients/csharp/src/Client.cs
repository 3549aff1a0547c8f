using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Security.Cryptography;
using System.Threading;
using System.Threading.Tasks;

namespace Segq
{
    /// <summary>What a client needs to know.</summary>
    public sealed class ClientOptions
    {
        /// <summary>Of a server that submits or takes tasks; people's calls never send it.</summary>
        public string Token;

        /// <summary>Of one whole answer.</summary>
        public TimeSpan Timeout = TimeSpan.FromSeconds(10);

        /// <summary>How long a call is tried again, all tries together. People in line wait as long as it takes.</summary>
        public TimeSpan RetryFor = TimeSpan.FromSeconds(60);

        /// <summary>null: HttpClient.</summary>
        public ITransport Transport;

        /// <summary>Sent with each request.</summary>
        public IDictionary<string, string> Headers = new Dictionary<string, string>();
    }

    /// <summary>All of segq that a program asks. Threads may share it.</summary>
    public sealed partial class Client
    {
        internal readonly Routers Routers;

        /// <summary>Without a token: for people.</summary>
        public Client(string router) : this(new[] { router }) { }

        public Client(string router, string token) : this(new[] { router }, new ClientOptions { Token = token }) { }

        /// <summary>Any of the routers will do.</summary>
        public Client(IEnumerable<string> routers, ClientOptions options = null)
        {
            Routers = new Routers(routers, options ?? new ClientOptions());
        }

        /// <summary>A place in a line of people. Nothing is asked yet.</summary>
        public Line Line(string queue, LineOptions options = null)
        {
            return new Line(Routers, queue, options);
        }

        /// <summary>A key for LineOptions.Key, in memory. Mono has no ECDSA: there it throws.</summary>
        public static ECDsa NewDeviceKey()
        {
            return ECDsa.Create(ECCurve.NamedCurves.nistP256);
        }

        /// <summary>Places in several queues, of which the first turn is taken; others "keep": all of them. Nothing is
        /// asked yet. group: of an earlier run. name: a group of the routers' configuration, in place of queues
        /// (null). claim: a signed one, for all queues.</summary>
        public Several Several(IEnumerable<string> queues, string group = null, string client = "game", string name = null,
            string others = null, string claim = null)
        {
            return new Several(Routers, queues, group, client, name, others, claim);
        }

        /// <summary>Joins, and returns when it is let in: Pass.</summary>
        public Task<Ticket> WaitForPassAsync(string queue, Action<Ticket> news = null, CancellationToken cancel = default(CancellationToken))
        {
            return Line(queue).WaitAsync(news, cancel);
        }

        /// <summary>A queue's figures (Queue of proto/openapi.yaml).</summary>
        public async Task<IReadOnlyDictionary<string, object>> FiguresAsync(string queue, CancellationToken cancel = default(CancellationToken))
        {
            return await Routers.AskAsync("GET", "/v1/queues/" + Q(queue), null, cancel, q => q.With("Authorization", "")).ConfigureAwait(false);
        }

        private static string Q(string name)
        {
            return Routers.Enc(name);
        }
    }

    /// <summary>The few calls of operators that programs make: at queuemng, with an admin token.</summary>
    public sealed class Operator
    {
        private readonly Routers admin;

        public Operator(string admin, string token)
        {
            this.admin = new Routers(new[] { admin }, new ClientOptions { Token = token });
        }

        /// <summary>A dead task waits again, with all of its attempts.</summary>
        public async Task<IReadOnlyDictionary<string, object>> RedriveAsync(string task, CancellationToken cancel = default(CancellationToken))
        {
            return await admin.AskAsync("POST", "/v1/admin/tasks/" + Routers.Enc(task) + "/redrive", null, cancel).ConfigureAwait(false);
        }

        /// <summary>All dead tasks of a queue, at most so many a second (0: as fast as it can).</summary>
        public async Task<IReadOnlyDictionary<string, object>> RedriveAllAsync(string queue, int perSecond = 0, CancellationToken cancel = default(CancellationToken))
        {
            return await admin.AskAsync("POST", "/v1/admin/task-queues/" + Routers.Enc(queue) + "/tasks/redrive"
                + (perSecond > 0 ? "?rate_per_s=" + perSecond : ""), null, cancel).ConfigureAwait(false);
        }

        /// <summary>Deletes a task that is over, and its result.</summary>
        public async Task<IReadOnlyDictionary<string, object>> DiscardAsync(string task, CancellationToken cancel = default(CancellationToken))
        {
            return await admin.AskAsync("POST", "/v1/admin/tasks/" + Routers.Enc(task) + "/discard", null, cancel).ConfigureAwait(false);
        }
    }
}

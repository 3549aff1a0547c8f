using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

namespace Segq
{
    /// <summary>What those who wait look at again when something has changed.</summary>
    internal sealed class Signal
    {
        private TaskCompletionSource<bool> now = new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously);

        /// <summary>To be had before one looks.</summary>
        internal Task Next { get { return now.Task; } }

        internal void Set()
        {
            Interlocked.Exchange(ref now, new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously)).TrySetResult(true);
        }
    }

    /// <summary>How a worker works.</summary>
    public sealed class WorkerOptions
    {
        /// <summary>So many tasks at a time.</summary>
        public int Concurrency = 8;

        /// <summary>So many are taken ahead; their leases run.</summary>
        public int Prefetch;

        /// <summary>Extended at a third of it while the handler runs.</summary>
        public TimeSpan Lease = TimeSpan.FromSeconds(30);

        /// <summary>So long a take waits for tasks; idle, a worker ends within it.</summary>
        public TimeSpan Wait = TimeSpan.FromSeconds(2);

        /// <summary>At the end, for what runs.</summary>
        public TimeSpan Drain = TimeSpan.FromSeconds(25);

        /// <summary>Hears of taken, started, succeeded, failed, given_back, extended, lost (each with its job) and trouble
        /// (job null), for metrics and traces; an exception, what segq said, or null. It must be quick; it comes from any
        /// thread.</summary>
        public Action<string, Job, object> OnEvent;
    }

    /// <summary>Takes tasks, runs a handler for each, and says how it ended. It takes only what it can begin, extends the
    /// leases of what runs, tells ends together, and at the end finishes what runs or gives it back. A task may run twice (a
    /// worker that dies, an answer that is lost): make repeats harmless, for example with job.Task as idempotency key.
    /// What a handler returns is the result (null: none; Bytes: no JSON). What it throws gives the task back: Nack, or anything else, whose
    /// words are the reason. job.Lost is cancelled when the task is lost.</summary>
    public sealed class Worker
    {
        private const int Batch = 1000;
        private const int UnsettledMax = 2000; // ends that wait to be told: no more is taken
        private static readonly TimeSpan Gather = TimeSpan.FromMilliseconds(2); // so long a take waits for more slots while others work

        internal readonly Routers Routers;
        internal readonly TimeSpan Lease;
        internal readonly object Lock = new object();
        internal readonly Signal News = new Signal(); // a slot is free, an end is there or told, it stops
        private readonly Stopwatch clock = Stopwatch.StartNew();
        private readonly List<string> queues;
        private readonly Func<Job, Task<object>> handler;
        private readonly WorkerOptions o;
        private readonly HashSet<Job> jobs = new HashSet<Job>(); // taken, and not over
        private readonly LinkedList<Job> ahead = new LinkedList<Job>(); // taken, and not begun
        private int running;
        // By queue, each told on its own: one whose node is away delays no other's.
        private readonly Dictionary<string, Settler> settlers = new Dictionary<string, Settler>();
        private readonly CancellationTokenSource taking = new CancellationTokenSource();
        private Task taker;
        private volatile bool stopping;
        private TimeSpan endAt;
        private SegqException refused;

        public Worker(Client client, string queue, Func<Job, Task<object>> handler, WorkerOptions options = null)
            : this(client, new[] { queue }, handler, options) { }

        /// <summary>1 to 16 queues.</summary>
        public Worker(Client client, IEnumerable<string> queues, Func<Job, Task<object>> handler, WorkerOptions options = null)
        {
            Routers = client.Routers;
            this.queues = queues.ToList();
            this.handler = handler;
            o = options ?? new WorkerOptions();
            Lease = o.Lease;
            if (this.queues.Count < 1 || this.queues.Count > 16)
                throw new ArgumentException("a worker has 1 to 16 queues");
            if (o.Concurrency < 1 || o.Prefetch < 0 || Lease <= TimeSpan.Zero)
                throw new ArgumentException("concurrency: at least 1; prefetch: at least 0; lease: more than 0");
        }

        /// <summary>A handler that blocks: each of its tasks has a thread.</summary>
        public static Func<Job, Task<object>> Threads(Func<Job, object> handler)
        {
            return job => Task.Factory.StartNew(() => handler(job), CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default);
        }

        // ---- what callers use ----

        /// <summary>Works until Stop(), until it is cancelled, or until the program is told to end (Ctrl-C, SIGTERM): then
        /// that waits until it has drained. Throws what segq says where no later try can help (a token that may not
        /// take).</summary>
        public async Task RunAsync(CancellationToken cancel = default(CancellationToken))
        {
            ConsoleCancelEventHandler key = (sender, e) =>
            {
                e.Cancel = !stopping; // a second one ends the program
                Stop();
            };
            EventHandler exit = (sender, e) =>
            {
                Stop();
                JoinAsync().Wait();
            };
            try
            {
                Console.CancelKeyPress += key;
            }
            catch (PlatformNotSupportedException)
            {
                // no keyboard
            }
            AppDomain.CurrentDomain.ProcessExit += exit;
            try
            {
                Start();
                using (cancel.Register(Stop))
                    await JoinAsync().ConfigureAwait(false);
            }
            finally
            {
                try
                {
                    Console.CancelKeyPress -= key;
                }
                catch (PlatformNotSupportedException)
                {
                    // nor was it there before
                }
                AppDomain.CurrentDomain.ProcessExit -= exit;
            }
            if (refused != null)
                throw refused;
        }

        /// <summary>Begins, and returns.</summary>
        public void Start()
        {
            taker = Task.Run(TakeAsync);
            Task.Run(ExtendAsync);
        }

        public void Stop()
        {
            Stop(o.Drain);
        }

        /// <summary>Takes nothing more; what runs has so long. Called again: none.</summary>
        public void Stop(TimeSpan drain)
        {
            bool again = stopping;
            endAt = Now + (again ? TimeSpan.Zero : drain);
            stopping = true;
            if (again)
                taking.Cancel();
            News.Set();
        }

        /// <summary>Returns when what ran is over, or given back, and segq knows it.</summary>
        public async Task JoinAsync()
        {
            await taker.ConfigureAwait(false); // the take under way: what it brings is begun
            await UntilAsync(() => jobs.Count == 0, () => endAt).ConfigureAwait(false);
            List<Job> left;
            lock (Lock)
                left = jobs.ToList();
            foreach (var j in left)
            {
                var row = Row(j, "nack");
                row["reason"] = "the worker stops";
                row["delay"] = 0;
                if (End(j, row, "given_back", null))
                    j.Lose();
            }
            await UntilAsync(() => settlers.Values.All(s => s.Untold == 0), () => TimeSpan.MaxValue).ConfigureAwait(false);
            News.Set();
        }

        // ---- within ----

        internal TimeSpan Now { get { return clock.Elapsed; } }

        private async Task UntilAsync(Func<bool> what, Func<TimeSpan> end)
        {
            for (; ; )
            {
                var next = News.Next;
                lock (Lock)
                    if (what() || Now >= end())
                        return;
                var left = end() == TimeSpan.MaxValue ? TimeSpan.FromSeconds(1) : end() - Now;
                await Task.WhenAny(next, PauseAsync(left)).ConfigureAwait(false);
            }
        }

        internal Task PauseAsync(TimeSpan time)
        {
            return Routers.Transport.DelayAsync(time < TimeSpan.Zero ? TimeSpan.Zero : time, CancellationToken.None);
        }

        internal void Say(string what, Job job, object info)
        {
            if (o.OnEvent == null)
                return;
            try
            {
                o.OnEvent(what, job, info);
            }
            catch (Exception e)
            {
                System.Diagnostics.Trace.TraceError("segq: OnEvent: " + e);
            }
        }

        /// <summary>Nothing more comes, and nothing is left.</summary>
        internal bool IsOver { get { return stopping && taker.IsCompleted && jobs.Count == 0; } }

        internal static Dictionary<string, object> Row(Job j, string verb)
        {
            return new Dictionary<string, object> { { "task", j.Task }, { "verb", verb }, { "lease_id", j.LeaseId } };
        }

        // ---- taking ----

        /// <summary>Under the lock: slots that no handler has, and none will; 0 while too many ends are untold.</summary>
        private int Room()
        {
            int room = o.Concurrency + o.Prefetch - running - ahead.Count;
            return settlers.Values.Sum(s => s.Untold) >= UnsettledMax ? 0 : room;
        }

        /// <summary>Waits for a slot, and a moment longer for more of them; 0: it stops.</summary>
        private async Task<int> FreeAsync()
        {
            while (!stopping)
            {
                var next = News.Next;
                int room;
                lock (Lock)
                    room = Room();
                if (room <= 0)
                {
                    await next.ConfigureAwait(false);
                    continue;
                }
                if (room * 2 >= o.Concurrency + o.Prefetch)
                    return Math.Min(Batch, room);
                await PauseAsync(Gather).ConfigureAwait(false);
                lock (Lock)
                    return Math.Min(Batch, Math.Max(1, Room()));
            }
            return 0;
        }

        private async Task TakeAsync()
        {
            bool many = queues.Count > 1;
            var path = many ? "/v1/tasks/take" : "/v1/queues/" + Routers.Enc(queues[0]) + "/tasks/take";
            var body = new Dictionary<string, object> { { "lease", Lease.TotalSeconds }, { "wait", o.Wait.TotalSeconds } };
            if (many)
                body["queues"] = queues;
            var backoff = new Backoff(0.2);
            for (int n; (n = await FreeAsync().ConfigureAwait(false)) > 0 && !stopping;)
            {
                body["n"] = n;
                var asked = Now;
                var pause = TimeSpan.Zero;
                try
                {
                    var tasks = Json.Items(Json.Get(Routers.Object(await Routers.CallAsync("POST", path, body, taking.Token, null,
                        Routers.Timeout + o.Wait, TimeSpan.Zero).ConfigureAwait(false)), "tasks"));
                    Begin(tasks);
                    backoff.Fails = 0;
                    if (tasks.Count == 0 && Now - asked < TimeSpan.FromSeconds(Math.Max(0.1, o.Wait.TotalSeconds / 2)))
                        pause = TimeSpan.FromSeconds(0.1); // a router that stops does not wait
                }
                catch (Exception e) // whatever was answered: it goes on
                {
                    if (stopping || IsHopeless(e))
                        return;
                    Say("trouble", null, e);
                    pause = backoff.Next(e);
                }
                if (pause > TimeSpan.Zero)
                {
                    var end = Now + pause;
                    while (!stopping && Now < end)
                        await PauseAsync(TimeSpan.FromSeconds(Math.Min(0.1, (end - Now).TotalSeconds))).ConfigureAwait(false);
                }
            }
        }

        /// <summary>It can never work: the token, the queue, our own request.</summary>
        private bool IsHopeless(Exception e)
        {
            var a = e as ApiException;
            if (a == null || a.Status >= 500 || a.Status == 429)
                return false;
            refused = a;
            System.Diagnostics.Trace.TraceError("segq worker: " + a.Message);
            Stop();
            return true;
        }

        private void Begin(List<object> tasks)
        {
            var now = Now;
            var taken = tasks.Select(t => new Job(this, Routers.Object(t), queues[0], now)).ToList();
            var go = new List<Job>();
            lock (Lock)
            {
                foreach (var j in taken)
                {
                    jobs.Add(j);
                    ahead.AddLast(j);
                }
                while (running < o.Concurrency && ahead.Count > 0)
                {
                    go.Add(ahead.First.Value);
                    ahead.RemoveFirst();
                    running++;
                }
            }
            foreach (var j in taken)
                Say("taken", j, null);
            foreach (var j in go)
                Task.Run(() => WorkAsync(j));
        }

        // ---- running ----

        private async Task WorkAsync(Job first)
        {
            for (var j = first; j != null; j = Next())
            {
                if (j.Over)
                    continue;
                Say("started", j, null);
                try
                {
                    Trace.Current = j.TraceParent;
                    Succeeded(j, await handler(j).ConfigureAwait(false));
                }
                catch (Exception e)
                {
                    Failed(j, e);
                }
            }
        }

        /// <summary>A handler is done: what its slot does now; null: nothing.</summary>
        private Job Next()
        {
            Job j = null;
            lock (Lock)
            {
                if (ahead.Count > 0)
                {
                    j = ahead.First.Value;
                    ahead.RemoveFirst();
                }
                else
                {
                    running--;
                }
            }
            News.Set();
            return j;
        }

        private void Succeeded(Job j, object result)
        {
            var row = Row(j, "ack");
            var bytes = result is byte[] ? new Bytes((byte[])result) : result as Bytes;
            if (bytes != null)
            {
                row["result_base64"] = new Json.Written(Json.Write(Convert.ToBase64String(bytes.Body)));
                row["content_type"] = bytes.ContentType;
            }
            else if (result != null)
            {
                try
                {
                    row["result"] = new Json.Written(Json.Write(result));
                }
                catch (FormatException e)
                {
                    Failed(j, new Nack("the result is no JSON: " + e.Message));
                    return;
                }
            }
            End(j, row, "succeeded", null);
        }

        private void Failed(Job j, Exception e)
        {
            var row = Row(j, "nack");
            row["reason"] = Settler.Reason(e);
            var nack = e as Nack;
            if (nack?.Delay != null)
                row["delay"] = nack.Delay.Value.TotalSeconds;
            if (nack == null && !j.Over)
                System.Diagnostics.Trace.TraceWarning("segq handler: task " + j.Task.Substring(0, Math.Min(12, j.Task.Length)) + "...: " + row["reason"]
                    + Environment.NewLine + e.StackTrace);
            End(j, row, "failed", e);
        }

        /// <summary>False: it was over.</summary>
        private bool End(Job j, Dictionary<string, object> row, string what, object info)
        {
            lock (Lock)
            {
                if (j.Over)
                    return false;
                j.Over = true;
                jobs.Remove(j);
                ahead.Remove(j);
                Settler s;
                if (!settlers.TryGetValue(j.Queue, out s))
                    settlers[j.Queue] = s = new Settler(this, j.Queue);
                s.Add(j, row);
            }
            News.Set();
            Say(what, j, info);
            return true;
        }

        /// <summary>It is not ours any more: its handler is told, and its end is nobody's business.</summary>
        internal void Lose(Job j, object said)
        {
            lock (Lock)
            {
                if (j.Over)
                    return;
                j.Over = true;
                jobs.Remove(j);
                ahead.Remove(j);
            }
            News.Set();
            j.Lose();
            Say("lost", j, said);
        }

        // ---- leases ----

        /// <summary>A request for all of a queue that are at a third of their lease.</summary>
        private async Task ExtendAsync()
        {
            for (; ; )
            {
                await PauseAsync(TimeSpan.FromSeconds(Math.Min(0.5, Lease.TotalSeconds / 8))).ConfigureAwait(false);
                List<Job> due;
                lock (Lock)
                {
                    if (IsOver)
                        return;
                    due = jobs.Where(j => j.ExtendAt <= Now).ToList();
                }
                foreach (var j in due.Where(j => j.Until <= Now))
                    Lose(j, "lease_over");
                await Task.WhenAll(due.Where(j => !j.Over).GroupBy(j => j.Queue).SelectMany(those => // one whose node is away delays no other's
                    those.Select((j, i) => new { j, i }).GroupBy(x => x.i / Batch, x => x.j)
                        .Select(some => Settler.ExtendAsync(this, those.Key, some.ToList())))).ConfigureAwait(false);
            }
        }
    }
}

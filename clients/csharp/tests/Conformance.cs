using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using System.Text;
using System.Text.RegularExpressions;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Http;
using Mono.Unix;
using Mono.Unix.Native;
using Segq.AspNetCore;

namespace Segq
{
    using Map = Dictionary<string, object>;

    /// <summary>The client behind the line protocol of clients/conformance/README.md.</summary>
    internal static class Conformance
    {
        private static readonly string[] Operations = (
            "join joinSeveral getQueue poll pollSeveral proveDevice leave leaveSeveral listen verify session getKeys countTasks submitTask submitTasks takeTasks takeTasksOfQueues settleTasks "
            + "tellProgress getTaskByName cancelTaskByName getTask watchTask watchQueue cancelTask patchTask getTaskResult completeTask extendTask "
            + "getGroup sealGroup cancelGroup listSchedules putSchedule getSchedule deleteSchedule runSchedule getCall postCall putCall patchCall deleteCall "
            + "getRoutedCall postRoutedCall putRoutedCall patchRoutedCall deleteRoutedCall").Split(' ');

        private static readonly ConcurrentDictionary<long, Client> Clients = new ConcurrentDictionary<long, Client>();
        private static readonly ConcurrentDictionary<string, Gate> Gates = new ConcurrentDictionary<string, Gate>();
        private static readonly ConcurrentDictionary<string, P256> Keys = new ConcurrentDictionary<string, P256>(); // of devices, by their names here
        private static readonly ConcurrentDictionary<long, Worker> Workers = new ConcurrentDictionary<long, Worker>();
        private static readonly System.IO.Stream Out = Console.OpenStandardOutput();

        private static void Main()
        {
            ThreadPool.SetMinThreads(32, 32);
            System.Diagnostics.Trace.Listeners.Clear(); // handlers throw since rows say so
            var term = new UnixSignal(Signum.SIGTERM);
            new Thread(() =>
            {
                term.WaitOne();
                Task.WhenAll(Workers.Values.Select(w =>
                {
                    w.Stop(TimeSpan.FromSeconds(10));
                    return w.JoinAsync();
                })).Wait();
                Environment.Exit(0);
            }) { IsBackground = true }.Start();
            var input = new System.IO.StreamReader(Console.OpenStandardInput(), new UTF8Encoding(false));
            for (string line; (line = input.ReadLine()) != null;)
            {
                var a = Json.Object(Json.Read(line));
                Task.Run(() => RunAsync((long)a["id"], a));
            }
            Environment.Exit(0);
        }

        private static void Say(long id, string what, object value)
        {
            var line = Encoding.UTF8.GetBytes(Json.Write(new Map { { "id", id }, { what, value } }) + "\n");
            lock (Out)
            {
                Out.Write(line, 0, line.Length);
                Out.Flush();
            }
        }

        private static async Task RunAsync(long id, Map a)
        {
            try
            {
                Say(id, "ok", await AnswerAsync(id, a));
            }
            catch (Exception e)
            {
                var s = e as SegqException;
                Say(id, "error", new Map
                {
                    { "kind", e is PassInvalidException ? "pass" : e is SignatureException ? "signature" : e is TaskFailedException ? "task"
                        : e is NetworkException ? "network" : e is DeadlineException ? "deadline" : e is OperationCanceledException ? "cancelled"
                        : e is ApiException ? "api" : "other" },
                    { "type", e.GetType().Name }, { "detail", s == null ? e.ToString() : e.Message }, { "status", s?.Status }, { "code", s?.Code },
                    { "reason", (e as TicketGoneException)?.Reason },
                });
            }
        }

        private static TimeSpan Seconds(Map a, string name, double or)
        {
            return TimeSpan.FromSeconds(Json.Number(Json.Get(a, name)) ?? or);
        }

        private static bool Is(Map a, string name)
        {
            return true.Equals(Json.Get(a, name));
        }

        // ---- what rows ask for ----

        private static async Task<object> AnswerAsync(long id, Map a)
        {
            Client c;
            Clients.TryGetValue((long)(Json.Number(Json.Get(a, "client")) ?? 0), out c);
            Func<string, string> text = n => Json.Get(a, n) as string;
            string queue = text("queue"), task = text("task"), token = text("token");
            var line = c?.Line(queue ?? "", new LineOptions { Token = token, Device = text("device"), Key = text("key") == null ? null : Keys.GetOrAdd(text("key"), n => new P256()) });
            switch (text("do"))
            {
                case "open":
                    Clients[id] = new Client(Json.Items(a["routers"]).Cast<string>(), new ClientOptions
                    {
                        Token = token, Timeout = Seconds(a, "timeout_s", 10), RetryFor = Seconds(a, "retry_for_s", 60),
                    });
                    return null;
                case "wait_pass":
                    using (var stop = new CancellationTokenSource(a.ContainsKey("timeout_s") && a["timeout_s"] != null ? Seconds(a, "timeout_s", 0) : Timeout.InfiniteTimeSpan))
                        return Place(await line.WaitAsync(t => Say(id, "event", Place(t, line)), stop.Token), line);
                case "poll": return Place(await line.PollAsync(), line);
                case "leave":
                    await line.LeaveAsync();
                    return null;
                case "wait_places":
                    return (await c.Several(Json.Items(a["queues"]).Cast<string>(), text("group"), "game", text("name"), text("others"), text("claim")).WaitAsync(p => Say(id, "event", p.Raw))).Raw;
                case "leave_places":
                    await c.Several(new string[0], text("group")).LeaveAsync();
                    return null;
                case "check_pass": return new Map { { "ticket", (await GateOf(a, c).CheckAsync(token)).Ticket } };
                case "verify_pass": return new Map { { "ticket", (await GateOf(a, c).VerifyAsync(token)).Ticket } };
                case "serve": return Serve(a, c);
                case "claim": return Claim.Sign(text("secret"), text("kid"), Json.Object(Json.Get(a, "members")));
                case "submit":
                    var t1 = await c.SubmitAsync(queue, Submitted(a));
                    return new Map { { "task", t1.Token }, { "state", t1.State } };
                case "submit_many":
                    return (await c.SubmitManyAsync(queue, Json.Items(a["rows"]).Select(r => Submitted(Json.Object(r))))).Select(r =>
                        new Map { { "status", r.Status }, { "task", r.Task }, { "code", r.Error?.Code } }).ToList();
                case "wait_task":
                    var t2 = await c.WaitAsync(task, Json.Get(a, "timeout_s") == null ? (TimeSpan?)null : Seconds(a, "timeout_s", 0));
                    return new Map { { "state", t2.State }, { "result", t2.Result } };
                case "watch":
                    return new Map { { "state", (await c.WatchAsync(task, t => Say(id, "event", new Map
                    {
                        { "state", t.State }, { "position", t.Position }, { "progress", Json.Get(t.Raw, "progress") },
                    }))).State } };
                case "watch_queue":
                    await c.WatchQueueAsync(queue, e => Say(id, "event", new Map
                    {
                        { "id", e.Id }, { "gap", e.Gap }, { "task", e.Task }, { "state", e.State },
                    }), text("after"));
                    return null;
                case "look": return (await c.LookAsync(task)).Raw;
                case "cancel": return await c.CancelAsync(task, Is(a, "force"));
                case "group":
                    var then = text("then") ?? "";
                    return await (then == "seal" ? c.SealGroupAsync(queue, text("group")) : then == "cancel" ? c.CancelGroupAsync(queue, text("group"))
                        : c.GroupAsync(queue, text("group")));
                case "call": return await CallAsync(id, a, c);
                case "follow": return await ReadAsync(id, await c.FollowAsync(task, TimeSpan.FromMinutes(1)));
                case "fields": return Fields();
                case "webhook":
                    return new Webhook(Json.Items(a["keys"]).Cast<string>().ToArray()).Verify(
                        Json.Object(a["headers"]).ToDictionary(h => h.Key, h => (string)h.Value), Encoding.UTF8.GetBytes(text("body")));
                case "work": return await WorkAsync(id, a, c);
                case "stop":
                    var w = Workers[(long)a["work"]];
                    w.Stop(Seconds(a, "drain_s", 10));
                    await w.JoinAsync();
                    return null;
                default: throw new ArgumentException("no such verb: " + text("do"));
            }
        }

        private static Map Place(Ticket t, Line line)
        {
            return new Map { { "token", t.Token }, { "device", line.Device }, { "state", t.State }, { "position", t.Position }, { "eta_s", t.EtaS }, { "pass", t.Pass } };
        }

        private static Gate GateOf(Map a, Client c)
        {
            return Gates.GetOrAdd(a["client"] + " " + a["queue"], k => new Gate(c, (string)a["queue"]));
        }

        private static Submission Submitted(Map a)
        {
            var s = new Submission();
            foreach (var m in a.Where(m => !new[] { "id", "do", "client", "queue" }.Contains(m.Key)))
                s[m.Key] = m.Value;
            return s;
        }

        /// <summary>A site behind the middleware: tells its address, and whom it lets in. /bye ends the session.</summary>
        private static object Serve(Map a, Client c)
        {
            var gate = new Gate(c, (string)a["queue"], new GateOptions
            {
                Timeout = TimeSpan.FromSeconds(1), Ask = (GateAsk)Enum.Parse(typeof(GateAsk), Json.Get(a, "ask") as string ?? "always", true),
            });
            var site = new GateMiddleware(async x =>
            {
                var path = x.Request.Path.ToUriComponent();
                if (path == "/bye")
                    x.Response.Headers["X-Segq-Command"] = "release";
                var body = Json.Bytes(new Map { { "ticket", ((Decision)x.Items["segq.pass"]).Ticket }, { "path", path } });
                await x.Response.Body.WriteAsync(body, 0, body.Length);
            }, gate);
            return new Map { { "url", HttpContext.Serve(site.InvokeAsync) } };
        }

        private static async Task<object> CallAsync(long id, Map a, Client c)
        {
            var call = new Call { Method = Json.Get(a, "method") as string ?? "GET", Path = (string)a["path"] };
            if (!Is(a, "progress"))
                return await ReadAsync(id, await c.CallAsync((string)a["endpoint"], call));
            call.OnProgress = p => Say(id, "event", p);
            using (var s = await c.CallAsync((string)a["endpoint"], call))
            {
                await s.EventsAsync(e => Say(id, "event", new Map { { "piece", e.Data } }));
                return new Map { { "status", s.Status } };
            }
        }

        private static async Task<object> ReadAsync(long id, AnswerStream s)
        {
            using (s)
            {
                await s.PiecesAsync(p => Say(id, "event", new Map { { "piece", Encoding.UTF8.GetString(p) } }));
                return new Map { { "status", s.Status } };
            }
        }

        // ---- what this client knows of proto/openapi.yaml ----

        private static List<string> Names(Type of, params string[] without)
        {
            return of.GetMembers(BindingFlags.Public | BindingFlags.Instance | BindingFlags.DeclaredOnly)
                .Where(m => (m is PropertyInfo || m is FieldInfo) && m.Name != "Item" && !without.Contains(m.Name))
                .Select(m => Regex.Replace(m.Name == "TicketName" ? "Ticket" : m.Name, "(?<!^)([A-Z])", "_$1").ToLowerInvariant()).ToList();
        }

        private static object Fields()
        {
            return new Map
            {
                { "operations", Operations },
                { "TaskSubmit", Names(typeof(Submission), "Queue") },
                { "TaskPatch", Names(typeof(Change)) },
                { "SchedulePut", Names(typeof(Schedule)) },
                { "TaskComplete", Names(typeof(Completion)) },
                { "Join", Names(typeof(LineOptions), "Token", "Device", "Key", "Events", "OnTrouble") },
                { "Ticket", Names(typeof(Ticket), "Raw", "Admitted") },
                { "TaskTaken", Names(typeof(Job), "Lost", "TraceParent") },
                { "reasons", new[] { "expired", "left", "no_show", "finished", "segment_lost" } },
                { "final", QueuedTask.Final },
            };
        }

        // ---- workers ----

        private static object Handle(Job j)
        {
            if (j.ContentType != null)
                return new Bytes(j.PayloadBase64.Reverse().ToArray(), j.ContentType);
            var times = Json.Number(j["times"]) ?? 99;
            if (j["fail"] is string && j.Attempt <= times)
                throw new InvalidOperationException((string)j["fail"]);
            if (j["nack"] is string && j.Attempt <= times)
                throw new Nack((string)j["nack"], j["delay"] == null ? (TimeSpan?)null : TimeSpan.FromSeconds(double.Parse(((string)j["delay"]).TrimEnd('s'))));
            return j["result"];
        }

        private static async Task<object> WorkAsync(long id, Map a, Client c)
        {
            Func<Job, string, int> ms = (j, n) => (int)(Json.Number(j[n]) ?? 0);
            Action<Job> progress = j =>
            {
                if (j["progress"] != null)
                    j.Progress((int?)Json.Number(Json.Get(j["progress"], "percent")), Json.Get(j["progress"], "text") as string, Json.Get(j["progress"], "data"));
            };
            Func<Job, Task<object>> waits = async j =>
            {
                await Task.Delay(ms(j, "ms"), j.Lost);
                progress(j);
                await Task.Delay(ms(j, "then_ms"), j.Lost);
                return Handle(j);
            };
            var blocks = Worker.Threads(j =>
            {
                Thread.Sleep(ms(j, "ms"));
                progress(j);
                Thread.Sleep(ms(j, "then_ms"));
                return Handle(j);
            });
            var w = Workers[id] = new Worker(c, Json.Items(a["queues"]).Cast<string>(), Is(a, "coroutines") ? waits : blocks, new WorkerOptions
            {
                Concurrency = (int)(Json.Number(Json.Get(a, "concurrency")) ?? 4), Lease = Seconds(a, "lease_s", 30), Wait = TimeSpan.FromSeconds(1),
                OnEvent = (what, job, info) => Say(id, "event", new Map { { "what", what }, { "task", job?.Task }, { "attempt", job?.Attempt } }),
            });
            w.Start();
            await w.JoinAsync();
            return null;
        }
    }
}

using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Runtime.ExceptionServices;
using System.Threading;
using System.Threading.Tasks;

namespace Segq
{
    // The part of Client that is about tasks.
    public sealed partial class Client
    {
        private const int Batch = 1000;
        private const int BatchBytes = 512 << 10; // of a request, about
        private const int WaitS = 20;             // of one question that waits
        private static readonly TimeSpan Beat = TimeSpan.FromSeconds(20);

        // ---- submit ----

        /// <summary>One task. A submission without a name gets an Idempotency-Key, so a lost answer never makes two.</summary>
        public Task<QueuedTask> SubmitAsync(string queue, object payload, CancellationToken cancel = default(CancellationToken))
        {
            return SubmitAsync(queue, payload as Submission ?? new Submission(payload), null, cancel);
        }

        /// <summary>wait: the answer comes with the result, or after so long.</summary>
        public async Task<QueuedTask> SubmitAsync(string queue, Submission task, TimeSpan? wait, CancellationToken cancel = default(CancellationToken))
        {
            var body = task.Sent();
            var key = Json.Get(body, "idempotency_key") as string;
            body.Remove("idempotency_key");
            if (key == null && !body.ContainsKey("name") && !body.ContainsKey("claim"))
                key = Guid.NewGuid().ToString();
            return QueuedTask.Of(await Routers.CallAsync("POST", "/v1/queues/" + Q(queue) + "/tasks", body, cancel, q =>
            {
                if (key != null)
                    q.With("Idempotency-Key", key);
                if (wait != null)
                    q.With("Prefer", "wait=" + (long)wait.Value.TotalSeconds);
            }, Routers.Timeout + (wait ?? TimeSpan.Zero)).ConfigureAwait(false));
        }

        /// <summary>Many, 1000 in a request. Their outcomes in that order; rows that were put off are asked again as long
        /// as RetryFor says.</summary>
        public async Task<IReadOnlyList<Row>> SubmitManyAsync(string queue, IEnumerable<Submission> rows, CancellationToken cancel = default(CancellationToken))
        {
            var bodies = new List<object>();
            foreach (var s in rows)
            {
                var b = s.Sent();
                if (!b.ContainsKey("name") && !b.ContainsKey("idempotency_key"))
                    b["idempotency_key"] = Guid.NewGuid().ToString();
                bodies.Add(new Json.Written(Json.Write(b)));
            }
            var o = new List<Row>();
            while (o.Count < bodies.Count)
            {
                int first = o.Count, end = first;
                for (long size = 0; end < bodies.Count && end - first < Batch; end++)
                {
                    size += ((Json.Written)bodies[end]).Text.Length;
                    if (end > first && size > BatchBytes)
                        break;
                }
                try
                {
                    o.AddRange(await RowsAsync("/v1/queues/" + Q(queue) + "/tasks/batch", bodies.GetRange(first, end - first), cancel).ConfigureAwait(false));
                }
                catch (SegqException e)
                {
                    if (e.Status == 413 && end == first + 1) // this one alone is too large
                        o.Add(new Row { Status = 413, Error = e });
                    else if (o.Count == 0)
                        throw;
                    else // those before it are there
                        o.AddRange(Enumerable.Repeat(new Row { Status = e.Status, Error = e }, bodies.Count - first));
                }
            }
            return o;
        }

        private async Task<Row[]> RowsAsync(string path, List<object> bodies, CancellationToken cancel)
        {
            var o = new Row[bodies.Count];
            var todo = Enumerable.Range(0, o.Length).ToList();
            var backoff = new Backoff();
            var clock = Stopwatch.StartNew();
            for (; ; )
            {
                List<object> said;
                try
                {
                    said = Json.Items(await Routers.CallAsync("POST", path, todo.Select(i => bodies[i]).ToList(), cancel).ConfigureAwait(false));
                    if (said.Count != todo.Count)
                        throw new NetworkException("an answer that is no list of outcomes");
                }
                catch (SegqException) when (todo.Count < o.Length)
                {
                    return o; // what was put off stays so
                }
                for (int k = 0; k < todo.Count; k++)
                {
                    var row = Routers.Object(said[k]);
                    int status = (int)(Json.Number(Json.Get(row, "status")) ?? 0);
                    o[todo[k]] = new Row { Status = status, Task = Json.Get(row, "task") as string, Error = status >= 400 ? ApiException.Of(status, row) : null };
                }
                todo = todo.Where(i => o[i].Error is UnavailableException).ToList();
                var pause = backoff.Next(null);
                if (todo.Count == 0 || clock.Elapsed + pause > Routers.RetryFor)
                    return o;
                await Routers.Transport.DelayAsync(pause, cancel).ConfigureAwait(false);
            }
        }

        // ---- look ----

        public async Task<QueuedTask> LookAsync(string task, CancellationToken cancel = default(CancellationToken))
        {
            return QueuedTask.Of(await Routers.CallAsync("GET", "/v1/tasks/" + Q(task), null, cancel).ConfigureAwait(false));
        }

        public async Task<QueuedTask> LookByNameAsync(string queue, string name, CancellationToken cancel = default(CancellationToken))
        {
            return QueuedTask.Of(await Routers.CallAsync("GET", "/v1/queues/" + Q(queue) + "/tasks/" + Q(name), null, cancel).ConfigureAwait(false));
        }

        private async Task<IReadOnlyDictionary<string, object>> ObjectAsync(string method, string path, object value, CancellationToken cancel,
            Action<Ask> more = null)
        {
            return await Routers.AskAsync(method, path, value, cancel, more).ConfigureAwait(false);
        }

        /// <summary>How many wait, and how long one that is submitted now would (TaskCount).</summary>
        public Task<IReadOnlyDictionary<string, object>> CountAsync(string queue, CancellationToken cancel = default(CancellationToken))
        {
            return ObjectAsync("GET", "/v1/queues/" + Q(queue) + "/tasks", null, cancel);
        }

        /// <summary>Until it is over. TaskFailedException: without success; DeadlineException: not in time.</summary>
        public async Task<QueuedTask> WaitAsync(string task, TimeSpan? most = null, CancellationToken cancel = default(CancellationToken))
        {
            var clock = Stopwatch.StartNew();
            using (var stop = CancellationTokenSource.CreateLinkedTokenSource(cancel))
            {
                if (most != null)
                    stop.CancelAfter(most.Value);
                try
                {
                    for (; ; )
                    {
                        var asked = clock.Elapsed;
                        var t = QueuedTask.Of(await Routers.CallAsync("GET", "/v1/tasks/" + Q(task), null, stop.Token, q => q.With("Prefer", "wait=" + WaitS),
                            Routers.Timeout + TimeSpan.FromSeconds(WaitS), Routers.Endless).ConfigureAwait(false));
                        if (t.State == "succeeded")
                            return t;
                        if (t.Over)
                            throw new TaskFailedException(t);
                        if (clock.Elapsed < asked + TimeSpan.FromSeconds(0.5)) // a router that stops does not wait
                            await Routers.Transport.DelayAsync(TimeSpan.FromSeconds(0.5), stop.Token).ConfigureAwait(false);
                    }
                }
                catch (OperationCanceledException) when (!cancel.IsCancellationRequested)
                {
                    throw new DeadlineException("the task is not over yet");
                }
            }
        }

        /// <summary>What becomes of it, as it comes: state, place, progress (Raw). Returns the last word: it is over. A
        /// stream that breaks off is asked for again.</summary>
        public async Task<QueuedTask> WatchAsync(string task, Action<QueuedTask> news, CancellationToken cancel = default(CancellationToken))
        {
            var caller = new Caller();
            QueuedTask last = null;
            Func<QueuedTask, Action> told = t =>
            {
                last = t;
                return () => news(t);
            };
            await WatchedAsync("/v1/tasks/" + Q(task) + "/events", null, async answer =>
            {
                await caller.Tell(told(await LookAsync(task, cancel).ConfigureAwait(false))).ConfigureAwait(false);
                return Routers.Ms(Math.Max(1000, Json.Number(Json.Get(last.Raw, "poll_after_ms")) ?? 0));
            }, caller, (e, id, said) => e.Name == "message" || e.Name == "end"
                ? told(new QueuedTask { Token = task, State = Json.Text(Json.Get(said, "state")), Raw = said }) : null,
                () => last != null && last.Over, cancel).ConfigureAwait(false);
            return last;
        }

        /// <summary>Starts and ends of a queue's tasks, as they come, until cancel ends it; it throws when the token may
        /// not look any more, or what news throws. A stream that breaks off is asked for again behind the last event that
        /// news has dealt with. after: the Id of one that was heard before; null: from now on.</summary>
        public Task WatchQueueAsync(string queue, Action<TaskEvent> news, string after = null, CancellationToken cancel = default(CancellationToken))
        {
            if (after != null && !AnswerStream.IsId(after))
                throw new ArgumentException("it is no id of an event", nameof(after));
            return WatchedAsync("/v1/queues/" + Q(queue) + "/tasks/events", after,
                answer => Task.FromResult(Routers.Seconds(answer.Header("retry-after"))), new Caller(), (e, id, said) =>
                {
                    if (e.Name != "message" && e.Name != "gap")
                        return null;
                    var x = e.Name == "gap" ? new TaskEvent { Id = id, Gap = true } : TaskEvent.Of(id, said);
                    return () => news(x);
                }, () => false, cancel);
        }

        /// <summary>Events of a stream after another. noRoom: no router has room for it; returns when to ask again. read:
        /// an event, where the next one begins, its JSON; returns what to tell. over: the last word has been said.</summary>
        private async Task WatchedAsync(string path, string after, Func<TransportAnswer, Task<TimeSpan?>> noRoom, Caller caller,
            Func<ServerEvent, string, Dictionary<string, object>, Action> read, Func<bool> over, CancellationToken cancel)
        {
            var backoff = new Backoff(); // while streams bring nothing
            while (!over())
            {
                TimeSpan? pause = null;
                var q = new Ask { Path = path }.With("Accept", "text/event-stream");
                if (!string.IsNullOrEmpty(after))
                    q.With("Last-Event-ID", after);
                var answer = await Routers.UntilAnsweredAsync(r => BegunAsync(r, q, Routers.Timeout, cancel), Routers.Endless, cancel).ConfigureAwait(false);
                if (answer.Status != 200)
                {
                    answer.Dispose();
                    pause = await noRoom(answer).ConfigureAwait(false);
                }
                else
                {
                    var router = Routers.First;
                    ExceptionDispatchInfo theirs = null; // what the caller throws is no fault of the stream
                    using (var s = new AnswerStream(Routers, answer, Beat))
                        try
                        {
                            await s.EventsAsync(async e =>
                            {
                                if (e.Name != "beat")
                                {
                                    var said = Routers.Object(Json.Read(e.Data));
                                    if (e.Name == "gone")
                                        throw ApiException.Of((int)(Json.Number(Json.Get(said, "status")) ?? 410), said);
                                    if (e.Name == "away")
                                        pause = Routers.Ms(Json.Number(Json.Get(said, "poll_after_ms")) ?? 1000);
                                    else
                                    {
                                        var what = read(e, e.Id != "" ? e.Id : after, said);
                                        try
                                        {
                                            await (what != null ? caller.Tell(what) : Caller.Done).ConfigureAwait(false);
                                        }
                                        catch (Exception x)
                                        {
                                            theirs = ExceptionDispatchInfo.Capture(x);
                                            return false;
                                        }
                                    }
                                }
                                backoff.Fails = 0; // an event that cannot be read would come again
                                after = e.Id != "" ? e.Id : after;
                                return !over();
                            }, cancel).ConfigureAwait(false);
                        }
                        catch (Exception e) when (e is NetworkException || e is FormatException)
                        {
                            Routers.Rotate(router); // it may be dead: another one knows
                        }
                    theirs?.Throw();
                }
                if (!over())
                    await Routers.Transport.DelayAsync(backoff.Told(pause), cancel).ConfigureAwait(false);
            }
        }

        /// <summary>The head of an answer; a refusal is thrown.</summary>
        private async Task<TransportAnswer> BegunAsync(string router, Ask q, TimeSpan within, CancellationToken cancel)
        {
            var a = await Routers.StreamAsync(router, q, within, cancel).ConfigureAwait(false);
            if (a.Status < 300 || a.Header("segq-status") != null)
                return a;
            Routers.Judge(await Routers.Within(c => Routers.WholeAsync(a, c), Routers.Timeout, router, cancel).ConfigureAwait(false));
            return a;
        }

        /// <summary>Its result, byte for byte; null: it is not over. ack: deletes it.</summary>
        public async Task<Answer> ResultAsync(string task, bool ack = false, CancellationToken cancel = default(CancellationToken))
        {
            var q = new Ask { Path = "/v1/tasks/" + Q(task) + "/result" + (ack ? "?ack=1" : "") };
            var a = await Routers.UntilAnsweredAsync(async r => Routers.Raw(await Routers.OnceAsync(r, q, Routers.Timeout, cancel).ConfigureAwait(false)),
                Routers.RetryFor, cancel).ConfigureAwait(false);
            return a.Status == 202 ? null : a;
        }

        // ---- change ----

        /// <summary>After the answer no attempt begins; force: the one that runs is over, too.</summary>
        public Task<IReadOnlyDictionary<string, object>> CancelAsync(string task, bool force = false, CancellationToken cancel = default(CancellationToken))
        {
            return ObjectAsync("DELETE", "/v1/tasks/" + Q(task) + (force ? "?force=1" : ""), null, cancel);
        }

        public Task<IReadOnlyDictionary<string, object>> CancelByNameAsync(string queue, string name, bool force = false, CancellationToken cancel = default(CancellationToken))
        {
            return ObjectAsync("DELETE", "/v1/queues/" + Q(queue) + "/tasks/" + Q(name) + (force ? "?force=1" : ""), null, cancel);
        }

        public async Task<QueuedTask> ChangeAsync(string task, Change change, CancellationToken cancel = default(CancellationToken))
        {
            return QueuedTask.Of(await Routers.CallAsync("PATCH", "/v1/tasks/" + Q(task), change.Map, cancel).ConfigureAwait(false));
        }

        // ---- groups ----

        private static string Group(string queue, string name)
        {
            return "/v1/groups/" + Q(queue) + "/" + Q(name);
        }

        /// <summary>Its tasks, counted by their states (TaskGroup).</summary>
        public Task<IReadOnlyDictionary<string, object>> GroupAsync(string queue, string name, CancellationToken cancel = default(CancellationToken))
        {
            return ObjectAsync("GET", Group(queue, name), null, cancel);
        }

        /// <summary>No more tasks get in; when all are over, the group is.</summary>
        public Task<IReadOnlyDictionary<string, object>> SealGroupAsync(string queue, string name, CancellationToken cancel = default(CancellationToken))
        {
            return ObjectAsync("POST", Group(queue, name) + "/seal", null, cancel);
        }

        /// <summary>Seals it, and cancels what is left of it.</summary>
        public Task<IReadOnlyDictionary<string, object>> CancelGroupAsync(string queue, string name, CancellationToken cancel = default(CancellationToken))
        {
            return ObjectAsync("POST", Group(queue, name) + "/cancel", null, cancel);
        }

        // ---- schedules ----

        private static string SchedulePath(string queue, string name)
        {
            return "/v1/schedules/" + Q(queue) + "/" + Q(name);
        }

        /// <summary>Creates or changes it.</summary>
        public Task<IReadOnlyDictionary<string, object>> PutScheduleAsync(string queue, string name, Schedule schedule, CancellationToken cancel = default(CancellationToken))
        {
            return ObjectAsync("PUT", SchedulePath(queue, name), schedule.Map, cancel);
        }

        public Task<IReadOnlyDictionary<string, object>> ScheduleAsync(string queue, string name, CancellationToken cancel = default(CancellationToken))
        {
            return ObjectAsync("GET", SchedulePath(queue, name), null, cancel);
        }

        public async Task<IReadOnlyList<object>> SchedulesAsync(string queue, CancellationToken cancel = default(CancellationToken))
        {
            return Json.Items(Json.Get(await Routers.AskAsync("GET", SchedulePath(queue, ""), null, cancel).ConfigureAwait(false), "schedules"));
        }

        /// <summary>Submits its task now.</summary>
        public Task<IReadOnlyDictionary<string, object>> RunScheduleAsync(string queue, string name, CancellationToken cancel = default(CancellationToken))
        {
            var key = Guid.NewGuid().ToString();
            return ObjectAsync("POST", SchedulePath(queue, name) + "/run", null, cancel, q => q.With("Idempotency-Key", key));
        }

        public Task DeleteScheduleAsync(string queue, string name, CancellationToken cancel = default(CancellationToken))
        {
            return Routers.CallAsync("DELETE", SchedulePath(queue, name), null, cancel);
        }

        // ---- calls ----

        /// <summary>A request to an endpoint, when its turn has come: the answer as it comes, whatever its status. segq's
        /// own refusals are thrown. Not repeated, but where segq says that nothing was done: give an Idempotency-Key, and
        /// repeat it yourself.</summary>
        public Task<AnswerStream> CallAsync(string endpoint, Call call, CancellationToken cancel = default(CancellationToken))
        {
            return CalledAsync(call, call.Ask("/v1/call/" + Q(endpoint), Routers.Token), cancel);
        }

        /// <summary>Likewise, by a route: it chooses among endpoints.</summary>
        public Task<AnswerStream> RouteAsync(string route, Call call, CancellationToken cancel = default(CancellationToken))
        {
            return CalledAsync(call, call.Ask("/v1/route/" + Q(route), Routers.Token), cancel);
        }

        private async Task<AnswerStream> CalledAsync(Call call, Ask q, CancellationToken cancel)
        {
            var backoff = new Backoff();
            var clock = Stopwatch.StartNew();
            for (; ; )
            {
                var router = Routers.First;
                TimeSpan pause;
                try
                {
                    return new AnswerStream(Routers, await BegunAsync(router, q, call.Timeout, cancel).ConfigureAwait(false), call.Timeout, call.OnProgress);
                }
                catch (UnavailableException e)
                {
                    pause = backoff.Next(e);
                    if (e.Code != "queue_unavailable" || clock.Elapsed + pause > Routers.RetryFor)
                        throw;
                    Routers.Rotate(router);
                }
                await Routers.Transport.DelayAsync(pause, cancel).ConfigureAwait(false);
            }
        }

        /// <summary>The answer of a task's call, as it comes: what there is, then the rest. Waits until there is something.
        /// One that breaks off may be asked for again. patience: its longest silence.</summary>
        public async Task<AnswerStream> FollowAsync(string task, TimeSpan patience, CancellationToken cancel = default(CancellationToken))
        {
            var q = new Ask { Path = "/v1/tasks/" + Q(task) + "/result?follow=1&wait=" + WaitS };
            for (; ; )
            {
                var clock = Stopwatch.StartNew();
                var a = await Routers.UntilAnsweredAsync(r => BegunAsync(r, q, Routers.Timeout + TimeSpan.FromSeconds(WaitS), cancel), Routers.Endless, cancel).ConfigureAwait(false);
                if (a.Status != 202)
                    return new AnswerStream(Routers, a, patience);
                a.Dispose();
                if (clock.Elapsed < TimeSpan.FromSeconds(0.5))
                    await Routers.Transport.DelayAsync(TimeSpan.FromSeconds(0.5), cancel).ConfigureAwait(false);
            }
        }

        // ---- as a target that answered `segq-command: pending` ----

        private static string Right(string url)
        {
            var rest = url.Substring(url.IndexOf("/v1/tasks/", StringComparison.Ordinal) < 0 ? 0 : url.IndexOf("/v1/tasks/", StringComparison.Ordinal) + 10);
            return Q(rest.Split('/')[0]);
        }

        /// <summary>Says how the call ended. url: its segq-complete-url, of which only the right counts.</summary>
        public Task<IReadOnlyDictionary<string, object>> CompleteAsync(string url, Completion how, CancellationToken cancel = default(CancellationToken))
        {
            return ObjectAsync("POST", "/v1/tasks/" + Right(url) + "/complete", how.Map, cancel);
        }

        /// <summary>Gives such a call more time.</summary>
        public Task<IReadOnlyDictionary<string, object>> KeepAsync(string url, TimeSpan lease, CancellationToken cancel = default(CancellationToken))
        {
            return ObjectAsync("POST", "/v1/tasks/" + Right(url) + "/extend", new Dictionary<string, object> { { "lease", lease.TotalSeconds } }, cancel);
        }
    }
}

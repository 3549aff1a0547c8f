using System;
using System.Collections.Generic;
using System.Linq;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Segq
{
    /// <summary>Tells the ends of a queue's tasks, many in a request.</summary>
    internal sealed class Settler
    {
        private const int Batch = 1000;
        private const int Bytes = 200 << 10; // of a request
        private const int TextMax = 200;     // bytes

        private sealed class End
        {
            internal Job Job;
            internal Dictionary<string, object> Row;

            internal int Size { get { return ((Json.Get(Row, "result") ?? Json.Get(Row, "result_base64")) as Json.Written)?.Text.Length ?? 0; } }
        }

        internal int Untold; // under the worker's lock, as are the ends
        private readonly Queue<End> ends = new Queue<End>();
        private readonly Worker worker;
        private readonly string path;

        internal Settler(Worker worker, string queue)
        {
            this.worker = worker;
            path = Path(queue);
            Task.Run(RunAsync);
        }

        private static string Path(string queue)
        {
            return "/v1/queues/" + Routers.Enc(queue) + "/tasks/settle";
        }

        internal void Add(Job j, Dictionary<string, object> row)
        {
            Untold++;
            ends.Enqueue(new End { Job = j, Row = row });
        }

        /// <summary>What people see in the task's history.</summary>
        internal static string Reason(Exception e)
        {
            string said;
            try
            {
                said = Plain(e is Nack ? e.Message : e.GetType().Name + ": " + e.Message);
            }
            catch (Exception) // its own Message fails
            {
                said = "";
            }
            return said == "" ? e.GetType().Name : said;
        }

        /// <summary>At most 200 bytes, no control characters.</summary>
        internal static string Plain(string text)
        {
            var o = new StringBuilder();
            int bytes = 0;
            for (int i = 0; i < text.Length; i++)
            {
                bool pair = char.IsHighSurrogate(text[i]) && i + 1 < text.Length && char.IsLowSurrogate(text[i + 1]);
                char c = text[i];
                bool odd = char.IsControl(c) || (char.IsSurrogate(c) && !pair) || c == '\u2028' || c == '\u2029';
                bytes += odd || c < 0x80 ? 1 : c < 0x800 ? 2 : pair ? 4 : 3;
                if (bytes > TextMax)
                    break;
                o.Append(odd ? ' ' : c);
                if (pair)
                    o.Append(text[++i]);
            }
            return o.ToString().Trim();
        }

        private async Task RunAsync()
        {
            for (; ; )
            {
                var next = worker.News.Next;
                var some = new List<End>();
                lock (worker.Lock)
                {
                    for (int size = 0; ends.Count > 0 && some.Count < Batch && size < Bytes; size += some[some.Count - 1].Size)
                        some.Add(ends.Dequeue());
                    if (some.Count == 0 && worker.IsOver)
                        return;
                }
                if (some.Count == 0)
                {
                    await Task.WhenAny(next, worker.PauseAsync(TimeSpan.FromSeconds(1))).ConfigureAwait(false);
                    continue;
                }
                await TellOrSayAsync(some).ConfigureAwait(false);
                lock (worker.Lock)
                    Untold -= some.Count;
                worker.News.Set();
            }
        }

        private async Task TellOrSayAsync(List<End> rows)
        {
            try
            {
                await TellAsync(rows).ConfigureAwait(false);
            }
            catch (Exception e) // what segq does not hear is tried again when its lease ends
            {
                worker.Say("trouble", null, e);
            }
        }

        private static async Task<List<object>> AskAsync(Worker w, string path, List<Dictionary<string, object>> rows, TimeSpan within)
        {
            var said = Json.Items(await w.Routers.CallAsync("POST", path, rows, CancellationToken.None, null, within, TimeSpan.Zero).ConfigureAwait(false));
            if (said.Count != rows.Count || said.Any(r => Json.Number(Json.Get(r, "status")) == null))
                throw new NetworkException("an answer that is no list of outcomes");
            return said;
        }

        private static int Status(object outcome)
        {
            return (int)Json.Number(Json.Get(outcome, "status")).Value;
        }

        /// <summary>Until each row has an answer, as long as its lease.</summary>
        private async Task TellAsync(List<End> first)
        {
            var rows = first;
            var backoff = new Backoff(0.2);
            var end = worker.Now + worker.Lease;
            while (rows.Count > 0)
            {
                List<object> said = null;
                Exception bad = null;
                try
                {
                    said = await AskAsync(worker, path, rows.Select(r => r.Row).ToList(), worker.Routers.Timeout).ConfigureAwait(false);
                }
                catch (Exception e)
                {
                    bad = e;
                }
                if (bad != null && Routers.Passes(bad))
                {
                    worker.Say("trouble", null, bad);
                    await PauseAsync(backoff, end, bad).ConfigureAwait(false);
                    continue;
                }
                if (bad != null)
                {
                    var a = bad as ApiException;
                    bool one = a == null || a.Status == 400 || a.Status == 413;
                    if (rows.Count > 1 && one) // one of them: each alone tells which
                    {
                        foreach (var r in rows)
                            await TellOrSayAsync(new List<End> { r }).ConfigureAwait(false);
                        return;
                    }
                    var plain = one ? Plainer(rows[0], bad.Message) : null;
                    if (plain == null)
                        throw bad;
                    rows = new List<End> { plain };
                    continue;
                }
                var again = new List<End>();
                for (int i = 0; i < rows.Count; i++)
                    Heard(rows[i], said[i], again);
                rows = again;
                if (rows.Count > 0)
                    await PauseAsync(backoff, end, new NetworkException(rows.Count + " ends could not be told")).ConfigureAwait(false);
            }
        }

        private void Heard(End r, object said, List<End> again)
        {
            int status = Status(said);
            if (status == 429 || status == 503)
            {
                again.Add(r);
            }
            else if (status >= 400)
            {
                var plain = status == 400 || status == 413 ? Plainer(r, Json.Text(Json.Get(said, "detail"))) : null;
                if (plain != null)
                    again.Add(plain);
                else
                    worker.Say("lost", r.Job, said);
            }
        }

        /// <summary>In place of an end that is refused (a result that is too long, a delay that is none): a nack that says
        /// so. null: it was that.</summary>
        private static End Plainer(End r, string why)
        {
            if (!r.Row.ContainsKey("delay") && !r.Row.ContainsKey("result") && !r.Row.ContainsKey("result_base64"))
                return null;
            var row = new Dictionary<string, object>(r.Row);
            row.Remove("delay");
            row.Remove("result");
            row.Remove("result_base64");
            row.Remove("content_type");
            row["verb"] = "nack";
            row["reason"] = Plain("its end was refused: " + why);
            return new End { Job = r.Job, Row = row };
        }

        private async Task PauseAsync(Backoff backoff, TimeSpan end, Exception e)
        {
            var pause = backoff.Next(e);
            if (worker.Now + pause > end)
                throw e;
            await worker.PauseAsync(pause).ConfigureAwait(false);
        }

        // ---- leases ----

        /// <summary>Extends those of a queue.</summary>
        internal static async Task ExtendAsync(Worker w, string queue, List<Job> jobs)
        {
            var asked = w.Now;
            List<object> said;
            try
            {
                said = await AskAsync(w, Path(queue), jobs.Select(j =>
                {
                    var row = Worker.Row(j, "extend");
                    row["lease"] = w.Lease.TotalSeconds;
                    return row;
                }).ToList(), TimeSpan.FromSeconds(Math.Max(1, w.Lease.TotalSeconds / 4))).ConfigureAwait(false);
            }
            catch (Exception e) // the next turn tries again
            {
                w.Say("trouble", null, e);
                return;
            }
            for (int i = 0; i < jobs.Count; i++)
            {
                int status = Status(said[i]);
                if (status < 400)
                {
                    jobs[i].Extended(asked);
                    w.Say("extended", jobs[i], null);
                }
                else if (status != 429 && status != 503)
                {
                    w.Lose(jobs[i], said[i]);
                }
            }
        }
    }
}

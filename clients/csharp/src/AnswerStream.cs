using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Segq
{
    /// <summary>A server-sent event.</summary>
    public sealed class ServerEvent
    {
        public string Name { get; internal set; }
        public string Data { get; internal set; }
        public string Id { get; internal set; }
    }

    /// <summary>Callbacks come to the SynchronizationContext of who called, one after the other.</summary>
    internal sealed class Caller
    {
        private readonly SynchronizationContext there = SynchronizationContext.Current;

        internal Task Tell(Action what)
        {
            if (there == null || there == SynchronizationContext.Current)
            {
                what();
                return Done;
            }
            var told = new TaskCompletionSource<bool>();
            there.Post(_ =>
            {
                try
                {
                    what();
                    told.SetResult(true);
                }
                catch (Exception e)
                {
                    told.SetException(e);
                }
            }, null);
            return told.Task;
        }

        internal static readonly Task Done = Task.FromResult(true);
    }

    /// <summary>An open answer, read once: as pieces, lines, events, or as a whole. One that breaks off is no whole one:
    /// NetworkException. While a callback is busy no more is read.</summary>
    public sealed class AnswerStream : IDisposable
    {
        private readonly Routers routers;
        private readonly TransportAnswer answer;
        private readonly Action<IReadOnlyDictionary<string, object>> onProgress;
        private readonly Stopwatch silence = Stopwatch.StartNew();
        private bool eachPiece = true; // ends a silence; else an event does
        internal TimeSpan Patience;

        internal AnswerStream(Routers r, TransportAnswer a, TimeSpan patience, Action<IReadOnlyDictionary<string, object>> onProgress = null)
        {
            routers = r;
            answer = a;
            Patience = patience;
            this.onProgress = onProgress;
        }

        /// <summary>That of the target, if it is a call's.</summary>
        public int Status { get { return answer.Status; } }

        public IReadOnlyDictionary<string, string> Headers { get { return answer.Headers; } }

        public void Dispose()
        {
            answer.Dispose();
        }

        /// <summary>The rest as a whole.</summary>
        public Task<Answer> ReadAsync(CancellationToken cancel = default(CancellationToken))
        {
            return routers.WholeAsync(answer, cancel);
        }

        /// <summary>Bytes, as they come.</summary>
        public Task PiecesAsync(Action<byte[]> each, CancellationToken cancel = default(CancellationToken))
        {
            var caller = new Caller();
            return PiecesAsync(piece => caller.Tell(() => each(piece)), cancel);
        }

        /// <summary>Lines without their ends.</summary>
        public Task LinesAsync(Action<string> each, CancellationToken cancel = default(CancellationToken))
        {
            var caller = new Caller();
            return LinesAsync(line => caller.Tell(() => each(line)), cancel);
        }

        /// <summary>Server-sent events (WHATWG HTML, section 9.2). What is cut off before its blank line is none.</summary>
        public Task EventsAsync(Action<ServerEvent> each, CancellationToken cancel = default(CancellationToken))
        {
            var caller = new Caller();
            return EventsAsync(async e =>
            {
                if (!await ToldAsync(e, caller).ConfigureAwait(false))
                    await caller.Tell(() => each(e)).ConfigureAwait(false);
                return true;
            }, cancel);
        }

        private async Task PiecesAsync(Func<byte[], Task> each, CancellationToken cancel)
        {
            var buffer = new byte[16384];
            silence.Restart();
            for (; ; )
            {
                int n;
                try
                {
                    var left = Patience - silence.Elapsed;
                    n = await routers.Within(c => answer.ReadAsync(buffer, c), left < TimeSpan.Zero ? TimeSpan.Zero : left,
                        "the stream", cancel).ConfigureAwait(false);
                }
                catch (Exception e) when (!(e is OperationCanceledException || e is SegqException))
                {
                    cancel.ThrowIfCancellationRequested();
                    throw new NetworkException("the stream breaks off: " + e.Message, e);
                }
                if (n == 0)
                    return;
                var piece = new byte[n];
                Array.Copy(buffer, piece, n);
                await each(piece).ConfigureAwait(false);
                if (eachPiece)
                    silence.Restart();
            }
        }

        private async Task LinesAsync(Func<string, Task> each, CancellationToken cancel)
        {
            var rest = new MemoryStream();
            await PiecesAsync(async piece =>
            {
                int from = 0;
                for (int i = 0; i < piece.Length; i++)
                {
                    if (piece[i] != '\n')
                        continue;
                    rest.Write(piece, from, i - from);
                    from = i + 1;
                    await each(Line(rest)).ConfigureAwait(false);
                }
                rest.Write(piece, from, piece.Length - from);
                if (rest.Length > Routers.BodyMax)
                    throw new NetworkException("a line of more than " + Routers.BodyMax + " bytes");
            }, cancel).ConfigureAwait(false);
            if (rest.Length > 0)
                await each(Line(rest)).ConfigureAwait(false);
        }

        private static string Line(MemoryStream rest)
        {
            var s = Encoding.UTF8.GetString(rest.ToArray());
            rest.SetLength(0);
            return s.EndsWith("\r") ? s.Substring(0, s.Length - 1) : s;
        }

        /// <summary>each: false, it has heard enough.</summary>
        internal async Task EventsAsync(Func<ServerEvent, Task<bool>> each, CancellationToken cancel)
        {
            string name = "", id = "";
            StringBuilder data = null;
            eachPiece = false;
            try
            {
                await LinesAsync(async line =>
                {
                    if (line == "")
                    {
                        var e = new ServerEvent { Name = name == "" ? "message" : name, Data = data + "", Id = id };
                        bool any = data != null;
                        name = "";
                        data = null;
                        if (!any)
                            return;
                        silence.Restart();
                        if (!await each(e).ConfigureAwait(false))
                            throw new Enough();
                        silence.Restart();
                        return;
                    }
                    int colon = line.IndexOf(':');
                    var field = colon < 0 ? line : line.Substring(0, colon);
                    var value = colon < 0 ? "" : line.Substring(colon + 1);
                    if (value.StartsWith(" "))
                        value = value.Substring(1);
                    if (field == "event")
                        name = value;
                    else if (field == "id" && IsId(value))
                        id = value;
                    else if (field == "data")
                        data = data == null ? new StringBuilder(value) : data.Append('\n').Append(value);
                }, cancel).ConfigureAwait(false);
            }
            catch (Enough)
            {
                // the rest is not waited for
            }
        }

        /// <summary>Another one is a stranger's: no header could send it back.</summary>
        internal static bool IsId(string value)
        {
            return value.Length <= 128 && value.All(c => c >= ' ' && c <= '~');
        }

        private sealed class Enough : Exception { }

        /// <summary>Of segq-progress: events: a place in line; or the answer, where it is no stream of events.</summary>
        private async Task<bool> ToldAsync(ServerEvent e, Caller caller)
        {
            if (onProgress == null || (e.Name != "segq.progress" && e.Name != "error"))
                return false;
            Dictionary<string, object> said;
            try
            {
                said = Json.Object(Json.Read(e.Data));
            }
            catch (FormatException)
            {
                return false;
            }
            if (e.Name == "segq.progress")
            {
                await caller.Tell(() => onProgress(said)).ConfigureAwait(false);
                return true;
            }
            var status = Json.Number(Json.Get(said, "status")) ?? 0;
            if (status < 400)
                return false; // the target's own error event
            throw ApiException.Of((int)status, Json.Get(said, "error") as Dictionary<string, object>
                ?? new Dictionary<string, object> { { "detail", Json.Get(said, "body") } });
        }
    }
}

using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Threading;
using System.Threading.Tasks;

namespace Segq
{
    /// <summary>Thrown by a handler: the task is given back, and tried again after the delay (null: as its pool says).</summary>
    public sealed class Nack : Exception
    {
        public TimeSpan? Delay { get; }

        public Nack(string reason, TimeSpan? delay = null) : base(reason)
        {
            Delay = delay;
        }
    }

    /// <summary>A handler's result that is no JSON, with its Content-Type; a byte[] alone is
    /// application/octet-stream.</summary>
    public sealed class Bytes
    {
        public byte[] Body { get; }
        public string ContentType { get; }

        public Bytes(byte[] body, string contentType = "application/octet-stream")
        {
            Body = body;
            ContentType = contentType;
        }
    }

    /// <summary>A task in a handler's hands.</summary>
    public sealed class Job
    {
        private static readonly TimeSpan Progresses = TimeSpan.FromSeconds(0.25); // between two words
        private readonly Worker worker;
        private readonly Dictionary<string, object> said;
        private readonly CancellationTokenSource lost = new CancellationTokenSource();
        private Dictionary<string, object> progress; // that is still to be told
        private bool telling;
        private TimeSpan toldAt = TimeSpan.MinValue;
        internal TimeSpan Until; // of its lease
        internal TimeSpan ExtendAt;
        internal volatile bool Over; // written under the worker's lock

        internal Job(Worker worker, Dictionary<string, object> said, string queue, TimeSpan now)
        {
            this.worker = worker;
            this.said = said;
            if (!(Json.Get(said, "task") is string && Json.Get(said, "lease_id") is string && Json.Get(said, "attempt") is long))
                throw new NetworkException("an answer that is no task");
            Queue = Json.Get(said, "queue") as string ?? queue;
            Extended(now);
        }

        internal void Extended(TimeSpan now)
        {
            Until = now + worker.Lease;
            ExtendAt = now + TimeSpan.FromTicks(worker.Lease.Ticks / 3);
        }

        /// <summary>Its token: an idempotency key for what you do.</summary>
        public string Task { get { return (string)said["task"]; } }

        public string Queue { get; }

        /// <summary>Or null.</summary>
        public string Key { get { return Json.Get(said, "key") as string; } }

        /// <summary>1: the first one.</summary>
        public long Attempt { get { return (long)said["attempt"]; } }

        /// <summary>Its JSON: a Dictionary, List, string ... (Json).</summary>
        public object Payload { get { return Json.Get(said, "payload"); } }

        /// <summary>What is no JSON, in place of it; and its type. Else null.</summary>
        public byte[] PayloadBase64
        {
            get { var s = Json.Get(said, "payload_base64") as string; return s == null ? null : Convert.FromBase64String(s); }
        }

        public string ContentType { get { return Json.Get(said, "content_type") as string; } }

        /// <summary>A member of a payload that is an object; else null.</summary>
        public object this[string member] { get { return Json.Get(Payload, member); } }

        public string LeaseId { get { return (string)said["lease_id"]; } }

        /// <summary>Unix seconds, when it was taken.</summary>
        public double? LeaseExpiresAt { get { return Json.Number(Json.Get(said, "lease_expires_at")); } }

        /// <summary>Cancelled by force, given back, or its lease has ended: another worker may have it.</summary>
        public CancellationToken Lost { get { return lost.Token; } }

        /// <summary>The trace context that its submitter handed on (of payloads that are objects), or null.</summary>
        public string TraceParent { get { return this["traceparent"] as string; } }

        internal void Lose()
        {
            System.Threading.Tasks.Task.Run(() => lost.Cancel());
        }

        /// <summary>Says how far it is: 0 to 100, 200 bytes, any JSON of 1 KiB; null: not said. Returns at once: the newest
        /// word is told, four times a second at most; one that is refused is "trouble" of OnEvent.</summary>
        public void Progress(int? percent, string text = null, object data = null)
        {
            var m = new Dictionary<string, object>();
            if (percent != null)
                m["percent"] = percent;
            if (text != null && Settler.Plain(text) != "")
                m["text"] = Settler.Plain(text);
            if (data != null)
                m["data"] = data;
            lock (said)
            {
                progress = m.Count == 0 ? null : m;
                if (progress == null || telling || Over)
                    return;
                telling = true;
            }
            System.Threading.Tasks.Task.Run(TellAsync);
        }

        /// <summary>One word at a time, and the next one not too soon.</summary>
        private async Task TellAsync()
        {
            for (; ; )
            {
                var pause = toldAt == TimeSpan.MinValue ? TimeSpan.Zero : toldAt + Progresses - worker.Now;
                if (pause > TimeSpan.Zero)
                    await worker.Routers.Transport.DelayAsync(pause, CancellationToken.None).ConfigureAwait(false);
                var row = new Dictionary<string, object> { { "lease_id", LeaseId } };
                lock (said)
                {
                    telling = progress != null && !Over;
                    if (!telling)
                        return;
                    foreach (var e in progress)
                        row[e.Key] = e.Value;
                    progress = null;
                    toldAt = worker.Now;
                }
                try
                {
                    await worker.Routers.CallAsync("POST", "/v1/tasks/" + Routers.Enc(Task) + "/progress", row, CancellationToken.None,
                        null, null, TimeSpan.Zero).ConfigureAwait(false);
                }
                catch (ApiException e) when (e.Status == 409 || e.Status == 410)
                {
                    worker.Lose(this, e);
                }
                catch (Exception e)
                {
                    worker.Say("trouble", this, e);
                }
            }
        }
    }
}

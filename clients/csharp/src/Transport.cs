using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.IO;
using System.Net;
using System.Net.Http;
using System.Threading;
using System.Threading.Tasks;

namespace Segq
{
    /// <summary>A request, as it goes to a router.</summary>
    public sealed class TransportRequest
    {
        public string Method;
        public Uri Url;
        public IDictionary<string, string> Headers;

        /// <summary>null: none.</summary>
        public byte[] Body;
    }

    /// <summary>An answer whose head is there. Dispose() ends it: what is unread is not waited for.</summary>
    public abstract class TransportAnswer : IDisposable
    {
        public int Status;

        /// <summary>Names in small letters.</summary>
        public readonly Dictionary<string, string> Headers = new Dictionary<string, string>(StringComparer.OrdinalIgnoreCase);

        /// <summary>Some bytes of the body as soon as there are any; 0: its end. Throws if it breaks off.</summary>
        public abstract Task<int> ReadAsync(byte[] buffer, CancellationToken cancel);

        public abstract void Dispose();

        internal string Header(string name)
        {
            string v;
            return Headers.TryGetValue(name, out v) ? v : null;
        }
    }

    /// <summary>How requests are sent, and how time passes. Another one than HttpClient stands in where that is of no
    /// use (Unity's UnityWebRequest in a browser). Follows no redirects, keeps no cookies: the header
    /// Cookie goes as it is, several lines of Set-Cookie come as one, with ", " between them. (In a browser they are the
    /// browser's.)</summary>
    public interface ITransport
    {
        /// <summary>Completes when the head of the answer is there; throws (not SegqException) if there is none.</summary>
        Task<TransportAnswer> SendAsync(TransportRequest request, CancellationToken cancel);

        Task DelayAsync(TimeSpan time, CancellationToken cancel);
    }

    /// <summary>HttpClient.</summary>
    public sealed class HttpClientTransport : ITransport
    {
        private readonly HttpClient client;
        private readonly ConcurrentDictionary<string, bool> hosts = new ConcurrentDictionary<string, bool>();

        public HttpClientTransport() : this(new HttpClientHandler { AllowAutoRedirect = false, UseCookies = false, UseProxy = false }) { }

        /// <summary>Another handler: for authorities of your own, proxies.</summary>
        public HttpClientTransport(HttpMessageHandler handler)
        {
            client = new HttpClient(handler) { Timeout = Timeout.InfiniteTimeSpan };
            client.DefaultRequestHeaders.ExpectContinue = false;
        }

        public Task DelayAsync(TimeSpan time, CancellationToken cancel)
        {
            return Task.Delay(time, cancel);
        }

        public async Task<TransportAnswer> SendAsync(TransportRequest q, CancellationToken cancel)
        {
            if (hosts.TryAdd(q.Url.Authority, true)) // .NET Framework and Mono have two connections to a host otherwise
                ServicePointManager.FindServicePoint(q.Url).ConnectionLimit = 10000;
            using (var m = new HttpRequestMessage(new HttpMethod(q.Method), q.Url))
            {
                if (q.Body != null || (q.Method != "GET" && q.Method != "HEAD" && q.Method != "DELETE"))
                    m.Content = new ByteArrayContent(q.Body ?? new byte[0]);
                foreach (var h in q.Headers)
                    if (!m.Headers.TryAddWithoutValidation(h.Key, h.Value) && m.Content != null)
                        m.Content.Headers.TryAddWithoutValidation(h.Key, h.Value);
                var r = await client.SendAsync(m, HttpCompletionOption.ResponseHeadersRead, cancel).ConfigureAwait(false);
                return new Incoming(r, q.Method == "HEAD");
            }
        }

        private sealed class Incoming : TransportAnswer
        {
            private readonly HttpResponseMessage response;
            private readonly long? length;
            private Stream body;
            private long read;

            internal Incoming(HttpResponseMessage r, bool none)
            {
                response = r;
                Status = (int)r.StatusCode;
                foreach (var h in r.Headers)
                    Headers[h.Key] = string.Join(", ", h.Value);
                if (r.Content == null)
                    return;
                foreach (var h in r.Content.Headers)
                    Headers[h.Key] = string.Join(", ", h.Value);
                length = none || Status == 204 || Status == 304 ? 0 : r.Content.Headers.ContentLength;
            }

            public override async Task<int> ReadAsync(byte[] buffer, CancellationToken cancel)
            {
                if (length == read || response.Content == null)
                    return 0;
                using (cancel.Register(Dispose)) // streams of some runtimes do not hear of it
                {
                    if (body == null)
                        body = await response.Content.ReadAsStreamAsync().ConfigureAwait(false);
                    int n = await body.ReadAsync(buffer, 0, buffer.Length, cancel).ConfigureAwait(false);
                    read += n;
                    if (n == 0 && length != null && read < length)
                        throw new IOException("the body breaks off");
                    return n;
                }
            }

            public override void Dispose()
            {
                response.Dispose();
            }
        }
    }
}

// What GateMiddleware needs of ASP.NET Core, over HttpListener: so that it is compiled and tried without ASP.NET Core.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Net;
using System.Threading;
using System.Threading.Tasks;

namespace Microsoft.AspNetCore.Http
{
    public delegate Task RequestDelegate(HttpContext context);

    public struct StringValues
    {
        private readonly string[] values;

        public StringValues(params string[] v)
        {
            values = v;
        }

        public static implicit operator StringValues(string v)
        {
            return new StringValues(v);
        }

        public string[] ToArray()
        {
            return values;
        }

        public override string ToString()
        {
            return string.Join(",", values);
        }
    }

    public sealed class HeaderDictionary : Dictionary<string, StringValues>
    {
        public HeaderDictionary() : base(StringComparer.OrdinalIgnoreCase) { }

        public void Append(string name, StringValues value)
        {
            this[name] = ContainsKey(name) ? new StringValues(this[name].ToArray().Concat(value.ToArray()).ToArray()) : value;
        }
    }

    public struct PathPart
    {
        private readonly string text;

        public PathPart(string t)
        {
            text = t;
        }

        public string ToUriComponent()
        {
            return text;
        }
    }

    public sealed class HttpRequest
    {
        public string Method;
        public PathPart PathBase = new PathPart(""), Path, QueryString;
        public readonly HeaderDictionary Headers = new HeaderDictionary();
    }

    public sealed class HttpResponse
    {
        public int StatusCode = 200;
        public long? ContentLength;
        public readonly HeaderDictionary Headers = new HeaderDictionary();
        public readonly MemoryStream Body = new MemoryStream();
        internal readonly List<Func<Task>> Starting = new List<Func<Task>>();

        public void OnStarting(Func<Task> callback)
        {
            Starting.Add(callback);
        }
    }

    public sealed class HttpContext
    {
        public readonly HttpRequest Request = new HttpRequest();
        public readonly HttpResponse Response = new HttpResponse();
        public readonly Dictionary<object, object> Items = new Dictionary<object, object>();
        public CancellationToken RequestAborted = CancellationToken.None;

        /// <summary>A site at a free port: its address.</summary>
        public static string Serve(RequestDelegate app)
        {
            for (int port = 20000 + new Random().Next(20000); ; port++)
            {
                var site = new HttpListener();
                site.Prefixes.Add("http://127.0.0.1:" + port + "/");
                try
                {
                    site.Start();
                }
                catch (Exception)
                {
                    continue; // somebody has it
                }
                Task.Run(async () =>
                {
                    for (; ; )
                    {
                        var x = await site.GetContextAsync();
                        new Thread(() => AnswerAsync(x, app).Wait()) { IsBackground = true }.Start();
                    }
                });
                return "http://127.0.0.1:" + port;
            }
        }

        private static async Task AnswerAsync(HttpListenerContext x, RequestDelegate app)
        {
            var c = new HttpContext();
            c.Request.Method = x.Request.HttpMethod;
            c.Request.Path = new PathPart(x.Request.Url.AbsolutePath);
            c.Request.QueryString = new PathPart(x.Request.Url.Query);
            foreach (string n in x.Request.Headers)
                c.Request.Headers[n] = x.Request.Headers[n];
            try
            {
                await app(c);
                foreach (var s in c.Response.Starting)
                    await s();
                x.Response.StatusCode = c.Response.StatusCode;
                foreach (var h in c.Response.Headers)
                    x.Response.Headers[h.Key] = h.Value.ToString();
                var body = c.Response.Body.ToArray();
                x.Response.ContentLength64 = body.Length;
                x.Response.OutputStream.Write(body, 0, body.Length);
            }
            catch (Exception e)
            {
                Console.Error.WriteLine(e);
                x.Response.StatusCode = 500;
            }
            x.Response.Close();
        }
    }
}

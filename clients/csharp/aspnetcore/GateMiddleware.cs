using System.Collections.Generic;
using System.Linq;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Http;

namespace Segq.AspNetCore
{
    /// <summary>The gate before an ASP.NET Core application: app.UseMiddleware&lt;GateMiddleware&gt;(gate).
    /// context.Items["segq.pass"] is the Decision: who is in.</summary>
    public sealed class GateMiddleware
    {
        private const string Command = "X-Segq-Command";
        private readonly RequestDelegate next;
        private readonly Gate gate;

        public GateMiddleware(RequestDelegate next, Gate gate)
        {
            this.next = next;
            this.gate = gate;
        }

        public async Task InvokeAsync(HttpContext context)
        {
            var q = context.Request;
            var a = context.Response;
            var headers = q.Headers.Select(h => new KeyValuePair<string, string>(h.Key, string.Join("; ", h.Value.ToArray()))).ToList();
            var d = await gate.DecideAsync(q.Method, q.PathBase.ToUriComponent() + q.Path.ToUriComponent() + q.QueryString.ToUriComponent(),
                headers, context.RequestAborted);
            if (d.Status != 0)
            {
                foreach (var h in d.Headers)
                    a.Headers[h.Key] = h.Value;
                a.StatusCode = d.Status;
                a.ContentLength = d.Body.Length;
                if (q.Method != "HEAD")
                    await a.Body.WriteAsync(d.Body, 0, d.Body.Length, context.RequestAborted);
                return;
            }
            foreach (var h in headers.Where(h => h.Key.StartsWith("X-Segq-", System.StringComparison.OrdinalIgnoreCase)))
                q.Headers.Remove(h.Key); // the visitor's; applications believe a gate's
            context.Items["segq.pass"] = d;
            a.OnStarting(() =>
            {
                if (a.Headers.ContainsKey(Command))
                    gate.Obey(a.Headers[Command].ToString(), headers);
                a.Headers.Remove(Command);
                foreach (var h in d.Headers)
                    a.Headers.Append(h.Key, h.Value);
                return Task.CompletedTask;
            });
            await next(context);
        }
    }
}

using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Segq
{
    /// <summary>What needs no cluster. Each method Test...() is one test.</summary>
    internal static class Tests
    {
        private static int Main()
        {
            int passed = 0, failed = 0;
            foreach (var m in typeof(Tests).GetMethods(BindingFlags.Static | BindingFlags.NonPublic).Where(m => m.Name.StartsWith("Test")))
            {
                try
                {
                    m.Invoke(null, null);
                    passed++;
                }
                catch (TargetInvocationException e)
                {
                    failed++;
                    Console.WriteLine("FAIL " + m.Name + "\n" + e.InnerException);
                }
            }
            Console.WriteLine("csharp: " + passed + " passed, " + failed + " failed");
            return failed;
        }

        private static void Is(object got, object want)
        {
            if (!Equals(got, want))
                throw new Exception(got + ", not " + want);
        }

        private static E Fails<E>(Action what) where E : Exception
        {
            try
            {
                what();
            }
            catch (AggregateException e) when (e.InnerException is E)
            {
                return (E)e.InnerException;
            }
            catch (E e)
            {
                return e;
            }
            throw new Exception("no failure");
        }

        // ---- JSON ----

        private static void TestJsonOfAllKinds()
        {
            var text = "{\"a\":[1,-2,3.5,1000.25,12345678901234567890,true,false,null],\"b\":{},\"c\":[],\"d\":\"x\u00fc\\n\\\"\"}";
            Is(Json.Write(Json.Read(text)), text);
            Is(Json.Read("\"\\ud83d\\ude00\\u00fc\""), "\ud83d\ude00\u00fc");
            Is(Json.Write("\ud800"), "\"\\ud800\"");
            Is(Json.Write(new { n = 1, l = new[] { 1.5 } }), "{\"n\":1,\"l\":[1.5]}");
            Is(Json.Write(new DateTime(2026, 1, 2)).StartsWith("\""), true);
        }

        private static void TestJsonThatIsNone()
        {
            foreach (var bad in new[] { "", " ", "{", "[1,]", "{\"a\":1,}", "01", "1.", ".5", "+1", "1e", "nul", "\"", "\"\\x\"", "\"\\u12g4\"",
                "\"\n\"", "[1]x", "{1:2}", "NaN", "-", "\"\\ud8", new string('[', 100000), "1e999", "\u0661" })
                Fails<FormatException>(() => Json.Read(bad));
            Fails<FormatException>(() => Json.Write(double.NaN));
            Fails<FormatException>(() => Json.ReadStrict(Encoding.UTF8.GetBytes("{\"a\":1,\"a\":2}")));
            var round = new List<object>();
            round.Add(round);
            Fails<FormatException>(() => Json.Write(round));
        }

        /// <summary>What is damaged is read, or refused, and nothing else.</summary>
        private static void TestJsonFuzz()
        {
            var r = new Random(7);
            const string odd = "{}[]\",:\\u0e-. \0\u00e9";
            for (int i = 0; i < 5000; i++)
            {
                var text = new StringBuilder("{\"a\":[1,-2.5e3,\"x\\u00fc\\\\\",true,null,{\"b\":{}}],\"c\":12345678901234567890}");
                for (int n = r.Next(4); n >= 0; n--)
                    if (r.Next(2) == 0)
                        text.Remove(r.Next(text.Length), 1);
                    else
                        text[r.Next(text.Length)] = odd[r.Next(odd.Length)];
                try
                {
                    var once = Json.Write(Json.Read(text.ToString()));
                    Is(Json.Write(Json.Read(once)), once);
                }
                catch (FormatException)
                {
                    // refused
                }
            }
        }

        // ---- signatures ----

        private static byte[] Hex(string s)
        {
            return Enumerable.Range(0, s.Length / 2).Select(i => Convert.ToByte(s.Substring(2 * i, 2), 16)).ToArray();
        }

        /// <summary>RFC 8032, section 7.1.</summary>
        private static void TestEd25519()
        {
            foreach (var v in new[] {
                "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a||e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
                "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c|72|92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
                "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025|af82|6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a" })
            {
                var p = v.Split('|').Select(Hex).ToArray();
                Is(Ed25519.Verify(p[0], p[2], p[1]), true);
                Is(Ed25519.Verify(p[0], p[2], new byte[] { 1 }), false);
                foreach (int bit in new[] { 0, 255, 256, 300, 511 })
                {
                    var bad = (byte[])p[2].Clone();
                    bad[bit / 8] ^= (byte)(1 << bit % 8);
                    Is(Ed25519.Verify(p[0], bad, p[1]), false);
                }
                var large = (byte[])p[2].Clone(); // S + L is the same point, and refused
                var s = new System.Numerics.BigInteger(large.Skip(32).Concat(new byte[1]).ToArray())
                    + System.Numerics.BigInteger.Pow(2, 252) + System.Numerics.BigInteger.Parse("27742317777372353535851937790883648493");
                var raw = s.ToByteArray();
                for (int i = 0; i < 32; i++)
                    large[32 + i] = i < raw.Length ? raw[i] : (byte)0;
                Is(Ed25519.Verify(p[0], large, p[1]), false);
            }
        }

        private static void TestKeysOfASmallOrder()
        {
            var one = new byte[32];
            one[0] = 1;
            var y8 = Hex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05");
            foreach (var bad in new[] { new byte[32], one, y8, Enumerable.Repeat((byte)255, 32).ToArray(), new byte[31] })
                Is(Ed25519.IsKey(bad), false);
        }

        private static void TestNamesStayWithinTheirPath()
        {
            Fails<ArgumentException>(() => Routers.Enc(".."));
            Is(Routers.Enc("../x"), "..%2Fx");
        }

        private static void TestWebhookKeys()
        {
            Fails<ArgumentException>(() => new Webhook("whsec_AAAA"));
            Fails<ArgumentException>(() => new Webhook("whpk_" + Convert.ToBase64String(new byte[32])));
            Fails<ArgumentException>(() => new Webhook());
        }

        private sealed class Mute : Exception
        {
            public override string Message { get { throw new InvalidOperationException(); } }
        }

        private static void TestReasons()
        {
            Is(Settler.Reason(new Mute()), "Mute");
            Is(Settler.Reason(new InvalidOperationException("no\npaper")), "InvalidOperationException: no paper");
            Is(Settler.Reason(new Nack(new string('\u00fc', 200))), new string('\u00fc', 100));
            Is(Settler.Reason(new Nack("\ud83d")), "Nack");
        }

        // ---- another transport, and the caller's context ----

        /// <summary>Answers from a table; time passes at once.</summary>
        private sealed class Fake : ITransport
        {
            internal readonly List<TransportRequest> Asked = new List<TransportRequest>();
            internal Func<TransportRequest, int, Reply> Says;
            internal bool Endless;

            public Task<TransportAnswer> SendAsync(TransportRequest q, CancellationToken cancel)
            {
                int n;
                lock (Asked)
                {
                    Asked.Add(q);
                    n = Asked.Count;
                }
                return Task.Run<TransportAnswer>(() => Says(q, n));
            }

            public Task DelayAsync(TimeSpan time, CancellationToken cancel)
            {
                return Task.Delay(time.TotalSeconds >= 5 || Endless ? time : TimeSpan.FromMilliseconds(1), cancel);
            }
        }

        private sealed class Reply : TransportAnswer
        {
            private readonly byte[] body;
            private readonly bool cut;
            private int read;

            internal Reply(int status, string text, bool cut = false)
            {
                Status = status;
                body = Encoding.UTF8.GetBytes(text);
                this.cut = cut;
            }

            public override Task<int> ReadAsync(byte[] buffer, CancellationToken cancel)
            {
                int n = Math.Min(7, body.Length - read);
                if (n == 0 && cut)
                    throw new System.IO.IOException("cut");
                Array.Copy(body, read, buffer, 0, n);
                read += n;
                return Task.FromResult(n);
            }

            public override void Dispose() { }
        }

        /// <summary>A thread that runs what is posted to it, as that of a game.</summary>
        private sealed class Loop : SynchronizationContext
        {
            private readonly BlockingCollection<Action> todo = new BlockingCollection<Action>();

            public override void Post(SendOrPostCallback d, object state)
            {
                todo.Add(() => d(state));
            }

            internal static void Run(Func<Task> what)
            {
                var before = Current;
                var loop = new Loop();
                SetSynchronizationContext(loop);
                try
                {
                    var t = what();
                    t.ContinueWith(x => loop.todo.CompleteAdding(), TaskScheduler.Default);
                    foreach (var a in loop.todo.GetConsumingEnumerable())
                        a();
                    t.GetAwaiter().GetResult();
                }
                finally
                {
                    SetSynchronizationContext(before);
                }
            }
        }

        private static void TestAQueueIsHeardOnBehindWhatWasDealtWith()
        {
            var f = new Fake
            {
                Says = (q, n) => new Reply(200, n == 1 ? "id: 5\ndata: {\"task\":\"A\",\"state\":\"running\"}\n\nid: 6\ndata: {\"task\n\n"
                    : "id: 6\ndata: {\"task\":\"B\",\"state\":\"dead\"}\n\n"),
            };
            var got = new List<string>();
            Is(Fails<FormatException>(() => new Client(new[] { "http://r1" }, new ClientOptions { Transport = f }).WatchQueueAsync("q", e =>
            {
                got.Add(e.Id + " " + e.Task);
                if (e.Task == "B")
                    throw new FormatException("the reader's own");
            }, "3").Wait(10000)).Message, "the reader's own");
            Is(string.Join(",", got), "5 A,6 B");
            Is(string.Join(",", f.Asked.Select(q => q.Headers["Last-Event-ID"])), "3,5");
        }

        private static string Place(string state, int position, string more = "")
        {
            return "{\"token\":\"T\",\"queue\":\"q\",\"lane\":\"l\",\"state\":\"" + state + "\",\"position\":" + position
                + ",\"total\":9,\"eta_s\":1,\"poll_after_ms\":100,\"segment\":1" + more + "}";
        }

        private static void TestCallbacksComeToTheCallersThread()
        {
            var fake = new Fake
            {
                Says = (q, n) => n == 1 ? new Reply(503, "{}")
                    : q.Url.AbsolutePath.EndsWith("/events") ? new Reply(200, "data: " + Place("waiting", 2) + "\n\ndata: " + Place("adm", 1), true)
                    : new Reply(200, q.Method == "POST" ? Place("waiting", 3) : Place("admitted", 0, ",\"pass\":\"P\"")),
            };
            int mine = Thread.CurrentThread.ManagedThreadId;
            var seen = new List<string>();
            Loop.Run(async () =>
            {
                var line = new Client(new[] { "http://a", "http://b" }, new ClientOptions { Transport = fake, Token = "s3cret" }).Line("q", new LineOptions
                {
                    OnTrouble = why => seen.Add((why == "" ? "well" : why) + (Thread.CurrentThread.ManagedThreadId == mine ? "" : "!")),
                });
                var t = await line.WaitAsync(p => seen.Add(p.Position + (Thread.CurrentThread.ManagedThreadId == mine ? "" : "!")));
                Is(t.Pass, "P");
                Is(Thread.CurrentThread.ManagedThreadId, mine);
            });
            Is(string.Join(" ", seen), "busy well 3 2 0");
            Is(fake.Asked.Any(q => q.Headers.ContainsKey("Authorization")), false);
            Is(fake.Asked.Where(q => q.Method == "POST").Select(q => q.Headers["Idempotency-Key"]).Distinct().Count(), 1);
        }

        private static Dictionary<string, object> Part(string b64)
        {
            return Json.Object(Json.Read(Encoding.UTF8.GetString(Bytes(b64))));
        }

        private static byte[] Bytes(string b64)
        {
            return Convert.FromBase64String(b64.Replace('-', '+').Replace('_', '/') + new string('=', (4 - b64.Length % 4) % 4));
        }

        private static Reply With(Reply a, string name, string value)
        {
            a.Headers[name] = value;
            return a;
        }

        private static void TestAKeyIsProvedAtTheJoinAndWhenItsCookieIsOld()
        {
            var fake = new Fake
            {
                Says = (q, n) => n == 1 ? With(new Reply(401, "{\"code\":\"proof_required\"}"), "DPoP-Nonce", "n1")
                    : n == 2 ? With(new Reply(201, Place("waiting", 3)), "Set-Cookie", "segq_device_q=ab.c-_1; Path=/")
                    : n == 3 ? With(new Reply(401, "{\"code\":\"proof_required\"}"), "DPoP-Nonce", "n2")
                    : n == 4 ? With(new Reply(204, ""), "Set-Cookie", "segq_device_q=ab.c-_2; Path=/")
                    : new Reply(200, Place("waiting", 2)),
            };
            var key = new P256();
            var line = new Client(new[] { "http://a" }, new ClientOptions { Transport = fake }).Line("q", new LineOptions { Key = key });
            Is(line.JoinAsync().Result.Position, 3L);
            Is(line.Device, "segq_device_q=ab.c-_1");
            Is(line.PollAsync().Result.Position, 2L);
            Is(line.Device, "segq_device_q=ab.c-_2");
            Is(string.Join(" ", fake.Asked.Select(q => q.Method + (q.Headers.ContainsKey("DPoP") ? "!" : ""))), "POST! POST! GET POST! GET");
            foreach (var at in new[] { 0, 1, 3 })
            {
                var parts = fake.Asked[at].Headers["DPoP"].Split('.');
                Dictionary<string, object> head = Part(parts[0]), body = Part(parts[1]), jwk = Json.Object(head["jwk"]);
                Is(head["typ"] + " " + head["alg"] + " " + jwk["kty"] + " " + jwk["crv"], "dpop+jwt ES256 EC P-256");
                Is(Convert.ToBase64String(Bytes((string)jwk["x"])), Convert.ToBase64String(key.ExportParameters(false).Q.X));
                Is(Convert.ToBase64String(Bytes((string)jwk["y"])), Convert.ToBase64String(key.ExportParameters(false).Q.Y));
                Is(body["htm"] + " " + body["htu"] + " " + body["nonce"], "POST " + fake.Asked[at].Url + " " + (at == 0 ? "" : at == 1 ? "n1" : "n2"));
                using (var sha = System.Security.Cryptography.SHA256.Create())
                    Is(key.VerifyHash(sha.ComputeHash(Encoding.ASCII.GetBytes(parts[0] + "." + parts[1])), Bytes(parts[2])), true);
            }
            Is(fake.Asked[3].Url.AbsolutePath, "/v1/tickets/T/device");
            Fails<ApiException>(() => new Client(new[] { "http://a" }, new ClientOptions { Transport = new Fake
            {
                Says = (q, n) => With(new Reply(401, "{\"code\":\"proof_required\"}"), "DPoP-Nonce", "n" + n),
            } }).Line("q", new LineOptions { Key = key }).JoinAsync().Wait(10000));
            Fails<ArgumentException>(() => new Client("http://a").Line("q", new LineOptions
            {
                Key = new P256 { Curve = System.Security.Cryptography.ECCurve.NamedCurves.nistP384 },
            }));
        }

        private static void TestALeaveProvesAKeyWhoseCookieIsOld()
        {
            var fake = new Fake
            {
                Says = (q, n) => n == 1 ? new Reply(403, "{\"code\":\"other_device\"}") : new Reply(204, ""),
            };
            var line = new Client(new[] { "http://a" }, new ClientOptions { Transport = fake }).Line("q", new LineOptions { Token = "T", Key = new P256() });
            line.LeaveAsync().Wait(10000);
            Is(string.Join(" ", fake.Asked.Select(q => q.Method)), "DELETE POST DELETE");
        }

        private static void TestLinesOfOneKeySignOneAfterTheOther()
        {
            var key = new P256();
            var joins = Enumerable.Range(0, 8).Select(i => Task.Run(() => new Client(new[] { "http://a" }, new ClientOptions
            {
                Transport = new Fake { Says = (q, n) => new Reply(201, Place("waiting", 3)) },
            }).Line("q", new LineOptions { Key = key }).JoinAsync())).ToArray();
            Is(Task.WaitAll(joins, 20000), true);
            Is(key.WasHurried, false);
        }

        private static void TestTokensStayWithTheirHosts()
        {
            var fake = new Fake
            {
                Says = (q, n) =>
                {
                    var a = new Reply(q.Url.Host == "a" ? 307 : 200, "{\"task\":\"T\",\"state\":\"waiting\"}");
                    a.Headers["Location"] = "http://b/x";
                    return a;
                },
            };
            var c = new Client(new[] { "http://a" }, new ClientOptions { Transport = fake, Token = "s3cret" });
            Is(c.LookAsync("T").Result.State, "waiting");
            Is(fake.Asked[0].Headers["Authorization"], "Bearer s3cret");
            Is(fake.Asked[1].Headers.ContainsKey("Authorization"), false);
            Fails<ArgumentException>(() => new Client("http://x", "a\nb"));
            Fails<ArgumentException>(() => new Client("ftp://x"));
        }

        private static void TestCancelledCallsEnd()
        {
            var never = new TaskCompletionSource<Reply>();
            var fake = new Fake { Says = (q, n) => never.Task.Result, Endless = true };
            var c = new Client(new[] { "http://a" }, new ClientOptions { Transport = fake });
            using (var stop = new CancellationTokenSource(50))
                Fails<OperationCanceledException>(() => c.LookAsync("T", stop.Token).Wait());
            var quick = new Client(new[] { "http://a" }, new ClientOptions { Transport = fake, Timeout = TimeSpan.FromMilliseconds(50), RetryFor = TimeSpan.Zero });
            Fails<NetworkException>(() => quick.LookAsync("T").Wait());
            never.SetResult(new Reply(200, "{}"));
        }
    }
}

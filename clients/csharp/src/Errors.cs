using System;
using System.Collections.Generic;

namespace Segq
{
    /// <summary>Root of all that this package throws, but OperationCanceledException.</summary>
    public abstract class SegqException : Exception
    {
        /// <summary>One word, the same in each release.</summary>
        public string Code { get; }

        /// <summary>A sentence for people.</summary>
        public string Detail { get; }

        /// <summary>That of HTTP; 0: there is none.</summary>
        public virtual int Status { get { return 0; } }

        internal SegqException(string code, string detail, Exception cause = null)
            : base(string.IsNullOrEmpty(detail) ? code : code + ": " + detail, cause)
        {
            Code = code;
            Detail = detail ?? "";
        }
    }

    /// <summary>No router gave an answer that could be read: refused, timed out, broken off, no JSON.</summary>
    public sealed class NetworkException : SegqException
    {
        public NetworkException(string detail, Exception cause = null) : base("no_answer", detail, cause) { }
    }

    /// <summary>What was waited for did not come in time.</summary>
    public sealed class DeadlineException : SegqException
    {
        internal DeadlineException(string detail) : base("deadline", detail) { }
    }

    /// <summary>A webhook that nobody whom we know has signed, or that is too old.</summary>
    public sealed class SignatureException : SegqException
    {
        public override int Status { get { return 401; } }

        internal SignatureException(string detail) : base("signature_invalid", detail) { }
    }

    /// <summary>A pass that opens nothing; Code says why in one word.</summary>
    public class PassInvalidException : SegqException
    {
        public override int Status { get { return 401; } }

        internal PassInvalidException(string code, string detail) : base(code, detail) { }
    }

    /// <summary>A pass that was good once.</summary>
    public sealed class PassExpiredException : PassInvalidException
    {
        internal PassExpiredException(string detail) : base("expired", detail) { }
    }

    /// <summary>A pass from the future: one of the two clocks is wrong.</summary>
    public sealed class PassNotYetValidException : PassInvalidException
    {
        internal PassNotYetValidException(string detail) : base("not_yet_valid", detail) { }
    }

    /// <summary>A task that was waited for ended without success.</summary>
    public sealed class TaskFailedException : SegqException
    {
        /// <summary>Its state and history.</summary>
        public QueuedTask Task { get; }

        internal TaskFailedException(QueuedTask task) : base(task.State, Why(task))
        {
            Task = task;
        }

        private static string Why(QueuedTask task)
        {
            var history = Json.Items(Json.Get(task.Raw, "history"));
            var last = history.Count == 0 ? null : history[history.Count - 1];
            return Json.Text(Json.Get(last, "reason") ?? Json.Get(last, "end"));
        }
    }

    /// <summary>A refusal, as segq said it (Problem of proto/openapi.yaml).</summary>
    public abstract class ApiException : SegqException
    {
        private readonly int status;

        public override int Status { get { return status; } }

        /// <summary>All members of the answer.</summary>
        public IReadOnlyDictionary<string, object> Problem { get; }

        /// <summary>What Retry-After said; null: nothing.</summary>
        public TimeSpan? RetryAfter { get; }

        internal ApiException(Said s) : base(Json.Text(Json.Get(s.Problem, "code")), Why(s.Problem))
        {
            status = s.Status;
            Problem = s.Problem;
            RetryAfter = s.RetryAfter;
        }

        public override string Message { get { return status + " " + base.Message; } }

        internal sealed class Said
        {
            internal int Status;
            internal Dictionary<string, object> Problem;
            internal TimeSpan? RetryAfter;
        }

        private static string Why(Dictionary<string, object> p)
        {
            foreach (var n in new[] { "detail", "message", "title" })
                if (Json.Text(Json.Get(p, n)) != "")
                    return Json.Text(Json.Get(p, n));
            return "";
        }

        /// <summary>That of an answer with this status and this body.</summary>
        internal static ApiException Of(int status, Dictionary<string, object> problem, TimeSpan? retryAfter = null)
        {
            var s = new Said { Status = status, Problem = problem, RetryAfter = retryAfter };
            var code = Json.Text(Json.Get(problem, "code"));
            if (status == 410)
                return code == "task_gone" ? new TaskGoneException(s) : Gone(s);
            if (code == "ticket_unknown")
                return new TicketUnknownException(s);
            if (status >= 500)
                return code == "outcome_unknown" ? new OutcomeUnknownException(s) : new UnavailableException(s);
            switch (status)
            {
                case 401: return new UnauthorizedException(s);
                case 403: return new ForbiddenException(s);
                case 404: return new NotFoundException(s);
                case 409: return new ConflictException(s);
                case 428: return new ChallengeRequiredException(s);
                case 429: return new TooFastException(s);
                default: return new BadRequestException(s);
            }
        }

        private static ApiException Gone(Said s)
        {
            switch (Json.Text(Json.Get(s.Problem, "reason")))
            {
                case "expired": return new TicketExpiredException(s);
                case "left": return new TicketLeftException(s);
                case "no_show": return new TicketNoShowException(s);
                case "finished": return new TicketFinishedException(s);
                case "segment_lost": return new TicketLostException(s);
                default: return new TicketGoneException(s);
            }
        }
    }

    /// <summary>400, 405, 413, 414, 415, 422, 431: the request itself is wrong; asking again does not help.</summary>
    public sealed class BadRequestException : ApiException
    {
        internal BadRequestException(Said s) : base(s) { }
    }

    /// <summary>401: no token, or one that is not known.</summary>
    public sealed class UnauthorizedException : ApiException
    {
        internal UnauthorizedException(Said s) : base(s) { }
    }

    /// <summary>403: the token is not for this; the queue is closed; a claim is not good (Detail).</summary>
    public sealed class ForbiddenException : ApiException
    {
        internal ForbiddenException(Said s) : base(s) { }
    }

    /// <summary>404: no such queue, task, schedule, endpoint (Code).</summary>
    public sealed class NotFoundException : ApiException
    {
        internal NotFoundException(Said s) : base(s) { }
    }

    /// <summary>409: another lease, another state, a unique key that is taken.</summary>
    public sealed class ConflictException : ApiException
    {
        internal ConflictException(Said s) : base(s) { }
    }

    /// <summary>428: the join costs some work; Line does it. Where the site's own check is asked for ("verify") it is
    /// for who joins (docs/challenge.md).</summary>
    public sealed class ChallengeRequiredException : ApiException
    {
        internal ChallengeRequiredException(Said s) : base(s) { }
    }

    /// <summary>429: too many requests, or (wait_too_long) a line that is too long.</summary>
    public sealed class TooFastException : ApiException
    {
        internal TooFastException(Said s) : base(s) { }
    }

    /// <summary>503 and 5xx: try again after RetryAfter. Nothing was done.</summary>
    public class UnavailableException : ApiException
    {
        internal UnavailableException(Said s) : base(s) { }
    }

    /// <summary>503 outcome_unknown: it may have been done.</summary>
    public sealed class OutcomeUnknownException : UnavailableException
    {
        internal OutcomeUnknownException(Said s) : base(s) { }
    }

    /// <summary>410 task_gone: the task is kept no longer.</summary>
    public sealed class TaskGoneException : ApiException
    {
        internal TaskGoneException(Said s) : base(s) { }
    }

    /// <summary>410 ticket_gone: the place is gone; a subclass says why.</summary>
    public class TicketGoneException : ApiException
    {
        internal TicketGoneException(Said s) : base(s) { }

        /// <summary>As the router said it.</summary>
        public string Reason { get { return Json.Get(Problem, "reason") as string ?? "unknown"; } }
    }

    /// <summary>Nobody asked about the ticket for too long.</summary>
    public sealed class TicketExpiredException : TicketGoneException
    {
        internal TicketExpiredException(Said s) : base(s) { }
    }

    /// <summary>Its owner has left the line.</summary>
    public sealed class TicketLeftException : TicketGoneException
    {
        internal TicketLeftException(Said s) : base(s) { }
    }

    /// <summary>Its turn came, and nobody collected the pass.</summary>
    public sealed class TicketNoShowException : TicketGoneException
    {
        internal TicketNoShowException(Said s) : base(s) { }
    }

    /// <summary>Its session is over.</summary>
    public sealed class TicketFinishedException : TicketGoneException
    {
        internal TicketFinishedException(Said s) : base(s) { }
    }

    /// <summary>Its segment was lost: join again.</summary>
    public sealed class TicketLostException : TicketGoneException
    {
        internal TicketLostException(Said s) : base(s) { }
    }

    /// <summary>404 ticket_unknown: a token that no router knows: malformed, or of another cluster.</summary>
    public sealed class TicketUnknownException : TicketGoneException
    {
        internal TicketUnknownException(Said s) : base(s) { }
    }
}

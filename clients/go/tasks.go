package segq

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	batch      = 1000
	batchBytes = 512 << 10        // of a request, about
	longPoll   = 20 * time.Second // of one question that waits
)

// Retry is a task's own back-off between attempts.
type Retry struct {
	Min       time.Duration `json:"min"`
	Max       time.Duration `json:"max"`
	Doublings *int          `json:"doublings"`
	Jitter    *int          `json:"jitter"` // percent
}

// MarshalJSON writes times in seconds.
func (r Retry) MarshalJSON() ([]byte, error) {
	return encode(struct {
		Min       span `json:"min,omitempty"`
		Max       span `json:"max,omitempty"`
		Doublings *int `json:"doublings,omitempty"`
		Jitter    *int `json:"jitter,omitempty"`
	}{span(r.Min), span(r.Max), r.Doublings, r.Jitter})
}

// UnmarshalJSON reads them.
func (r *Retry) UnmarshalJSON(b []byte) error {
	var said struct {
		Min, Max          span
		Doublings, Jitter *int
	}
	err := json.Unmarshal(b, &said)
	*r = Retry{time.Duration(said.Min), time.Duration(said.Max), said.Doublings, said.Jitter}
	return err
}

// span is a time as segq reads and writes it: seconds.
type span time.Duration

func (s span) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, time.Duration(s).Seconds(), 'f', -1, 64), nil
}

func (s *span) UnmarshalJSON(b []byte) error {
	var f float64
	err := json.Unmarshal(b, &f)
	*s = span(f * 1e9)
	return err
}

func spanOf(d *time.Duration) *span { return (*span)(d) }

// Unique is a key that one task of the queue has at a time, whatever the payload.
type Unique struct {
	Key        string `json:"key"`
	While      string `json:"while,omitempty"`       // waiting, running (the default), final
	OnConflict string `json:"on_conflict,omitempty"` // return (the default), replace, reject
}

// Then is the next task of a chain: {"$result": "/pointer"} in its payload is that value of this one's
// result.
type Then struct {
	Queue string
	Submission
}

// MarshalJSON writes both into one object.
func (t Then) MarshalJSON() ([]byte, error) {
	task, err := t.Submission.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return withMember(task, "queue", t.Queue)
}

// withMember is an object with one more member, at its beginning.
func withMember(object []byte, name string, value any) ([]byte, error) {
	v, err := encode(value)
	if err != nil {
		return nil, err
	}
	out := append([]byte(`{"`+name+`":`), v...)
	if rest := bytes.TrimLeft(object[1:], " \t\r\n"); rest[0] != '}' {
		out = append(out, ',')
	}
	return append(out, object[1:]...), nil
}

// Submission is a task, before it is one. What is zero is not told. Path and what follows it: of a
// queue that has an endpoint, in place of Payload.
type Submission struct {
	Payload        any               `json:"payload,omitempty"` // what encoding/json writes; json.RawMessage: as it stands
	Name           string            `json:"name,omitempty"`    // your own: one task of that name at a time
	Key            string            `json:"key,omitempty"`     // limits and fair shares go by it
	Delay          time.Duration     `json:"delay,omitempty"`
	At             Unix              `json:"at,omitempty"`
	Priority       *int              `json:"priority,omitempty"`
	Order          *int64            `json:"order,omitempty"`
	Cost           int64             `json:"cost,omitempty"`
	TTL            time.Duration     `json:"ttl,omitempty"` // longest wait
	Unique         *Unique           `json:"unique,omitempty"`
	Labels         []string          `json:"labels,omitempty"`
	MaxAttempts    int               `json:"max_attempts,omitempty"`
	Retry          *Retry            `json:"retry,omitempty"`
	Result         string            `json:"result,omitempty"` // keep (the default), drop
	Group          string            `json:"group,omitempty"`
	Then           *Then             `json:"then,omitempty"`
	Claim          string            `json:"claim,omitempty"`           // in place of the token: SignClaim
	IdempotencyKey string            `json:"idempotency_key,omitempty"` // absent: one is made, unless there is a name
	Path           string            `json:"path,omitempty"`
	Method         string            `json:"method,omitempty"`
	Headers        map[string]string `json:"headers,omitempty"`
	Body           string            `json:"body,omitempty"`
	BodyJSON       any               `json:"body_json,omitempty"`
	BodyBase64     string            `json:"body_base64,omitempty"`
	PayloadBase64  []byte            `json:"payload_base64,omitempty"` // in place of Payload: what is no JSON
	ContentType    string            `json:"content_type,omitempty"`   // its type
}

// Ptr is a pointer to a value, for what may be zero: Priority: segq.Ptr(0).
func Ptr[T any](v T) *T { return &v }

// MarshalJSON writes it as segq reads it.
func (s Submission) MarshalJSON() ([]byte, error) {
	type plain Submission // without this method
	out := struct {
		Payload any `json:"payload,omitempty"`
		plain
		Delay span `json:"delay,omitempty"`
		TTL   span `json:"ttl,omitempty"`
	}{s.Payload, plain(s), span(s.Delay), span(s.TTL)}
	if s.Payload == nil && s.Path == "" && s.PayloadBase64 == nil {
		out.Payload = json.RawMessage("null")
	}
	return encode(out)
}

// Task is one, as last heard.
type Task struct {
	Token           string          `json:"task"`
	Queue           string          `json:"queue"`
	State           string          `json:"state"` // scheduled, waiting, running, retrying; the final ones: Over
	Key             string          `json:"key"`
	Priority        int             `json:"priority"`
	Order           int64           `json:"order"`
	Position        int64           `json:"position"` // place among all waiting tasks of the queue
	Waiting         int64           `json:"waiting"`
	WaitingCapped   bool            `json:"waiting_capped"`
	AheadOfKey      int64           `json:"ahead_of_key"`
	LimitedBy       string          `json:"limited_by"`
	LimitedUntil    Unix            `json:"limited_until"`
	EtaS            *int64          `json:"eta_s"` // until the start; nil: not known
	EtaReason       string          `json:"eta_reason"`
	Attempts        int             `json:"attempts"`
	Progress        *TaskProgress   `json:"progress"` // what its worker has said of this attempt last
	TTL             float64         `json:"ttl"`      // seconds
	MaxAttempts     int             `json:"max_attempts"`
	Cost            int64           `json:"cost"`
	CostUsed        int64           `json:"cost_used"`
	Retry           *Retry          `json:"retry"`
	Labels          []string        `json:"labels"`
	After           string          `json:"after"`
	Then            *TaskNext       `json:"then"`
	Stopping        bool            `json:"stopping"`
	MaybeExecuted   json.RawMessage `json:"maybe_executed"`
	EnteredAt       Unix            `json:"entered_at"`
	StartedAt       Unix            `json:"started_at"`
	EndedAt         Unix            `json:"ended_at"`
	History         []Attempt       `json:"history"`
	EarlierAttempts int             `json:"earlier_attempts"`
	DueAt           Unix            `json:"due_at"`
	RetryAt         Unix            `json:"retry_at"`
	LeaseExpiresAt  Unix            `json:"lease_expires_at"`
	ExpiresAt       Unix            `json:"expires_at"`
	Kind            string          `json:"kind"` // callback: a call to an endpoint
	Endpoint        string          `json:"endpoint"`
	Status          int             `json:"status"` // of the target's answer, which is the result
	ContentType     string          `json:"content_type"`
	Result          json.RawMessage `json:"result"` // absent if it is long, or no JSON: client.Result
	ResultLength    int64           `json:"result_length"`
	ResultSHA256    string          `json:"result_sha256"`
	ResultTruncated bool            `json:"result_truncated"`
	PollAfterMS     int64           `json:"poll_after_ms"`

	Raw json.RawMessage `json:"-"` // all that was said
}

// TaskProgress is how far a task that runs is.
type TaskProgress struct {
	At      Unix            `json:"at"`
	Percent *int            `json:"percent"`
	Text    string          `json:"text"`
	Data    json.RawMessage `json:"data"`
}

// TaskNext is the next task of a chain, as its first one tells it.
type TaskNext struct {
	State string          `json:"state"` // waiting, sent, submitted, failed, ended
	Task  string          `json:"task"`
	Why   json.RawMessage `json:"why"`
}

// Attempt is one that has ended.
type Attempt struct {
	End       string `json:"end"`
	Attempt   int    `json:"attempt"`
	StartedAt Unix   `json:"started_at"`
	EndedAt   Unix   `json:"ended_at"`
	MS        int64  `json:"ms"`
	Status    int    `json:"status"`
	Reason    string `json:"reason"` // of the worker
	RetryAt   Unix   `json:"retry_at"`
}

// Final are the states of a task that is over.
var Final = []string{"succeeded", "dead", "cancelled", "expired"}

// Over says whether it is.
func (t *Task) Over() bool {
	for _, s := range Final {
		if t.State == s {
			return true
		}
	}
	return false
}

// Decode reads the result.
func (t *Task) Decode(v any) error {
	if t.Result == nil {
		return errors.New("segq: the task has no result that is short, and JSON")
	}
	return json.Unmarshal(t.Result, v)
}

// UnmarshalJSON keeps what was said, too.
func (t *Task) UnmarshalJSON(b []byte) error {
	if err := t.read(b); err != nil {
		return err
	}
	if t.Token == "" {
		return errors.New("no task")
	}
	return nil
}

func (t *Task) read(b []byte) error {
	type plain Task
	t.Raw = append(json.RawMessage(nil), b...)
	return json.Unmarshal(b, (*plain)(t))
}

// Outcome is what became of one row of a batch. Status 0: no answer; it may be there.
type Outcome struct {
	Status int
	Task   string
	Err    error // nil: it is there
}

// ---- the trace ----

type traceKey struct{}

// WithTrace has what is submitted and called with this context hand on a trace (W3C, traceparent).
// Handlers of a worker get the context of their task's.
func WithTrace(ctx context.Context, traceparent string) context.Context {
	return context.WithValue(ctx, traceKey{}, traceparent)
}

// Trace is that of WithTrace, or "".
func Trace(ctx context.Context) string {
	s, _ := ctx.Value(traceKey{}).(string)
	return s
}

// row writes a submission, with the trace: in headers of a call, in a payload that is an object.
func (c *Client) row(ctx context.Context, s Submission) ([]byte, error) {
	trace := Trace(ctx)
	if trace != "" && s.Path != "" {
		headers := map[string]string{"traceparent": trace}
		for k, v := range s.Headers {
			if strings.EqualFold(k, "traceparent") {
				delete(headers, "traceparent")
			}
			headers[k] = v
		}
		s.Headers = headers
	} else if trace != "" && s.Payload != nil {
		raw, err := encode(s.Payload)
		if err != nil {
			return nil, err
		}
		var has map[string]json.RawMessage
		if json.Unmarshal(raw, &has) == nil && has != nil && has["traceparent"] == nil {
			if raw, err = withMember(bytes.TrimSpace(raw), "traceparent", trace); err != nil {
				return nil, err
			}
		}
		s.Payload = json.RawMessage(raw)
	}
	return encode(s)
}

// ---- submit ----

// Submit makes one task. A submission without a name or a claim gets an Idempotency-Key, so one whose
// answer was lost is repeated and still is one task; what you repeat after an error needs a key of
// yours.
func (c *Client) Submit(ctx context.Context, queue string, s Submission) (*Task, error) {
	return c.submit(ctx, queue, s, 0)
}

// SubmitAndWait makes one, and its answer comes with the result if it is there within `wait`.
func (c *Client) SubmitAndWait(ctx context.Context, queue string, s Submission, wait time.Duration) (*Task, error) {
	return c.submit(ctx, queue, s, wait)
}

func (c *Client) submit(ctx context.Context, queue string, s Submission, wait time.Duration) (*Task, error) {
	if err := c.init(); err != nil {
		return nil, err
	}
	q := &ask{method: "POST", path: "/v1/queues/" + esc(queue) + "/tasks", header: http.Header{}}
	if s.IdempotencyKey == "" && s.Name == "" && s.Claim == "" {
		s.IdempotencyKey = key()
	}
	if s.IdempotencyKey != "" {
		q.header.Set("Idempotency-Key", s.IdempotencyKey)
		s.IdempotencyKey = ""
	}
	if wait > 0 {
		q.header.Set("Prefer", prefer(wait))
		q.timeout = c.Timeout + wait
	}
	var err error
	if q.body, err = c.row(ctx, s); err != nil {
		return nil, err
	}
	return get[Task](ctx, c, q)
}

func prefer(wait time.Duration) string { return fmt.Sprintf("wait=%d", int(wait.Seconds())) }

// SubmitMany makes many, a thousand in a request; their outcomes come in that order. Rows that were put
// off are asked again as long as RetryFor says. err: nothing was submitted.
func (c *Client) SubmitMany(ctx context.Context, queue string, rows []Submission) ([]Outcome, error) {
	if err := c.init(); err != nil {
		return nil, err
	}
	bodies := make([]json.RawMessage, len(rows))
	for i, s := range rows {
		if s.IdempotencyKey == "" && s.Name == "" {
			s.IdempotencyKey = key()
		}
		var err error
		if bodies[i], err = c.row(ctx, s); err != nil {
			return nil, fmt.Errorf("row %d: %w", i, err)
		}
	}
	path, out := "/v1/queues/"+esc(queue)+"/tasks/batch", make([]Outcome, 0, len(rows))
	for len(out) < len(rows) {
		end, size := len(out), 0
		for ; end < len(rows) && end-len(out) < batch && (size == 0 || size+len(bodies[end]) <= batchBytes); end++ {
			size += len(bodies[end])
		}
		some, err := c.rows(ctx, path, bodies[len(out):end])
		var refused *APIError
		switch {
		case err == nil:
			out = append(out, some...)
		case errors.As(err, &refused) && refused.Status == 413 && end == len(out)+1: // this one alone is too large
			out = append(out, Outcome{Status: 413, Err: err})
		case len(out) == 0:
			return nil, err
		default: // those before it are there
			o := Outcome{Err: err}
			if refused != nil {
				o.Status = refused.Status
			}
			for len(out) < len(rows) {
				out = append(out, o)
			}
		}
	}
	return out, nil
}

// rowSaid is one outcome of a batch.
type rowSaid struct {
	Status      int     `json:"status"`
	Task        string  `json:"task"`
	Code        string  `json:"code"`
	Detail      string  `json:"detail"`
	RetryAfterS float64 `json:"retry_after_s"`
}

func (r *rowSaid) err() error {
	if r.Status < 400 {
		return nil
	}
	return &APIError{Problem: Problem{Status: r.Status, Code: r.Code, Detail: r.Detail},
		RetryAfter: time.Duration(math.Min(r.RetryAfterS, 86400) * 1e9)}
}

// outcomes asks with n rows, and has an outcome for each.
func (c *Client) outcomes(ctx context.Context, q *ask, n int) ([]rowSaid, error) {
	var said []rowSaid
	if err := c.call(ctx, q, &said); err != nil {
		return nil, err
	}
	if len(said) != n {
		return nil, &NetworkError{c.first(), fmt.Errorf("%d outcomes of %d rows", len(said), n)}
	}
	return said, nil
}

func (c *Client) rows(ctx context.Context, path string, bodies []json.RawMessage) ([]Outcome, error) {
	out, todo := make([]Outcome, len(bodies)), make([]int, len(bodies))
	for i := range todo {
		todo[i] = i
	}
	began, b := time.Now(), backoff{from: time.Second}
	for {
		some := make([][]byte, len(todo))
		for i, n := range todo {
			some[i] = bodies[n]
		}
		list := append(append([]byte{'['}, bytes.Join(some, []byte{','})...), ']')
		said, err := c.outcomes(ctx, &ask{method: "POST", path: path, body: list}, len(todo))
		if err != nil && len(todo) == len(bodies) {
			return nil, err
		} else if err != nil {
			return out, nil // what was put off stays so
		}
		var again []int
		var late error
		for i, r := range said {
			out[todo[i]] = Outcome{r.Status, r.Task, r.err()}
			if r.Status >= 500 {
				again, late = append(again, todo[i]), r.err()
			}
		}
		pause := b.next(late)
		if len(again) == 0 || time.Since(began)+pause > c.RetryFor {
			return out, nil
		}
		if sleep(ctx, pause) != nil {
			return out, nil
		}
		todo = again
	}
}

// ---- look ----

func task(token string) string { return "/v1/tasks/" + esc(token) }

func named(queue, name string) string { return "/v1/queues/" + esc(queue) + "/tasks/" + esc(name) }

func (c *Client) task(ctx context.Context, method, path string) (*Task, error) {
	return get[Task](ctx, c, &ask{method: method, path: path})
}

// Look asks how a task is.
func (c *Client) Look(ctx context.Context, token string) (*Task, error) {
	return c.task(ctx, "GET", task(token))
}

// LookByName asks for the task of a name.
func (c *Client) LookByName(ctx context.Context, queue, name string) (*Task, error) {
	return c.task(ctx, "GET", named(queue, name))
}

// TaskCount says how many wait.
type TaskCount struct {
	Queue         string `json:"queue"`
	Waiting       int64  `json:"waiting"`
	WaitingCapped bool   `json:"waiting_capped"`
	EtaS          *int64 `json:"eta_s"` // how long one that is submitted now would wait
	EtaReason     string `json:"eta_reason"`
}

// Count asks how many wait.
func (c *Client) Count(ctx context.Context, queue string) (*TaskCount, error) {
	return get[TaskCount](ctx, c, &ask{method: "GET", path: "/v1/queues/" + esc(queue) + "/tasks"})
}

// Wait returns when the task has succeeded. TaskError: it ended without success; the context bounds how
// long.
func (c *Client) Wait(ctx context.Context, token string) (*Task, error) {
	if err := c.init(); err != nil {
		return nil, err
	}
	for {
		wait, asked := longPoll, time.Now()
		if end, ok := ctx.Deadline(); ok && time.Until(end) < wait {
			wait = time.Until(end).Truncate(time.Second)
		}
		t, err := get[Task](ctx, c, &ask{method: "GET", path: task(token), timeout: c.Timeout + longPoll,
			retryFor: forever, header: http.Header{"Prefer": {prefer(wait)}}})
		switch {
		case err != nil:
			return nil, err
		case t.State == "succeeded":
			return t, nil
		case t.Over():
			return t, &TaskError{t}
		}
		if time.Since(asked) < 500*time.Millisecond { // a router that stops does not wait
			if err := sleep(ctx, 500*time.Millisecond); err != nil {
				return nil, err
			}
		}
	}
}

// Watch tells news of what becomes of a task as it comes: state, place, progress; it returns when the
// task is over, whatever its end. A stream that breaks off is asked for again; where a router has no
// room for one, the task is looked at.
func (c *Client) Watch(ctx context.Context, token string, news func(*Task)) (*Task, error) {
	q := &ask{method: "GET", path: task(token) + "/events", header: http.Header{"Accept": {"text/event-stream"}}}
	for {
		var s *Stream
		err := c.until(ctx, forever, func(router string) (err error) {
			if s, err = c.stream(ctx, router, q, c.Timeout); err != nil || s.Status == 200 {
				return err
			}
			a, err := s.whole()
			if s = nil; err == nil {
				_, err = judge(router, a)
			}
			return err
		}, nil)
		if err != nil {
			return nil, err
		}
		pause := time.Second
		if s == nil { // no room
			t, err := c.Look(ctx, token)
			if err != nil {
				return nil, err
			}
			if news(t); t.Over() {
				return t, nil
			}
			pause = longer(pause, time.Duration(t.PollAfterMS)*time.Millisecond)
		} else if t, err := s.watch(token, news); err != nil && !offline(err) {
			return nil, err
		} else if t != nil {
			return t, nil
		} else if err != nil { // its router may be dead: another one knows
			c.rotate(s.router)
		}
		if err := sleep(ctx, pause+jitter(pause/2)); err != nil {
			return nil, err
		}
	}
}

// watch reads the events of a task; nil: it is not over, and there is something to come back for.
func (s *Stream) watch(token string, news func(*Task)) (*Task, error) {
	defer s.Close()
	s.patience = quiet
	for {
		e, err := s.Next()
		if err == io.EOF {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		switch e.Name {
		case "gone":
			return nil, refusal(410, []byte(e.Data), "")
		case "message", "end":
			t := &Task{}
			if err := t.read([]byte(e.Data)); err != nil || t.State == "" {
				return nil, &NetworkError{s.router, fmt.Errorf("an event that cannot be read: %.60s", e.Data)}
			}
			t.Token = token
			if news(t); e.Name == "end" {
				return t, nil
			}
		}
	}
}

// Result is the result of a task, byte for byte, with the status and headers of a target's answer.
type Result struct {
	Status int
	Header http.Header
	Body   []byte
}

// Result fetches it; ErrNotOver: there is none yet. ack: and deletes it.
func (c *Client) Result(ctx context.Context, token string, ack bool) (*Result, error) {
	path := task(token) + "/result"
	if ack {
		path += "?ack=1"
	}
	var out *Result
	err := c.until(ctx, c.RetryFor, func(router string) error {
		a, err := c.try(ctx, router, &ask{method: "GET", path: path})
		if err != nil {
			return err
		}
		if a.header.Get("Segq-Status") == "" || a.status >= 400 {
			if _, err = judge(router, a); err != nil {
				return err
			}
		}
		out = &Result{a.status, a.header, a.body}
		return nil
	}, nil)
	if err == nil && out.Status == 202 && out.Header.Get("Segq-Status") == "" {
		return nil, ErrNotOver
	}
	return out, err
}

// ---- change ----

func forced(path string, force bool) string {
	if force {
		return path + "?force=1"
	}
	return path
}

// Cancel ends a task: after the answer no attempt begins. force: the one that runs is over, too.
func (c *Client) Cancel(ctx context.Context, token string, force bool) (*Task, error) {
	return c.task(ctx, "DELETE", forced(task(token), force))
}

// CancelByName ends the task of a name.
func (c *Client) CancelByName(ctx context.Context, queue, name string, force bool) (*Task, error) {
	return c.task(ctx, "DELETE", forced(named(queue, name), force))
}

// Patch changes a task that has not begun; labels also of one that runs. nil: stays as it is.
type Patch struct {
	Order    *int64         `json:"order,omitempty"`
	Delay    *time.Duration `json:"delay,omitempty"`
	At       *Unix          `json:"at,omitempty"`
	Priority *int           `json:"priority,omitempty"`
	Labels   *[]string      `json:"labels,omitempty"`
}

// MarshalJSON writes times in seconds.
func (p Patch) MarshalJSON() ([]byte, error) {
	type plain Patch
	return encode(struct {
		plain
		Delay *span `json:"delay,omitempty"`
	}{plain(p), spanOf(p.Delay)})
}

// Change makes one of a task.
func (c *Client) Change(ctx context.Context, token string, p Patch) (*Task, error) {
	return put[Task](ctx, c, "PATCH", task(token), p)
}

// ---- groups ----

// TaskGroup has the tasks of a group, counted by their states.
type TaskGroup struct {
	Queue      string           `json:"queue"`
	Group      string           `json:"group"`
	Sealed     bool             `json:"sealed"`
	Over       bool             `json:"over"` // sealed, and each of its tasks is over
	Cancelling bool             `json:"cancelling"`
	Tasks      int64            `json:"tasks"`
	States     map[string]int64 `json:"states"`
}

func (c *Client) group(ctx context.Context, method, queue, name, then string) (*TaskGroup, error) {
	return get[TaskGroup](ctx, c, &ask{method: method, path: "/v1/groups/" + esc(queue) + "/" + esc(name) + then})
}

// Group counts its tasks.
func (c *Client) Group(ctx context.Context, queue, name string) (*TaskGroup, error) {
	return c.group(ctx, "GET", queue, name, "")
}

// SealGroup lets no more tasks in; when all are over, the group is.
func (c *Client) SealGroup(ctx context.Context, queue, name string) (*TaskGroup, error) {
	return c.group(ctx, "POST", queue, name, "/seal")
}

// CancelGroup seals it, and cancels what is left of it.
func (c *Client) CancelGroup(ctx context.Context, queue, name string) (*TaskGroup, error) {
	return c.group(ctx, "POST", queue, name, "/cancel")
}

// ---- schedules ----

// Schedule makes a task by Cron in a zone, or Every so often.
type Schedule struct {
	Cron       string        `json:"cron,omitempty"`
	Zone       string        `json:"zone,omitempty"` // UTC
	Every      time.Duration `json:"every,omitempty"`
	Jitter     time.Duration `json:"jitter,omitempty"`
	Overlap    string        `json:"overlap,omitempty"`  // allow (the default), skip, cancel_old
	CatchUp    string        `json:"catch_up,omitempty"` // none (the default), last, all
	CatchUpMax int           `json:"catch_up_max,omitempty"`
	From       Unix          `json:"from,omitempty"`
	Until      Unix          `json:"until,omitempty"`
	Paused     bool          `json:"paused,omitempty"`
	Task       Submission    `json:"task"`
}

// MarshalJSON writes times in seconds.
func (s Schedule) MarshalJSON() ([]byte, error) {
	type plain Schedule
	return encode(struct {
		plain
		Every  span `json:"every,omitempty"`
		Jitter span `json:"jitter,omitempty"`
	}{plain(s), span(s.Every), span(s.Jitter)})
}

// ScheduleState is a schedule, and how it goes.
type ScheduleState struct {
	Schedule string  `json:"schedule"`
	Next     []int64 `json:"next"` // ticks to come, Unix seconds
	Last     *struct {
		Tick    int64  `json:"tick"`
		Outcome string `json:"outcome"` // fired, skipped, missed, refused
	} `json:"last"`
	Task *struct {
		Tick  int64  `json:"tick"`
		Task  string `json:"task"`
		State string `json:"state"`
	} `json:"task"`
	Why        string          `json:"why"` // it stands still
	Definition json.RawMessage `json:"definition"`
}

func schedule(queue, name string) string { return "/v1/schedules/" + esc(queue) + "/" + esc(name) }

// PutSchedule creates or changes one.
func (c *Client) PutSchedule(ctx context.Context, queue, name string, s Schedule) (*ScheduleState, error) {
	return put[ScheduleState](ctx, c, "PUT", schedule(queue, name), s)
}

// GetSchedule asks how one is.
func (c *Client) GetSchedule(ctx context.Context, queue, name string) (*ScheduleState, error) {
	return get[ScheduleState](ctx, c, &ask{method: "GET", path: schedule(queue, name)})
}

// Schedules lists those of a queue.
func (c *Client) Schedules(ctx context.Context, queue string) ([]ScheduleState, error) {
	var out struct{ Schedules []ScheduleState }
	err := c.call(ctx, &ask{method: "GET", path: schedule(queue, "")}, &out)
	return out.Schedules, err
}

// RunSchedule makes its task now. key: yours, if you repeat it; "": one is made.
func (c *Client) RunSchedule(ctx context.Context, queue, name, idempotencyKey string) (*Task, error) {
	if idempotencyKey == "" {
		idempotencyKey = key()
	}
	return get[Task](ctx, c, &ask{method: "POST", path: schedule(queue, name) + "/run",
		header: http.Header{"Idempotency-Key": {idempotencyKey}}})
}

// DeleteSchedule ends it; tasks that it made stay.
func (c *Client) DeleteSchedule(ctx context.Context, queue, name string) error {
	return c.call(ctx, &ask{method: "DELETE", path: schedule(queue, name)}, nil)
}

// ---- as a target that answered `segq-command: pending` ----

// Completion says how a call ended that its target has taken over.
type Completion struct {
	Outcome    string        `json:"outcome"` // succeeded, failed (tried again), dead
	Status     int           `json:"status,omitempty"`
	Result     any           `json:"result,omitempty"`
	Body       string        `json:"body,omitempty"`
	BodyBase64 string        `json:"body_base64,omitempty"`
	Reason     string        `json:"reason,omitempty"`
	Delay      time.Duration `json:"delay,omitempty"`
}

// MarshalJSON writes times in seconds.
func (s Completion) MarshalJSON() ([]byte, error) {
	type plain Completion
	return encode(struct {
		plain
		Delay span `json:"delay,omitempty"`
	}{plain(s), span(s.Delay)})
}

// right is that of a segq-complete-url; who asks are this client's routers.
func right(completeURL string) string {
	parts := strings.SplitN(completeURL, "/v1/tasks/", 2)
	r, _, _ := strings.Cut(parts[len(parts)-1], "/")
	if plain, err := url.PathUnescape(r); err == nil {
		r = plain
	}
	return task(r)
}

// Complete says it. completeURL: the call's header segq-complete-url.
func (c *Client) Complete(ctx context.Context, completeURL string, s Completion) error {
	_, err := put[struct{}](ctx, c, "POST", right(completeURL)+"/complete", s)
	return err
}

// Keep gives such a call more time.
func (c *Client) Keep(ctx context.Context, completeURL string, lease time.Duration) error {
	_, err := put[struct{}](ctx, c, "POST", right(completeURL)+"/extend", map[string]span{"lease": span(lease)})
	return err
}

// Bytes is a body for BodyBase64.
func Bytes(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

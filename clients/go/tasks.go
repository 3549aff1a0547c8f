package segq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

const longPoll = 20 * time.Second // of one question that waits

// Task is one, as last heard.
type Task struct {
	Token           string          `json:"task"`
	Queue           string          `json:"queue"`
	State           string          `json:"state"` // scheduled, waiting, running, retrying; the final ones: Over
	Key             string          `json:"key"`
	Priority        int             `json:"priority"`
	Order           int64           `json:"order"`
	Position        int64           `json:"position"` // place among all waiting tasks of the queue
	PositionCapped  bool            `json:"position_capped"`
	Waiting         int64           `json:"waiting"`
	WaitingCapped   bool            `json:"waiting_capped"`
	AheadOfKey      int64           `json:"ahead_of_key"`
	AheadOfPriority *int64          `json:"ahead_of_priority"` // of its priority or above, of all keys, that entered before it
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
	OfferTo         []string        `json:"offer_to"` // further queues in which it stands
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
	b := again{backoff: backoff{from: time.Second}}
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
		if s == nil { // no room
			t, err := c.Look(ctx, token)
			if err != nil {
				return nil, err
			}
			if news(t); t.Over() {
				return t, nil
			}
			b.told = longer(time.Second, time.Duration(t.PollAfterMS)*time.Millisecond)
		} else if t, err := s.watch(token, &b, news); err != nil && !offline(err) {
			return nil, err
		} else if t != nil {
			return t, nil
		} else if err != nil { // its router may be dead: another one knows
			c.rotate(s.router)
		}
		if err := sleep(ctx, b.pause()); err != nil {
			return nil, err
		}
	}
}

// watch reads the events of a task; nil: it is not over, and there is something to come back for.
func (s *Stream) watch(token string, b *again, news func(*Task)) (*Task, error) {
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
		b.heard(e)
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

// again is when a stream is asked for again: as its router says, else later and later while nothing comes.
type again struct {
	backoff
	told time.Duration
}

func (b *again) heard(e *StreamEvent) {
	var said struct {
		PollAfterMS int64 `json:"poll_after_ms"`
	}
	b.fails = 0
	if e.Name == "away" && json.Unmarshal([]byte(e.Data), &said) == nil && said.PollAfterMS < 864e5 {
		b.told = time.Duration(said.PollAfterMS) * time.Millisecond
	}
}

func (b *again) pause() time.Duration {
	d := b.told
	if b.told = 0; d <= 0 {
		return b.next(nil)
	}
	return d + jitter(d/2)
}

// TaskEvent is a start or an end in a queue. Gap: some before it are not known any more; it has no task.
type TaskEvent struct {
	ID       string `json:"id"`
	Gap      bool   `json:"gap"`
	Task     string `json:"task"`
	State    string `json:"state"` // running, or how it ended
	Attempts int    `json:"attempts"`
	At       Unix   `json:"at"`
}

// WatchQueue tells news of the starts and ends of a queue's tasks as they come, until ctx ends or the
// token may not look any more. A stream that breaks off is asked for again behind the last one; after:
// the ID of one that was heard before, or "".
func (c *Client) WatchQueue(ctx context.Context, queue, after string, news func(*TaskEvent)) error {
	if !isEventID(after) {
		return fmt.Errorf("segq: after: the ID of an event, not %q", after)
	}
	q := &ask{method: "GET", path: "/v1/queues/" + esc(queue) + "/tasks/events"}
	b := again{backoff: backoff{from: time.Second}}
	for {
		q.header = http.Header{"Accept": {"text/event-stream"}}
		if after != "" {
			q.header.Set("Last-Event-ID", after)
		}
		var s *Stream
		err := c.until(ctx, forever, func(router string) (err error) {
			if s, err = c.stream(ctx, router, q, c.Timeout); err != nil || s.Status == 200 || s.Status == 204 {
				return err
			}
			a, err := s.whole()
			if s = nil; err == nil {
				_, err = judge(router, a)
			}
			return err
		}, nil)
		if err != nil {
			return err
		}
		if s.Status == 204 { // no room
			s.Close()
			b.told = seconds(s.Header.Get("Retry-After"))
		} else if err := s.feed(&after, &b, news); offline(err) { // its router may be dead: another one knows
			c.rotate(s.router)
		} else if err != nil {
			return err
		}
		if err := sleep(ctx, b.pause()); err != nil {
			return err
		}
	}
}

// feed reads the events of a queue; nil: there is something to come back for.
func (s *Stream) feed(last *string, b *again, news func(*TaskEvent)) error {
	defer s.Close()
	s.patience = quiet
	for {
		e, err := s.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		b.heard(e)
		x := &TaskEvent{}
		switch e.Name {
		case "gone":
			return feedEnd(e.Data)
		case "message":
			if json.Unmarshal([]byte(e.Data), x) != nil || x.Task == "" {
				return &NetworkError{s.router, fmt.Errorf("an event that cannot be read: %.60s", e.Data)}
			}
		}
		if e.ID != "" {
			*last = e.ID
		}
		if x.ID, x.Gap = *last, e.Name == "gap"; x.Gap || x.Task != "" {
			news(x)
		}
	}
}

// feedEnd reads why a stream has ended for good.
func feedEnd(data string) error {
	var said struct {
		Status int `json:"status"`
	}
	json.Unmarshal([]byte(data), &said)
	return refusal(said.Status, []byte(data), "")
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

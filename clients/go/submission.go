package segq

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	batch      = 1000
	batchBytes = 512 << 10 // of a request, about
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
	OfferTo        []string          `json:"offer_to,omitempty"` // further queues, until it is taken from one of them
	Then           *Then             `json:"then,omitempty"`
	Claim          string            `json:"claim,omitempty"`           // in place of the token: SignClaim
	IdempotencyKey string            `json:"idempotency_key,omitempty"` // absent: one is made, unless there is a name
	Path           string            `json:"path,omitempty"`
	Method         string            `json:"method,omitempty"`
	Headers        map[string]string `json:"headers,omitempty"`
	Body           string            `json:"body,omitempty"`
	BodyJSON       any               `json:"body_json,omitempty"`
	BodyBase64     []byte            `json:"body_base64,omitempty"`
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
		Bytes *[]byte `json:"payload_base64,omitempty"` // it may be empty
		Delay span    `json:"delay,omitempty"`
		TTL   span    `json:"ttl,omitempty"`
	}{s.Payload, plain(s), nil, span(s.Delay), span(s.TTL)}
	if s.PayloadBase64 != nil {
		out.Bytes = &s.PayloadBase64
	} else if s.Payload == nil && s.Path == "" {
		out.Payload = json.RawMessage("null")
	}
	return encode(out)
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

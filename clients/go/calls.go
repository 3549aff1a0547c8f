package segq

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// CallOptions of Call; all may be zero.
type CallOptions struct {
	Method   string // POST
	Header   http.Header
	Body     []byte
	Wait     time.Duration // in line, at most; 0: as the endpoint has it
	Cost     int64         // units of `rates`
	Silence  time.Duration // until it begins, and its longest pause: 10 minutes
	Progress func(Place)   // hears of the place in line while Next is read; the answer is a stream of events then
	Route    bool          // the name is that of a route: /v1/route
}

// Call sends a request through an endpoint (or a route), when its turn has come: its answer as it
// comes, whatever its status. segq's own refusals are errors. It is not repeated, but where segq says
// that nothing was done: give an Idempotency-Key, and repeat it yourself. Close the stream.
func (c *Client) Call(ctx context.Context, endpoint, path string, o CallOptions) (*Stream, error) {
	if err := c.init(); err != nil {
		return nil, err
	}
	q := &ask{method: o.Method, body: o.Body, header: o.Header.Clone(), path: "/v1/call/"}
	if o.Route {
		q.path = "/v1/route/"
	}
	q.path += esc(endpoint) + "/" + strings.TrimLeft(path, "/")
	if q.method == "" {
		q.method = "POST"
	}
	if q.header == nil {
		q.header = http.Header{}
	}
	if q.header.Get("Authorization") != "" && c.Token != "" {
		q.header.Set("Segq-Token", c.Token) // theirs is the target's
	}
	if t := Trace(ctx); t != "" && q.header.Get("Traceparent") == "" {
		q.header.Set("Traceparent", t)
	}
	if o.Wait > 0 {
		q.header.Set("Prefer", prefer(o.Wait))
	}
	if o.Cost > 0 {
		q.header.Set("Segq-Cost", strconv.FormatInt(o.Cost, 10))
	}
	if o.Progress != nil {
		q.header.Set("Segq-Progress", "events")
		if q.header.Get("Accept") == "" {
			q.header.Set("Accept", "text/event-stream")
		}
	}
	silence := o.Silence
	if silence == 0 {
		silence = 10 * time.Minute
	}
	began, b := time.Now(), backoff{from: time.Second}
	for {
		router := c.first()
		s, err := c.stream(ctx, router, q, silence)
		if err != nil {
			return nil, err
		}
		if s.Status < 400 || s.Header.Get("Segq-Status") != "" {
			s.progress = o.Progress
			return s, nil
		}
		a, err := s.whole()
		if err != nil {
			return nil, err
		}
		_, err = judge(router, a)
		var refused *APIError
		pause := b.next(err)
		if !errors.As(err, &refused) || refused.Code != "queue_unavailable" || time.Since(began)+pause > c.RetryFor {
			return nil, err
		}
		c.rotate(router)
		if err := sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// Follow reads the answer of a task's call as it comes: what there is, then the rest. It waits until
// there is something. One that breaks off may be asked for again. silence: its longest pause, 0: 10
// minutes. Close the stream.
func (c *Client) Follow(ctx context.Context, token string, silence time.Duration) (*Stream, error) {
	if err := c.init(); err != nil {
		return nil, err
	}
	if silence == 0 {
		silence = 10 * time.Minute
	}
	q := &ask{method: "GET", path: task(token) + "/result?follow=1&wait=" + strconv.Itoa(int(longPoll.Seconds()))}
	for {
		asked := time.Now()
		var s *Stream
		err := c.until(ctx, forever, func(router string) (err error) {
			if s, err = c.stream(ctx, router, q, c.Timeout+longPoll); err != nil {
				return err
			}
			if s.Status < 400 {
				return nil
			}
			a, err := s.whole()
			if err == nil {
				_, err = judge(router, a)
			}
			return err
		}, nil)
		if err != nil {
			return nil, err
		}
		if s.Status != 202 {
			s.patience = silence
			return s, nil
		}
		s.Close()
		if time.Since(asked) < 500*time.Millisecond { // a router that stops does not wait
			if err := sleep(ctx, 500*time.Millisecond); err != nil {
				return nil, err
			}
		}
	}
}

// Operator makes the few calls of operators that programs make: Routers are addresses of queuemng, Token
// is an admin's.
type Operator struct {
	Client
}

func (o *Operator) post(ctx context.Context, path string) error {
	return o.call(ctx, &ask{method: "POST", path: path}, nil)
}

// Redrive has a dead task wait again, with all of its attempts.
func (o *Operator) Redrive(ctx context.Context, token string) error {
	return o.post(ctx, "/v1/admin/tasks/"+esc(token)+"/redrive")
}

// RedriveAll has all dead tasks of a queue wait again, at most so many a second (0: at once).
func (o *Operator) RedriveAll(ctx context.Context, queue string, perSecond float64) error {
	path := "/v1/admin/task-queues/" + esc(queue) + "/tasks/redrive"
	if perSecond > 0 {
		path += "?rate_per_s=" + strconv.FormatFloat(perSecond, 'f', -1, 64)
	}
	return o.post(ctx, path)
}

// Discard deletes a task that is over, and its result.
func (o *Operator) Discard(ctx context.Context, token string) error {
	return o.post(ctx, "/v1/admin/tasks/"+esc(token)+"/discard")
}

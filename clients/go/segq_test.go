package segq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// fake is a router that says what it is told, and keeps what it was asked.
type fake struct {
	*httptest.Server
	mu    sync.Mutex
	asked []*asked
	say   http.HandlerFunc
}

type asked struct {
	*http.Request
	body string
}

func newFake(t *testing.T, say http.HandlerFunc) (*fake, *Client) {
	f := &fake{say: say}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		f.mu.Lock()
		f.asked = append(f.asked, &asked{r, string(body)})
		say := f.say
		f.mu.Unlock()
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		say(w, r)
	}))
	c := &Client{Routers: []string{f.URL}, Token: "s3cret", Timeout: 2 * time.Second, RetryFor: 5 * time.Second}
	t.Cleanup(func() {
		c.Close()
		f.CloseClientConnections()
		f.Close()
	})
	return f, c
}

func (f *fake) all() []*asked {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]*asked(nil), f.asked...)
}

func (f *fake) last() *asked {
	all := f.all()
	return all[len(all)-1]
}

func answers(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

func is(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Errorf("%s: %s, not %s", what, g, w)
	}
}

var ctx = context.Background()

func TestAnEventsIDThatIsNoneOfOursIsNotSentBack(t *testing.T) {
	for _, id := range []string{"\x01", strings.Repeat("1", 9000)} {
		n := 0
		f, c := newFake(t, func(w http.ResponseWriter, r *http.Request) {
			if n++; n > 1 {
				id = "6"
			}
			fmt.Fprintf(w, "id: %s\ndata: {\"task\":\"A\",\"state\":\"running\"}\n\n", id)
		})
		within, cancel := context.WithTimeout(ctx, 5*time.Second)
		var got []string
		c.WatchQueue(within, "q", "4", func(e *TaskEvent) {
			if got = append(got, e.ID); len(got) == 2 {
				cancel()
			}
		})
		cancel()
		is(t, "ids", got, []string{"4", "6"})
		if len(f.all()) < 2 {
			t.Fatal("it is not asked for again")
		}
		is(t, "sent", f.all()[1].Header.Get("Last-Event-ID"), "4")
	}
	_, c := newFake(t, answers(200, ""))
	if err := c.WatchQueue(ctx, "q", "a\nb", nil); err == nil || offline(err) {
		t.Errorf("an ID that cannot be sent: %v", err)
	}
}

func TestErrorsSayWhatTheyAre(t *testing.T) {
	all := []error{ErrBadRequest, ErrUnauthorized, ErrForbidden, ErrNotFound, ErrConflict, ErrChallenge, ErrTooFast, ErrUnavailable,
		ErrOutcomeUnknown, ErrTaskGone, ErrTicketGone, ErrTicketExpired, ErrTicketLeft, ErrTicketUnknown}
	for _, c := range []struct {
		status       int
		code, reason string
		are          []error
	}{
		{400, "bad_request", "", []error{ErrBadRequest}},
		{413, "payload_too_large", "", []error{ErrBadRequest}},
		{401, "unauthorized", "", []error{ErrUnauthorized}},
		{403, "queue_closed", "", []error{ErrForbidden}},
		{404, "queue_not_found", "", []error{ErrNotFound}},
		{404, "ticket_unknown", "", []error{ErrNotFound, ErrTicketUnknown, ErrTicketGone}},
		{409, "unique_conflict", "", []error{ErrConflict}},
		{410, "task_gone", "", []error{ErrTaskGone}},
		{410, "ticket_gone", "left", []error{ErrTicketGone, ErrTicketLeft}},
		{410, "ticket_gone", "a_new_one", []error{ErrTicketGone}},
		{428, "challenge_required", "", []error{ErrChallenge}},
		{429, "too_fast", "", []error{ErrTooFast}},
		{500, "", "", []error{ErrUnavailable}},
		{503, "outcome_unknown", "", []error{ErrUnavailable, ErrOutcomeUnknown}},
	} {
		err := fmt.Errorf("within: %w", error(&APIError{Problem: Problem{Status: c.status, Code: c.code, Reason: c.reason}}))
		for _, e := range all {
			want := false
			for _, a := range c.are {
				want = want || a == e
			}
			if errors.Is(err, e) != want {
				t.Errorf("%d %s %s: errors.Is(%v) is %v", c.status, c.code, c.reason, e, !want)
			}
		}
	}
}

func TestARefusalIsAskedOnce(t *testing.T) {
	f, c := newFake(t, answers(403, `{"title":"No","code":"queue_closed","detail":"it is closed","opens_at":17}`))
	_, err := c.WaitForPass(ctx, "login", nil)
	var e *APIError
	if !errors.As(err, &e) || e.Status != 403 || e.Detail != "it is closed" || e.OpensAt != 17 {
		t.Errorf("%v", err)
	}
	is(t, "requests", len(f.all()), 1)
	is(t, "token of a server", f.last().Header.Get("Authorization"), "")
}

func TestAddressesAreChecked(t *testing.T) {
	for _, c := range []*Client{{}, {Routers: []string{"localhost:8080"}}, {Routers: []string{"http://a"}, Token: "a\n"}} {
		if _, err := c.Look(ctx, "T"); err == nil || offline(err) {
			t.Errorf("%v: %v", c.Routers, err)
		}
	}
}

func TestAContextEndsACall(t *testing.T) {
	_, c := newFake(t, answers(503, `{"code":"queue_unavailable"}`))
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := c.Look(short, "T"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestNobodyAnswers(t *testing.T) {
	f, c := newFake(t, nil)
	f.Server.Close()
	c.RetryFor = -1
	_, err := c.Look(ctx, "T")
	var e *NetworkError
	if !errors.As(err, &e) || e.Router != f.URL || e.Err == nil {
		t.Errorf("%v", err)
	}
}

func TestRedirects(t *testing.T) {
	there, _ := newFake(t, answers(200, `{"task":"T","state":"waiting"}`))
	to := strings.Replace(there.URL, "127.0.0.1", "localhost", 1) // another host
	f, c := newFake(t, nil)
	f.say = answers(307, "", "Location", to+"/v1/queues/q/tasks")
	if _, err := c.Submit(ctx, "q", Submission{Payload: 1}); err != nil {
		t.Fatal(err)
	}
	is(t, "the method", there.last().Method, "POST")
	is(t, "the body", there.last().body, `{"payload":1}`)
	is(t, "the token at another host", there.last().Header.Get("Authorization"), "")
	is(t, "the token here", f.last().Header.Get("Authorization"), "Bearer s3cret")
	f.say = answers(307, "", "Location", "ftp://x/")
	c.RetryFor = -1
	if _, err := c.Look(ctx, "T"); !offline(err) {
		t.Errorf("to ftp: %v", err)
	}
	f.say = answers(307, "", "Location", "/again")
	if _, err := c.Look(ctx, "T"); !errors.Is(err, errLoop) {
		t.Errorf("in circles: %v", err)
	}
}

func TestSubmissionsAreWrittenAsTheyAreRead(t *testing.T) {
	for _, c := range []struct {
		s    Submission
		want string
	}{
		{Submission{}, `{"payload":null}`},
		{Submission{Payload: json.RawMessage(`{"a": "<&>"}`)}, `{"payload":{"a":"<&>"}}`},
		{Submission{Payload: "&", Priority: Ptr(0), Order: Ptr(int64(0)), Delay: 1500 * time.Millisecond, TTL: time.Hour, At: 17.5},
			`{"payload":"&","at":17.5,"priority":0,"order":0,"delay":1.5,"ttl":3600}`},
		{Submission{Path: "/x", Method: "GET", BodyJSON: map[string]int{"a": 1}}, `{"path":"/x","method":"GET","body_json":{"a":1}}`},
		{Submission{Unique: &Unique{Key: "k"}, Retry: &Retry{Min: time.Second, Jitter: Ptr(0)}},
			`{"payload":null,"unique":{"key":"k"},"retry":{"min":1,"jitter":0}}`},
		{Submission{Then: &Then{Queue: "b", Submission: Submission{Payload: 1, Then: &Then{Queue: "c"}}}},
			`{"payload":null,"then":{"queue":"b","payload":1,"then":{"queue":"c","payload":null}}}`},
	} {
		got, err := encode(c.s)
		if err != nil {
			t.Fatal(err)
		}
		is(t, "submission", string(got), c.want)
	}
	got, _ := encode(Schedule{Cron: "* * * * *", Jitter: time.Minute, Task: Submission{Payload: 1}})
	is(t, "schedule", string(got), `{"cron":"* * * * *","task":{"payload":1},"jitter":60}`)
	got, _ = encode(Patch{Delay: Ptr(time.Duration(0)), Labels: &[]string{}})
	is(t, "patch", string(got), `{"labels":[],"delay":0}`)
	got, _ = encode(Completion{Outcome: "failed", Delay: time.Second})
	is(t, "completion", string(got), `{"outcome":"failed","delay":1}`)
}

func TestTracesAreHandedOn(t *testing.T) {
	f, c := newFake(t, answers(201, `{"task":"T","state":"waiting"}`))
	traced := WithTrace(ctx, "00-1-2-01")
	for _, row := range []struct{ payload, want string }{
		{`{}`, `{"payload":{"traceparent":"00-1-2-01"}}`},
		{`{"a":1}`, `{"payload":{"traceparent":"00-1-2-01","a":1}}`},
		{`{"traceparent":"mine"}`, `{"payload":{"traceparent":"mine"}}`},
		{`[1]`, `{"payload":[1]}`},
	} {
		if _, err := c.Submit(traced, "q", Submission{Payload: json.RawMessage(row.payload)}); err != nil {
			t.Fatal(err)
		}
		is(t, row.payload, f.last().body, row.want)
	}
	_, _ = c.Submit(traced, "q", Submission{Path: "/x"})
	is(t, "of a call", f.last().body, `{"path":"/x","headers":{"traceparent":"00-1-2-01"}}`)
	_, _ = c.Submit(traced, "q", Submission{Path: "/x", Headers: map[string]string{"Traceparent": "mine"}})
	is(t, "of a call that has one", f.last().body, `{"path":"/x","headers":{"Traceparent":"mine"}}`)
}

func TestKeysOfSubmissions(t *testing.T) {
	f, c := newFake(t, answers(201, `{"task":"T","state":"waiting"}`))
	_, _ = c.Submit(ctx, "a/b c", Submission{})
	is(t, "path", f.last().URL.EscapedPath(), "/v1/queues/a%2Fb%20c/tasks")
	is(t, "length of a key that is made", len(f.last().Header.Get("Idempotency-Key")), 32)
	_, _ = c.Submit(ctx, "q", Submission{IdempotencyKey: "mine"})
	is(t, "key", f.last().Header.Get("Idempotency-Key"), "mine")
	_, _ = c.Submit(ctx, "q", Submission{Name: "n"})
	is(t, "key of one with a name", f.last().Header.Get("Idempotency-Key"), "")
	_, _ = c.SubmitAndWait(ctx, "q", Submission{}, 3*time.Second)
	is(t, "prefer", f.last().Header.Get("Prefer"), "wait=3")
}

func TestBatches(t *testing.T) {
	var sizes []int
	late := 1
	_, c := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		var rows []struct {
			Payload string
			Key     string `json:"idempotency_key"`
		}
		_ = json.NewDecoder(r.Body).Decode(&rows)
		sizes = append(sizes, len(rows))
		if len(rows) == 1 && len(rows[0].Payload) > 600<<10 {
			answers(413, `{"code":"payload_too_large"}`)(w, r)
			return
		}
		var out []map[string]any
		for i := range rows {
			if i == 1 && late > 0 {
				late--
				out = append(out, map[string]any{"status": 503, "code": "queue_unavailable", "retry_after_s": 0.1})
				continue
			}
			out = append(out, map[string]any{"status": 201, "task": rows[i].Key})
		}
		_ = json.NewEncoder(w).Encode(out)
	})
	rows := make([]Submission, 1002)
	for i := range rows {
		rows[i] = Submission{Payload: "x", IdempotencyKey: fmt.Sprint(i)}
	}
	rows[1001].Payload = strings.Repeat("x", 700<<10)
	got, err := c.SubmitMany(ctx, "q", rows)
	if err != nil {
		t.Fatal(err)
	}
	is(t, "requests", sizes, []int{1000, 1, 1, 1})
	for i, o := range got[:1001] {
		if o.Task != fmt.Sprint(i) || o.Err != nil {
			t.Fatalf("row %d: %v", i, o)
		}
	}
	is(t, "one that is too large", got[1001].Status, 413)
	if got, err := c.SubmitMany(ctx, "q", nil); err != nil || len(got) != 0 {
		t.Errorf("none: %v %v", got, err)
	}
}

func TestTasks(t *testing.T) {
	f, c := newFake(t, answers(200, `{"task":"T","state":"dead","history":[{"end":"nack","reason":"no paper"}],"result":{"a":1}}`))
	task, err := c.Wait(ctx, "T")
	var e *TaskError
	if !errors.As(err, &e) || e.Reason() != "no paper" || !task.Over() {
		t.Errorf("%v", err)
	}
	var v struct{ A int }
	if err := task.Decode(&v); err != nil || v.A != 1 {
		t.Errorf("%v %v", v, err)
	}
	f.say = answers(200, `{"state":"waiting"}`)
	c.RetryFor = -1
	if _, err := c.Look(ctx, "T"); !offline(err) {
		t.Errorf("what is no task: %v", err)
	}
	f.say = answers(202, ``)
	if _, err := c.Result(ctx, "T", false); err != ErrNotOver {
		t.Errorf("%v", err)
	}
	f.say = answers(500, `oops`, "Segq-Status", "500")
	if _, err := c.Result(ctx, "T", true); err == nil { // kept answers have their own status beside
		t.Errorf("no error")
	}
	f.say = answers(200, "\x00bytes", "Content-Type", "image/png")
	r, err := c.Result(ctx, "T", true)
	if err != nil || string(r.Body) != "\x00bytes" || r.Header.Get("Content-Type") != "image/png" {
		t.Errorf("%v %v", r, err)
	}
	is(t, "path", f.last().URL.String(), "/v1/tasks/T/result?ack=1")
	if err := c.Complete(ctx, "http://other/v1/tasks/R%2Fx/complete", Completion{Outcome: "dead"}); err == nil || true {
		is(t, "right", f.last().URL.EscapedPath(), "/v1/tasks/R%2Fx/complete")
	}
}

func TestStreams(t *testing.T) {
	f, c := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Segq-Status", "200")
		fmt.Fprint(w, ": a comment\n\nid: 7\nevent: x\r\ndata: one\r\ndata:two\r\n\r\nevent: nothing\n\n"+
			"event: segq.progress\ndata: {\"state\":\"waiting\",\"position\":3}\n\ndata: done\n\ndata: cut")
	})
	var places []int64
	s, err := c.Call(ctx, "e", "/p?q=1", CallOptions{Method: "GET", Cost: 7, Header: http.Header{"Authorization": {"theirs"}},
		Progress: func(p Place) { places = append(places, *p.Position) }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	one, err := s.Next()
	is(t, "an event", fmt.Sprint(*one, err), fmt.Sprint(StreamEvent{"x", "one\ntwo", "7"}, nil))
	two, err := s.Next()
	is(t, "the next one", fmt.Sprint(*two, err), fmt.Sprint(StreamEvent{"message", "done", "7"}, nil))
	if _, err = s.Next(); err != io.EOF {
		t.Errorf("the end: %v", err)
	}
	is(t, "places", places, []int64{3})
	is(t, "path", f.last().URL.String(), "/v1/call/e/p?q=1")
	h := f.last().Header
	is(t, "headers", []string{h.Get("Authorization"), h.Get("Segq-Token"), h.Get("Segq-Progress"), h.Get("Segq-Cost")},
		[]string{"theirs", "s3cret", "events", "7"})
}

func TestAStreamThatIsSilent(t *testing.T) {
	over := make(chan struct{})
	defer close(over)
	_, c := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Segq-Status", "200")
		fmt.Fprint(w, "piece")
		w.(http.Flusher).Flush()
		select {
		case <-over:
		case <-r.Context().Done():
		}
	})
	s, err := c.Call(ctx, "e", "/", CallOptions{Silence: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got, err := io.ReadAll(s)
	if string(got) != "piece" || !offline(err) || !strings.Contains(err.Error(), "nothing came") {
		t.Errorf("%q %v", got, err)
	}
}

func TestACallThatIsRefused(t *testing.T) {
	f, c := newFake(t, answers(200, "event: error\ndata: {\"status\":429,\"error\":{\"message\":\"too many\",\"code\":\"rate\"}}\n\n",
		"Segq-Status", "200"))
	s, err := c.Call(ctx, "e", "/", CallOptions{Progress: func(Place) {}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var e *APIError
	if _, err := s.Next(); !errors.As(err, &e) || e.Code != "rate" || e.Detail != "too many" || e.Status != 429 {
		t.Errorf("%v", err)
	}
	f.say = answers(503, "busy", "Segq-Status", "503") // the target's
	s, err = c.Call(ctx, "e", "/", CallOptions{})
	if err != nil || s.Status != 503 {
		t.Fatalf("%v", err)
	}
	s.Close()
	before := len(f.all())
	f.say = answers(503, `{"code":"endpoint_failed"}`)
	if _, err := c.Call(ctx, "e", "/", CallOptions{}); !errors.Is(err, ErrUnavailable) {
		t.Errorf("%v", err)
	}
	is(t, "requests", len(f.all())-before, 1)
}

package segq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// lines is a task queue in a few lines: tasks T0, T1 ... with these payloads.
type lines struct {
	mu       sync.Mutex
	waiting  []string
	taken    int
	takes    []int
	settled  []settleRow
	progress []string
	settle   func(rows []settleRow) (int, []rowSaid) // nil: all is well
}

func (l *lines) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case strings.HasSuffix(r.URL.Path, "/take"):
		var q struct{ N int }
		_ = json.NewDecoder(r.Body).Decode(&q)
		l.takes = append(l.takes, q.N)
		tasks := []map[string]any{}
		for ; q.N > 0 && len(l.waiting) > 0; q.N-- {
			tasks = append(tasks, map[string]any{"task": fmt.Sprintf("T%d", l.taken), "lease_id": "L", "attempt": 1,
				"lease_expires_at": 17.5, "payload": json.RawMessage(l.waiting[0])})
			l.taken++
			l.waiting = l.waiting[1:]
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"tasks": tasks})
	case strings.HasSuffix(r.URL.Path, "/progress"):
		var q map[string]any
		_ = json.NewDecoder(r.Body).Decode(&q)
		l.progress = append(l.progress, fmt.Sprint(q))
		if len(l.progress) > 1 {
			answers(409, `{"code":"conflict"}`)(w, r)
		} else {
			answers(200, `{}`)(w, r)
		}
	default:
		var rows []settleRow
		_ = json.NewDecoder(r.Body).Decode(&rows)
		status, said := 200, make([]rowSaid, len(rows))
		for i := range said {
			said[i].Status = 200
		}
		if l.settle != nil {
			status, said = l.settle(rows)
		}
		l.settled = append(l.settled, rows...)
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(said)
	}
}

func (l *lines) ends() (out []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.settled {
		if r.Verb != "extend" {
			out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", r.Task, r.Verb, r.Result, r.Reason)))
		}
	}
	return out
}

// events counts what OnEvent hears.
type events struct {
	mu    sync.Mutex
	count map[string]int
}

func (e *events) hear(v WorkerEvent) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.count[v.Name]++
}

func (e *events) of(name string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.count[name]
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never is: %s", what)
		}
	}
}

// works runs a worker until `over`, and returns how Run ended.
func works(t *testing.T, l *lines, h Handler, over func(*events) bool, o ...WorkerOption) (*events, error) {
	t.Helper()
	_, c := newFake(t, l.ServeHTTP)
	e := &events{count: map[string]int{}}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	o = append([]WorkerOption{TakeWait(10 * time.Millisecond), OnEvent(e.hear), Logf(nil), NoSignals()}, o...)
	go func() { ended <- c.Run(running, "q", h, o...) }()
	until(t, "over", func() bool { return over(e) || len(ended) > 0 })
	stop()
	select {
	case err := <-ended:
		return e, err
	case <-time.After(10 * time.Second):
		t.Fatal("it does not end")
		return e, nil
	}
}

func TestHowHandlersEnd(t *testing.T) {
	l := &lines{waiting: []string{`0`, `1`, `2`, `3`, `4`, `5`, `6`}}
	e, err := works(t, l, func(ctx context.Context, j *Job) (any, error) {
		switch string(j.Payload) {
		case "0":
			return map[string]string{"url": "<&>"}, nil
		case "1":
			return nil, errors.New("no\npaper")
		case "2":
			panic("oops")
		case "3":
			runtime.Goexit()
		case "4":
			return make(chan int), nil // no JSON
		case "5":
			return nil, fmt.Errorf("within: %w", GiveBack("later", 2*time.Second))
		}
		return nil, nil
	}, func(e *events) bool { return e.of("succeeded")+e.of("failed") == 7 }, Concurrency(1))
	if err != nil {
		t.Error(err)
	}
	for i, want := range []string{`ack {"url":"<&>"}`, "nack  no paper", "nack  panic: oops",
		"nack  the handler ended its goroutine", "nack  the result is no JSON", "nack  within: later", "ack"} {
		if got := l.ends()[i]; !strings.HasPrefix(got, fmt.Sprintf("T%d %s", i, want)) {
			t.Errorf("%q, not %q", got, want)
		}
	}
	is(t, "delay", time.Duration(*l.settled[5].Delay), 2*time.Second)
	is(t, "counts", []int{e.of("taken"), e.of("started"), e.of("succeeded"), e.of("failed")}, []int{7, 7, 2, 5})
}

func TestItTakesNoMoreThanItCanBegin(t *testing.T) {
	l := &lines{}
	for i := 0; i < 40; i++ {
		l.waiting = append(l.waiting, `{}`)
	}
	var mu sync.Mutex
	running, most := 0, 0
	_, _ = works(t, l, func(context.Context, *Job) (any, error) {
		mu.Lock()
		if running++; running > most {
			most = running
		}
		mu.Unlock()
		time.Sleep(3 * time.Millisecond)
		mu.Lock()
		running--
		mu.Unlock()
		return nil, nil
	}, func(e *events) bool { return e.of("succeeded") == 40 }, Concurrency(4), Prefetch(2))
	is(t, "at a time", most, 4)
	for _, n := range l.takes {
		if n > 6 {
			t.Errorf("it takes %d", n)
		}
	}
}

func TestEndsThatAreRefused(t *testing.T) {
	n := 0
	l := &lines{waiting: []string{`{}`, `{}`, `{}`}}
	l.settle = func(rows []settleRow) (int, []rowSaid) {
		var said []rowSaid
		for _, r := range rows {
			s := rowSaid{Status: 200}
			switch n++; {
			case r.Task == "T0" && r.Verb == "ack":
				s = rowSaid{Status: 413, Code: "payload_too_large", Detail: "too long"}
			case r.Task == "T1":
				s = rowSaid{Status: 409, Code: "conflict"}
			case r.Task == "T2" && n < 6:
				s = rowSaid{Status: 503, RetryAfterS: 0.01}
			}
			said = append(said, s)
		}
		return 200, said
	}
	e, _ := works(t, l, func(_ context.Context, j *Job) (any, error) { return j.Token, nil },
		func(e *events) bool { return e.of("succeeded") == 3 }, Concurrency(1))
	ends := strings.Join(l.ends(), "\n")
	if !strings.Contains(ends, "T0 nack  its end was refused: segq: 413 payload_too_large: too long") || e.of("lost") != 1 {
		t.Errorf("%s, %d lost", ends, e.of("lost"))
	}
	if !strings.HasSuffix(ends, `T2 ack "T2"`) {
		t.Errorf("what is put off is not repeated: %s", ends)
	}
}

func TestARequestThatIsRefusedForOneOfItsRows(t *testing.T) {
	l := &lines{waiting: []string{`{}`, `{}`, `{}`, `{}`}}
	l.settle = func(rows []settleRow) (int, []rowSaid) {
		if len(rows) > 1 || rows[0].Task == "T1" && rows[0].Verb == "ack" {
			return 400, nil
		}
		return 200, []rowSaid{{Status: 200}}
	}
	var wait sync.WaitGroup
	wait.Add(4)
	_, _ = works(t, l, func(_ context.Context, j *Job) (any, error) {
		wait.Done()
		wait.Wait()
		return 1, nil
	}, func(e *events) bool { return e.of("succeeded") == 4 }, Concurrency(4))
	ends := strings.Join(l.ends(), "\n")
	for _, want := range []string{"T0 ack 1", "T1 nack  its end was refused", "T2 ack 1", "T3 ack 1"} {
		if !strings.Contains(ends, want) {
			t.Errorf("%s lacks %q", ends, want)
		}
	}
}

func TestWhatDoesNotEndIsGivenBack(t *testing.T) {
	l := &lines{waiting: []string{`{}`, `{}`, `{}`}}
	ended := make(chan error, 3)
	e, err := works(t, l, func(ctx context.Context, j *Job) (any, error) {
		<-ctx.Done()
		ended <- ctx.Err()
		return "too late", nil
	}, func(e *events) bool { return e.of("started") == 2 }, Concurrency(2), Drain(20*time.Millisecond))
	if err != nil {
		t.Error(err)
	}
	is(t, "given back", e.of("given_back"), 2)
	for _, r := range l.ends() {
		if !strings.HasSuffix(r, "nack  the worker stops") {
			t.Error(r)
		}
	}
	is(t, "context", <-ended, context.Canceled)
	is(t, "taken", l.taken, 2)
}

func TestWhatRunsIsFinished(t *testing.T) {
	l := &lines{waiting: []string{`{}`, `{}`}}
	e, _ := works(t, l, func(ctx context.Context, j *Job) (any, error) {
		time.Sleep(50 * time.Millisecond)
		return 1, ctx.Err() // it does not end with that of Run
	}, func(e *events) bool { return e.of("started") == 1 }, Concurrency(1))
	is(t, "succeeded", e.of("succeeded"), 1)
	is(t, "ends", l.ends(), "[T0 ack 1]")
}

func TestLeasesAreExtendedOrLost(t *testing.T) {
	l := &lines{waiting: []string{`"kept"`, `"lost"`}}
	l.settle = func(rows []settleRow) (int, []rowSaid) {
		said := make([]rowSaid, len(rows))
		for i, r := range rows {
			if said[i].Status = 200; r.Verb == "extend" && r.Task == "T1" {
				said[i] = rowSaid{Status: 409, Code: "conflict"}
			}
		}
		return 200, said
	}
	e, _ := works(t, l, func(ctx context.Context, j *Job) (any, error) {
		if j.Token == "T1" {
			<-ctx.Done()
			return nil, errors.New("nobody's business")
		}
		time.Sleep(1500 * time.Millisecond)
		return 1, nil
	}, func(e *events) bool { return e.of("succeeded") == 1 && e.of("lost") == 1 }, Lease(600*time.Millisecond)) // a busy machine
	if e.of("extended") < 2 || e.of("failed") > 0 {
		t.Errorf("%v", e.count)
	}
	is(t, "ends", l.ends(), "[T0 ack 1]")
}

func TestAWorkerThatIsRefused(t *testing.T) {
	_, c := newFake(t, answers(401, `{"code":"unauthorized"}`))
	err := c.Run(ctx, "q", func(context.Context, *Job) (any, error) { return nil, nil }, Logf(nil))
	if !errors.Is(err, ErrUnauthorized) {
		t.Errorf("%v", err)
	}
	if err := c.Run(ctx, "q", nil, Concurrency(0)); err == nil {
		t.Error("no slots")
	}
}

func TestProgressTheNewestWordIsTold(t *testing.T) {
	l := &lines{waiting: []string{`{}`, `{}`}}
	e, _ := works(t, l, func(ctx context.Context, j *Job) (any, error) {
		for i := 0; i < 100; i++ {
			j.Progress(Progress{Percent: Ptr(i), Text: "a\nb"})
		}
		if j.Token == "T0" {
			time.Sleep(300 * time.Millisecond)
			return nil, nil
		}
		<-ctx.Done() // another worker has it
		return nil, nil
	}, func(e *events) bool { return e.of("succeeded") == 1 && e.of("lost") == 1 }, Concurrency(1))
	is(t, "told", l.progress[0], "map[lease_id:L percent:99 text:a b]")
	is(t, "lost", e.of("lost"), 1)
}

func TestTracesOfTasks(t *testing.T) {
	l := &lines{waiting: []string{`{"a":1,"traceparent":"00-1-2-01"}`, `"traceparent"`}}
	var got sync.Map
	_, _ = works(t, l, func(ctx context.Context, j *Job) (any, error) {
		got.Store(j.Token, Trace(ctx))
		return nil, nil
	}, func(e *events) bool { return e.of("succeeded") == 2 })
	one, _ := got.Load("T0")
	two, _ := got.Load("T1")
	is(t, "traces", []any{one, two}, "[00-1-2-01 ]")
}

type broken struct{ text *string }

func (b *broken) Error() string                { return *b.text } // of a nil pointer: it panics
func (b *broken) MarshalJSON() ([]byte, error) { return []byte(*b.text), nil }

func TestWhatPanicsBesideTheHandler(t *testing.T) {
	l := &lines{waiting: []string{`1`, `2`, `3`}}
	_, err := works(t, l, func(ctx context.Context, j *Job) (any, error) {
		switch string(j.Payload) {
		case `1`:
			var e *broken
			return nil, e
		case `2`:
			return &broken{}, nil
		}
		return 7, nil
	}, func(*events) bool { return len(l.ends()) == 3 }, Concurrency(1), OnEvent(func(v WorkerEvent) { panic(v.Name) }))
	is(t, "the end", err, nil)
	got := l.ends()
	is(t, "an error that panics", strings.HasPrefix(got[0], "T0 nack  *segq.broken: runtime error"), true)
	is(t, "a result that panics", strings.HasPrefix(got[1], "T1 nack  the result is no JSON: "), true)
	is(t, "the next one", got[2], "T2 ack 7")
}

// Two queues, and the node of one does not answer: the leases of the other's tasks go on.
func TestLeasesOfTwoQueues(t *testing.T) {
	stuck := make(chan struct{})
	_, c := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/a/") {
			select {
			case <-stuck:
			case <-r.Context().Done():
			}
			return
		}
		answers(200, `[{"status":200}]`)(w, r)
	})
	defer close(stuck)
	for i := 0; i < 5; i++ { // maps have no order
		w := c.Worker("a", nil, Lease(time.Second))
		b := &Job{w: w, Token: "B", Queue: "b", until: time.Now().Add(time.Second)}
		w.jobs[&Job{w: w, Token: "A", Queue: "a", until: time.Now().Add(time.Second)}] = struct{}{}
		w.jobs[b] = struct{}{}
		go w.extendDue(time.Now())
		at := time.Now()
		until(t, "b is extended", func() bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return !b.extendAt.IsZero()
		})
		is(t, "without waiting for a", time.Since(at) < 500*time.Millisecond, true)
	}
}

func TestReasonsAreShort(t *testing.T) {
	r := reason(errors.New(strings.Repeat("ü", 150) + "\x00\xff"))
	is(t, "bytes", len(r), 200)
	is(t, "empty", reason(errors.New("\n")), "failed")
}

func TestBytes(t *testing.T) {
	got, err := encode(Submission{PayloadBase64: []byte{}, ContentType: "image/png"})
	is(t, "an empty payload", fmt.Sprint(string(got), err), `{"content_type":"image/png","payload_base64":""}<nil>`)
	got, err = encode(Submission{Path: "/", BodyBase64: []byte{255}})
	is(t, "a body", fmt.Sprint(string(got), err), `{"path":"/","body_base64":"/w=="}<nil>`)
	l := &lines{waiting: []string{`1`, `2`, `3`}}
	_, _ = works(t, l, func(_ context.Context, j *Job) (any, error) {
		switch string(j.Payload) {
		case "1":
			return []byte{255}, nil
		case "2":
			return Bytes{Body: []byte{}, ContentType: "image/png"}, nil
		}
		return json.RawMessage(`{"a": 1}`), nil
	}, func(e *events) bool { return e.of("succeeded") == 3 }, Concurrency(1))
	var rows []string
	for _, r := range l.settled {
		row, _ := encode(r)
		rows = append(rows, string(row))
	}
	is(t, "ends", strings.Join(rows, "\n"), `{"task":"T0","verb":"ack","lease_id":"L","result_base64":"/w=="}
{"task":"T1","verb":"ack","lease_id":"L","result_base64":"","content_type":"image/png"}
{"task":"T2","verb":"ack","lease_id":"L","result":{"a":1}}`)
}

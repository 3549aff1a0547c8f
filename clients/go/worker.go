package segq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	reasonMax   = 200                  // bytes
	settleBytes = 200 << 10            // of a request
	untoldMax   = 2000                 // ends that wait to be told: no more is taken
	gather      = 2 * time.Millisecond // so long a take waits for more slots while others work
)

// Job is a task in a handler's hands.
type Job struct {
	Token          string          `json:"task"`
	Queue          string          `json:"queue"`
	LeaseID        string          `json:"lease_id"`
	Attempt        int             `json:"attempt"`
	LeaseExpiresAt Unix            `json:"lease_expires_at"` // when it was taken
	Key            string          `json:"key"`
	Payload        json.RawMessage `json:"payload"`
	PayloadBase64  []byte          `json:"payload_base64"` // in place of it: what is no JSON,
	ContentType    string          `json:"content_type"`   // and its type

	w               *Worker
	began           time.Time // the handler's own goroutine reads and writes it
	until, extendAt time.Time
	over            bool
	cancel          context.CancelFunc
	said            []byte // progress that is to be told
}

// Progress is how far a task is; one of the three at least.
type Progress struct {
	LeaseID string `json:"lease_id"`          // the job's own
	Percent *int   `json:"percent,omitempty"` // 0 to 100
	Text    string `json:"text,omitempty"`    // 200 bytes
	Data    any    `json:"data,omitempty"`    // 1 KiB
	Lease   span   `json:"lease,omitempty"`   // the worker extends it by itself
}

// Progress says how far it is: looks at the task show it. It returns at once; the newest word is told,
// some four times a second; one that is refused is `trouble` of OnEvent.
func (j *Job) Progress(p Progress) {
	p.LeaseID, p.Text = j.LeaseID, plain(p.Text)
	body, err := encode(p)
	if err != nil {
		j.w.say("trouble", j, err)
		return
	}
	j.w.mu.Lock()
	defer j.w.mu.Unlock()
	j.said = body
}

// Decode reads the payload.
func (j *Job) Decode(v any) error { return json.Unmarshal(j.Payload, v) }

// Traceparent is the trace that its submitter handed on (of payloads that are objects).
func (j *Job) Traceparent() string {
	var said struct {
		Traceparent string `json:"traceparent"`
	}
	if len(j.Payload) == 0 || j.Payload[0] != '{' || !strings.Contains(string(j.Payload), `"traceparent"`) ||
		json.Unmarshal(j.Payload, &said) != nil {
		return ""
	}
	return said.Traceparent
}

// Bytes is a result that is no JSON, with its type; a []byte is one of application/octet-stream.
type Bytes struct {
	Body        []byte
	ContentType string
}

// Handler does a task. What it returns is the result (what encoding/json writes, or Bytes; nil: none);
// an error has it tried again, with the error's words in its history: GiveBack says when. The context ends when
// the task is lost (cancelled by force, or its lease has ended), or must be given back.
//
// A task may run twice (a worker that dies, an answer that is lost): make repeats harmless, for example
// with job.Token as idempotency key.
type Handler func(ctx context.Context, job *Job) (result any, err error)

// WorkerEvent is what OnEvent hears of: taken, started, succeeded, failed, given_back, extended, lost,
// each of a job, and trouble, of none.
type WorkerEvent struct {
	Name string
	Job  *Job
	Err  error
	Took time.Duration // of a handler that has ended
}

// WorkerOption is one of Concurrency, Queues and so on.
type WorkerOption func(*Worker)

// Concurrency is how many handlers run at a time: 8.
func Concurrency(n int) WorkerOption { return func(w *Worker) { w.concurrency = n } }

// Queues are more queues to take from, 16 in all.
func Queues(more ...string) WorkerOption {
	return func(w *Worker) { w.queues = append(w.queues, more...) }
}

// Lease is how long a task stays a worker's that has died: 30 s. It is extended while the handler runs.
func Lease(d time.Duration) WorkerOption { return func(w *Worker) { w.lease = d } }

// Prefetch is how many tasks are taken ahead, none by default (their leases run).
func Prefetch(n int) WorkerOption { return func(w *Worker) { w.prefetch = n } }

// TakeWait is how long a take waits at segq: 2 s. So long an idle worker takes to stop.
func TakeWait(d time.Duration) WorkerOption { return func(w *Worker) { w.wait = d } }

// Drain is how long handlers have at the end: 25 s.
func Drain(d time.Duration) WorkerOption { return func(w *Worker) { w.drain = d } }

// OnEvent is for metrics and traces; it must be quick, and is called from many goroutines.
func OnEvent(f func(WorkerEvent)) WorkerOption { return func(w *Worker) { w.onEvent = f } }

// NoSignals leaves SIGTERM and SIGINT to the program.
func NoSignals() WorkerOption { return func(w *Worker) { w.signals = false } }

// Logf is who hears of handlers that fail, and of a worker that is refused: log.Printf.
func Logf(f func(format string, args ...any)) WorkerOption { return func(w *Worker) { w.logf = f } }

// Worker takes tasks, runs a handler for each, and says how it ended. It takes only what it can begin,
// in one request for many, extends the leases of what runs, and settles ends together.
type Worker struct {
	c                     *Client
	queues                []string
	handler               Handler
	concurrency, prefetch int
	lease, wait, drain    time.Duration
	onEvent               func(WorkerEvent)
	logf                  func(string, ...any)
	signals               bool

	mu       sync.Mutex
	used     int                   // a handler has it, or will
	jobs     map[*Job]struct{}     // taken, and not over
	ends     map[string]*unsettled // by queue: one whose node is away delays no other's
	untold   int
	stopped  bool
	endAt    time.Time
	refused  error
	stopping chan struct{}
	changed  chan struct{} // a slot is free, an end was told, it stops sooner
	turns    chan struct{}
	base     context.Context // of handlers
	taking   context.Context
	giveUp   context.CancelFunc // of taking
}

// Run works until the context or the program is told to end (SIGTERM, SIGINT): then it takes nothing
// more, finishes what runs, and gives back what does not end in time. A second signal gives back at
// once. It returns what segq says where no later try can help (a token that may not take), else nil.
func (c *Client) Run(ctx context.Context, queue string, handler Handler, options ...WorkerOption) error {
	return c.Worker(queue, handler, options...).Run(ctx)
}

// Worker makes one, for those who end it by Stop.
func (c *Client) Worker(queue string, handler Handler, options ...WorkerOption) *Worker {
	w := &Worker{
		c: c, queues: []string{queue}, handler: handler, concurrency: 8, lease: 30 * time.Second,
		wait: 2 * time.Second, drain: 25 * time.Second, signals: true, logf: log.Printf,
		jobs: map[*Job]struct{}{}, ends: map[string]*unsettled{},
		stopping: make(chan struct{}), changed: make(chan struct{}, 1),
	}
	for _, o := range options {
		o(w)
	}
	return w
}

// Run is that of Client. Once.
func (w *Worker) Run(ctx context.Context) error {
	if len(w.queues) > 16 || w.concurrency < 1 || w.prefetch < 0 || w.lease <= 0 {
		return errors.New("segq: a worker has 1 to 16 queues, at least one slot, and a lease")
	}
	if err := w.c.init(); err != nil {
		return err
	}
	w.turns = make(chan struct{}, w.concurrency)
	w.base = ctx
	if ctx.Done() != nil { // its end is ours, not that of handlers: they may finish
		w.base = valuesOf{context.Background(), ctx}
	}
	w.taking, w.giveUp = context.WithCancel(context.Background())
	defer w.giveUp()
	taker, over := make(chan struct{}), make(chan struct{})
	defer close(over)
	go func() { w.take(); close(taker) }()
	go every(shorter(500*time.Millisecond, w.lease/8), over, w.extendDue)
	go every(250*time.Millisecond, over, w.tellProgress)
	signals := make(chan os.Signal, 2)
	if w.signals {
		signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
		defer signal.Stop(signals)
	}
	for ends := ctx.Done(); ; {
		select {
		case <-ends:
			ends = nil
			w.stop(w.drain)
		case <-signals:
			w.stop(w.drain)
		case <-w.stopping:
			return w.end(taker, signals)
		}
	}
}

// valuesOf is a context that has the values of another, and not its end.
type valuesOf struct {
	context.Context
	values context.Context
}

func (v valuesOf) Value(k any) any { return v.values.Value(k) }

// Stop has it take nothing more; what runs has so long. Called again: none. Run returns at the end.
func (w *Worker) Stop(drain time.Duration) { w.stop(drain) }

func (w *Worker) stop(drain time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		w.endAt = time.Now()
		w.giveUp()
	} else {
		w.stopped, w.endAt = true, time.Now().Add(drain)
		close(w.stopping)
	}
	w.notify()
}

func (w *Worker) notify() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// end waits for what runs, gives back what is left, and returns when segq knows it.
func (w *Worker) end(taker chan struct{}, signals chan os.Signal) error {
	for taker != nil || w.running() > 0 || w.isUntold() {
		if left := w.left(); taker == nil && left <= 0 {
			for _, j := range w.all() {
				w.giveBack(j)
			}
		}
		select {
		case <-taker: // what the take under way has brought is begun
			taker = nil
		case <-signals:
			w.stop(0)
		case <-w.changed:
		case <-time.After(longer(shorter(w.left(), time.Second), 20*time.Millisecond)):
		}
	}
	return w.refused
}

func (w *Worker) left() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return longer(time.Until(w.endAt), 0)
}

func (w *Worker) running() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.jobs)
}

func (w *Worker) isUntold() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.untold > 0
}

func (w *Worker) all() (out []*Job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for j := range w.jobs {
		out = append(out, j)
	}
	return out
}

func (w *Worker) say(name string, j *Job, err error) {
	if w.onEvent != nil {
		e := WorkerEvent{Name: name, Job: j, Err: err}
		if (name == "succeeded" || name == "failed") && !j.began.IsZero() {
			e.Took = time.Since(j.began)
		}
		defer func() {
			if p := recover(); p != nil {
				w.log("segq worker: OnEvent: %v", p)
			}
		}()
		w.onEvent(e)
	}
}

func (w *Worker) log(format string, args ...any) {
	if w.logf != nil {
		w.logf(format, args...)
	}
}

// ---- taking ----

// free waits for a slot, and a moment longer for more of them; 0: it stops.
func (w *Worker) free() int {
	slots, gathered := w.concurrency+w.prefetch, false
	var late <-chan time.Time
	for {
		w.mu.Lock()
		n, full, stopped := slots-w.used, w.untold >= untoldMax, w.stopped
		w.mu.Unlock()
		if stopped {
			return 0
		}
		if n > 0 && !full && (gathered || n == slots || late == nil && n*2 >= slots) {
			return min(batch, n)
		}
		if n > 0 && !full && late == nil {
			t := time.NewTimer(gather)
			defer t.Stop()
			late = t.C
		}
		select {
		case <-w.changed:
		case <-late:
			gathered = true
		case <-w.stopping:
		}
	}
}

func (w *Worker) take() {
	body := struct {
		Queues []string `json:"queues,omitempty"`
		N      int      `json:"n"`
		Lease  span     `json:"lease"`
		Wait   span     `json:"wait"`
	}{N: 0, Lease: span(w.lease), Wait: span(w.wait)}
	path := "/v1/queues/" + esc(w.queues[0]) + "/tasks/take"
	if len(w.queues) > 1 {
		path, body.Queues = "/v1/tasks/take", w.queues
	}
	b := backoff{from: 200 * time.Millisecond}
	for {
		if body.N = w.free(); body.N == 0 {
			return
		}
		asked := time.Now()
		raw, _ := encode(body)
		said, err := get[struct{ Tasks []*Job }](w.taking, w.c, &ask{method: "POST", path: path, body: raw,
			timeout: w.c.Timeout + w.wait, retryFor: -1})
		pause := time.Duration(0)
		switch {
		case err == nil:
			b.fails = 0
			w.begin(said.Tasks)
			if len(said.Tasks) == 0 && time.Since(asked) < w.wait/2 {
				pause = 100 * time.Millisecond // a router that stops does not wait
			}
		case !passing(err):
			w.refuse(err)
			return
		default:
			w.say("trouble", nil, err)
			pause = b.next(err)
		}
		if pause > 0 {
			select {
			case <-time.After(pause):
			case <-w.stopping:
			}
		}
	}
}

// refuse: it can never work: the token, the queue, our own request.
func (w *Worker) refuse(err error) {
	w.mu.Lock()
	stopped := w.stopped
	if !stopped {
		w.refused = err
	}
	w.mu.Unlock()
	if !stopped {
		w.log("segq worker: %v", err)
		w.stop(w.drain)
	}
}

func (w *Worker) begin(tasks []*Job) {
	now := time.Now()
	w.mu.Lock()
	for _, j := range tasks {
		if j.Queue == "" {
			j.Queue = w.queues[0]
		}
		j.until, j.extendAt = now.Add(w.lease), now.Add(w.lease/2)
		j.w, w.jobs[j] = w, struct{}{}
		w.used++
	}
	w.mu.Unlock()
	for _, j := range tasks {
		w.say("taken", j, nil)
		go w.work(j)
	}
}

// ---- running ----

func (w *Worker) work(j *Job) {
	w.turns <- struct{}{}
	ctx, cancel := context.WithCancel(w.base)
	if t := j.Traceparent(); t != "" {
		ctx = WithTrace(ctx, t)
	}
	w.mu.Lock()
	j.cancel = cancel
	over := j.over
	w.mu.Unlock()
	defer func() {
		cancel()
		<-w.turns
		w.mu.Lock()
		w.used--
		w.mu.Unlock()
		w.notify()
	}()
	if !over {
		j.began = time.Now()
		w.say("started", j, nil)
		w.do(ctx, j)
	}
}

// do runs the handler, whatever it does: also what panics, or ends its goroutine, has an end.
func (w *Worker) do(ctx context.Context, j *Job) {
	var result any
	err := error(&Nack{Reason: "the handler ended its goroutine"})
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{p, debug.Stack()}
		}
		if err == nil {
			w.succeeded(j, result)
		} else {
			w.failed(j, err)
		}
	}()
	result, err = w.handler(ctx, j)
}

func (w *Worker) succeeded(j *Job, result any) {
	row := settleRow{Task: j.Token, Verb: "ack", LeaseID: j.LeaseID}
	switch r := result.(type) {
	case nil:
	case Bytes:
		row.Bytes, row.Type = &r.Body, r.ContentType
	case []byte:
		row.Bytes = &r
	default:
		raw, err := written(result)
		if err != nil {
			w.failed(j, fmt.Errorf("the result is no JSON: %w", err))
			return
		}
		row.Result = raw
	}
	w.settle(j, row, "succeeded", nil)
}

// written is a result in JSON; a MarshalJSON that panics is an error.
func written(result any) (raw []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{p, debug.Stack()}
		}
	}()
	return encode(result)
}

func (w *Worker) failed(j *Job, err error) {
	row := settleRow{Task: j.Token, Verb: "nack", LeaseID: j.LeaseID, Reason: reason(err)}
	var n *Nack
	var p *PanicError
	if errors.As(err, &n) {
		row.Delay = spanOf(n.Delay)
	} else if errors.As(err, &p) {
		w.log("segq handler: task %.12s...: %v\n%s", j.Token, err, p.Stack)
	} else {
		w.log("segq handler: task %.12s...: %v", j.Token, err)
	}
	w.settle(j, row, "failed", err)
}

// plain text is what people see: at most 200 bytes, no control characters.
func plain(text string) string {
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?")))
	for len(text) > reasonMax {
		_, n := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-n]
	}
	return text
}

// reason is that of a task's history. Errors may panic: a nil pointer of a type of errors does.
func reason(err error) (said string) {
	defer func() {
		if p := recover(); p != nil {
			said = plain(fmt.Sprintf("%T: %v", err, p))
		}
	}()
	if text := plain(err.Error()); text != "" {
		return text
	}
	return "failed"
}

func (w *Worker) giveBack(j *Job) {
	w.settle(j, settleRow{Task: j.Token, Verb: "nack", LeaseID: j.LeaseID, Reason: "the worker stops", Delay: new(span)},
		"given_back", nil)
	w.cancelled(j)
}

func (w *Worker) cancelled(j *Job) {
	w.mu.Lock()
	cancel := j.cancel
	w.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// settle has the end of a job told.
func (w *Worker) settle(j *Job, row settleRow, name string, err error) {
	w.mu.Lock()
	if j.over {
		w.mu.Unlock()
		return
	}
	j.over = true
	delete(w.jobs, j)
	u := w.ends[j.Queue]
	if u == nil {
		u = &unsettled{}
		w.ends[j.Queue] = u
	}
	u.rows = append(u.rows, end{j, row})
	w.untold++
	begins := !u.telling
	u.telling = true
	w.mu.Unlock()
	w.say(name, j, err)
	if begins {
		go w.tellAll(j.Queue, u)
	}
	w.notify()
}

// Conformance is the Go client behind the line protocol of clients/conformance/README.md.
package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"segq.example/segq"
)

var operations = strings.Fields(`join joinSeveral getQueue poll pollSeveral proveDevice leave leaveSeveral listen verify session getKeys countTasks submitTask submitTasks
	takeTasks takeTasksOfQueues settleTasks tellProgress getTaskByName cancelTaskByName getTask watchTask watchQueue cancelTask
	patchTask 	getTaskResult completeTask extendTask getGroup sealGroup cancelGroup listSchedules putSchedule getSchedule
	deleteSchedule runSchedule getCall postCall putCall patchCall deleteCall
	getRoutedCall postRoutedCall putRoutedCall patchRoutedCall deleteRoutedCall`)

// request has the members of all verbs.
type request struct {
	ID     int    `json:"id"`
	Do     string `json:"do"`
	Client int    `json:"client"`

	Routers     []string          `json:"routers"`
	Token       string            `json:"token"`
	Device      string            `json:"device"`
	Key         string            `json:"key"`
	TimeoutS    float64           `json:"timeout_s"`
	RetryForS   float64           `json:"retry_for_s"`
	Queue       string            `json:"queue"`
	After       string            `json:"after"`
	Ask         string            `json:"ask"`
	Secret      string            `json:"secret"`
	Kid         string            `json:"kid"`
	Members     json.RawMessage   `json:"members"`
	Rows        []json.RawMessage `json:"rows"`
	Task        string            `json:"task"`
	Force       bool              `json:"force"`
	Name        string            `json:"name"`
	Others      string            `json:"others"`
	Claim       string            `json:"claim"`
	Group       string            `json:"group"`
	Then        json.RawMessage   `json:"then"`
	Endpoint    string            `json:"endpoint"`
	Path        string            `json:"path"`
	Progress    bool              `json:"progress"`
	Queues      []string          `json:"queues"`
	Concurrency int               `json:"concurrency"`
	LeaseS      float64           `json:"lease_s"`
	Work        int               `json:"work"`
	DrainS      *float64          `json:"drain_s"`
	Keys        []string          `json:"keys"`
	Headers     map[string]string `json:"headers"`
	Body        string            `json:"body"`

	raw []byte
}

type session struct {
	*segq.Client
	mu    sync.Mutex
	gates map[string]*segq.Gate
}

type working struct {
	*segq.Worker
	over chan struct{}
}

var (
	mu       sync.Mutex
	sessions = map[int]*session{}
	workers  = map[int]*working{}
	out      = bufio.NewWriter(os.Stdout)
	outMu    sync.Mutex
)

type object = map[string]any

func say(line object) {
	b, err := json.Marshal(line)
	if err != nil {
		log.Fatal(err)
	}
	outMu.Lock()
	defer outMu.Unlock()
	_, _ = out.Write(append(b, '\n'))
	_ = out.Flush()
}

func (r *request) event(e any) { say(object{"id": r.ID, "event": e}) }

func secs(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// wall is the clock of the row.
func wall() time.Time {
	off, _ := strconv.ParseInt(os.Getenv("SEGQ_WALL_S"), 10, 64)
	return time.Now().Add(time.Duration(off) * time.Second)
}

// said is an error in the words of the protocol.
func said(err error) object {
	o := object{"kind": "other", "detail": err.Error(), "type": reflect.TypeOf(err).String(), "code": "", "status": nil}
	var api *segq.APIError
	var pass *segq.PassError
	var signature *segq.SignatureError
	var task *segq.TaskError
	var network *segq.NetworkError
	switch {
	case errors.As(err, &api):
		o["kind"], o["status"], o["code"], o["type"] = "api", api.Status, api.Code, "APIError"
		if api.Reason != "" {
			o["reason"] = api.Reason
		}
		for name, e := range map[string]error{"TicketExpired": segq.ErrTicketExpired, "TicketLeft": segq.ErrTicketLeft,
			"TicketNoShow": segq.ErrTicketNoShow, "TicketFinished": segq.ErrTicketFinished, "TicketLost": segq.ErrTicketLost} {
			if errors.Is(err, e) && errors.Is(err, segq.ErrTicketGone) {
				o["type"] = name
			}
		}
	case errors.As(err, &pass):
		o["kind"], o["code"] = "pass", pass.Code
	case errors.As(err, &signature):
		o["kind"] = "signature"
	case errors.As(err, &task):
		o["kind"], o["code"] = "task", task.Task.State
	case errors.Is(err, context.DeadlineExceeded) && !errors.As(err, &network):
		o["kind"] = "deadline"
	case errors.Is(err, context.Canceled) && !errors.As(err, &network):
		o["kind"] = "cancelled"
	case errors.As(err, &network):
		o["kind"] = "network"
	}
	return o
}

func main() {
	log.SetOutput(io.Discard) // handlers fail since rows say so
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	go func() {
		<-ended
		mu.Lock()
		defer mu.Unlock()
		for _, w := range workers {
			w.Stop(10 * time.Second)
		}
		for _, w := range workers {
			<-w.over
		}
		os.Exit(0)
	}()
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		r := &request{raw: line}
		if err := json.Unmarshal(line, r); err != nil {
			log.SetOutput(os.Stderr)
			log.Fatalf("%v: %s", err, line)
		}
		if r.Do == "open" {
			c := &segq.Client{Routers: r.Routers, Token: r.Token, Timeout: secs(r.TimeoutS), RetryFor: secs(r.RetryForS), Now: wall}
			mu.Lock()
			sessions[r.ID] = &session{Client: c, gates: map[string]*segq.Gate{}}
			mu.Unlock()
			say(object{"id": r.ID, "ok": nil})
			continue
		}
		go func() {
			mu.Lock()
			s := sessions[r.Client]
			mu.Unlock()
			ctx, cancel := context.Background(), func() {}
			if r.TimeoutS > 0 {
				ctx, cancel = context.WithTimeout(ctx, secs(r.TimeoutS))
			}
			defer cancel()
			do := verbs[r.Do]
			if do == nil {
				say(object{"id": r.ID, "error": said(errors.New("no verb " + r.Do))})
			} else if ok, err := do(ctx, s, r); err != nil {
				say(object{"id": r.ID, "error": said(err)})
			} else {
				say(object{"id": r.ID, "ok": ok})
			}
		}()
	}
}

type verb func(context.Context, *session, *request) (any, error)

var verbs map[string]verb

func init() {
	verbs = map[string]verb{
		"wait_pass": waitPass, "poll": poll, "leave": leave, "check_pass": checkPass, "verify_pass": verifyPass,
		"wait_places": waitPlaces, "leave_places": leavePlaces, "serve": serve, "claim": claim, "submit": submit, "submit_many": submitMany, "wait_task": waitTask, "look": look,
		"cancel": cancelTask, "group": group, "call": call, "follow": follow, "fields": fields, "webhook": webhook,
		"work": work, "stop": stop, "watch": watch, "watch_queue": watchQueue,
	}
}

// ---- people ----

func waitPass(ctx context.Context, s *session, r *request) (any, error) {
	l := s.lineOf(r)
	t, err := l.Wait(ctx, func(t *segq.Ticket) {
		r.event(object{"token": t.Token, "device": l.Device, "state": t.State, "position": t.Position, "eta_s": t.EtaS})
	})
	if err != nil {
		return nil, err
	}
	return object{"token": t.Token, "pass": t.Pass}, nil
}

var (
	keysMu sync.Mutex
	keys   = map[string]*ecdsa.PrivateKey{} // of devices, by their names here
)

func deviceKey(name string) *ecdsa.PrivateKey {
	keysMu.Lock()
	defer keysMu.Unlock()
	if keys[name] == nil {
		keys[name], _ = segq.NewDeviceKey()
	}
	return keys[name]
}

func (s *session) lineOf(r *request) *segq.Line {
	l := s.Line(r.Queue)
	l.Token, l.Device = r.Token, r.Device
	if r.Key != "" {
		l.Key = deviceKey(r.Key)
	}
	return l
}

func poll(ctx context.Context, s *session, r *request) (any, error) {
	l := s.lineOf(r)
	t, err := l.Poll(ctx)
	if err != nil {
		return nil, err
	}
	return object{"state": t.State, "position": t.Position, "pass": t.Pass, "device": l.Device}, nil
}

func leave(ctx context.Context, s *session, r *request) (any, error) {
	return nil, s.lineOf(r).Leave(ctx)
}

func waitPlaces(ctx context.Context, s *session, r *request) (any, error) {
	l := s.Several(r.Queues...)
	l.Group, l.Name, l.Others, l.Claim = r.Group, r.Name, r.Others, r.Claim
	return l.Wait(ctx, func(p *segq.Places) { r.event(p) })
}

func leavePlaces(ctx context.Context, s *session, r *request) (any, error) {
	l := s.Several()
	l.Group = r.Group
	return nil, l.Leave(ctx)
}

// ---- gate ----

func (s *session) gate(queue string) *segq.Gate {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gates[queue] == nil {
		s.gates[queue] = s.Gate(queue)
	}
	return s.gates[queue]
}

func checkPass(ctx context.Context, s *session, r *request) (any, error) {
	p, err := s.gate(r.Queue).Check(ctx, r.Token)
	if err != nil {
		return nil, err
	}
	return object{"ticket": p.Ticket}, nil
}

func verifyPass(ctx context.Context, s *session, r *request) (any, error) {
	v, err := s.gate(r.Queue).Verify(ctx, r.Token, false)
	if err != nil {
		return nil, err
	}
	return object{"ticket": v.Ticket}, nil
}

func serve(_ context.Context, s *session, r *request) (any, error) {
	g := s.Gate(r.Queue)
	g.Timeout, g.Ask = time.Second, segq.Asking(r.Ask)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go func() {
		_ = http.Serve(l, g.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/bye" {
				w.Header().Set("X-Segq-Command", "release")
			}
			_ = json.NewEncoder(w).Encode(object{"ticket": segq.AdmissionOf(r.Context()).Ticket(), "path": r.URL.Path})
		})))
	}()
	return object{"url": "http://" + l.Addr().String()}, nil
}

func claim(_ context.Context, _ *session, r *request) (any, error) {
	c := struct {
		segq.Claim
		Aud any `json:"aud"`
	}{Claim: segq.Claim{KeyID: r.Kid}}
	if err := json.Unmarshal(r.Members, &c); err != nil {
		return nil, err
	}
	list, _ := c.Aud.([]any)
	for _, q := range list {
		c.Audiences = append(c.Audiences, q.(string))
	}
	c.Audience, _ = c.Aud.(string)
	return segq.SignClaim(r.Secret, c.Claim)
}

// ---- tasks ----

// submission reads a row: times are texts of Go, too.
func submission(raw []byte) (s segq.Submission, err error) {
	var more struct {
		Payload, Then json.RawMessage
		Delay         string
		Retry         struct{ Min string }
	}
	plain := object{}
	if err = json.Unmarshal(raw, &more); err == nil {
		err = json.Unmarshal(raw, &plain)
	}
	if err != nil {
		return s, err
	}
	for _, name := range []string{"delay", "retry", "then", "id", "do", "client", "queue"} {
		delete(plain, name)
	}
	rest, _ := json.Marshal(plain)
	if err = json.Unmarshal(rest, &s); err != nil {
		return s, err
	}
	if more.Payload != nil {
		s.Payload = more.Payload
	}
	s.Delay, _ = time.ParseDuration(more.Delay)
	if d, err := time.ParseDuration(more.Retry.Min); err == nil {
		s.Retry = &segq.Retry{Min: d}
	}
	if more.Then != nil {
		var to struct{ Queue string }
		_ = json.Unmarshal(more.Then, &to)
		next, err := submission(more.Then)
		if err != nil {
			return s, err
		}
		s.Then = &segq.Then{Queue: to.Queue, Submission: next}
	}
	return s, nil
}

func submit(ctx context.Context, s *session, r *request) (any, error) {
	row, err := submission(r.raw)
	if err != nil {
		return nil, err
	}
	t, err := s.Submit(ctx, r.Queue, row)
	if err != nil {
		return nil, err
	}
	return object{"task": t.Token, "state": t.State}, nil
}

func submitMany(ctx context.Context, s *session, r *request) (any, error) {
	rows := make([]segq.Submission, len(r.Rows))
	for i, raw := range r.Rows {
		var err error
		if rows[i], err = submission(raw); err != nil {
			return nil, err
		}
	}
	outcomes, err := s.SubmitMany(ctx, r.Queue, rows)
	if err != nil {
		return nil, err
	}
	list := []object{}
	for _, o := range outcomes {
		row := object{"status": o.Status, "task": nil, "code": nil}
		if o.Task != "" {
			row["task"] = o.Task
		}
		var refused *segq.APIError
		if errors.As(o.Err, &refused) {
			row["code"] = refused.Code
		}
		list = append(list, row)
	}
	return list, nil
}

func waitTask(ctx context.Context, s *session, r *request) (any, error) {
	t, err := s.Wait(ctx, r.Task)
	if err != nil {
		return nil, err
	}
	return object{"state": t.State, "result": t.Result}, nil
}

func look(ctx context.Context, s *session, r *request) (any, error) {
	t, err := s.Look(ctx, r.Task)
	if err != nil {
		return nil, err
	}
	return t.Raw, nil
}

func cancelTask(ctx context.Context, s *session, r *request) (any, error) {
	t, err := s.Cancel(ctx, r.Task, r.Force)
	if err != nil {
		return nil, err
	}
	return t.Raw, nil
}

func group(ctx context.Context, s *session, r *request) (any, error) {
	do := map[string]func(context.Context, string, string) (*segq.TaskGroup, error){
		"": s.Group, `"seal"`: s.SealGroup, `"cancel"`: s.CancelGroup}[string(r.Then)]
	return do(ctx, r.Queue, r.Group)
}

func call(ctx context.Context, s *session, r *request) (any, error) {
	o := segq.CallOptions{Method: "GET"}
	if r.Progress {
		o.Progress = func(p segq.Place) { r.event(p) }
	}
	stream, err := s.Call(ctx, r.Endpoint, r.Path, o)
	if err != nil {
		return nil, err
	}
	if !r.Progress {
		return read(stream, r)
	}
	defer stream.Close()
	for {
		e, err := stream.Next()
		if err == io.EOF {
			return object{"status": stream.Status}, nil
		}
		if err != nil {
			return nil, err
		}
		r.event(object{"piece": e.Data})
	}
}

func watch(ctx context.Context, s *session, r *request) (any, error) {
	t, err := s.Watch(ctx, r.Task, func(t *segq.Task) {
		r.event(object{"state": t.State, "position": t.Position, "progress": t.Progress})
	})
	if err != nil {
		return nil, err
	}
	return object{"state": t.State}, nil
}

func watchQueue(ctx context.Context, s *session, r *request) (any, error) {
	return nil, s.WatchQueue(ctx, r.Queue, r.After, func(e *segq.TaskEvent) { r.event(e) })
}

func follow(ctx context.Context, s *session, r *request) (any, error) {
	stream, err := s.Follow(ctx, r.Task, 0)
	if err != nil {
		return nil, err
	}
	return read(stream, r)
}

func read(stream *segq.Stream, r *request) (any, error) {
	defer stream.Close()
	buf := make([]byte, 4096)
	for {
		n, err := stream.Read(buf)
		if n > 0 {
			r.event(object{"piece": string(buf[:n])})
		}
		if err == io.EOF {
			return object{"status": stream.Status}, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// ---- types, hooks ----

// names are the members that a type has on the wire.
func names(v any) (out []string) {
	t := reflect.TypeOf(v)
	for i := 0; i < t.NumField(); i++ {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name != "" && name != "-" {
			out = append(out, name)
		}
	}
	return out
}

func fields(context.Context, *session, *request) (any, error) {
	var reasons []string
	for _, why := range []string{"expired", "left", "no_show", "finished", "segment_lost", "unknown"} {
		e := &segq.APIError{Problem: segq.Problem{Status: 410, Code: "ticket_gone", Reason: why}}
		for _, known := range []error{segq.ErrTicketExpired, segq.ErrTicketLeft, segq.ErrTicketNoShow,
			segq.ErrTicketFinished, segq.ErrTicketLost} {
			if errors.Is(e, known) {
				reasons = append(reasons, why)
			}
		}
	}
	return object{
		"operations": operations, "reasons": reasons, "final": segq.Final,
		"TaskSubmit": names(segq.Submission{}), "TaskPatch": names(segq.Patch{}), "SchedulePut": names(segq.Schedule{}),
		"TaskComplete": names(segq.Completion{}), "Join": names(segq.Join{}), "Ticket": names(segq.Ticket{}),
		"TaskTaken": names(segq.Job{}), "Task": names(segq.Task{}), "TaskCount": names(segq.TaskCount{}),
		"TaskGroup": names(segq.TaskGroup{}), "Schedule": names(segq.ScheduleState{}), "Problem": names(segq.Problem{}),
		"TaskProgress": names(segq.Progress{}), "Progress": names(segq.TaskProgress{}),
	}, nil
}

func webhook(_ context.Context, _ *session, r *request) (any, error) {
	w, err := segq.NewWebhook(r.Keys...)
	if err != nil {
		return nil, err
	}
	h := http.Header{}
	for k, v := range r.Headers {
		h.Set(k, v)
	}
	return w.Verify(h, []byte(r.Body))
}

// ---- workers ----

// payload is what rows have a handler do.
type payload struct {
	MS       int             `json:"ms"`
	Fail     string          `json:"fail"`
	Nack     string          `json:"nack"`
	Delay    string          `json:"delay"`
	Times    *int            `json:"times"`
	Result   json.RawMessage `json:"result"`
	ThenMS   int             `json:"then_ms"`
	Progress *struct {
		Percent *int            `json:"percent"`
		Text    string          `json:"text"`
		Data    json.RawMessage `json:"data"`
	} `json:"progress"`
}

func handle(ctx context.Context, job *segq.Job) (any, error) {
	if job.ContentType != "" {
		body := job.PayloadBase64
		for i, j := 0, len(body)-1; i < j; i, j = i+1, j-1 {
			body[i], body[j] = body[j], body[i]
		}
		return segq.Bytes{Body: body, ContentType: job.ContentType}, nil
	}
	var p payload
	if err := job.Decode(&p); err != nil {
		return nil, err
	}
	rest := func(ms int) error {
		select {
		case <-time.After(time.Duration(ms) * time.Millisecond):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := rest(p.MS); err != nil {
		return nil, err
	}
	if p.Progress != nil {
		job.Progress(segq.Progress{Percent: p.Progress.Percent, Text: p.Progress.Text, Data: p.Progress.Data})
		if err := rest(p.ThenMS); err != nil {
			return nil, err
		}
	}
	again := p.Times == nil || job.Attempt <= *p.Times
	if p.Fail != "" && again {
		panic(p.Fail) // a panic is an error as any
	}
	if p.Nack != "" && again {
		d, err := time.ParseDuration(p.Delay)
		if err != nil {
			return nil, &segq.Nack{Reason: p.Nack}
		}
		return nil, segq.GiveBack(p.Nack, d)
	}
	return p.Result, nil
}

func work(ctx context.Context, s *session, r *request) (any, error) {
	o := []segq.WorkerOption{segq.Queues(r.Queues[1:]...), segq.NoSignals(), segq.TakeWait(time.Second),
		segq.OnEvent(func(e segq.WorkerEvent) {
			told := object{"what": e.Name, "task": nil, "attempt": nil}
			if e.Job != nil {
				told["task"], told["attempt"] = e.Job.Token, e.Job.Attempt
			}
			r.event(told)
		})}
	if r.Concurrency > 0 {
		o = append(o, segq.Concurrency(r.Concurrency))
	} else {
		o = append(o, segq.Concurrency(4))
	}
	if r.LeaseS > 0 {
		o = append(o, segq.Lease(secs(r.LeaseS)))
	}
	w := &working{s.Worker(r.Queues[0], handle, o...), make(chan struct{})}
	defer close(w.over)
	mu.Lock()
	workers[r.ID] = w
	mu.Unlock()
	return nil, w.Run(ctx)
}

func stop(_ context.Context, _ *session, r *request) (any, error) {
	mu.Lock()
	w := workers[r.Work]
	mu.Unlock()
	drain := 10.0
	if r.DrainS != nil {
		drain = *r.DrainS
	}
	w.Stop(secs(drain))
	<-w.over
	return nil, nil
}

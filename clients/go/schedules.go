package segq

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"
)

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
	BodyBase64 []byte        `json:"body_base64,omitempty"`
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

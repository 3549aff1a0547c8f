package segq

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// What an answer of segq that refuses is: errors.Is(err, segq.ErrTicketLeft). Each is also told by an
// *APIError, with all that segq said.
var (
	ErrBadRequest     = errors.New("segq: the request itself is wrong")        // 400, 405, 413, 415, 422 ...
	ErrUnauthorized   = errors.New("segq: no token, or one that is not known") // 401
	ErrForbidden      = errors.New("segq: not allowed")                        // 403: Detail says why
	ErrNotFound       = errors.New("segq: not found")                          // 404: Code says what
	ErrConflict       = errors.New("segq: conflict")                           // 409
	ErrChallenge      = errors.New("segq: the join costs some work")           // 428: Line does it; with Verify a token is asked for
	ErrTooFast        = errors.New("segq: too many requests")                  // 429
	ErrUnavailable    = errors.New("segq: try again later")                    // 5xx: nothing was done
	ErrOutcomeUnknown = errors.New("segq: it may have been done")              // 503 outcome_unknown
	ErrTaskGone       = errors.New("segq: the task is kept no longer")         // 410 task_gone
	ErrTicketGone     = errors.New("segq: the place is gone")                  // 410 ticket_gone, of any reason
	ErrTicketExpired  = errors.New("segq: nobody asked about the place")       // reason expired
	ErrTicketLeft     = errors.New("segq: its owner has left the line")        // reason left
	ErrTicketNoShow   = errors.New("segq: nobody collected the pass")          // reason no_show
	ErrTicketFinished = errors.New("segq: the session is over")                // reason finished
	ErrTicketLost     = errors.New("segq: its segment was lost, join again")   // reason segment_lost
	ErrTicketUnknown  = errors.New("segq: a ticket that no router knows")      // 404 ticket_unknown
	ErrNotOver        = errors.New("segq: the task has no result yet")         // of Result
	ErrPassExpired    = errors.New("segq: the pass has expired")               // PassError of code expired
	ErrPassNotYet     = errors.New("segq: the pass is of the future")          // PassError of code not_yet_valid
)

var gone = map[string]error{
	"expired": ErrTicketExpired, "left": ErrTicketLeft, "no_show": ErrTicketNoShow,
	"finished": ErrTicketFinished, "segment_lost": ErrTicketLost,
}

// Problem is the body of a refusal (application/problem+json).
type Problem struct {
	Title       string          `json:"title"`
	Status      int             `json:"status"`
	Code        string          `json:"code"`
	Detail      string          `json:"detail"`
	Message     string          `json:"message"` // the operator's notice, of a queue that is closed
	RequestID   string          `json:"request_id"`
	Reason      string          `json:"reason"` // of a ticket that is gone
	Location    string          `json:"location"`
	Leader      string          `json:"leader"`
	PollAfterMS int64           `json:"poll_after_ms"`
	OpensAt     int64           `json:"opens_at"`
	Challenge   json.RawMessage `json:"challenge"` // of 428: docs/challenge.md
	Verify      bool            `json:"verify"`    // of 428: a token of the site's check is asked for
	Ticket      string          `json:"ticket"`    // of 403 other_device: name of the ticket, for operators
	Error       json.RawMessage `json:"error"`     // the same again, for clients of language models
}

// APIError is a refusal, as segq said it.
type APIError struct {
	Problem
	RetryAfter time.Duration // 0: segq did not say
}

func (e *APIError) Error() string {
	detail := e.Detail
	if detail == "" {
		detail = e.Title
	}
	return fmt.Sprintf("segq: %d %s: %s", e.Status, e.Code, detail)
}

// Is tells errors.Is what it is.
func (e *APIError) Is(target error) bool {
	switch target {
	case ErrUnauthorized:
		return e.Status == 401
	case ErrForbidden:
		return e.Status == 403
	case ErrNotFound:
		return e.Status == 404
	case ErrConflict:
		return e.Status == 409
	case ErrChallenge:
		return e.Status == 428
	case ErrTooFast:
		return e.Status == 429
	case ErrUnavailable:
		return e.Status >= 500
	case ErrOutcomeUnknown:
		return e.Code == "outcome_unknown"
	case ErrTaskGone:
		return e.Code == "task_gone"
	case ErrTicketUnknown:
		return e.Code == "ticket_unknown"
	case ErrTicketGone:
		return e.Status == 410 && e.Code != "task_gone" || e.Code == "ticket_unknown"
	case ErrBadRequest:
		return e.Status < 500 && e.Status != 401 && e.Status != 403 && e.Status != 404 &&
			e.Status != 409 && e.Status != 410 && e.Status != 428 && e.Status != 429
	}
	return e.Status == 410 && target != nil && gone[e.Reason] == target
}

// NetworkError says that no router gave an answer that could be read: refused, timed out, broken off,
// no JSON.
type NetworkError struct {
	Router string
	Err    error
}

func (e *NetworkError) Error() string { return fmt.Sprintf("segq: %s: %v", e.Router, e.Err) }

// Unwrap gives what net/http said.
func (e *NetworkError) Unwrap() error { return e.Err }

// PassError is a pass that opens nothing; Code says why in one word: malformed, algorithm, unknown_key,
// signature, other_queue, expired, not_yet_valid, other_method, other_url, once, none.
type PassError struct {
	Code, Detail string
}

func (e *PassError) Error() string { return "segq: pass " + e.Code + ": " + e.Detail }

// Is tells errors.Is whether it is one of time.
func (e *PassError) Is(target error) bool {
	return target == ErrPassExpired && e.Code == "expired" || target == ErrPassNotYet && e.Code == "not_yet_valid"
}

// SignatureError is a call that nobody whom we know has signed, or that is too old.
type SignatureError struct {
	Detail string
}

func (e *SignatureError) Error() string { return "segq: " + e.Detail }

// TaskError is a task that was waited for, and that ended without success.
type TaskError struct {
	Task *Task
}

func (e *TaskError) Error() string { return "segq: task " + e.Task.State + ": " + e.Reason() }

// Reason is the worker's, or how the last attempt ended.
func (e *TaskError) Reason() string {
	if n := len(e.Task.History); n > 0 && e.Task.History[n-1].Reason != "" {
		return e.Task.History[n-1].Reason
	} else if n > 0 {
		return e.Task.History[n-1].End
	}
	return ""
}

// Nack is what a handler returns to give a task back: with its reason, and to be tried again after
// Delay (nil: as the pool's back-off says). Any other error does it, too, with its words as reason.
type Nack struct {
	Reason string
	Delay  *time.Duration
}

func (e *Nack) Error() string { return e.Reason }

// GiveBack is a Nack with a delay.
func GiveBack(reason string, delay time.Duration) error { return &Nack{Reason: reason, Delay: &delay} }

// PanicError is what the panic of a handler becomes.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

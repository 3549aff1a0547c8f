package segq

import (
	"context"
	"crypto"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	firstNews = 5 * time.Second  // for the first event
	lateNews  = 3 * time.Second  // so late a beat may be
	quiet     = 90 * time.Second // a router says the place anew sooner, or after the told interval
	deafFor   = time.Minute      // then it tries to listen again
)

// Unix is a moment in seconds since 1970, as segq writes it.
type Unix float64

// Time is the moment.
func (u Unix) Time() time.Time { return time.UnixMicro(int64(float64(u) * 1e6)) }

// At is the moment t.
func At(t time.Time) Unix { return Unix(float64(t.UnixMicro()) / 1e6) }

// Ticket is a place, as last heard.
type Ticket struct {
	Token          string `json:"token"` // save it: the place goes on from it
	Queue          string `json:"queue"`
	Lane           string `json:"lane"`
	State          string `json:"state"`    // waiting, admitted
	Position       *int64 `json:"position"` // nil: not known at the moment
	PositionCapped bool   `json:"position_capped"`
	Total          int64  `json:"total"`
	EtaS           *int64 `json:"eta_s"` // nil: not known
	EtaReason      string `json:"eta_reason"`
	PollAfterMS    int64  `json:"poll_after_ms"`
	Message        string `json:"message"` // the operator's notice
	Pass           string `json:"pass"`    // when admitted
	PassExpiresAt  Unix   `json:"pass_expires_at"`
	ReleasedAt     Unix   `json:"released_at"`
	Ticket         string `json:"ticket"` // 17-123: its name, for those who ask for help
	Segment        int64  `json:"segment"`
	Prequeue       bool   `json:"prequeue"` // the draw is still to come
	OpensAt        Unix   `json:"opens_at"`
}

// Admitted says whether it has its pass.
func (t *Ticket) Admitted() bool { return t.State == "admitted" }

func (t *Ticket) pollAfter() time.Duration {
	if t.PollAfterMS > 86400e3 {
		return 24 * time.Hour
	}
	return time.Duration(t.PollAfterMS) * time.Millisecond
}

// Join is what a person joins with.
type Join struct {
	Subject string `json:"subject,omitempty"` // who joins: at most one place each
	Client  string `json:"client,omitempty"`  // browser, mobile, game
	Lane    string `json:"lane,omitempty"`
	Claim   string `json:"claim,omitempty"` // the right to a lane: SignClaim
}

// Line is one place in one queue. Its fields are set before Wait, which is not for two goroutines at
// once; Leave and Trouble are for any.
type Line struct {
	Queue string
	Token string // of an earlier run: the place goes on; else it joins
	Join  Join
	Polls bool // it only polls, and does not listen to events

	// Device is the cookie of a queue with bind: device, the only one that is kept: save it with the token.
	Device string

	// Key is the device's own, for a queue with bind: key: of the curve P-256, in memory (NewDeviceKey) or
	// in hardware. Keep it as long as the place.
	Key crypto.Signer

	c       *Client
	key     string
	nonce   string // for the next proof
	mu      sync.Mutex
	trouble string
	deaf    time.Time
	missed  int // streams in a row that did not begin
	id      string
}

// Trouble is "offline" or "busy" while nobody answers; the place is kept.
func (l *Line) Trouble() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.trouble
}

// Enter takes the place, or finds it again, and works for it where joins cost work. ErrForbidden, ErrNotFound: it cannot join.
func (l *Line) Enter(ctx context.Context) (*Ticket, error) {
	if l.token() != "" {
		return l.Poll(ctx)
	}
	if l.key == "" {
		l.key = key()
	}
	j := l.Join
	if j.Client == "" {
		j.Client = "game"
	}
	body, err := encode(j)
	if err != nil {
		return nil, err
	}
	return l.join(ctx, &ask{method: "POST", path: "/v1/queues/" + esc(l.Queue) + "/tickets", body: body,
		header: http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {l.key}}})
}

// Poll asks once; it also tells segq that somebody still waits. ErrTicketGone: it is over.
func (l *Line) Poll(ctx context.Context) (*Ticket, error) {
	return l.ask(ctx, &ask{method: "GET", path: l.path()})
}

// Leave gives the place up, or ends the session.
func (l *Line) Leave(ctx context.Context) error {
	if l.token() == "" {
		return nil
	}
	err := l.c.call(ctx, l.of(&ask{method: "DELETE", path: l.path()}), nil)
	if !l.mayProve(err) {
		return err
	}
	err = l.c.until(ctx, l.c.RetryFor, func(router string) error { return l.prove(ctx, router) }, nil)
	if err != nil {
		return err
	}
	return l.c.call(ctx, l.of(&ask{method: "DELETE", path: l.path()}), nil)
}

// Wait enters, tells news of each change of the place (it may be nil), and returns when it is let in,
// with the pass. It is told by events where a router has room for that, and polls as told otherwise.
func (l *Line) Wait(ctx context.Context, news func(*Ticket)) (*Ticket, error) {
	if news == nil {
		news = func(*Ticket) {}
	}
	t, err := l.Enter(ctx)
	for {
		if err != nil {
			return nil, err
		}
		news(t)
		if t.Admitted() {
			return t, nil
		}
		pause := t.pollAfter()
		if !l.Polls && !time.Now().Before(l.deaf) {
			var last *Ticket
			last, pause, err = l.listen(ctx, t, news)
			if err != nil {
				if ctx.Err() != nil || !passing(err) && !l.mayProve(err) {
					return nil, err
				}
				pause = l.missedOne(err, t.pollAfter())
			}
			if last.Admitted() {
				return last, nil
			}
		}
		if err := sleep(ctx, pause); err != nil {
			return nil, err
		}
		t, err = l.Poll(ctx)
	}
}

// missedOne is a stream that did not begin; returns how long to wait before a poll.
func (l *Line) missedOne(err error, pause time.Duration) time.Duration {
	switch {
	case l.mayProve(err): // the poll proves the key
	case offline(err):
		l.c.rotate(l.c.first()) // it may be dead: another one knows
	default:
		l.beDeaf(deafFor)
		if told := retryAfter(err); told > 0 {
			return told
		}
		return pause
	}
	if l.missed++; l.missed > 1 {
		l.beDeaf(deafFor)
	}
	return 0
}

func (l *Line) token() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Token
}

func (l *Line) path() string { return "/v1/tickets/" + esc(l.token()) }

// of is a request of this person: without the server's token, with the device's cookie.
func (l *Line) of(q *ask) *ask {
	l.mu.Lock()
	defer l.mu.Unlock()
	q.open = true
	if l.Device != "" {
		if q.header == nil {
			q.header = http.Header{}
		}
		q.header["Cookie"] = []string{l.Device}
	}
	return q
}

// keep keeps the device's cookie: of a join, or of a 503, when a ticket was rebound.
func (l *Line) keep(h http.Header) {
	if nonce := h.Get("DPoP-Nonce"); nonce != "" {
		l.mu.Lock()
		l.nonce = nonce
		l.mu.Unlock()
	}
	for _, c := range (&http.Response{Header: h}).Cookies() {
		if strings.HasPrefix(c.Name, deviceCookie) {
			l.mu.Lock()
			l.Device = c.Name + "=" + c.Value
			l.mu.Unlock()
		}
	}
}

func (l *Line) ask(ctx context.Context, q *ask) (t *Ticket, err error) {
	err = l.c.until(ctx, forever, func(router string) error {
		for left := proofs; ; left-- {
			a, err := l.once(ctx, router, q, q.method == "POST")
			if err != nil {
				return err
			}
			body, err := judge(router, a)
			if left > 0 && l.mayProve(err) {
				if q.method != "POST" {
					if err := l.prove(ctx, router); err != nil {
						return err
					}
				}
				continue
			}
			if err == nil {
				t, err = l.heard(router, body)
			}
			return err
		}
	}, l.say)
	return t, err
}

func (l *Line) say(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		l.trouble = ""
	case offline(err):
		l.trouble = "offline"
	default:
		l.trouble = "busy"
	}
}

func (l *Line) heard(router string, body []byte) (*Ticket, error) {
	t := &Ticket{}
	if err := decode(router, body, t); err != nil {
		return nil, err
	}
	if t.Token == "" || t.State == "" {
		return nil, &NetworkError{router, errors.New("an answer that is no ticket")}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Token = t.Token
	return t, nil
}

func (l *Line) beDeaf(d time.Duration) { l.deaf = time.Now().Add(d + jitter(d)) }

// listen hears news by events until there are none; returns how long to wait before a poll. Its ticket
// is the last that was heard.
func (l *Line) listen(ctx context.Context, t *Ticket, news func(*Ticket)) (*Ticket, time.Duration, error) {
	router, heard := l.c.first(), false
	q := l.of(&ask{method: "GET", path: l.path() + "/events", header: http.Header{"Accept": {"text/event-stream"}}})
	if l.id != "" {
		q.header.Set("Last-Event-ID", l.id)
	}
	s, err := l.c.stream(ctx, router, q, l.c.Timeout)
	if err != nil {
		return t, t.pollAfter(), err
	}
	defer s.Close()
	if s.Status != 200 {
		a, err := s.whole()
		if err == nil && a.status >= 300 {
			_, err = judge(router, a)
		}
		if err == nil { // it has no room for listeners
			told := seconds(s.Header.Get("Retry-After"))
			if told == 0 {
				told = deafFor
			}
			l.beDeaf(told)
		}
		return t, t.pollAfter(), err
	}
	s.patience = firstNews
	placeBy := time.Now().Add(quiet)
	for {
		e, err := s.Next()
		if err != nil {
			if ctx.Err() != nil {
				return t, 0, err
			}
			break
		}
		switch e.Name {
		case "message":
			next, err := l.heard(router, []byte(e.Data))
			if err != nil {
				break
			}
			t, heard, l.id, l.missed = next, true, e.ID, 0
			placeBy = time.Now().Add(longer(quiet, 2*t.pollAfter()))
			l.say(nil)
			news(t)
			if t.Admitted() {
				return t, 0, nil
			}
			continue
		case "beat":
			ms, err := strconv.ParseUint(e.Data, 10, 20)
			if err != nil {
				break
			}
			s.patience = time.Duration(ms)*time.Millisecond + lateNews
			if time.Now().After(placeBy) { // beats without places: its node is away
				return t, 0, nil
			}
			continue
		case "gone":
			return t, 0, refusal(410, []byte(e.Data), "")
		case "away":
			l.c.rotate(router)
			var said struct {
				PollAfterMS float64 `json:"poll_after_ms"`
			}
			_ = json.Unmarshal([]byte(e.Data), &said)
			return t, seconds(strconv.FormatFloat(said.PollAfterMS/1000, 'f', 3, 64)), nil
		default:
			continue
		}
		break // what cannot be read
	}
	l.c.rotate(router)
	if !heard { // something on the way buffers
		l.beDeaf(deafFor)
		return t, 0, nil
	}
	return t, jitter(longer(t.pollAfter(), firstNews)), nil // all who were told at once come apart
}

func longer(a, b time.Duration) time.Duration {
	if a > b {
		return a
	}
	return b
}

func shorter(a, b time.Duration) time.Duration {
	if a < b {
		return a
	}
	return b
}

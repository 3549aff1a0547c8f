package segq

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// Places are those of a Several, as last heard.
type Places struct {
	Group         string     `json:"group"` // save it: each answer has another one, all of them stay good
	State         string     `json:"state"` // waiting, admitted
	Places        []OnePlace `json:"places"`
	PollAfterMS   int64      `json:"poll_after_ms"`
	Pass          string     `json:"pass"` // when admitted
	PassExpiresAt Unix       `json:"pass_expires_at"`
}

// OnePlace is that in one of the queues.
type OnePlace struct {
	Queue    string `json:"queue"`
	State    string `json:"state"`  // waiting, admitted, over, unknown: its line cannot be reached now
	Reason   string `json:"reason"` // of over: given_up, expired ...
	Position *int64 `json:"position"`
	EtaS     *int64 `json:"eta_s"`
	Ticket   string `json:"ticket"`

	Pass          string `json:"pass"` // when admitted, where the others are kept
	PassExpiresAt Unix   `json:"pass_expires_at"`
}

// Several are one person's places in several queues: the first turn is taken, the others are given up
// (join_groups of the routers), or kept: then each place that is let in has its own pass, and the wait
// ends when none waits any more. Its fields are set before Wait; it is for one goroutine at a time.
type Several struct {
	Queues []string
	Name   string // of a group of the routers' configuration, in place of Queues
	Others string // give_up, keep
	Claim  string // a signed claim for all queues
	Group  string // the last one of an earlier run: the places go on; else it joins
	Client string // browser, mobile, game

	c   *Client
	key string
}

// Several is a person's places in several queues: nothing is asked yet.
func (c *Client) Several(queues ...string) *Several { return &Several{c: c, Queues: queues} }

// Enter takes the places, all or none, or finds them again. ErrForbidden, ErrNotFound: it cannot join.
func (s *Several) Enter(ctx context.Context) (*Places, error) {
	if s.Group != "" {
		return s.Poll(ctx)
	}
	if s.key == "" {
		s.key = key()
	}
	body, err := encode(struct {
		Queues []string `json:"queues,omitempty"`
		Group  string   `json:"group,omitempty"`
		Others string   `json:"others,omitempty"`
		Claim  string   `json:"claim,omitempty"`
		Client string   `json:"client,omitempty"`
	}{s.Queues, s.Name, s.Others, s.Claim, s.Client})
	if err != nil {
		return nil, err
	}
	return s.ask(ctx, &ask{method: "POST", path: "/v1/places", body: body, open: true,
		header: http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {s.key}}})
}

// Poll asks once; it also tells segq that somebody still waits. ErrTicketGone: no place is left.
func (s *Several) Poll(ctx context.Context) (*Places, error) {
	return s.ask(ctx, &ask{method: "GET", path: "/v1/places/" + esc(s.Group), open: true})
}

// Leave gives all places up, or ends the session.
func (s *Several) Leave(ctx context.Context) error {
	if s.Group == "" {
		return nil
	}
	return s.c.call(ctx, &ask{method: "DELETE", path: "/v1/places/" + esc(s.Group), open: true}, nil)
}

// Wait enters, tells news of each answer (it may be nil), and returns when the first turn has come,
// with its pass.
func (s *Several) Wait(ctx context.Context, news func(*Places)) (*Places, error) {
	p, err := s.Enter(ctx)
	for ; err == nil; p, err = s.Poll(ctx) {
		if news != nil {
			news(p)
		}
		if p.State == "admitted" {
			return p, nil
		}
		if err := sleep(ctx, shorter(time.Duration(p.PollAfterMS)*time.Millisecond, 24*time.Hour)); err != nil {
			return nil, err
		}
	}
	return nil, err
}

func (s *Several) ask(ctx context.Context, q *ask) (*Places, error) {
	p := &Places{}
	err := s.c.until(ctx, forever, func(router string) error {
		a, err := s.c.try(ctx, router, q)
		if err != nil {
			return err
		}
		body, err := judge(router, a)
		if err != nil {
			return err
		}
		*p = Places{PollAfterMS: 1000}
		if err := decode(router, body, p); err != nil {
			return err
		}
		if p.Group == "" || p.State == "" {
			return &NetworkError{router, errors.New("an answer that is no places")}
		}
		return nil
	}, nil)
	if err != nil {
		return nil, err
	}
	s.Group = p.Group
	if p.State == "over" {
		return nil, &APIError{Problem: Problem{Status: 410, Code: "ticket_gone", Detail: "no place is left: join again"}}
	}
	return p, nil
}

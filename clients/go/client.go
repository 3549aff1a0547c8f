// Package segq is the client of segq: people in line, passes at the door, tasks, workers, webhooks.
//
// A Client asks any of several routers. What is asked may be asked again (joins and submissions have an
// Idempotency-Key), so a broken connection, a body that breaks off and a 503 are answered by the next
// try, at another router if there is one. Goroutines may share a client.
package segq

import (
	"context"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// Version of this package, and of the segq that it belongs to.
const Version = "0.2.0"

// Client asks segq. Its fields are set before it is used first.
type Client struct {
	Routers  []string      // addresses, like https://q1.example; any will do
	Token    string        // of a server that submits or takes tasks; people's calls never send it
	Timeout  time.Duration // of one whole answer; 0: 10 s
	RetryFor time.Duration // of a call, all tries together; 0: 60 s, less than 0: one try
	Header   http.Header   // sent with each request

	// Transport asks; nil: one of its own, which reads no HTTP_PROXY and checks certificates by the
	// system's authorities.
	Transport http.RoundTripper

	// Now tells the time of passes, claims and webhooks; nil: time.Now.
	Now func() time.Time

	once   sync.Once
	bad    error
	http   *http.Client
	mu     sync.Mutex
	order  []string        // of routers: who is asked first
	named  map[string]bool // their origins
	header http.Header
}

// Close closes the connections that are kept.
func (c *Client) Close() {
	if c.init() == nil {
		c.http.CloseIdleConnections()
	}
}

// Line is a place in the line of a queue: nothing is asked yet.
func (c *Client) Line(queue string) *Line { return &Line{c: c, Queue: queue} }

// WaitForPass joins and returns when it is let in: the ticket's Pass. news (it may be nil) hears of the
// place.
func (c *Client) WaitForPass(ctx context.Context, queue string, news func(*Ticket)) (*Ticket, error) {
	return c.Line(queue).Wait(ctx, news)
}

// Figures are a queue's (Queue of proto/openapi.yaml).
func (c *Client) Figures(ctx context.Context, queue string) (map[string]any, error) {
	var out map[string]any
	err := c.call(ctx, &ask{method: "GET", path: "/v1/queues/" + esc(queue), open: true}, &out)
	return out, err
}

func (c *Client) now() time.Time {
	if c.Now != nil {
		return c.Now()
	}
	return time.Now()
}

func esc(s string) string { return url.PathEscape(s) }

package segq

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mrand "math/rand"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	worst     = 30 * time.Second // of the back-off
	bodyMax   = 64 << 20
	redirects = 4
	kept      = 32 // idle connections to a router
	forever   = time.Duration(1<<63 - 1)
)

// Headers that go to no host but those whom the caller named.
var secret = []string{"Authorization", "Cookie", "Dpop", "Segq-Token", "X-Segq-Gate-Secret"}

var errLoop = errors.New("it redirects in circles")

// ask is a request that may be repeated.
type ask struct {
	method, path string
	body         []byte
	header       http.Header
	open         bool          // without the server's token: of people
	timeout      time.Duration // 0: the client's
	retryFor     time.Duration // 0: the client's; less than 0: one try
}

// answer is what came back, as a whole.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func key() string {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic(err) // no system is without
	}
	return hex.EncodeToString(b[:])
}

// encode writes JSON as it is: no & of a URL becomes \u0026.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("segq: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func (c *Client) init() error {
	c.once.Do(func() {
		if c.Timeout == 0 {
			c.Timeout = 10 * time.Second
		}
		if c.RetryFor == 0 {
			c.RetryFor = time.Minute
		}
		c.named = map[string]bool{}
		for _, r := range c.Routers {
			u, err := url.Parse(r)
			if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
				c.bad = fmt.Errorf("segq: a router's address is like https://q1.example, not %q", r)
			}
			c.order = append(c.order, strings.TrimRight(r, "/"))
			if err == nil {
				c.named[origin(u)] = true
			}
		}
		if len(c.order) == 0 {
			c.bad = errors.New("segq: no router is named")
		}
		if strings.ContainsAny(c.Token, "\r\n") {
			c.bad = errors.New("segq: a line break in the token: trim what a file has")
		}
		mrand.Shuffle(len(c.order), func(i, j int) { c.order[i], c.order[j] = c.order[j], c.order[i] })
		t := c.Transport
		if t == nil {
			t = &http.Transport{
				DialContext:        (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
				DisableCompression: true, MaxIdleConnsPerHost: kept, IdleConnTimeout: 90 * time.Second,
			}
		}
		c.http = &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}}
		c.header = c.Header.Clone()
		if c.header == nil {
			c.header = http.Header{}
		}
		if c.header.Get("User-Agent") == "" {
			c.header.Set("User-Agent", "segq-go/"+Version)
		}
	})
	return c.bad
}

func init() { mrand.Seed(time.Now().UnixNano()) }

func (c *Client) first() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.order[0]
}

// rotate has another router asked first from now on.
func (c *Client) rotate(failed string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.order[0] == failed {
		c.order = append(c.order[1:], failed)
	}
}

// ---- one try ----

// ended tells what a failure is: the caller's context, or the network.
func ended(ctx context.Context, router string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("segq: %w", ctx.Err())
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return &NetworkError{Router: router, Err: err}
}

// open asks one router; the head of its answer is there. Redirects that keep method and body are
// followed. parent: the caller's context, ctx: with what bounds this try.
func (c *Client) open(parent, ctx context.Context, router string, q *ask) (*http.Response, error) {
	to, header := router+q.path, c.header.Clone()
	if c.Token != "" && !q.open {
		header.Set("Authorization", "Bearer "+c.Token)
	}
	for k, v := range q.header {
		header[k] = v
	}
	for hops := 0; ; hops++ {
		r, err := http.NewRequestWithContext(ctx, q.method, to, bytes.NewReader(q.body))
		if err != nil {
			return nil, fmt.Errorf("segq: %w", err)
		}
		r.Header = header
		a, err := c.http.Do(r)
		if err != nil {
			return nil, ended(parent, router, err)
		}
		where := a.Header.Get("Location")
		if a.StatusCode != 307 && a.StatusCode != 308 || where == "" || a.Header.Get("Segq-Status") != "" {
			return a, nil // also a redirect of a target
		}
		a.Body.Close()
		if hops >= redirects {
			return nil, &NetworkError{router, errLoop}
		}
		next, err := r.URL.Parse(where)
		if err != nil || next.Scheme != "http" && next.Scheme != "https" || next.Scheme < r.URL.Scheme {
			return nil, &NetworkError{router, fmt.Errorf("a redirect to %q is not followed", where)}
		}
		if to := origin(next); to != origin(r.URL) && !c.named[to] { // a token is for those whom the caller named
			header = header.Clone()
			for _, h := range secret {
				header.Del(h)
			}
		}
		to = next.String()
	}
}

// origin: scheme, host and port, as they are compared.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// try asks one router, and reads all of its answer, whatever it says.
func (c *Client) try(ctx context.Context, router string, q *ask) (*answer, error) {
	timeout := q.timeout
	if timeout == 0 {
		timeout = c.Timeout
	}
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	a, err := c.open(ctx, within, router, q)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	body, err := readAll(a)
	if err != nil {
		return nil, ended(ctx, router, err)
	}
	return &answer{a.StatusCode, a.Header, body}, nil
}

func readAll(a *http.Response) ([]byte, error) {
	var b bytes.Buffer
	if n := a.ContentLength; n > 0 && n < 1<<20 {
		b.Grow(int(n) + bytes.MinRead)
	}
	n, err := b.ReadFrom(io.LimitReader(a.Body, bodyMax+1))
	if err == nil && n > bodyMax {
		err = fmt.Errorf("more than %d bytes", bodyMax)
	}
	return b.Bytes(), err
}

// judge gives the body of an answer that is no refusal.
func judge(router string, a *answer) ([]byte, error) {
	if a.status < 300 {
		return a.body, nil
	}
	if a.status < 400 {
		return nil, &NetworkError{router, fmt.Errorf("a redirect (%d) that is not followed", a.status)}
	}
	return nil, refusal(a.status, a.body, a.header.Get("Retry-After"))
}

func refusal(status int, body []byte, after string) *APIError {
	e := &APIError{RetryAfter: seconds(after)}
	if json.Unmarshal(body, &e.Problem) != nil {
		e.Problem = Problem{Title: http.StatusText(status)}
	}
	e.Status = status
	if e.PollAfterMS > 0 && e.PollAfterMS < 1e8 { // finer
		e.RetryAfter = time.Duration(e.PollAfterMS) * time.Millisecond
	}
	return e
}

// seconds reads Retry-After, at most a day.
func seconds(text string) time.Duration {
	s, err := strconv.ParseFloat(text, 64)
	if err != nil || !(s > 0) {
		return 0
	}
	if s > 86400 {
		s = 86400
	}
	return time.Duration(s * float64(time.Second))
}

// decode reads JSON; what is none is a broken answer.
func decode(router string, body []byte, v any) error {
	if v == nil {
		return nil
	}
	if err := json.Unmarshal(body, v); err != nil {
		if len(body) > 60 {
			body = body[:60]
		}
		return &NetworkError{router, fmt.Errorf("an answer that cannot be read: %w: %s", err, body)}
	}
	return nil
}

// ---- until it is answered ----

// backoff is 1 s, 2 s, 4 s ... 30 s, each up to half as long again.
type backoff struct {
	from  time.Duration
	fails int
}

func (b *backoff) next(err error) time.Duration {
	d := b.from << min(b.fails, 10)
	if d > worst {
		d = worst
	}
	b.fails++
	if told := retryAfter(err); told > 0 {
		d = told
	}
	return d + jitter(d/2)
}

func min(a, b int) int {
	if a < b {
		return a
	}
	return b
}

func jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return time.Duration(mrand.Int63n(int64(d)))
}

func retryAfter(err error) time.Duration {
	var e *APIError
	if errors.As(err, &e) {
		return e.RetryAfter
	}
	return 0
}

// offline: no router answered.
func offline(err error) bool {
	var e *NetworkError
	return errors.As(err, &e)
}

// passing: a later try, or another router, may mend it.
func passing(err error) bool {
	var e *APIError
	if !errors.As(err, &e) {
		return offline(err)
	}
	switch e.Code {
	case "wait_too_long", "endpoint_failed", "wait_over":
		return false
	}
	return e.Status >= 500 || e.Status == 429
}

func sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() == nil && d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("segq: %w", ctx.Err())
	}
}

// until calls do(router) until it does not fail in what a later try may mend; after so long its last
// failure counts. trouble hears of each of them, and nil at the end.
func (c *Client) until(ctx context.Context, limit time.Duration, do func(string) error, trouble func(error)) error {
	if err := c.init(); err != nil {
		return err
	}
	began, b := time.Now(), backoff{from: time.Second}
	for {
		router := c.first()
		err := do(router)
		if trouble != nil && (err == nil || passing(err)) {
			trouble(err)
		}
		if err == nil || !passing(err) {
			return err
		}
		c.rotate(router)
		pause := b.next(err)
		if b.fails == 1 && offline(err) && len(c.Routers) > 1 {
			pause = jitter(100 * time.Millisecond) // another one may well be there
		}
		if limit != forever && time.Since(began)+pause > limit {
			return err
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// call asks, and decodes the answer into out, after as many tries as there is time for.
func (c *Client) call(ctx context.Context, q *ask, out any) error {
	if err := c.init(); err != nil {
		return err
	}
	if q.body != nil && q.header.Get("Content-Type") == "" {
		if q.header == nil {
			q.header = http.Header{}
		}
		q.header.Set("Content-Type", "application/json")
	}
	limit := q.retryFor
	if limit == 0 {
		limit = c.RetryFor
	}
	return c.until(ctx, limit, func(router string) error {
		a, err := c.try(ctx, router, q)
		if err != nil {
			return err
		}
		body, err := judge(router, a)
		if err != nil {
			return err
		}
		return decode(router, body, out)
	}, nil)
}

// get is call with an answer that is a T.
func get[T any](ctx context.Context, c *Client, q *ask) (*T, error) {
	out := new(T)
	if err := c.call(ctx, q, out); err != nil {
		return nil, err
	}
	return out, nil
}

// put is get with a value to be written.
func put[T any](ctx context.Context, c *Client, method, path string, value any) (*T, error) {
	body, err := encode(value)
	if err != nil {
		return nil, err
	}
	return get[T](ctx, c, &ask{method: method, path: path, body: body})
}

package segq

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	jwtMax      = 4096
	keysFor     = time.Minute     // if their answer does not say for how long
	keysMax     = time.Hour       // whatever it says
	keysAgain   = 5 * time.Second // keys are asked for at most so often
	keysStale   = 24 * time.Hour  // while no router answers, old keys do
	awayFor     = time.Second     // so long nobody asks after no router has answered
	knownMax    = 4096
	passCookie  = "segq_pass"
	gateCommand = "X-Segq-Command"
)

// Pass is a good one.
type Pass struct {
	Queue     string
	Ticket    string // 17-123
	Subject   string // who joined; else the ticket
	Lane      string
	IssuedAt  Unix
	ExpiresAt Unix
	Claims    map[string]any // numbers are json.Number

	notBefore Unix
}

// Verdict is what a router says of a request.
type Verdict struct {
	Queue     string
	Bypass    string // no pass, but a rule lets it past the room
	Ticket    string
	Subject   string
	Lane      string
	ExpiresAt Unix
	SetCookie string // the pass was renewed: for the visitor
	NewPass   string // likewise, if it came as a bearer
}

// Asking is when the middleware asks a router.
type Asking string

// AskAlways has a router decide about each request (renewal, revocation, bypass), and checks here only
// while none answers. AskToRenew checks here, and asks when a third of the pass is over. AskNever only
// checks here.
const (
	AskAlways  Asking = "always"
	AskToRenew Asking = "renew"
	AskNever   Asking = "never"
)

// Gate is at the door of one queue. Its fields are set before it is used first.
//
// A pass is a JWT (EdDSA) of the routers' published keys; its audience is the queue. Keys are fetched
// when needed, kept for as long as their answer says, and fetched anew for a kid that is not known. A
// pass that was revoked is seen by routers only: Verify.
type Gate struct {
	Queue   string
	Leeway  time.Duration // how far clocks may differ: 30 s
	Ask     Asking        // of the middleware: AskAlways
	Timeout time.Duration // of a question about a visitor: 2 s
	Room    string        // another address of this site that has the waiting page; visitors come back there
	Secret  string        // gate_secret_file: for passes that are good once, and other commands than release

	c    *Client
	keys keySet

	mu    sync.Mutex
	known map[string]knownPass
	away  time.Time
}

type knownPass struct {
	kid string
	*Pass
}

// Gate is the door of a queue.
func (c *Client) Gate(queue string) *Gate {
	return &Gate{Queue: queue, Leeway: 30 * time.Second, Ask: AskAlways, Timeout: 2 * time.Second, c: c,
		keys: keySet{c: c, turn: make(chan struct{}, 1)}, known: map[string]knownPass{}}
}

// ---- the routers' keys ----

type keySet struct {
	c    *Client
	turn chan struct{} // of who asks

	mu                sync.Mutex
	keys              map[string]ed25519.PublicKey
	until, asked, got time.Time
}

func (k *keySet) state() (map[string]ed25519.PublicKey, time.Time, time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.keys, k.until, k.asked
}

// warm has them fetched beside, if they are old: for the time when no router answers.
func (k *keySet) warm() {
	_, until, asked := k.state()
	now := time.Now()
	if now.Before(until) || now.Before(asked.Add(keysAgain)) {
		return
	}
	select {
	case k.turn <- struct{}{}:
		go func() {
			_ = k.fetch() // who needs them asks again, and hears why
			<-k.turn
		}()
	default:
	}
}

// get gives all that are known, and asks if it must. NetworkError, ErrUnavailable: none is known.
func (k *keySet) get(ctx context.Context, kid string) (map[string]ed25519.PublicKey, error) {
	keys, until, asked := k.state()
	now, known := time.Now(), keys[kid] != nil
	if now.Before(until) && (known || now.Before(asked.Add(keysAgain))) {
		return keys, nil
	}
	if known { // who has a key that will do does not wait for another's question
		select {
		case k.turn <- struct{}{}:
		default:
			return keys, nil
		}
	} else {
		select {
		case k.turn <- struct{}{}:
		case <-ctx.Done():
			return nil, fmt.Errorf("segq: %w", ctx.Err())
		}
	}
	told := make(chan error, 1)
	go func() { // others wait for the answer, too: it does not end with this visitor
		var err error
		if _, _, again := k.state(); !again.After(now) { // nobody else has asked meanwhile
			err = k.fetch()
		}
		<-k.turn
		told <- err
	}()
	select {
	case err := <-told:
		if err != nil {
			return nil, err
		}
	case <-ctx.Done():
		return nil, fmt.Errorf("segq: %w", ctx.Err())
	}
	if keys, _, _ = k.state(); len(keys) == 0 { // who waited for another's question: it was in vain
		return nil, &NetworkError{k.c.first(), errors.New("no router has told its keys yet")}
	}
	return keys, nil
}

func (k *keySet) fetch() error {
	ctx := context.Background()
	had, _, _ := k.state()
	limit := 3 * time.Second
	if len(had) > 0 {
		limit = -1
	}
	var keys map[string]ed25519.PublicKey
	age := keysFor
	err := k.c.until(ctx, limit, func(router string) error {
		a, err := k.c.try(ctx, router, &ask{method: "GET", path: "/.well-known/jwks.json", open: true})
		if err != nil {
			return err
		}
		body, err := judge(router, a)
		if err != nil {
			return err
		}
		if m := maxAge.FindStringSubmatch(a.header.Get("Cache-Control")); m != nil {
			n, _ := strconv.ParseInt(m[1], 10, 32)
			age = shorter(keysMax, longer(keysAgain, time.Duration(n)*time.Second))
		}
		keys, err = readKeys(router, body)
		return err
	}, nil)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked = time.Now()
	if err == nil {
		k.keys, k.got, k.until = keys, k.asked, k.asked.Add(age)
	} else if len(k.keys) > 0 && time.Since(k.got) < keysStale {
		k.until, err = k.asked.Add(keysAgain), nil
	}
	return err
}

var maxAge = regexp.MustCompile(`max-age=(\d+)`)

func readKeys(router string, body []byte) (map[string]ed25519.PublicKey, error) {
	var said struct {
		Keys []struct{ Kty, Crv, Kid, X string }
	}
	if err := decode(router, body, &said); err != nil {
		return nil, err
	}
	out := map[string]ed25519.PublicKey{}
	for _, j := range said.Keys {
		raw, err := unb64(j.X)
		if j.Kty == "OKP" && j.Crv == "Ed25519" && err == nil && len(raw) == ed25519.PublicKeySize {
			out[j.Kid] = raw
		}
	}
	if len(out) == 0 {
		return nil, &NetworkError{router, errors.New("none of its keys is for passes")}
	}
	return out, nil
}

// unb64 reads base64url without padding, in its one form.
func unb64(text string) ([]byte, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err == nil && b64(raw) != text {
		err = errors.New("not canonical")
	}
	return raw, err
}

func b64(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

// ---- here ----

// Check tells whether a pass is good, without asking a router; PassError: it opens nothing. A pass that is
// bound to a request needs CheckRequest; one that is good once needs a router: Verify.
func (g *Gate) Check(ctx context.Context, token string) (*Pass, error) {
	return g.CheckRequest(ctx, token, "", "")
}

// CheckRequest is Check, of a pass that may be bound to a method and a path.
func (g *Gate) CheckRequest(ctx context.Context, token, method, path string) (*Pass, error) {
	if err := g.c.init(); err != nil {
		return nil, err
	}
	g.mu.Lock()
	p, ok := g.known[token]
	g.mu.Unlock()
	if ok {
		keys, err := g.keys.get(ctx, p.kid)
		if err != nil {
			return nil, err
		}
		ok = keys[p.kid] != nil
	}
	if !ok {
		var err error
		if p, err = g.opened(ctx, token); err != nil {
			return nil, err
		}
	}
	now := At(g.c.now())
	leeway := Unix(g.Leeway.Seconds())
	if now >= p.ExpiresAt+leeway {
		return nil, &PassError{"expired", fmt.Sprintf("since %.0f s", now-p.ExpiresAt)}
	}
	if now < p.notBefore-leeway {
		return nil, &PassError{"not_yet_valid", fmt.Sprintf("for %.0f s; are the clocks right?", p.notBefore-now)}
	}
	if err := bound(p.Claims, method, path); err != nil {
		return nil, err
	}
	return p.Pass, nil
}

func (g *Gate) opened(ctx context.Context, token string) (out knownPass, err error) {
	malformed := func(why string) (knownPass, error) { return out, &PassError{"malformed", why} }
	parts := strings.Split(token, ".")
	if token == "" {
		return out, &PassError{"none", "no pass"}
	}
	if len(parts) != 3 || len(token) > jwtMax {
		return malformed("not three parts")
	}
	head, err1 := object(parts[0])
	claims, err2 := object(parts[1])
	signature, err3 := unb64(parts[2])
	for _, e := range []error{err1, err2, err3} {
		if e != nil {
			return malformed(e.Error())
		}
	}
	if _, crit := head["crit"]; crit || head["alg"] != "EdDSA" {
		return out, &PassError{"algorithm", "a pass is signed with EdDSA, and needs no extension"}
	}
	kid, ok := head["kid"].(string)
	if !ok {
		return malformed("it does not say which key has signed it")
	}
	keys, err := g.keys.get(ctx, kid)
	if err != nil {
		return out, err
	}
	k := keys[kid]
	if k == nil {
		return out, &PassError{"unknown_key", "no router of this cluster has signed it"}
	}
	if !ed25519.Verify(k, []byte(parts[0]+"."+parts[1]), signature) {
		return out, &PassError{"signature", "no router of this cluster has signed it"}
	}
	p := &Pass{Claims: claims}
	for name, to := range map[string]*string{"aud": &p.Queue, "jti": &p.Ticket, "sub": &p.Subject, "lane": &p.Lane} {
		if *to, ok = claims[name].(string); !ok {
			return malformed(name + " is missing")
		}
	}
	for name, to := range map[string]*Unix{"exp": &p.ExpiresAt, "iat": &p.IssuedAt, "nbf": &p.notBefore} {
		n, _ := claims[name].(json.Number)
		i, err := strconv.ParseInt(string(n), 10, 64)
		if err != nil {
			return malformed(name + " is missing")
		}
		*to = Unix(i)
	}
	if p.Queue != g.Queue {
		return out, &PassError{"other_queue", "it is for " + p.Queue}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.known) >= knownMax {
		g.known = map[string]knownPass{}
	}
	out = knownPass{kid, p}
	g.known[token] = out
	return out, nil
}

// object reads a part of a JWT: each member once, names letter by letter.
func object(part string) (map[string]any, error) {
	raw, err := unb64(part)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("no object")
	}
	out := map[string]any{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		if _, twice := out[name.(string)]; twice {
			return nil, errors.New("a member is there twice")
		}
		var v any
		if err := d.Decode(&v); err != nil {
			return nil, err
		}
		out[name.(string)] = v
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("more than an object")
	}
	return out, nil
}

var unplain = regexp.MustCompile(`[%\\;#\x00-\x20\x7f]|//|/\.\.?(/|$)`)

// bound: to a method and a path.
func bound(claims map[string]any, method, path string) error {
	if _, once := claims["use"]; once {
		return &PassError{"once", "it is good once, which only a router can tell: Verify"}
	}
	if htm := claims["htm"]; htm != nil && htm != method {
		return &PassError{"other_method", fmt.Sprintf("it is for %v", htm)}
	}
	if claims["htu"] == nil {
		return nil
	}
	htu, _ := claims["htu"].(string)
	plain, _, _ := strings.Cut(path, "?")
	below := htu != "" && (plain == htu || strings.HasPrefix(plain, strings.TrimRight(htu, "/")+"/"))
	if !below || unplain.MatchString(plain) {
		return &PassError{"other_url", "it is for " + htu}
	}
	return nil
}

// ---- by a router ----

// Verify asks a router about a pass; APIError with its code: no. once: it is used by that.
func (g *Gate) Verify(ctx context.Context, token string, once bool) (*Verdict, error) {
	return g.verify(ctx, http.Header{"Authorization": {"Bearer " + token}}, once)
}

func (g *Gate) verify(ctx context.Context, header http.Header, once bool) (*Verdict, error) {
	if err := g.c.init(); err != nil {
		return nil, err
	}
	for _, name := range []string{"Authorization", "Cookie"} {
		if strings.IndexFunc(header.Get(name), func(r rune) bool { return r < ' ' || r == 0x7f }) >= 0 {
			return nil, &PassError{"malformed", "a pass of characters that none has"}
		}
	}
	path := "/v1/verify?queue=" + url.QueryEscape(g.Queue)
	if once {
		path += "&use=once"
	}
	if g.Secret != "" { // asked again it is the same question: a pass that is good once is used once
		header.Set("X-Segq-Ask", key())
		header.Set("X-Segq-Gate-Secret", g.Secret)
	}
	var v *Verdict
	var err error
	for range g.c.Routers { // each once: a visitor waits
		err = g.c.until(ctx, -1, func(router string) error {
			a, err := g.c.try(ctx, router, &ask{method: "GET", path: path, header: header, open: true, timeout: g.Timeout})
			if err != nil {
				return err
			}
			if _, err := judge(router, a); err != nil {
				return err
			}
			h := a.header
			v = &Verdict{Queue: h.Get("X-Segq-Queue"), Bypass: h.Get("X-Segq-Bypass"), Ticket: h.Get("X-Segq-Ticket"),
				Subject: h.Get("X-Segq-Subject"), Lane: h.Get("X-Segq-Lane"), SetCookie: h.Get("Set-Cookie"),
				NewPass: h.Get("X-Segq-Pass")}
			if n, err := strconv.ParseInt(h.Get("X-Segq-Expires"), 10, 64); err == nil {
				v.ExpiresAt = Unix(n)
			}
			if a.status != 204 || v.Queue != "" && v.Queue != g.Queue || v.Ticket == "" && v.Bypass == "" {
				return &NetworkError{router, fmt.Errorf("what answers (%d) is no router: it lets nobody in", a.status)}
			}
			return nil
		}, nil)
		if err == nil {
			return v, nil
		}
		if !passing(err) || errors.Is(err, ErrTooFast) {
			return nil, err
		}
	}
	return nil, err
}

// Session is a command about a pass: "release": its slot is free; "revoke", "extend", "extend=600" need
// Secret.
func (g *Gate) Session(ctx context.Context, token, command string) error {
	return g.session(ctx, http.Header{"Authorization": {"Bearer " + token}}, command)
}

func (g *Gate) session(ctx context.Context, header http.Header, command string) error {
	if g.Secret != "" {
		header.Set("X-Segq-Gate-Secret", g.Secret)
	}
	body, _ := encode(map[string]string{"command": command})
	return g.c.call(ctx, &ask{method: "POST", path: "/v1/session", body: body, header: header, open: true}, nil)
}

package segq

import (
	"bufio"
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Admission is whom the middleware lets in: by a Pass that was checked here, or by a router's Verdict.
type Admission struct {
	Pass    *Pass
	Verdict *Verdict
}

// Ticket is the visitor's; "": a rule lets the request past the room.
func (a *Admission) Ticket() string {
	if a.Pass != nil {
		return a.Pass.Ticket
	}
	return a.Verdict.Ticket
}

// Subject is who joined; else the ticket.
func (a *Admission) Subject() string {
	if a.Pass != nil {
		return a.Pass.Subject
	}
	return a.Verdict.Subject
}

type admissionKey struct{}

// AdmissionOf is that of a request behind the middleware, else nil.
func AdmissionOf(ctx context.Context) *Admission {
	a, _ := ctx.Value(admissionKey{}).(*Admission)
	return a
}

// presented is a pass of the visitor's request, or a cookie of the device that it came from.
type presented struct {
	bearer bool
	token  string
	device string // name=value, and no token
}

const deviceCookie = "segq_device_"

// passes: at most four, as routers do; and cookies of the device.
func passes(h http.Header) (out []presented) {
	scheme, rest, _ := strings.Cut(h.Get("Authorization"), " ")
	if rest = strings.TrimSpace(rest); strings.EqualFold(scheme, "bearer") && rest != "" {
		out = append(out, presented{bearer: true, token: rest})
	}
	var devices []presented
	for _, line := range h.Values("Cookie") {
		for _, part := range strings.FieldsFunc(line, func(r rune) bool { return r == ';' || r == ',' }) {
			name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
			if name == passCookie && value != "" && len(out) < 4 {
				out = append(out, presented{token: value})
			}
			if strings.HasPrefix(name, deviceCookie) && len(devices) < 8 {
				devices = append(devices, presented{device: name + "=" + value})
			}
		}
	}
	return append(out, devices...)
}

// asHeader hands these on, and no other cookies of the site.
func asHeader(tokens []presented) http.Header {
	h := http.Header{}
	var cookies []string
	for _, t := range tokens {
		if t.bearer {
			h.Set("Authorization", "Bearer "+t.token)
		} else if t.device != "" {
			cookies = append(cookies, t.device)
		} else {
			cookies = append(cookies, passCookie+"="+t.token)
		}
	}
	if cookies != nil {
		h.Set("Cookie", strings.Join(cookies, "; "))
	}
	return h
}

// uri is the path and the query, as the visitor wrote them.
func uri(r *http.Request) string {
	if strings.HasPrefix(r.RequestURI, "/") {
		return r.RequestURI
	}
	return r.URL.RequestURI()
}

// Handler lets those in who have a pass, and sends others to the waiting page. As nginx does, it asks a
// router about each request (Ask): passes are renewed, those that were taken are refused, rules that let
// paths past the room count (not those by address, header or rollout: visitors' addresses are not told).
// While no router answers it checks passes itself. Routers believe X-Original-URI of `trusted_proxies`
// only: list your server there. next has AdmissionOf; its answer's header `X-Segq-Command: release` ends
// the visitor's session.
func (g *Gate) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tokens := passes(r.Header)
		a, err := g.decide(r, tokens)
		if err != nil {
			g.refuse(w, r, err)
			return
		}
		own := r.WithContext(context.WithValue(r.Context(), admissionKey{}, a))
		own.Header = r.Header.Clone()
		for name := range own.Header {
			if strings.HasPrefix(name, "X-Segq-") {
				delete(own.Header, name) // the visitor's; applications believe a gate's
			}
		}
		if a.Verdict != nil && a.Verdict.SetCookie != "" {
			w.Header().Add("Set-Cookie", a.Verdict.SetCookie)
		}
		if a.Verdict != nil && a.Verdict.NewPass != "" {
			w.Header().Set("X-Segq-Pass", a.Verdict.NewPass)
		}
		behind := &obeying{ResponseWriter: w, g: g, tokens: tokens}
		next.ServeHTTP(behind, own)
		behind.obey()
	})
}

// decide lets a visitor in, or says why not.
func (g *Gate) decide(r *http.Request, tokens []presented) (*Admission, error) {
	if err := g.c.init(); err != nil {
		return nil, err
	}
	var once *PassError
	if g.Ask != AskAlways && g.Ask != "" {
		p, err := g.firstGood(r, tokens)
		if err != nil && (g.Ask == AskNever || !errors.As(err, &once) || once.Code != "once") {
			return nil, err
		}
		if err == nil && (g.Ask == AskNever || At(g.c.now()) < p.IssuedAt+(p.ExpiresAt-p.IssuedAt)/3) {
			return &Admission{Pass: p}, nil
		}
	}
	v, err := g.askAbout(r, tokens)
	if err == nil {
		g.keys.warm()
		return &Admission{Verdict: v}, nil
	}
	if !passing(err) {
		return nil, err
	}
	if p, own := g.firstGood(r, tokens); own == nil {
		return &Admission{Pass: p}, nil
	}
	return nil, err
}

func (g *Gate) askAbout(r *http.Request, tokens []presented) (*Verdict, error) {
	g.mu.Lock()
	away := time.Now().Before(g.away)
	g.mu.Unlock()
	if away {
		return nil, &NetworkError{g.c.first(), errors.New("no router answered a moment ago")}
	}
	h := asHeader(tokens)
	for _, name := range []string{"Accept", "Referer", "Sec-Fetch-Mode", "Sec-Fetch-Dest"} {
		if v := r.Header.Get(name); v != "" {
			h.Set(name, v)
		}
	}
	h.Set("X-Original-Uri", uri(r))
	h.Set("X-Original-Method", r.Method)
	v, err := g.verify(r.Context(), h, false)
	if offline(err) {
		g.mu.Lock()
		g.away = time.Now().Add(awayFor)
		g.mu.Unlock()
	}
	return v, err
}

// firstGood is the first pass that is; else why not, rather what a router can tell.
func (g *Gate) firstGood(r *http.Request, tokens []presented) (*Pass, error) {
	var why error = &PassError{"none", "no pass"}
	for _, t := range tokens {
		if t.device != "" {
			continue
		}
		p, err := g.CheckRequest(r.Context(), t.token, r.Method, uri(r))
		if err == nil {
			return p, nil
		}
		var was *PassError
		if errors.As(why, &was) && was.Code != "once" {
			why = err
		}
	}
	return nil, why
}

func (g *Gate) refuse(w http.ResponseWriter, r *http.Request, why error) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	status, code, detail := 401, "", ""
	var pass *PassError
	var said *APIError
	switch {
	case errors.As(why, &pass):
		code, detail = pass.Code, pass.Detail
	case errors.As(why, &said) && !passing(why):
		status, code, detail = said.Status, said.Code, said.Detail
	default:
		h.Set("Retry-After", "2")
		tell(w, 503, map[string]any{"title": "Busy", "status": 503, "code": "queue_unavailable",
			"detail": "nobody can say whether you may come in: try again"})
		return
	}
	back, reads := uri(r), r.Method == "GET" || r.Method == "HEAD"
	if !reads || strings.HasPrefix(back, "//") {
		back = "/"
	}
	where := g.Room + "/q/" + esc(g.Queue) + "?return=" + strings.ReplaceAll(url.QueryEscape(back), "%2F", "/")
	h.Set("X-Segq-Location", where)
	mode := r.Header.Get("Sec-Fetch-Mode")
	astray := g.Room == "" && strings.HasPrefix(uri(r), "/q/") // what should be the room: it would go in circles
	if astray {
		detail = "/q/ and /v1/ of this site have to lead to the routers"
	}
	if (mode == "" || mode == "navigate") && strings.Contains(r.Header.Get("Accept"), "text/html") &&
		(reads || r.Method == "POST") && code != "pass_used" && !astray {
		h.Set("Location", where)
		w.WriteHeader(303)
		return
	}
	tell(w, status, map[string]any{"title": "No pass", "status": status, "code": code, "detail": detail, "location": where})
}

func tell(w http.ResponseWriter, status int, problem map[string]any) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	body, _ := encode(problem)
	_, _ = w.Write(body)
}

// obeying takes the header X-Segq-Command off an application's answer, and does what it says.
type obeying struct {
	http.ResponseWriter
	g      *Gate
	tokens []presented
	done   bool
}

func (o *obeying) obey() {
	if o.done {
		return
	}
	o.done = true
	command := o.Header().Get(gateCommand)
	o.Header().Del(gateCommand)
	if command == "" || len(o.tokens) == 0 {
		return
	}
	go func() { // the visitor does not wait for it
		if err := o.g.session(context.Background(), asHeader(o.tokens), command); err != nil {
			log.Printf("segq gate: %s: %v", command, err)
		}
	}()
}

func (o *obeying) WriteHeader(status int) {
	if status >= 200 {
		o.obey()
	}
	o.ResponseWriter.WriteHeader(status)
}

func (o *obeying) Write(p []byte) (int, error) {
	o.obey()
	return o.ResponseWriter.Write(p)
}

// Flush is that of the writer within, if it has one.
func (o *obeying) Flush() {
	if f, ok := o.ResponseWriter.(http.Flusher); ok {
		o.obey()
		f.Flush()
	}
}

// Hijack likewise: WebSockets.
func (o *obeying) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if h, ok := o.ResponseWriter.(http.Hijacker); ok {
		return h.Hijack()
	}
	return nil, nil, errors.New("segq: the server's writer cannot be hijacked")
}

// Unwrap is for http.ResponseController.
func (o *obeying) Unwrap() http.ResponseWriter { return o.ResponseWriter }

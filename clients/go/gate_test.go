package segq

import (
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

var seed = ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", 32)))

// jwt signs what is told.
func jwt(head, claims string) string {
	signed := b64([]byte(head)) + "." + b64([]byte(claims))
	return signed + "." + b64(ed25519.Sign(seed, []byte(signed)))
}

const goodHead = `{"alg":"EdDSA","kid":"k1"}`

func claims(more string) string {
	now := time.Now().Unix()
	return fmt.Sprintf(`{"aud":"login","jti":"17-1","sub":"ann","lane":"default","iat":%d,"nbf":%d,"exp":%d%s}`,
		now, now, now+60, more)
}

func keys(kid string) string {
	return fmt.Sprintf(`{"keys":[{"kty":"RSA","kid":"r"},{"kty":"OKP","crv":"Ed25519","kid":%q,"x":%q}]}`,
		kid, b64(seed.Public().(ed25519.PublicKey)))
}

// code of a PassError.
func code(err error) string {
	var e *PassError
	if errors.As(err, &e) {
		return e.Code
	}
	return fmt.Sprint(err)
}

func TestPasses(t *testing.T) {
	f, c := newFake(t, answers(200, keys("k1")))
	g := c.Gate("login")
	p, err := g.Check(ctx, jwt(goodHead, claims("")))
	if err != nil || p.Ticket != "17-1" || p.Subject != "ann" || p.ExpiresAt-p.IssuedAt != 60 {
		t.Fatalf("%v %v", p, err)
	}
	now := time.Now().Unix()
	good := jwt(goodHead, claims(""))
	for _, row := range []struct{ what, token, code string }{
		{"none", "", "none"},
		{"two parts", "a.b", "malformed"},
		{"long", strings.Repeat("a", 5000) + ".b.c", "malformed"},
		{"padded", strings.Replace(good, ".", "=.", 1), "malformed"},
		{"with line breaks", good[:9] + "\n" + good[9:], "malformed"},
		{"alg none", jwt(`{"alg":"none"}`, claims("")), "algorithm"},
		{"HS256 with our key", jwt(`{"alg":"HS256","kid":"k1"}`, claims("")), "algorithm"},
		{"an extension", jwt(`{"alg":"EdDSA","kid":"k1","crit":["x"]}`, claims("")), "algorithm"},
		{"other letters", jwt(`{"ALG":"EdDSA","kid":"k1"}`, claims("")), "algorithm"},
		{"no kid", jwt(`{"alg":"EdDSA"}`, claims("")), "malformed"},
		{"another kid", jwt(`{"alg":"EdDSA","kid":"k2"}`, claims("")), "unknown_key"},
		{"a changed signature", good[:len(good)-4] + "AAAA", "signature"},
		{"a member twice", jwt(goodHead, claims(`,"aud":"login"`)), "malformed"},
		{"another queue", jwt(goodHead, strings.Replace(claims(""), `"login"`, `"other"`, 1)), "other_queue"},
		{"no lane", jwt(goodHead, strings.Replace(claims(""), `"lane"`, `"Lane"`, 1)), "malformed"},
		{"exp is text", jwt(goodHead, fmt.Sprintf(`{"aud":"login","jti":"1","sub":"a","lane":"b","iat":1,"nbf":1,"exp":"%d"}`, now+60)), "malformed"},
		{"more than an object", jwt(goodHead, claims("")+"{}"), "malformed"},
		{"a list", jwt(goodHead, "[]"), "malformed"},
		{"good once", jwt(goodHead, claims(`,"use":1`)), "once"},
		{"of another method", jwt(goodHead, claims(`,"htm":"POST"`)), "other_method"},
		{"of a path", jwt(goodHead, claims(`,"htu":"/cart"`)), "other_url"},
	} {
		if _, err := g.Check(ctx, row.token); code(err) != row.code {
			t.Errorf("%s: %v, not %s", row.what, err, row.code)
		}
	}
	if n := len(f.all()); n > 2 {
		t.Errorf("keys were asked for %d times", n)
	}
}

func TestBoundPasses(t *testing.T) {
	_, c := newFake(t, answers(200, keys("k1")))
	g := c.Gate("login")
	token := jwt(goodHead, claims(`,"htm":"GET","htu":"/cart"`))
	for path, good := range map[string]bool{"/cart": true, "/cart/1?a=//": true, "/cart?x": true, "/carts": false, "/": false,
		"/cart/../x": false, "/cart//x": false, "/cart/%2e": false, "": false} {
		if _, err := g.CheckRequest(ctx, token, "GET", path); (err == nil) != good {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := g.CheckRequest(ctx, token, "POST", "/cart"); code(err) != "other_method" {
		t.Errorf("%v", err)
	}
}

func TestClocks(t *testing.T) {
	_, c := newFake(t, answers(200, keys("k1")))
	off := time.Duration(0)
	c.Now = func() time.Time { return time.Now().Add(off) }
	g, token := c.Gate("login"), jwt(goodHead, claims(""))
	for _, row := range []struct {
		off  time.Duration
		want error
	}{{0, nil}, {89 * time.Second, nil}, {91 * time.Second, ErrPassExpired}, {-29 * time.Second, nil}, {-32 * time.Second, ErrPassNotYet}} {
		off = row.off
		if _, err := g.Check(ctx, token); !errors.Is(err, row.want) {
			t.Errorf("%v: %v", off, err)
		}
	}
}

func TestKeysAreKeptWhenNoRouterAnswers(t *testing.T) {
	f, c := newFake(t, answers(200, keys("k1"), "Cache-Control", "max-age=300"))
	g, token := c.Gate("login"), jwt(goodHead, claims(""))
	if _, err := g.Check(ctx, token); err != nil {
		t.Fatal(err)
	}
	f.say = answers(200, `{"keys":[]}`)
	g.keys.mu.Lock()
	g.keys.until = time.Now() // they are old
	g.keys.mu.Unlock()
	if _, err := g.Check(ctx, token); err != nil {
		t.Error(err)
	}
	fresh := c.Gate("login")
	c.RetryFor = -1
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := fresh.Check(short, token); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// site is one behind the gate; it tells the headers that it sees.
func site(g *Gate) http.Handler {
	return g.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/bye" {
			w.Header().Set("x-segq-command", "release")
		}
		a := AdmissionOf(r.Context())
		_ = json.NewEncoder(w).Encode(map[string]any{"ticket": a.Ticket(), "subject": a.Subject(), "header": r.Header})
	}))
}

func visit(h http.Handler, method, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestTheMiddlewareAsks(t *testing.T) {
	f, c := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/v1/verify" && strings.Contains(r.Header.Get("Cookie"), "GOOD"):
			answers(204, "", "X-Segq-Queue", "login", "X-Segq-Ticket", "17-1", "X-Segq-Subject", "ann",
				"Set-Cookie", "segq_pass=NEW", "X-Segq-Expires", "17")(w, r)
		case r.URL.Path == "/v1/verify":
			answers(403, `{"code":"pass_revoked","detail":"taken"}`)(w, r)
		case r.URL.Path == "/v1/session":
			answers(200, "{}")(w, r)
		default:
			answers(200, keys("k1"))(w, r)
		}
	})
	h := site(c.Gate("login"))
	w := visit(h, "GET", "/a%20b?c", "Cookie", "own=1; segq_pass=GOOD", "X-Segq-Ticket", "forged", "Referer", "r", "Authorization", "Basic x")
	is(t, "status", w.Code, 200)
	is(t, "renewed", w.Header().Get("Set-Cookie"), "segq_pass=NEW")
	if strings.Contains(w.Body.String(), "forged") || !strings.Contains(w.Body.String(), `"subject":"ann"`) {
		t.Error(w.Body.String())
	}
	var q *asked
	for _, a := range f.all() {
		if a.URL.Path == "/v1/verify" {
			q = a
		}
	}
	is(t, "what is told of the visitor", []string{q.Header.Get("X-Original-Uri"), q.Header.Get("X-Original-Method"), q.Header.Get("Cookie"),
		q.Header.Get("Referer"), q.Header.Get("Authorization")}, []string{"/a%20b?c", "GET", "segq_pass=GOOD", "r", ""})

	w = visit(h, "GET", "/bye", "Cookie", "segq_pass=GOOD")
	is(t, "a command", w.Header().Get("X-Segq-Command"), "")
	until(t, "told", func() bool { return f.last().URL.Path == "/v1/session" })
	is(t, "the command", f.last().body, `{"command":"release"}`)
	is(t, "whose", f.last().Header.Get("Cookie"), "segq_pass=GOOD")

	w = visit(h, "POST", "/cart", "Cookie", "segq_pass=BAD")
	is(t, "refused", []any{w.Code, w.Header().Get("X-Segq-Location")}, "[403 /q/login?return=/]")
	w = visit(h, "GET", "//evil/cart?a=b&c", "Accept", "text/html")
	is(t, "a browser", []any{w.Code, w.Header().Get("Location")}, "[303 /q/login?return=/]")
	w = visit(h, "GET", "/cart?a=b&c", "Accept", "text/html", "Sec-Fetch-Mode", "navigate")
	is(t, "a browser", []any{w.Code, w.Header().Get("Location")}, "[303 /q/login?return=/cart%3Fa%3Db%26c]")
	w = visit(h, "GET", "/x", "Accept", "text/html", "Sec-Fetch-Mode", "cors")
	is(t, "a script", w.Code, 403)
}

func TestTheMiddlewareAlone(t *testing.T) {
	down := false
	f, c := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/verify" || down {
			answers(502, "oops")(w, r)
		} else {
			answers(200, keys("k1"))(w, r)
		}
	})
	good := jwt(goodHead, claims(""))
	g := c.Gate("login")
	h := site(g)
	is(t, "with a pass", visit(h, "GET", "/", "Cookie", "segq_pass="+good).Code, 200)
	is(t, "as a bearer", visit(h, "GET", "/", "Authorization", "bearer "+good).Code, 200)
	w := visit(h, "GET", "/", "Accept", "text/html")
	is(t, "without", []any{w.Code, w.Header().Get("Retry-After")}, "[503 2]")
	for _, ask := range []Asking{AskNever, AskToRenew} {
		before := len(f.all())
		g := c.Gate("login")
		g.Ask = ask
		h := site(g)
		is(t, "with a pass", visit(h, "GET", "/", "Cookie", "segq_pass=x, segq_pass="+good).Code, 200)
		is(t, "without", visit(h, "GET", "/").Code, 401)
		is(t, "requests", len(f.all())-before, 1) // for keys
	}
	once := jwt(goodHead, claims(`,"use":1`))
	g = c.Gate("login")
	g.Ask = AskNever
	is(t, "one that is good once", visit(site(g), "GET", "/", "Cookie", "segq_pass="+once).Code, 401)
	down = true
	fresh := c.Gate("login")
	fresh.Ask = AskNever
	is(t, "nobody has told keys", visit(site(fresh), "GET", "/", "Cookie", "segq_pass="+good).Code, 503)
}

func TestVerifyIsCareful(t *testing.T) {
	f, c := newFake(t, nil)
	g := c.Gate("login")
	g.Secret = "gate"
	f.say = answers(204, "", "X-Segq-Queue", "login", "X-Segq-Ticket", "17-1", "X-Segq-Expires", "17")
	v, err := g.Verify(ctx, "T", true)
	if err != nil || v.Ticket != "17-1" || v.ExpiresAt != 17 {
		t.Errorf("%v %v", v, err)
	}
	is(t, "path", f.last().URL.String(), "/v1/verify?queue=login&use=once")
	is(t, "secret", f.last().Header.Get("X-Segq-Gate-Secret"), "gate")
	for what, say := range map[string]http.HandlerFunc{"a page": answers(200, "welcome"), "nothing": answers(204, ""),
		"another queue": answers(204, "", "X-Segq-Queue", "other", "X-Segq-Ticket", "1"), "a redirect": answers(302, "", "Location", "/")} {
		f.say = say
		if _, err := g.Verify(ctx, "T", false); !offline(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	n := len(f.all())
	if _, err := g.Verify(ctx, "a\nb", false); code(err) != "malformed" || len(f.all()) != n {
		t.Errorf("%v", err)
	}
}

func TestClaims(t *testing.T) {
	now := time.Unix(1000, 0)
	c := Claim{KeyID: "shop", Audience: "login", Lane: "vip", Priority: Ptr(0), TTL: time.Minute, Now: now}
	text, err := SignClaim(" secret\n", c)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(text, ".")
	head, _ := unb64(parts[0])
	body, _ := unb64(parts[1])
	is(t, "head", string(head), `{"alg":"HS256","typ":"JWT","kid":"shop"}`)
	is(t, "body", string(body), `{"aud":"login","lane":"vip","priority":0,"iat":1000,"exp":1060}`)
	mac := hmac.New(sha256.New, []byte("secret"))
	mac.Write([]byte(parts[0] + "." + parts[1]))
	is(t, "signature", parts[2], b64(mac.Sum(nil)))
	c.Audience, c.Audiences = "", []string{"login", "rides"}
	text, _ = SignClaim("secret", c)
	body, _ = unb64(strings.Split(text, ".")[1])
	is(t, "several queues", string(body), `{"aud":["login","rides"],"lane":"vip","priority":0,"iat":1000,"exp":1060}`)
	text, err = SignClaimEd25519(seed, c)
	parts = strings.Split(text, ".")
	signature, _ := unb64(parts[2])
	if err != nil || !ed25519.Verify(seed.Public().(ed25519.PublicKey), []byte(parts[0]+"."+parts[1]), signature) {
		t.Error(err)
	}
}

func TestWebhooks(t *testing.T) {
	public := "whpk_" + base64.StdEncoding.EncodeToString(seed.Public().(ed25519.PublicKey))
	secret := "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("s", 24)))
	w, err := NewWebhook(public, secret)
	if err != nil {
		t.Fatal(err)
	}
	w.Now = func() time.Time { return time.Unix(1000, 0) }
	good := "v1a," + base64.StdEncoding.EncodeToString(ed25519.Sign(seed, []byte("id.990.body")))
	for _, row := range []struct {
		id, at, signature, body string
		good                    bool
	}{
		{"id", "990", good, "body", true},
		{"id", "990", "v1,AAAA x " + good, "body", true},
		{"id", "990", strings.Repeat("v1,AAAA ", 16) + good, "body", false},
		{"id", "990", strings.Replace(good, "v1a", "v1", 1), "body", false},
		{"id", "990", good, "bodY", false},
		{"id", "699", good, "body", false},
		{"id", "1301", good, "body", false},
		{"id", "+990", good, "body", false},
		{"id", "99999999999999999999", good, "body", false},
		{"", "990", good, "body", false},
		{"id.990", "990", good, "body", false},
	} {
		id, err := w.Verify(http.Header{"Webhook-Id": {row.id}, "Webhook-Timestamp": {row.at}, "Webhook-Signature": {row.signature}},
			[]byte(row.body))
		var e *SignatureError
		if row.good != (err == nil && id == "id") || !row.good && !errors.As(err, &e) {
			t.Errorf("%v: %v", row, err)
		}
	}
	for _, k := range []string{"", "whsec_AAAA", "whpk_AAAA", "x" + secret, "whsec_****"} {
		if _, err := NewWebhook(k); err == nil {
			t.Errorf("%q is a key", k)
		}
	}
	if _, err := NewWebhook(); err == nil {
		t.Error("no keys")
	}
}

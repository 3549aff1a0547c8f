package segq

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

const waiting = `{"token":"T","queue":"login","lane":"default","state":"waiting","position":3,"total":9,"eta_s":7,"poll_after_ms":10,"segment":1}`
const admitted = `{"token":"T","queue":"login","lane":"default","state":"admitted","position":0,"total":9,"eta_s":0,"poll_after_ms":10,"segment":1,"pass":"P"}`

func TestNewsByEvents(t *testing.T) {
	f, c := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/events") {
			answers(200, fmt.Sprintf("id: 5\ndata: %s\n\nevent: beat\ndata: 1000\n\nevent: new_one\ndata: x\n\ndata: %s\n\n", waiting, admitted),
				"Content-Type", "text/event-stream")(w, r)
		} else {
			answers(201, waiting)(w, r)
		}
	})
	line := c.Line("login")
	line.Join = Join{Subject: "ann", Lane: "vip"}
	var places []int64
	got, err := line.Wait(ctx, func(t *Ticket) { places = append(places, *t.Position) })
	if err != nil || got.Pass != "P" {
		t.Fatalf("%v %v", got, err)
	}
	is(t, "places", places, "[3 3 0]")
	is(t, "the join", f.all()[0].body, `{"subject":"ann","client":"game","lane":"vip"}`)
	is(t, "the token", line.Token, "T")
	is(t, "requests", len(f.all()), 2)
}

func TestAStreamGoesOn(t *testing.T) {
	n := 0
	f, c := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		if n++; strings.HasSuffix(r.URL.Path, "/events") && n < 4 {
			answers(200, "id: 5\ndata: "+waiting+"\n\nevent: away\ndata: {\"poll_after_ms\":10}\n\n")(w, r)
		} else if strings.HasSuffix(r.URL.Path, "/events") {
			answers(200, "event: gone\ndata: {\"code\":\"ticket_gone\",\"reason\":\"no_show\"}\n\n")(w, r)
		} else {
			answers(200, waiting)(w, r)
		}
	})
	_, err := c.WaitForPass(ctx, "login", nil)
	if !errors.Is(err, ErrTicketNoShow) {
		t.Errorf("%v", err)
	}
	is(t, "last id", f.last().Header.Get("Last-Event-Id"), "5")
}

func TestPollsOnly(t *testing.T) {
	n := 0
	f, c := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		if n++; n < 4 {
			answers(200, waiting)(w, r)
		} else {
			answers(200, admitted)(w, r)
		}
	})
	line := c.Line("login")
	line.Token, line.Polls = "T", true
	if got, err := line.Wait(ctx, nil); err != nil || !got.Admitted() {
		t.Fatal(err)
	}
	for _, q := range f.all() {
		is(t, "path", q.Method+" "+q.URL.Path, "GET /v1/tickets/T")
	}
}

func TestTroubleIsTold(t *testing.T) {
	f, c := newFake(t, answers(503, `{"code":"queue_unavailable"}`, "Retry-After", "0.1"))
	line := c.Line("login")
	line.Token = "T"
	done := make(chan error, 1)
	go func() {
		_, err := line.Wait(ctx, nil)
		done <- err
	}()
	until(t, "busy", func() bool { return line.Trouble() == "busy" })
	f.mu.Lock()
	f.say = answers(200, admitted)
	f.mu.Unlock()
	select {
	case err := <-done:
		if err != nil || line.Trouble() != "" {
			t.Errorf("%v %s", err, line.Trouble())
		}
	case <-time.After(5 * time.Second):
		t.Error("it waits on")
	}
}

// The vectors of RFC 7914, section 11.
func TestPBKDF2(t *testing.T) {
	is(t, "one round", hex.EncodeToString(pbkdf2([]byte("passwd"), []byte("salt"), 1)),
		"55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc")
	is(t, "many", hex.EncodeToString(pbkdf2([]byte("Password"), []byte("NaCl"), 80000)),
		"4ddcd8f60b98be21830cee5ef22701f9641a4418d04c0414aeff08876b34ab56")
}

func TestAJoinThatCostsWork(t *testing.T) {
	const asks = `{"status":428,"code":"challenge_required","challenge":{"signature":"s","parameters":{"cost":2,"keyLength":32,"nonce":"00","salt":"01","keyPrefix":%q}}}`
	prefix := hex.EncodeToString(pbkdf2([]byte{0, 0, 0, 0, 9}, []byte{1}, 2)[:16])
	says := []http.HandlerFunc{answers(428, fmt.Sprintf(asks, prefix)), answers(403, `{"status":403,"code":"challenge_expired"}`),
		answers(428, fmt.Sprintf(asks, prefix)), answers(201, admitted)}
	f, c := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		says[0](w, r)
		says = says[1:]
	})
	if got, err := c.WaitForPass(ctx, "login", nil); err != nil || got.Pass != "P" {
		t.Fatalf("%v %v", got, err)
	}
	for i, q := range f.all() {
		said, _ := base64.StdEncoding.DecodeString(q.Header.Get("segq-challenge"))
		is(t, "the answer", strings.Contains(string(said), `"counter":9`), i%2 == 1)
		is(t, "the key", q.Header.Get("Idempotency-Key"), f.all()[0].Header.Get("Idempotency-Key"))
	}
	for _, unfit := range []string{`{"status":428,"code":"challenge_required","verify":true}`, `{"status":428,"challenge":{"parameters":{}}}`,
		`{"status":428,"challenge":{"parameters":{"cost":1000000000000,"nonce":"00","salt":"01","keyPrefix":"ff"}}}`} {
		_, c = newFake(t, answers(428, unfit))
		if _, err := c.WaitForPass(ctx, "login", nil); !errors.Is(err, ErrChallenge) {
			t.Errorf("%s: %v", unfit, err)
		}
	}
	never := fmt.Sprintf(asks, strings.Repeat("ff", 16))
	_, c = newFake(t, answers(428, never))
	brief, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if _, err := c.WaitForPass(brief, "login", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

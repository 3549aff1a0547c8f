package segq

import (
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

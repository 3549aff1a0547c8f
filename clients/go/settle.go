package segq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// unsettled are the ends of a queue that are to be told.
type unsettled struct {
	rows    []end
	telling bool
}

type end struct {
	j   *Job
	row settleRow
}

type settleRow struct {
	Task    string          `json:"task"`
	Verb    string          `json:"verb"`
	LeaseID string          `json:"lease_id"`
	Result  json.RawMessage `json:"result,omitempty"`
	Bytes   *[]byte         `json:"result_base64,omitempty"`
	Type    string          `json:"content_type,omitempty"`
	Reason  string          `json:"reason,omitempty"`
	Delay   *span           `json:"delay,omitempty"`
	Lease   span            `json:"lease,omitempty"`
}

// size of a row, about.
func (r *settleRow) size() int {
	n := len(r.Result) + 200
	if r.Bytes != nil {
		n += len(*r.Bytes) * 4 / 3
	}
	return n
}

// ---- telling ----

// tellAll tells the ends of a queue, many in a request, until there are none.
func (w *Worker) tellAll(queue string, u *unsettled) {
	runtime.Gosched() // ends that are about to come go with this one
	for {
		w.mu.Lock()
		n, size := 0, 0
		for ; n < len(u.rows) && n < batch && size < settleBytes; n++ {
			size += u.rows[n].row.size()
		}
		rows := u.rows[:n:n]
		u.rows = u.rows[n:]
		if n == 0 {
			u.rows, u.telling = nil, false
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		w.tellOrSay(queue, rows)
		w.mu.Lock()
		w.untold -= n
		w.mu.Unlock()
		w.notify()
	}
}

// tellOrSay: what segq does not hear is tried again when its lease ends.
func (w *Worker) tellOrSay(queue string, rows []end) {
	if err := w.tell(queue, rows); err != nil {
		w.say("trouble", nil, err)
	}
}

func (w *Worker) settlement(ctx context.Context, queue string, rows []end, timeout time.Duration) ([]rowSaid, error) {
	list := make([]settleRow, len(rows))
	for i := range rows {
		list[i] = rows[i].row
	}
	body, err := encode(list)
	if err != nil {
		return nil, err
	}
	return w.c.outcomes(ctx, &ask{method: "POST", path: "/v1/queues/" + esc(queue) + "/tasks/settle", body: body,
		timeout: timeout, retryFor: -1}, len(rows))
}

// tell asks until each row has an answer, as long as a lease.
func (w *Worker) tell(queue string, rows []end) error {
	b, until := backoff{from: 200 * time.Millisecond}, time.Now().Add(w.lease)
	for len(rows) > 0 {
		said, err := w.settlement(context.Background(), queue, rows, 0)
		var refused *APIError
		switch {
		case err != nil && passing(err):
			w.say("trouble", nil, err)
			if err := tellLater(&b, until, err); err != nil {
				return err
			}
			continue
		case err != nil:
			one := !errors.As(err, &refused) || refused.Status == 400 || refused.Status == 413
			if len(rows) > 1 && one { // one of them: each alone tells which
				for i := range rows {
					w.tellOrSay(queue, rows[i:i+1])
				}
				return nil
			}
			if len(rows) > 1 || !one || !plainer(&rows[0].row, err) {
				return err
			}
			continue
		}
		var again []end
		var late error
		for i, r := range said {
			e := rows[i]
			switch {
			case r.Status == 429 || r.Status >= 500:
				again, late = append(again, e), r.err()
			case (r.Status == 400 || r.Status == 413) && plainer(&e.row, r.err()):
				again, late = append(again, e), r.err()
			case r.Status >= 400:
				w.say("lost", e.j, r.err())
			}
		}
		if rows = again; len(rows) > 0 {
			if err := tellLater(&b, until, late); err != nil {
				return err
			}
		}
	}
	return nil
}

func tellLater(b *backoff, until time.Time, err error) error {
	pause := b.next(err)
	if time.Now().Add(pause).After(until) {
		return err
	}
	time.Sleep(pause)
	return nil
}

// plainer is in place of an end that is refused (a result that is too long, a delay that is none): a
// nack that says so. false: it was that.
func plainer(row *settleRow, why error) bool {
	if row.Delay == nil && row.Result == nil && row.Bytes == nil {
		return false
	}
	*row = settleRow{Task: row.Task, Verb: "nack", LeaseID: row.LeaseID,
		Reason: reason(fmt.Errorf("its end was refused: %w", why))}
	return true
}

// ---- leases ----

func every(d time.Duration, over chan struct{}, do func(time.Time)) {
	tick := time.NewTicker(longer(d, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case now := <-tick.C:
			do(now)
		}
	}
}

// extendDue asks once for all that are at half of their lease.
func (w *Worker) extendDue(now time.Time) {
	due := map[string][]end{}
	var late []*Job
	w.mu.Lock()
	for j := range w.jobs {
		if !j.until.After(now) {
			late = append(late, j)
		} else if !j.extendAt.After(now) {
			due[j.Queue] = append(due[j.Queue], end{j, settleRow{
				Task: j.Token, Verb: "extend", LeaseID: j.LeaseID, Lease: span(w.lease)}})
		}
	}
	w.mu.Unlock()
	for _, j := range late {
		w.lose(j, errors.New("segq: its lease has ended"))
	}
	var all sync.WaitGroup
	for queue, rows := range due { // each by itself: one whose node is away delays no other's
		for n := 0; n < len(rows); n += batch {
			all.Add(1)
			go func(queue string, rows []end) {
				defer all.Done()
				w.extendSome(queue, rows)
			}(queue, rows[n:min(n+batch, len(rows))])
		}
	}
	all.Wait()
}

func (w *Worker) extendSome(queue string, rows []end) {
	asked := time.Now()
	said, err := w.settlement(context.Background(), queue, rows, longer(time.Second, w.lease/4))
	if err != nil { // the next turn tries again
		w.say("trouble", nil, err)
		return
	}
	for i, r := range said {
		j := rows[i].j
		switch {
		case r.Status < 400:
			w.mu.Lock()
			j.until, j.extendAt = asked.Add(w.lease), asked.Add(w.lease/2)
			w.mu.Unlock()
			w.say("extended", j, nil)
		case r.Status != 429 && r.Status < 500:
			w.lose(j, r.err())
		}
	}
}

// tellProgress tells the newest word of each job.
func (w *Worker) tellProgress(time.Time) {
	said := map[*Job][]byte{}
	w.mu.Lock()
	for j := range w.jobs {
		if j.said != nil {
			said[j], j.said = j.said, nil
		}
	}
	w.mu.Unlock()
	for j, body := range said {
		err := w.c.call(context.Background(), &ask{method: "POST", path: task(j.Token) + "/progress", body: body,
			timeout: longer(time.Second, w.lease/4), retryFor: -1}, nil)
		var refused *APIError
		if errors.As(err, &refused) && (refused.Status == 409 || refused.Status == 410) {
			w.lose(j, err)
		} else if err != nil {
			w.say("trouble", j, err)
		}
	}
}

// lose: it is not ours any more: its handler is told, and its end is nobody's business.
func (w *Worker) lose(j *Job, err error) {
	w.mu.Lock()
	if j.over {
		w.mu.Unlock()
		return
	}
	j.over = true
	delete(w.jobs, j)
	w.mu.Unlock()
	w.say("lost", j, err)
	w.cancelled(j)
	w.notify()
}

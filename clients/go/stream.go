package segq

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// Stream is an answer that is read as it comes: an io.ReadCloser of its body, or Next for server-sent
// events. One that breaks off, or is silent for too long, is a NetworkError, never io.EOF.
type Stream struct {
	Status int
	Header http.Header

	parent   context.Context
	cancel   context.CancelFunc
	router   string
	body     io.ReadCloser
	lines    *bufio.Reader
	silence  *time.Timer
	patience time.Duration
	late     int32
	progress func(Place)
	id       string
}

// StreamEvent is one of server-sent events.
type StreamEvent struct {
	Name, Data, ID string
}

// Place is the place in line of a call that waits.
type Place struct {
	State    string `json:"state"`
	Position *int64 `json:"position"`
	EtaS     *int64 `json:"eta_s"`
}

// stream asks one router; the head of its answer has to come within timeout.
func (c *Client) stream(ctx context.Context, router string, q *ask, timeout time.Duration) (*Stream, error) {
	within, cancel := context.WithCancel(ctx)
	s := &Stream{parent: ctx, cancel: cancel, router: router, patience: timeout}
	s.silence = time.AfterFunc(timeout, func() {
		atomic.StoreInt32(&s.late, 1)
		cancel()
	})
	a, err := c.open(ctx, within, router, q)
	if err != nil {
		s.silence.Stop()
		cancel()
		return nil, s.failed(err)
	}
	s.Status, s.Header, s.body = a.StatusCode, a.Header, a.Body
	return s, nil
}

func (s *Stream) failed(err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	var n *NetworkError
	if s.parent.Err() == nil && atomic.LoadInt32(&s.late) != 0 {
		return &NetworkError{s.router, fmt.Errorf("nothing came for %v", s.patience)}
	} else if errors.As(err, &n) {
		return err
	}
	return ended(s.parent, s.router, fmt.Errorf("the stream breaks off: %w", err))
}

// Read reads the body, as it comes.
func (s *Stream) Read(p []byte) (int, error) {
	s.silence.Reset(s.patience)
	n, err := s.body.Read(p)
	return n, s.failed(err)
}

// Close ends it: what is unread is not waited for.
func (s *Stream) Close() error {
	s.silence.Stop()
	s.cancel()
	return s.body.Close()
}

// whole reads the rest, for answers that are no streams.
func (s *Stream) whole() (*answer, error) {
	defer s.Close()
	body, err := io.ReadAll(io.LimitReader(s.body, bodyMax))
	return &answer{s.Status, s.Header, body}, s.failed(err)
}

// line reads one, without its end. One that is cut off is none.
func (s *Stream) line() (string, error) {
	if s.lines == nil {
		s.lines = bufio.NewReaderSize(s.body, 16<<10)
	}
	var all []byte
	for {
		part, err := s.lines.ReadSlice('\n')
		all = append(all, part...)
		if len(all) > bodyMax {
			return "", &NetworkError{s.router, fmt.Errorf("a line of more than %d bytes", bodyMax)}
		}
		if err == nil {
			return strings.TrimRight(string(all), "\r\n"), nil
		}
		if err != bufio.ErrBufferFull {
			return "", s.failed(err)
		}
	}
}

// Next reads the next event (WHATWG HTML, section 9.2); io.EOF: the stream has come to its end.
func (s *Stream) Next() (*StreamEvent, error) {
	s.silence.Reset(s.patience)
	e, data := &StreamEvent{}, []string(nil)
	for {
		line, err := s.line()
		if err != nil {
			return nil, err
		}
		if line == "" {
			e.Data, e.ID = strings.Join(data, "\n"), s.id
			if data == nil {
				e.Name = ""
				continue
			}
			told, err := s.told(e)
			if err != nil {
				return nil, err
			}
			if told {
				s.silence.Reset(s.patience)
				e, data = &StreamEvent{}, nil
				continue
			}
			if e.Name == "" {
				e.Name = "message"
			}
			return e, nil
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			e.Name = value
		case "data":
			data = append(data, value)
		case "id":
			if isEventID(value) {
				s.id = value
			}
		}
	}
}

// isEventID: another one is a stranger's; no header could send it back.
func isEventID(id string) bool {
	return len(id) <= 128 && strings.IndexFunc(id, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}

// told: a place in line, of `segq-progress: events`; or an answer that is no stream of events.
func (s *Stream) told(e *StreamEvent) (bool, error) {
	if s.progress == nil || e.Name != "segq.progress" && e.Name != "error" {
		return false, nil
	}
	if e.Name == "segq.progress" {
		var p Place
		if json.Unmarshal([]byte(e.Data), &p) == nil {
			s.progress(p)
		}
		return true, nil
	}
	var said struct {
		Status int             `json:"status"`
		Error  json.RawMessage `json:"error"`
		Body   json.RawMessage `json:"body"`
	}
	if json.Unmarshal([]byte(e.Data), &said) != nil || said.Status < 400 { // the target's own error event
		return false, nil
	}
	err := refusal(said.Status, said.Error, "")
	if err.Detail == "" {
		err.Detail = err.Message
	}
	if err.Detail == "" {
		err.Detail = string(said.Body)
	}
	return false, err
}

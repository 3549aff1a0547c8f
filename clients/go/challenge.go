package segq

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
)

const (
	challenges = 4       // of a join, at most
	counters   = 1 << 22 // far more than any challenge has, as these two:
	rounds     = 1 << 20 // of one key
	work       = 1 << 30 // rounds in all
)

var errNoAnswer = errors.New("segq: this challenge has no answer")

// pbkdf2 is a key of 32 bytes (RFC 8018), one block of HMAC-SHA-256.
func pbkdf2(password, salt []byte, cost int) []byte {
	mac := hmac.New(sha256.New, password)
	mac.Write(salt)
	mac.Write([]byte{0, 0, 0, 1})
	u := mac.Sum(nil)
	key := append([]byte(nil), u...)
	for i := 1; i < cost; i++ {
		mac.Reset()
		mac.Write(u)
		u = mac.Sum(u[:0])
		for k := range key {
			key[k] ^= u[k]
		}
	}
	return key
}

// solve is the answer to the challenge of a 428, for the header segq-challenge: a second of work, or some.
func solve(ctx context.Context, challenge json.RawMessage) (string, error) {
	var c struct {
		Parameters struct {
			Nonce, Salt, KeyPrefix string
			Cost                   int
		}
	}
	if err := json.Unmarshal(challenge, &c); err != nil {
		return "", err
	}
	nonce, err := hex.DecodeString(c.Parameters.Nonce)
	salt, err2 := hex.DecodeString(c.Parameters.Salt)
	prefix, err3 := hex.DecodeString(c.Parameters.KeyPrefix)
	cost := c.Parameters.Cost
	if err != nil || err2 != nil || err3 != nil || len(prefix) == 0 || cost < 1 || cost > rounds {
		return "", errNoAnswer
	}
	password := append(nonce, 0, 0, 0, 0)
	for counter := uint32(0); counter < counters && int(counter) < work/cost; counter++ {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		binary.BigEndian.PutUint32(password[len(nonce):], counter)
		key := pbkdf2(password, salt, cost)
		if bytes.HasPrefix(key, prefix) {
			said, err := json.Marshal(map[string]any{"challenge": challenge,
				"solution": map[string]any{"counter": counter, "derivedKey": hex.EncodeToString(key)}})
			return base64.StdEncoding.EncodeToString(said), err
		}
	}
	return "", errNoAnswer
}

// join joins, and works for that if it costs work.
func (l *Line) join(ctx context.Context, q *ask) (*Ticket, error) {
	for left := challenges; ; left-- {
		t, err := l.ask(ctx, q)
		var e *APIError
		switch {
		case err == nil || left == 0 || !errors.As(err, &e):
			return t, err
		case e.Status == http.StatusPreconditionRequired && bytes.HasPrefix(e.Challenge, []byte("{")): // else the site's own check is asked for
			answer, failed := solve(ctx, e.Challenge)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if failed != nil {
				return nil, err
			}
			q.header.Set("segq-challenge", answer)
		case e.Status == http.StatusForbidden && strings.HasPrefix(e.Code, "challenge_"):
			q.header.Del("segq-challenge") // slept over, or from another network
		default:
			return t, err
		}
	}
}

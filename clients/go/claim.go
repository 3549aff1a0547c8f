package segq

import (
	"crypto"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"strings"
	"time"
)

// Claim is the right to a lane, or to one task (`claim_keys` of conf/router.yaml).
type Claim struct {
	Audience string   `json:"aud,omitempty"`      // the queue, of a lane
	Lane     string   `json:"lane,omitempty"`     //
	Subject  string   `json:"sub,omitempty"`      // who alone may use it
	Replaces string   `json:"replaces,omitempty"` // a ticket's token, whose place is given up
	Queues   []string `json:"queues,omitempty"`   // of a task: names, or patterns like ride/*
	ID       string   `json:"jti,omitempty"`      // of a task: its Idempotency-Key
	Key      string   `json:"key,omitempty"`
	Priority *int     `json:"priority,omitempty"`

	Audiences []string `json:"-"` // the queues of a group, in place of Audience

	KeyID string        `json:"-"` // kid, as the key is named in claim_keys
	TTL   time.Duration `json:"-"` // 5 minutes
	Now   time.Time     `json:"-"` // zero: the clock's
}

// SignClaim signs with a secret (HS256), as it stands in its file.
func SignClaim(secret string, c Claim) (string, error) {
	return c.sign("HS256", func(signed []byte) ([]byte, error) {
		mac := hmac.New(sha256.New, []byte(strings.TrimSpace(secret)))
		mac.Write(signed)
		return mac.Sum(nil), nil
	})
}

// SignClaimEd25519 signs with a private key (EdDSA).
func SignClaimEd25519(key ed25519.PrivateKey, c Claim) (string, error) {
	return c.sign("EdDSA", func(signed []byte) ([]byte, error) { return key.Sign(rand.Reader, signed, crypto.Hash(0)) })
}

func (c Claim) sign(alg string, sign func([]byte) ([]byte, error)) (string, error) {
	if c.TTL == 0 {
		c.TTL = 5 * time.Minute
	}
	if c.Now.IsZero() {
		c.Now = time.Now()
	}
	head, _ := encode(struct {
		Alg string `json:"alg"`
		Typ string `json:"typ"`
		Kid string `json:"kid,omitempty"`
	}{alg, "JWT", c.KeyID})
	var aud any // goes before that of Claim
	if c.Audience != "" {
		aud = c.Audience
	}
	if len(c.Audiences) > 0 {
		aud = c.Audiences
	}
	body, err := encode(struct {
		Aud any `json:"aud,omitempty"`
		Claim
		Iat int64 `json:"iat"`
		Exp int64 `json:"exp"`
	}{aud, c, c.Now.Unix(), c.Now.Add(c.TTL).Unix()})
	if err != nil {
		return "", err
	}
	signed := b64(head) + "." + b64(body)
	signature, err := sign([]byte(signed))
	return signed + "." + b64(signature), err
}

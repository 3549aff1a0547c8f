package segq

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const signatures = 16 // of one call, that are looked at

// Webhook tells whether calls and notices are segq's (Standard Webhooks,
// https://github.com/standard-webhooks/standard-webhooks).
type Webhook struct {
	Tolerance time.Duration    // how far the clocks, and an old call, may be off: 5 minutes
	Now       func() time.Time // nil: time.Now

	keys []webhookKey
}

type webhookKey struct {
	version string
	raw     []byte
}

// NewWebhook has secrets (whsec_...) and public keys (whpk_...); any of them may have signed, so that
// old and new ones go side by side.
func NewWebhook(keys ...string) (*Webhook, error) {
	w := &Webhook{Tolerance: 5 * time.Minute}
	for _, k := range keys {
		kind, rest, _ := strings.Cut(strings.TrimSpace(k), "_")
		raw, err := base64.StdEncoding.Strict().DecodeString(rest)
		switch {
		case err == nil && kind == "whsec" && len(raw) >= 24 && len(raw) <= 64:
			w.keys = append(w.keys, webhookKey{"v1", raw})
		case err == nil && kind == "whpk" && len(raw) == ed25519.PublicKeySize:
			w.keys = append(w.keys, webhookKey{"v1a", raw})
		default:
			return nil, errors.New("segq: a webhook key: whsec_ and base64 of 24 to 64 bytes, or whpk_ and base64 of 32")
		}
	}
	if len(w.keys) == 0 {
		return nil, errors.New("segq: no webhook keys")
	}
	return w, nil
}

// Verify returns webhook-id, the same in each attempt, or a SignatureError.
func (w *Webhook) Verify(header http.Header, body []byte) (string, error) {
	id, stamp, said := header.Get("Webhook-Id"), header.Get("Webhook-Timestamp"), header.Get("Webhook-Signature")
	if id == "" || stamp == "" || said == "" {
		return "", &SignatureError{"webhook-id, webhook-timestamp or webhook-signature is missing"}
	}
	if strings.Contains(id, ".") { // it parts what is signed, which could be parted in another place
		return "", &SignatureError{"webhook-id has a full stop"}
	}
	at, err := strconv.ParseUint(stamp, 10, 62)
	if err != nil || at > 1<<40 {
		return "", &SignatureError{"webhook-timestamp is no number"}
	}
	now := time.Now
	if w.Now != nil {
		now = w.Now
	}
	if off := now().Sub(time.Unix(int64(at), 0)); off > w.Tolerance || off < -w.Tolerance {
		return "", &SignatureError{"too old, or one of the two clocks is wrong"}
	}
	signed := append([]byte(id+"."+stamp+"."), body...)
	for i, one := range strings.Fields(said) {
		version, text, _ := strings.Cut(one, ",")
		signature, err := base64.StdEncoding.Strict().DecodeString(text)
		if err != nil || i >= signatures {
			continue
		}
		for _, k := range w.keys {
			if k.version == version && k.good(signature, signed) {
				return id, nil
			}
		}
	}
	return "", &SignatureError{"no signature of a key that is known"}
}

func (k *webhookKey) good(signature, signed []byte) bool {
	if k.version == "v1a" {
		return ed25519.Verify(k.raw, signed, signature)
	}
	mac := hmac.New(sha256.New, k.raw)
	mac.Write(signed)
	return hmac.Equal(mac.Sum(nil), signature)
}

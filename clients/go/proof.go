package segq

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/big"
	"strings"
	"time"
)

const proofs = 2 // of a request, at most: the first may lack a nonce

// NewDeviceKey makes a key for Line.Key; crypto/x509 writes it into a file.
func NewDeviceKey() (*ecdsa.PrivateKey, error) {
	return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
}

func part(v any) (string, error) {
	text, err := json.Marshal(v)
	return base64.RawURLEncoding.EncodeToString(text), err
}

// proof is the header DPoP (RFC 9449) for a POST to that address.
func proof(key crypto.Signer, url, nonce string) (string, error) {
	pub, ok := key.Public().(*ecdsa.PublicKey)
	if !ok || pub.Curve != elliptic.P256() {
		return "", errors.New("segq: Line.Key is no key of the curve P-256")
	}
	b64 := base64.RawURLEncoding.EncodeToString
	point := func(v *big.Int) string { return b64(v.FillBytes(make([]byte, 32))) }
	jti := make([]byte, 12)
	if _, err := rand.Read(jti); err != nil {
		return "", err
	}
	head, err := part(map[string]any{"typ": "dpop+jwt", "alg": "ES256",
		"jwk": map[string]string{"kty": "EC", "crv": "P-256", "x": point(pub.X), "y": point(pub.Y)}})
	if err != nil {
		return "", err
	}
	body, err := part(map[string]any{"htm": "POST", "htu": url, "iat": time.Now().Unix(), "jti": b64(jti), "nonce": nonce})
	if err != nil {
		return "", err
	}
	digest := sha256.Sum256([]byte(head + "." + body))
	der, err := key.Sign(rand.Reader, digest[:], crypto.SHA256)
	if err != nil {
		return "", err
	}
	var s struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(der, &s); err != nil {
		return "", err
	}
	signature := append(s.R.FillBytes(make([]byte, 32)), s.S.FillBytes(make([]byte, 32))...)
	return head + "." + body + "." + b64(signature), nil
}

// mayProve says whether the key may mend it: the cookie is ten minutes old, or not there.
func (l *Line) mayProve(err error) bool {
	var e *APIError
	return l.Key != nil && errors.As(err, &e) && (e.Code == "proof_required" || e.Code == "other_device")
}

// once is one try; proves: with a proof of the key, if there is one.
func (l *Line) once(ctx context.Context, router string, q *ask, proves bool) (*answer, error) {
	if proves && l.Key != nil {
		l.mu.Lock()
		nonce := l.nonce
		l.mu.Unlock()
		text, err := proof(l.Key, strings.TrimSuffix(router, "/")+q.path, nonce)
		if err != nil {
			return nil, err
		}
		q.header.Set("DPoP", text)
	}
	a, err := l.c.try(ctx, router, l.of(q))
	if err == nil {
		l.keep(a.header)
	}
	return a, err
}

// prove gets a fresh cookie for the key. ErrForbidden: the ticket is another key's.
func (l *Line) prove(ctx context.Context, router string) error {
	for left := proofs; ; left-- {
		a, err := l.once(ctx, router, &ask{method: "POST", path: l.path() + "/device", header: map[string][]string{}}, true)
		if err != nil {
			return err
		}
		if a.status < 300 {
			return nil
		}
		if a.status != 401 || left == 0 {
			_, err := judge(router, a)
			return err
		}
	}
}

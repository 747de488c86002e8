package client

import (
	"cmp"
	"context"
	cryptorand "crypto/rand"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/signature"
)

// KeyVariable is the environment variable that names the file with the user's key, for a cluster
// whose policy requires signed submissions.
const KeyVariable = "HAMADRYAD_KEY"

const (
	// keyBytesMax bounds a key.
	keyBytesMax = 4 << 10
	// signTriesMax is how often a refused caller signs. Two requests of one user in the same
	// millisecond have one signature, and a policy may refuse an overtaken one.
	signTriesMax = 3
	// signPauseMax bounds the pause before the next.
	signPauseMax = 50 * time.Millisecond
)

// signLater waits until a signature would differ, also from that of another caller that waits.
func signLater(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(2*time.Millisecond + rand.N(signPauseMax)): //nolint:gosec // it keeps two apart, and is no secret
		return nil
	}
}

// Key reads the key that the environment names; "" when it names none. The file must be readable by
// its owner alone.
func Key() (string, error) {
	path := os.Getenv(KeyVariable)
	if path == "" {
		return "", nil
	}
	key, err := readSecret(path, keyBytesMax)
	if err != nil {
		return "", fmt.Errorf("the key that %s names: %w", KeyVariable, err)
	}
	return key, nil
}

// signed is a submission with its user's signature of now, which counts once; the submission itself
// when there is no key.
func signed(spec *wire.JobSpec, key string, now time.Time) *wire.JobSpec {
	if key == "" {
		return spec
	}
	nonce := cryptorand.Text()
	_, authorization := signature.Sign(signature.Nonce(nonce), nil, spec.GetPrincipal().GetName(), now, key, signature.SHA256)
	spec = shallow(spec)
	spec.Properties = append(slices.Clone(spec.Properties),
		&wire.Property{Name: scheduler.ProofTimestamp, Value: strconv.FormatInt(now.UnixMilli(), 10)},
		&wire.Property{Name: scheduler.ProofNonce, Value: nonce},
		&wire.Property{Name: scheduler.ProofSignature, Value: authorization})
	slices.SortStableFunc(spec.Properties, func(a, b *wire.Property) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return spec
}

// isSigned reports whether a submission has a signature of its own, as Hadoop's users make it (-D
// mapred.job.signature). It is sent unchanged: it counts once.
func isSigned(spec *wire.JobSpec) bool {
	return slices.ContainsFunc(spec.GetProperties(), func(p *wire.Property) bool { return scheduler.IsProof(p.GetName()) })
}

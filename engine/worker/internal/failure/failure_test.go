package failure

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

func TestFailureKinds(t *testing.T) {
	lost := Lost(errors.New("gone"), 12)
	if f := Describe(lost); f.Kind != wire.ErrorKind_ERROR_KIND_LOST || f.Producer != 12 {
		t.Errorf("%v", f)
	}
	for _, err := range []error{
		fmt.Errorf("write: %w", storage.ErrUnavailable),
		OnInput(fmt.Errorf("read: %w", storage.ErrUnavailable), "/in"), // not the input's fault
	} {
		if f := Describe(err); f.Kind != wire.ErrorKind_ERROR_KIND_LOST {
			t.Errorf("%v", f)
		}
	}
	if f := Describe(errors.New("bad")); f.Kind != wire.ErrorKind_ERROR_KIND_PROGRAM {
		t.Errorf("%v", f)
	}
	large := fmt.Errorf("read: %w", job.CheckRecord(5, 8))
	if f := Describe(large); f.Kind != wire.ErrorKind_ERROR_KIND_INVALID || f.Message != large.Error() {
		t.Errorf("%v", f)
	}
	if f := Describe(Panicked(large)); f.Kind != wire.ErrorKind_ERROR_KIND_PROGRAM {
		t.Errorf("a panic: %v", f)
	}
	if f := Describe(errors.New(string(bytes.Repeat([]byte("x"), 1<<20)))); len(f.Message) > messageMax+100 {
		t.Errorf("a message of %d bytes", len(f.Message))
	}
	for _, text := range []string{"caf\xe9 is shut", strings.Repeat("\xff", messageMax), strings.Repeat("x", messageMax-1) + "\u00e9\xff"} {
		f := Describe(fmt.Errorf("command: %w", errors.New(text)))
		if !utf8.ValidString(f.Message) || !strings.HasPrefix(f.Message, "command: ") || len(f.Message) > messageMax+100 {
			t.Errorf("of %d bytes that are no text is told %d: %.80q", len(text), len(f.Message), f.Message)
		}
		if p := Describe(Panicked(errors.New(text))); !utf8.ValidString(p.Message) {
			t.Errorf("a panic with it is told as %.80q", p.Message)
		}
	}
	// Errors that the job causes take precedence over temporary ones, wherever they are in the
	// chain.
	for _, err := range []error{
		errors.Join(Lost(errors.New("gone"), 0), Invalid(errors.New("two files of one name"))),
		fmt.Errorf("publish: %w", Lost(Invalidf("no such store"), 3)),
	} {
		if f := Describe(err); f.Kind != wire.ErrorKind_ERROR_KIND_INVALID {
			t.Errorf("%v", f)
		}
	}
	if full := Describe(fmt.Errorf("write: %w", unix.ENOSPC)); full.Kind != wire.ErrorKind_ERROR_KIND_RESOURCE || !strings.Contains(full.Message, "free space there, or raise") {
		t.Errorf("%v", full)
	}
	if said := Describe(OnDisk(unix.ENOSPC, "/data")); said.Kind != wire.ErrorKind_ERROR_KIND_RESOURCE || strings.Contains(said.Message, "or raise") {
		t.Errorf("the remedy stands twice: %v", said)
	}
}

// A refusal of the output store is reported as such, with its path: an unmounted, read-only or full
// store is neither a lost input nor a full disk of the launcher. Launchers that see the same report
// the same. A full store has a kind of its own, because it may have room later.
func TestWhatAnOutputStoreRefuses(t *testing.T) {
	output, full := wire.ErrorKind_ERROR_KIND_OUTPUT, wire.ErrorKind_ERROR_KIND_FULL
	for err, want := range map[error]*wire.Failure{
		unix.ENOENT: {Kind: output, Refusal: wire.Refusal_REFUSAL_MISSING}, unix.EROFS: {Kind: output, Refusal: wire.Refusal_REFUSAL_READ_ONLY},
		unix.EACCES: {Kind: output, Refusal: wire.Refusal_REFUSAL_DENIED}, unix.EDQUOT: {Kind: output, Refusal: wire.Refusal_REFUSAL_QUOTA},
		unix.EISDIR: {Kind: output}, unix.ENOSPC: {Kind: full},
	} {
		if f := Describe(AsOutput(fmt.Errorf("publish: %w", err))); f.Kind != want.Kind || f.Refusal != want.Refusal {
			t.Errorf("when it is published, %v: %v", err, f)
		}
		f := Describe(OnOutput(fmt.Errorf("create: %w", err), "/out/part"))
		if f.Kind != want.Kind || f.Refusal != want.Refusal || !strings.Contains(f.Message, "/out/part") || strings.Contains(f.Message, "data folder") {
			t.Errorf("%v: %v", err, f)
		}
	}
}

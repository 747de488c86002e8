package credentials_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hamadryad/hamadryad/engine/manager/internal/credentials"
	"github.com/hamadryad/hamadryad/internal/kerberos"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const realm = "HAMADRYAD.TEST"

// ticket returns a ticket of ann, valid from now on.
func ticket(t *testing.T, life, renewable time.Duration) kerberos.TGT {
	t.Helper()
	tgt, err := kerberos.Load("../../../../internal/kerberos/testdata/cache")
	if err != nil {
		t.Fatal(err)
	}
	tgt.Start = time.Now().Truncate(time.Second)
	tgt.End, tgt.RenewTill = tgt.Start.Add(life), tgt.Start.Add(renewable)
	return tgt
}

// kdc renews like a real one, or not.
type kdc struct {
	mu    sync.Mutex
	asked int
	down  error
}

func (k *kdc) renew(old kerberos.TGT) (kerberos.TGT, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked++
	if k.down != nil {
		return kerberos.TGT{}, k.down
	}
	if !old.Renewable() {
		return old, nil
	}
	now := time.Now().Truncate(time.Second)
	old.Start, old.End = now, now.Add(old.End.Sub(old.Start))
	if old.End.After(old.RenewTill) {
		old.End = old.RenewTill
	}
	return old, nil
}

func (k *kdc) set(down error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.down = down
}

func (k *kdc) count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.asked
}

func open(t *testing.T, folder string, k *kdc, realms ...string) (*credentials.TicketStore, *bytes.Buffer) {
	t.Helper()
	log := &bytes.Buffer{}
	s, err := credentials.OpenTickets(credentials.TicketOptions{Folder: folder, Realms: realms, Renew: k.renew, Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return s, log
}

func names(t *testing.T, folder string) (all []string) {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		all = append(all, f.Name())
	}
	return all
}

// owned is the core's answer: these jobs live, and belong to these users.
func owned(of map[scheduler.JobID]string) credentials.Owners {
	return func(context.Context, []scheduler.JobID) (map[scheduler.JobID]string, error) { return of, nil }
}

func nobody(scheduler.JobID) {}

func TestATicketIsTakenForItsOwnUserAlone(t *testing.T) {
	folder, k := filepath.Join(t.TempDir(), "credentials"), &kdc{}
	s, _ := open(t, folder, k, realm)
	none, _ := open(t, filepath.Join(t.TempDir(), "none"), k)
	other, _ := open(t, filepath.Join(t.TempDir(), "other"), k, "OTHER.TEST")
	good := ticket(t, time.Hour, 2*time.Hour).Bytes()
	for _, c := range []struct {
		what    string
		store   *credentials.TicketStore
		user    string
		cache   []byte
		foreign bool
		says    []string
	}{
		{"another's", s, "mallory", good, true, []string{"ann@" + realm, `"mallory"`, "kinit", "--kerberos off"}},
		{"another realm's", other, "ann", good, true, []string{"ann@" + realm, "auth.kerberos.realms", "OTHER.TEST"}},
		{"an administrator's", s, "ann", bytes.ReplaceAll(good, []byte("\x00\x00\x00\x01\x00\x00\x00\x0eHAMADRYAD.TEST\x00\x00\x00\x03ann"), []byte("\x00\x00\x00\x02\x00\x00\x00\x0eHAMADRYAD.TEST\x00\x00\x00\x03ann\x00\x00\x00\x05admin")), true, []string{"ann/admin", "single part"}},
		{"where none is taken", none, "ann", good, false, []string{"takes no Kerberos tickets", "auth.kerberos.realms"}},
		{"garbage", s, "ann", []byte("no ticket"), false, []string{"no ticket cache"}},
		{"too long", s, "ann", make([]byte, kerberos.BytesMax+1), false, []string{"at most"}},
		{"expired", s, "ann", ticket(t, -time.Hour, time.Hour).Bytes(), false, []string{"was good until", "clock", "kinit"}},
	} {
		_, err := c.store.TakeTicket(t.Context(), 7, c.user, c.cache)
		if err == nil || errors.Is(err, credentials.ErrForeign) != c.foreign {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		for _, want := range c.says {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v does not say %q", c.what, err, want)
			}
		}
	}
	if k.count() != 0 {
		t.Error("the KDC was asked about tickets that are not taken anyway")
	}
	k.set(errors.New("it is not genuine"))
	if _, err := s.TakeTicket(t.Context(), 7, "ann", good); err == nil || !strings.Contains(err.Error(), "not genuine") {
		t.Errorf("one that the KDC refuses: %v", err)
	}
	if files := names(t, folder); len(files) > 0 {
		t.Errorf("what was not taken is kept: %v", files)
	}
	k.set(nil)
	settle, err := s.TakeTicket(t.Context(), 7, "ann", good)
	if err != nil {
		t.Fatal(err)
	}
	settle(true)
	if cache, version := s.Of(7, "ann"); version == 0 || !slices.Equal(names(t, folder), []string{"job-7.ann"}) {
		t.Errorf("a good one is not kept: %d bytes, %v", len(cache), names(t, folder))
	}
	if cache, _ := s.Of(7, "mallory"); cache != nil {
		t.Error("another user's job has it")
	}
	if info, err := os.Stat(filepath.Join(folder, "job-7.ann")); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

// Within its renewable life a job always has a valid ticket, and the KDC is asked about twice in a
// ticket's life.
func TestTicketsAreRenewedAtHalfTheirLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &kdc{}
		s, _ := open(t, filepath.Join(t.TempDir(), "credentials"), k, realm)
		settle, err := s.TakeTicket(t.Context(), 7, "ann", ticket(t, 20*time.Second, 5*time.Minute).Bytes())
		if err != nil {
			t.Fatal(err)
		}
		settle(true)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var told []scheduler.JobID
		go s.Run(ctx, owned(map[scheduler.JobID]string{7: "ann"}), func(j scheduler.JobID) { told = append(told, j) })
		for second := range 299 {
			cache, _ := s.OfJob(7)
			now, err := kerberos.Parse(cache)
			if err != nil || !now.End.After(time.Now()) {
				t.Fatalf("after %d s it is good until %v: %v", second, now.End, err)
			}
			time.Sleep(time.Second)
			synctest.Wait()
			if note := s.Note(7); (note != "") != (second >= 279) || note != "" && !strings.Contains(note, "renewable life ends") {
				t.Fatalf("after %d s the note is %q", second, note)
			}
		}
		if n := k.count(); n < 28 || n > 31 || len(told) != n-1 {
			t.Errorf("the KDC was asked %d times, and launchers were told %d times", n, len(told))
		}
		time.Sleep(time.Hour)
		if note := s.Note(7); k.count() > 31 || !strings.Contains(note, "was good until") || !strings.Contains(note, "kinit") {
			t.Errorf("long after, the KDC was asked %d times, and the note is %q", k.count(), note)
		}
	})
}

// A KDC that is away for a while does no harm. One that stays away is asked a bounded number of
// times, and people are notified.
func TestARenewalThatFailsIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &kdc{}
		s, log := open(t, filepath.Join(t.TempDir(), "credentials"), k, realm)
		settle, err := s.TakeTicket(t.Context(), 7, "ann", ticket(t, 10*time.Hour, 70*time.Hour).Bytes())
		if err != nil {
			t.Fatal(err)
		}
		settle(true)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go s.Run(ctx, owned(map[scheduler.JobID]string{7: "ann"}), nobody)
		k.set(errors.New("no KDC answers"))
		time.Sleep(6 * time.Hour)
		if note := s.Note(7); !strings.Contains(note, "no KDC answers") || !strings.Contains(note, "tried again") || !strings.Contains(note, "ann@"+realm) {
			t.Errorf("while the KDC is away the note is %q", note)
		}
		k.set(nil)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if note := s.Note(7); note != "" {
			t.Errorf("when it is back the note is %q", note)
		}
		before := k.count()
		k.set(errors.New("no KDC answers"))
		time.Sleep(100 * time.Hour)
		synctest.Wait()
		if n := k.count() - before; n < 50 || n > 150 {
			t.Errorf("a KDC that is away for good was asked %d times", n)
		}
		if note := s.Note(7); !strings.Contains(note, "was good until") || !strings.Contains(note, "no KDC answers") {
			t.Errorf("in the end the note is %q", note)
		}
		stop()
		synctest.Wait()
		if !strings.Contains(log.String(), "was not renewed") || !strings.Contains(log.String(), "job-7") {
			t.Error("the log says nothing of it")
		}
	})
}

func TestTicketsGoWithTheirJobs(t *testing.T) {
	folder, k := filepath.Join(t.TempDir(), "credentials"), &kdc{}
	s, _ := open(t, folder, k, realm)
	settles := map[scheduler.JobID]func(bool){}
	for id := scheduler.JobID(1); id <= 5; id++ {
		settle, err := s.TakeTicket(t.Context(), id, "ann", ticket(t, time.Hour, 2*time.Hour).Bytes())
		if err != nil {
			t.Fatal(err)
		}
		settles[id] = settle
	}
	for _, id := range []scheduler.JobID{1, 2, 3} {
		settles[id](true)
	}
	settles[4](false) // the core refused it, or nobody knows; 5 is under way
	s.Ended([]scheduler.JobID{2, 3, 9})
	asked := func(_ context.Context, jobs []scheduler.JobID) (map[scheduler.JobID]string, error) {
		slices.Sort(jobs)
		if !slices.Equal(jobs, []scheduler.JobID{2, 3, 4}) {
			t.Errorf("the core is asked of %v", jobs)
		}
		return map[scheduler.JobID]string{3: "ann", 4: "bob"}, nil // 3 is live after all, and 4 has another owner
	}
	if err := s.FindOwners(t.Context(), asked); err != nil {
		t.Fatal(err)
	}
	if files := names(t, folder); !slices.Equal(files, []string{"job-1.ann", "job-3.ann", "job-5.ann"}) {
		t.Errorf("left are %v", files)
	}
	if _, v := s.OfJob(5); v != 0 {
		t.Error("a job that the core may refuse has a ticket for launchers that have something of it")
	}
	if err := os.WriteFile(filepath.Join(folder, "new-123"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}

	again, log := open(t, folder, k) // the manager was killed; the realm is not configured any more
	if err := again.FindOwners(t.Context(), owned(map[scheduler.JobID]string{1: "ann", 5: "mallory"})); err != nil {
		t.Fatal(err)
	}
	before, _ := s.OfJob(1)
	if cache, v := again.OfJob(1); v == 0 || !bytes.Equal(cache, before) {
		t.Error("a restart loses the ticket of a job that goes on")
	}
	if files := names(t, folder); !slices.Equal(files, []string{"job-1.ann"}) || log.Len() > 0 {
		t.Errorf("left are %v\n%s", files, log)
	}
}

func TestFilesThatCannotBeTrusted(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "credentials")
	good := ticket(t, time.Hour, 2*time.Hour).Bytes()
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	put := func(name string, content []byte, mode os.FileMode) {
		path := filepath.Join(folder, name)
		if err := errors.Join(os.WriteFile(path, content, mode), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
	}
	put("job-1.ann", good, 0o600)
	put("job-2.ann", good[:len(good)-1], 0o600)
	put("job-3.ann", good, 0o640)
	put("job-05.ann", good, 0o600)
	put("job-6", good, 0o600)
	put("job-7.-x", good, 0o600)
	if err := errors.Join(os.Symlink("job-1.ann", filepath.Join(folder, "job-4.ann")), os.Mkdir(filepath.Join(folder, "job-8.ann"), 0o700)); err != nil {
		t.Fatal(err)
	}
	s, log := open(t, folder, &kdc{}, realm)
	if err := s.FindOwners(t.Context(), owned(map[scheduler.JobID]string{1: "ann", 2: "ann", 3: "ann", 4: "ann", 5: "ann", 8: "ann"})); err != nil {
		t.Fatal(err)
	}
	for id := scheduler.JobID(1); id <= 8; id++ {
		if _, v := s.OfJob(id); (v != 0) != (id == 1) {
			t.Errorf("%v has a ticket: %v", id, v != 0)
		}
	}
	for _, want := range []string{"job-2.ann", "job-3.ann", "job-4.ann", "job-05.ann", "job-6", "job-7.-x", "job-8.ann", "damaged", "others may reach it", "a link", "no file"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, log)
		}
	}
	if strings.Contains(log.String(), "job-1.ann") {
		t.Error("the log complains of the good one")
	}
	for what, make := range map[string]func(path string) error{
		"open":   func(path string) error { return errors.Join(os.Mkdir(path, 0o755), os.Chmod(path, 0o755)) },
		"a link": func(path string) error { return os.Symlink(folder, path) },
		"a file": func(path string) error { return os.WriteFile(path, nil, 0o600) },
	} {
		path := filepath.Join(t.TempDir(), "credentials")
		if err := make(path); err != nil {
			t.Fatal(err)
		}
		if _, err := credentials.OpenTickets(credentials.TicketOptions{Folder: path, Log: slog.New(slog.DiscardHandler)}); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("a folder that is %s: %v", what, err)
		}
	}
}

package file_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/account"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/money"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/shell/file"
)

func write(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "budget")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A file as the document has it is read, and is written with what the policy adds.
func TestTheDocumentsFile(t *testing.T) {
	path := write(t, "queue1 99972.0 0.11\n\n# a remark\nqueue2\t5 1e-05\r\n")
	s, err := file.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	applied, err := s.Apply(t.Context(), []account.Entry{
		{Number: 1, Kind: account.Charge, Queue: "queue1", Amount: 110_000, Interval: 7},
		{Number: 2, Kind: account.AddQueue, Queue: "queue3"},
	})
	if err != nil || applied != 2 {
		t.Fatal(applied, err)
	}
	text, err := os.ReadFile(path)
	want := "# applied 2\n# a remark\nqueue1 99971.89 0.11 7\nqueue2 5.0 0.00001 0\nqueue3 0.0 0.0 0\n"
	if err != nil || string(text) != want {
		t.Errorf("error %v, the file has\n%swant\n%s", err, text, want)
	}
	again, err := file.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if applied, err := again.Apply(t.Context(), []account.Entry{{Number: 1, Kind: account.Charge, Queue: "queue1", Amount: 110_000, Interval: 7}}); err != nil || applied != 2 {
		t.Errorf("%d are applied, %v", applied, err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != want {
		t.Errorf("what was applied before changes the file: %v\n%s", err, text)
	}
}

// A file of the policy's with a mistake is refused with its line, and stays as it is. In another a
// line that is no queue is left out, and stays in it as a remark.
func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"a 1 1\nb 1":                        `line 3: "b 1": write a user`,
		"a 1 1 0 0":                         "line 2",
		"a x 1":                             "line 2: the budget",
		"a 1 NaN":                           "line 2: the spending rate",
		"a 1 -1":                            "line 2",
		"a Inf 1":                           "line 2: the budget",
		"a 1e99 1":                          "line 2: the budget",
		"a 0.0000001 1":                     "line 2: the budget",
		"a 1 1 -5":                          "line 2",
		strings.Repeat("a", 100) + " 1 1":   "line 2",
		"a\x00b 1 1":                        "line 2",
		"\xff 1 1":                          "line 2",
		strings.Repeat("x 1 1\n", 1) + "\"": "line 3",
	} {
		refused(t, "# applied 7\n"+text, want)
		if text == "a 0.0000001 1" { // the original counts in binary fractions
			continue
		}
		path := write(t, "good 3 1\n"+text+"\n")
		s, err := file.Open(path)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if _, err := s.Apply(t.Context(), []account.Entry{{Number: 1, Kind: account.AddBudget, Queue: "good", Amount: money.Credit}}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(text, "\n")
		is, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(is), "\n# left out: "+lines[len(lines)-1]+"\n") || !strings.Contains(string(is), "good 4.0 1.0 0\n") {
			t.Errorf("%q is written as %q, %v", text, is, err)
		}
		again, err := file.Open(path)
		if err != nil {
			t.Fatalf("%q: what is written is refused: %v", text, err)
		}
		if _, err := again.Apply(t.Context(), []account.Entry{{Number: 2, Kind: account.AddBudget, Queue: "none"}}); err != nil {
			t.Fatal(err)
		}
		if then, err := os.ReadFile(path); err != nil || string(then) != strings.Replace(string(is), "applied 1", "applied 2", 1) {
			t.Errorf("%q, and then %q, %v", is, then, err)
		}
	}
	refused(t, "a 1 1\n\na 2 2", "line 3: queue a is there twice")
	refused(t, "# applied x\na 1 1", "line 1")
	if _, err := file.Open(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there is opened")
	}
}

// refused says that a file is refused for a reason, and stays as it is.
func refused(t *testing.T, text, want string) {
	t.Helper()
	path := write(t, text)
	if _, err := file.Open(path); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%q: %v", text, err)
	}
	if is, err := os.ReadFile(path); err != nil || string(is) != text {
		t.Errorf("%q became %q, %v", text, is, err)
	}
}

// The original writes twenty decimals of a binary fraction.
func TestTheOriginalsNumbers(t *testing.T) {
	path := write(t, "a 99.89000000000000056843 0.10999999940395355225\n")
	s, err := file.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	state, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if q := state.Queue("a"); q == nil || q.Budget != 99_890_000 || q.Spending != 110_000 {
		t.Errorf("it is read as %+v", q)
	}
}

// A change that can't be written is not applied, and can be applied once writing works.
func TestAFolderThatTakesNothing(t *testing.T) {
	path := write(t, "a 1 1\n")
	s, err := file.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	aside := filepath.Dir(path) + "-aside"
	if err := os.Rename(filepath.Dir(path), aside); err != nil {
		t.Fatal(err)
	}
	add := []account.Entry{{Number: 1, Kind: account.AddBudget, Queue: "a", Amount: money.Credit}}
	if _, err := s.Apply(t.Context(), add); err == nil {
		t.Fatal("it is applied to nothing")
	}
	if err := os.Rename(aside, filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Apply(t.Context(), add); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "# applied 1\na 2.0 1.0 0\n" {
		t.Errorf("%v %q", err, text)
	}
}

// Whatever is applied, a file that is opened again has it.
func TestWhateverIsApplied(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		path := filepath.Join(t.TempDir(), fmt.Sprint(rapid.Uint64().Draw(r, "name")))
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		var want account.State
		for n := range uint64(rapid.IntRange(1, 10).Draw(r, "entries")) {
			e := account.Entry{
				Number: n + 1, Kind: rapid.SampledFrom([]account.Kind{account.Charge, account.AddBudget, account.SetSpending, account.AddQueue, account.AddQueue, account.RemoveQueue}).Draw(r, "kind"),
				Queue:  rapid.SampledFrom([]string{"ann", "bob", "ünï"}).Draw(r, "queue"),
				Amount: money.Amount(rapid.Int64Range(0, 1e12).Draw(r, "amount")), Interval: rapid.Int64Range(1, 9).Draw(r, "interval"),
			}
			want.Apply(e)
			s, err := file.Open(path)
			if err != nil {
				r.Fatal(err)
			}
			if _, err := s.Apply(t.Context(), []account.Entry{e}); err != nil {
				r.Fatal(err)
			}
			got, err := s.Load(t.Context())
			if err != nil || fmt.Sprintf("%s", got.Marshal(1<<20)) != fmt.Sprintf("%s", want.Marshal(1<<20)) {
				r.Fatalf("%v: %s, want %s", err, got.Marshal(1<<20), want.Marshal(1<<20))
			}
		}
	})
}

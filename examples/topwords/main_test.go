package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

func TestTheMostFrequentWordsOfAllFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a": "oak elm oak\nash fir", "b": "elm oak\nfir yew\n", "empty": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for n, want := range map[string]string{"3": "oak\t3\nelm\t2\nfir\t2\n", "99": "oak\t3\nelm\t2\nfir\t2\nash\t1\nyew\t1\n"} {
		out := filepath.Join(t.TempDir(), "out")
		if _, err := jobtest.Run(t.Context(), topwords, []string{n, dir + "/*", out}, jobtest.Options{}); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(out, "top"))
		if err != nil || string(got) != want {
			t.Errorf("the first %s are %q, %v, want %q", n, got, err, want)
		}
	}
}

func TestANumberThatIsNone(t *testing.T) {
	_, err := jobtest.Run(t.Context(), topwords, []string{"few", "in", "out"}, jobtest.Options{})
	if err == nil || !strings.Contains(err.Error(), `"few"`) {
		t.Errorf("%v", err)
	}
}

package vectors

import (
	"strings"
	"testing"
	"testing/fstest"
)

// TestRead: cases are taken in order, and nothing is left out by accident.
func TestRead(t *testing.T) {
	const two = `{"format": "x", "vectors": [{"id": "a", "kind": "k"}, {"id": "b", "more": [1]}]}`
	for _, test := range []struct {
		name, excluded, vectors string
		want                    string // ids of the cases, or what the error says
	}{
		{"all", `{}`, two, "a b"},
		{"one is excluded", `{"a": "no heartbeats here"}`, two, "b"},
		{"a case that is gone", `{"a": "x", "z": "x"}`, two, "lists cases that no file has: [z]"},
		{"no reason", `{"a": " "}`, two, "a is excluded without a reason"},
		{"an id twice", `{}`, `{"vectors": [{"id": "a"}, {"id": "a"}]}`, `case 1: id "a" is empty or there already`},
		{"no id", `{}`, `{"vectors": [{"kind": "k"}]}`, `case 0: id "" is empty or there already`},
		{"no JSON", `{}`, `{`, "vectors/1.json: unexpected end"},
		{"a case that is no object", `{}`, `{"vectors": ["a"]}`, "vectors/1.json, case 0: "},
		{"no files", `{}`, "", "no file matches"},
		{"no list of what is excluded", "", two, "excluded.json"},
	} {
		testdata := fstest.MapFS{}
		for file, text := range map[string]string{"excluded.json": test.excluded, "vectors/1.json": test.vectors} {
			if text != "" {
				testdata[file] = &fstest.MapFile{Data: []byte(text)}
			}
		}
		cases, err := read(testdata)
		var got []string
		for _, c := range cases {
			got = append(got, c.id)
		}
		if err != nil {
			got = []string{err.Error()}
		}
		if all := strings.Join(got, " "); all != test.want && (err == nil || !strings.Contains(all, test.want)) {
			t.Errorf("%s: %s, want %s", test.name, all, test.want)
		}
	}
}

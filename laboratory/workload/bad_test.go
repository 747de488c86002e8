package workload

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
)

const (
	ownHead = `{"form":"hamadryad-workload","version":1,"jobs":1,"tasks":1}` + "\n"
	fbHead  = `{"workload":"fb2009-1","jobs":1,"maps":1,"reduces":0,"task_spread":{"map":0.2,"reduce":0.2}}` + "\n"
)

// An invalid workload is reported with file and line, and no part of it is accepted.
func TestBadInputNamesFileAndLine(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"empty", "", "f:1: the text is empty"},
		{"blank", "\n\n", "f:1: the text is empty"},
		{"no form", "hello\n", "f:1: the text is of no form that is known"},
		{"unknown object", `{"description":"x"}`, "f:1: the first object is of no form that is known"},

		{"header alone", ownHead, "f:1: the header tells of 1 jobs with 1 tasks, and there are 0 with 0"},
		{"line without end", ownHead + ownLine("a", "1"), "f:2: the last line has no end"},
		{"job less", strings.Replace(ownHead, `"jobs":1`, `"jobs":2`, 1) + ownLine("a", "1") + "\n", "f:2: the header tells of 2 jobs"},
		{"empty line", ownHead + "\n" + ownLine("a", "1") + "\n", "f:2: the line is empty"},
		{"negative time", ownHead + ownLine("a", "-1") + "\n", "f:2: job \"a\", stage \"map\", task 0: it takes -1ns"},
		{"NaN", ownHead + ownLine("a", "NaN") + "\n", "f:2: stages: work_ns: invalid character 'N'"},
		{"fraction", ownHead + ownLine("a", "1.5") + "\n", "f:2: stages: work_ns: 1.5 is no whole number"},
		{"too large a number", ownHead + ownLine("a", "1e99999") + "\n", "1e99999 is no whole number"},
		{"beyond int64", ownHead + ownLine("a", "9223372036854775808") + "\n", "9223372036854775808 is beyond all bounds"},
		{"null", ownHead + ownLine("a", "null") + "\n", "null is no number"},
		{"beyond bounds", ownHead + ownLine("a", "31536000000000001") + "\n", "at most 8760h0m0s is allowed"},
		{"unknown field", ownHead + `{"id":"a","sumbit_ns":1}` + "\n", "f:2: sumbit_ns: there is no such field"},
		{"field of another case", ownHead + `{"ID":"a"}` + "\n", "f:2: ID: there is no such field"},
		{"field twice", ownHead + `{"id":"a","id":"b"}` + "\n", `f:2: the field "id" stands there twice`},
		{"two objects", ownHead + ownLine("a", "1") + ownLine("b", "1") + "\n", "f:2: there is { after the end of the object"},
		{"id twice", strings.Replace(ownHead, `"jobs":1`, `"jobs":2`, 1) + ownLine("a", "1") + "\n" + ownLine("a", "1") + "\n", `f:3: job "a" stands there twice`},
		{"older version", strings.Replace(ownHead, `"version":1`, `"version":0`, 1), "f:1: the form has the version 0, and this program reads 1: use the program that wrote it"},
		{"newer version", strings.Replace(ownHead, `"version":1`, `"version":2,"later":[{}]`, 1), "f:1: the form has the version 2"},
		{"columns of two lengths", ownHead + strings.Replace(ownLine("a", "1"), `"work_ns"`, `"input":[1,2],"work_ns"`, 1) + "\n", "f:2: stages: input has 2 values, and work_ns 1"},
		{"no submission", ownHead + `{"id":"a","stages":[]}` + "\n", "f:2: submit_ns is missing"},
		{"imputed too many", strings.Replace(ownHead, `"tasks":1`, `"tasks":1,"imputed":2`, 1) + ownLine("a", "1") + "\n", "f:1: the work of 2 tasks is said to be imputed, of 1"},
		{"deep", ownHead + `{"id":` + strings.Repeat("[", 100) + "\n", "f:2: "},

		{"facebook: no number", strings.Replace(fbHead, "fb2009-1", "x", 1), "f:1: the workload is \"x\""},
		{"facebook: spread", strings.Replace(fbHead, "0.2", "7", 1), "f:1: the header does not say how times spread"},
		{"facebook: fewer jobs", fbHead, "f:1: the header tells of 1 jobs"},
		{"facebook: sum", fbHead + fbLine(1, 7) + "\n", "f:2: map_ms_sum is 7, and the tasks take "},
		{"facebook: tasks", fbHead + fbLine(9_000_000_000_000_000_000, 7) + "\n", "f:2: 9000000000000000000 maps"},
		{"facebook: tasks, more than fit", fbHead + fbLine(TasksMax+1, 7) + "\n", "too many"},

		{"swim: columns", "a\t1\t1\t1\t1\t1\nb\t1\t1\t1\t1\n", "f:2: there are 5 columns"},
		{"swim: too many", "a\t1\t1\t1\t1\t1\ti\to\tx\n", `f:1: column 9, "x", is unknown`},
		{"swim: negative", "a\t1\t1\t1\t-1\t1\n", "f:1: column 5: -1 is negative"},
		{"swim: no number", "a\tNaN\t1\t1\t1\t1\n", `f:1: column 2: "NaN" is no whole number`},
		{"swim: beyond", "a\t1\t1\t99999999999999999999\t1\t1\n", "f:1: column 4: 99999999999999999999 is beyond all bounds"},
		{"swim: many tasks", "a\t1\t1\t9223372036854775807\t1\t1\n", "f:1: 68719476736 maps and 1 reduces are too many"},
		{"swim: sum", "a\t1\t1\t1\t9223372036854775807\t1\n", "f:1: scaled by 1/1, the bytes are beyond all bounds"},
		{"swim: cut", "a\t1\t1\t1\t1\t1\nb\t2\t1\t1\t1\t12", "f:2: the last line has no end"},

		{"rumen: cut", strings.TrimSuffix(rumenAt("a", 5), "}\n"), "f:1: the text ends too early"},
		{"rumen: cut in a list", `{"jobID":"a","mapTasks":[{`, "the text ends too early"},
		{"rumen: second job", rumenAt("a", 5) + strings.Replace(rumenAt("b", 6), `"finishTime":2`, `"finishTime":0`, 1), "f:2: mapTasks: attempts: an attempt that succeeded ran from 1 to 0"},
		{"rumen: unknown field", strings.Replace(rumenAt("a", 5), "jobID", "jobID\":\"x\",\"jobId", 1), "f:1: jobId: there is no such field"},
		{"rumen: no tasks", `{"jobID":"a","submitTime":1}`, `f:1: job "a" has no stage`},
		{"rumen: submission", `{"jobID":"a","submitTime":-1}`, `f:1: job "a": submitTime is missing or negative`},
		{"rumen: far away", `{"jobID":"a","submitTime":9223372036854775807}`, "f:1: job \"a\": submitTime: 9223372036854775807 ms"},
		{"rumen: totals", `{"jobID":"a","submitTime":1,"totalMaps":9223372036854775807,"mapTasks":[{"attempts":[{"result":"SUCCESS","startTime":1,"finishTime":2}]}]}`, "are too many"},
		{"rumen: never ran", `{"jobID":"a","submitTime":1,"mapTasks":[{"attempts":[]}]}`, "no attempt tells how long a task runs"},
		{"rumen: a long value", `{"jobID":"a","jobName":"` + strings.Repeat("x", 3*ValueBytesMax), "a value has more than"},
		{"rumen: white space", `{"jobID":"a",` + strings.Repeat(" ", 3*ValueBytesMax), "a value has more than"},
		{"rumen: something between", rumenAt("a", 5) + "7\n", "f:2: 7 is no object"},

		{"sls: no time", `{"job.id":"a","job.start.ms":0,"job.tasks":[{"container.start.ms":5}]}`, "f:1: job.tasks: a container runs from 5 to -1"},
		{"sls: negative", `{"job.id":"a","job.start.ms":-5,"job.tasks":[]}`, "f:1: job.start.ms: -5 ms: times are not negative"},
		{"sls: many", `{"job.id":"a","job.start.ms":0,"job.tasks":[{"duration.ms":1,"count":1000},` + "\n" + `{"duration.ms":1,"count":19999999}]}`, "f:2: job.tasks: 20000999 more tasks are too many"},
		{"sls: many jobs", `{"job.id":"a","job.count":9999999,"job.start.ms":0,"job.tasks":[{"duration.ms":1,"count":19000}]}`, "are too many"},
	} {
		w, err := Read(strings.NewReader(test.text), Options{File: "f"})
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "f:") || w != nil {
			t.Errorf("%s: got %.300v\nwant %s", test.name, err, test.want)
		}
	}
}

func ownLine(id, work string) string {
	return `{"id":"` + id + `","submit_ns":0,"stages":[{"name":"map","kind":"map","work_ns":[` + work + `]}]}`
}

func fbLine(maps uint64, sum int) string {
	text := `{"id":0,"submit_ms":1,"maps":MAPS,"reduces":0,"map_ms_mean":5,"map_ms_sum":SUM,"red_ms_sum":0}`
	return strings.NewReplacer("MAPS", strconv.FormatUint(maps, 10), "SUM", strconv.Itoa(sum)).Replace(text)
}

// A line without end is refused before it is held.
func TestLineOf100MBIsRefused(t *testing.T) {
	long := io.MultiReader(strings.NewReader(ownHead+`{"id":"`), io.LimitReader(repeated('x'), 100<<20), strings.NewReader("\"}\n"))
	if _, err := Read(long, Options{File: "f"}); err == nil || !strings.Contains(err.Error(), "f:2: the line has more than") {
		t.Errorf("got %v", err)
	}
}

type repeated byte

func (r repeated) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r)
	}
	return len(p), nil
}

// Compressed text that was cut anywhere is refused.
func TestCutFiles(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	w := small()
	if err := w.Write(z); err != nil {
		t.Fatal(err)
	}
	z.Close()
	zst, err := os.ReadFile("testdata/2jobs2min-rumen-jh.json.zst")
	if err != nil {
		t.Fatal(err)
	}
	for _, whole := range [][]byte{packed.Bytes(), zst} {
		if _, err := Read(bytes.NewReader(whole), Options{}); err != nil {
			t.Fatal(err)
		}
		for n := 1; n < len(whole); n += 1 + len(whole)/30 {
			if w, err := Read(bytes.NewReader(whole[:n]), Options{File: "f"}); err == nil || w != nil {
				t.Errorf("%d of %d bytes are accepted", n, len(whole))
			} else if !strings.HasPrefix(err.Error(), "f:") {
				t.Errorf("%d of %d bytes: %v", n, len(whole), err)
			}
		}
		changed := bytes.Clone(whole)
		changed[len(changed)/2] ^= 0x40
		if _, err := Read(bytes.NewReader(changed), Options{}); err == nil {
			t.Error("a changed byte is accepted")
		}
	}
}

// Parameters of SWIM's rule that make no sense are refused.
func TestSWIMParameters(t *testing.T) {
	for _, spoil := range []func(*SWIM){
		func(s *SWIM) { s.Of = 0 },
		func(s *SWIM) { s.Block = 0 },
		func(s *SWIM) { s.ReducesMax = -1 },
		func(s *SWIM) { s.Spread = 2 },
		func(s *SWIM) { s.MapFixed = -1 },
	} {
		s := DefaultSWIM()
		spoil(&s)
		if _, err := Read(strings.NewReader("a\t1\t1\t1\t1\t1\n"), Options{SWIM: &s}); err == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
}

// seeds are texts of each form.
var seeds = []string{
	ownHead + ownLine("a", "1") + "\n", fbHead + fbLine(1, 5) + "\n", "a\t1\t1\t1\t1\t1\nb\t2\t1\t9\t9\t9\tin\tout\n", rumenAt("a", 5) + rumenAt("b", 6),
	`{"job.id":"a","job.start.ms":0,"job.tasks":[{"duration.ms":1,"container.host":"/r/h"},{"container.type":"reduce","container.start.ms":1,"container.end.ms":5,"count":2}]}`,
}

// Whatever the input, Read returns a workload that passes Check, or an error with its place. A
// workload that is written is read back equal.
func FuzzRead(f *testing.F) {
	for _, text := range seeds {
		f.Add([]byte(text), false)
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, _ = z.Write([]byte(text))
		z.Close()
		f.Add(packed.Bytes(), true)
	}
	f.Fuzz(readsOrRefuses)
}

// mutations is how many texts TestMutations reads.
const mutations = 10_000

// What FuzzRead demands holds of texts that were changed at random, each a little.
func TestMutations(t *testing.T) {
	r := NewRand(1)
	parts := []string{"-1", "9223372036854775808", "1e9", "null", "{", "}", "[", "]", ",", "\"", "\n", "\t", "\x00", "\xff", "0", "99999999"}
	for range mutations {
		text := []byte(seeds[r.Below(len(seeds))])
		for range 1 + r.Below(3) {
			at := r.Below(len(text) + 1)
			end := min(at+r.Below(4), len(text))
			part := parts[r.Below(len(parts))]
			text = append(append(bytes.Clone(text[:at]), part...), text[end:]...)
		}
		readsOrRefuses(t, text, r.Below(2) == 0)
		if t.Failed() {
			t.Fatalf("of %q", text)
		}
	}
}

func readsOrRefuses(t *testing.T, text []byte, sort bool) {
	if len(text) > 1<<20 {
		return
	}
	w, err := Read(bytes.NewReader(text), Options{File: "f", Sort: sort})
	if err != nil {
		if w != nil || !strings.HasPrefix(err.Error(), "f:") {
			t.Errorf("a workload %v, error %v", w, err)
		}
		return
	}
	if err := w.Check(); err != nil {
		t.Errorf("what was read is none: %v", err)
		return
	}
	var first, second bytes.Buffer
	if err := w.Write(&first); err != nil {
		t.Error(err)
		return
	}
	back, err := Read(bytes.NewReader(first.Bytes()), Options{})
	if err != nil {
		t.Errorf("what was written is not read: %v", err)
		return
	}
	if err := back.Write(&second); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Errorf("it is not the same when it was written and read: %v", err)
	}
}

// An invalid topology is reported with file and line.
func TestBadTopologies(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"empty", "", "f:1: there is no host"},
		{"no rack", `{"name":"a","children":null}`, "f:1: there is a host that stands in no rack"},
		{"cut", "{\"rack\":\"r\",\n\"nodes\":[{\"node\":\"a\"},", "f:2: nodes: "},
		{"twice", "{\"rack\":\"r\",\"nodes\":[{\"node\":\"a\"}]}\n{\"rack\":\"s\",\"nodes\":[{\"node\":\"a\"}]}", `f:2: nodes: the host "a" stands there twice`},
		{"no host's name", `{"rack":"r","nodes":[{"node":""}]}`, "f:1: nodes: a host has no name"},
		{"an empty host alone", `{"rack":"r","nodes":[{}]}`, "f:1: there is no host"},
		{"no rack's name", `{"nodes":[{"node":"a"}]}`, "f:1: a rack has no name"},
		{"unknown field", `{"rack":"r","slots":3}`, "f:1: slots: there is no such field"},
		{"a workload", ownHead, "f:1: form: there is no such field"},
		{"no text", `{"rack":7}`, "f:1: rack: 7 is no text"},
		{"deep", strings.Repeat(`{"children":[`, 100), "stand in each other"},
	} {
		if hosts, err := ReadTopology(strings.NewReader(test.text), "f"); err == nil || !strings.Contains(err.Error(), test.want) || hosts != nil {
			t.Errorf("%s: %v, %v; want %q", test.name, hosts, err, test.want)
		}
	}
}

package format_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Types and formats at random: for each seed a struct type and rows of it, written in
// every format and codec and read again in random splits. Types are those of Go source,
// so that they take the ways that programs' own take; testdata/random has the rest.
//
//	go test ./mapreduce/format -run TestFormatsAtRandom -seed=123
//	go test ./mapreduce/format -run TestFormatsAtRandom -from=1000 -seeds=300

var (
	seedFlag  = flag.Uint64("seed", 0, "run this one seed")
	fromFlag  = flag.Uint64("from", 1, "first seed")
	seedsFlag = flag.Int("seeds", 10, "how many seeds")
)

// randomTimeout bounds the building and the run of a hundred seeds.
const randomTimeout = 10 * time.Minute

func TestFormatsAtRandom(t *testing.T) {
	from, left := *fromFlag, *seedsFlag
	if *seedFlag > 0 {
		from, left = *seedFlag, 1
	}
	for left > 0 {
		n := min(left, 100) // types of one program, which takes a while to build
		atRandom(t, from, n)
		from, left = from+uint64(n), left-n
	}
}

// atRandom builds and runs the program with the types of some seeds.
func atRandom(t *testing.T, from uint64, n int) {
	t.Helper()
	folder := t.TempDir()
	harness, err := os.ReadFile("testdata/random/main.go")
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	source.WriteString("package main\n\nimport \"time\"\n\nvar _ time.Time\n\nfunc init() {\n")
	args := []string{folder}
	var types strings.Builder
	for seed := from; seed < from+uint64(n); seed++ {
		w := typeWriter{r: rand.New(rand.NewPCG(seed, 0))}
		w.avro = w.r.IntN(3) > 0
		fmt.Fprintf(&types, "type row%d %s\n\n", seed, w.structure(0))
		fmt.Fprintf(&source, "\tof[row%d](%d, %v)\n", seed, seed, w.avro)
		args = append(args, fmt.Sprint(seed))
	}
	source.WriteString("}\n\n" + types.String())
	for name, text := range map[string]string{"main.go": string(harness), "types.go": source.String()} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), randomTimeout)
	defer cancel()
	program := filepath.Join(folder, "random")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, filepath.Join(folder, "main.go"), filepath.Join(folder, "types.go")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, types.String())
	}
	out, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s\nto see one seed's type and errors again: go test ./mapreduce/format -run TestFormatsAtRandom -seed=…", err, out)
		if n == 1 {
			t.Log(types.String())
		}
		return
	}
	t.Logf("seeds from %d: %s", from, out)
}

// typeWriter writes random types.
type typeWriter struct {
	r    *rand.Rand
	avro bool // only types that Avro has, too
}

func (w typeWriter) one(of ...string) string { return of[w.r.IntN(len(of))] }

// structure is a struct of a few fields.
func (w typeWriter) structure(depth int) string {
	var b strings.Builder
	b.WriteString("struct {\n")
	for i := range 1 + w.r.IntN(7-2*depth) {
		kind, options := w.field(depth)
		if codec := w.one("", "", "", "", "snappy", "gzip", "brotli", "zstd", "lz4", "uncompressed"); codec != "" && !strings.Contains(options, "list") && !strings.ContainsAny(kind, "{ ") && !strings.HasPrefix(kind, "map") && (!strings.HasPrefix(kind, "[]") || kind == "[]byte") {
			options += "," + codec
		}
		fmt.Fprintf(&b, "F%d %s `parquet:\"f%d%s\" avro:\"f%d\"`\n", i, kind, i, options, i)
	}
	return b.String() + "}"
}

// field is a type and its options in Parquet.
func (w typeWriter) field(depth int) (kind, options string) {
	switch n := w.r.IntN(12); {
	case n < 6:
		kind, options = w.leaf()
		if w.r.IntN(6) == 0 && (kind != "time.Time" || depth == 0) {
			options += ",optional" // the zero value is null then, and the other way round
		}
		return kind, options
	case n == 6:
		kind, _ = w.leaf()
		if strings.Contains(kind, "[]") {
			kind = "string"
		}
		return "*" + kind, w.one("", "", ",dict", ",plain")
	case n == 7:
		kind, _ = w.leaf()
		if kind == "uint8" { // that makes bytes, which are no list
			kind = "uint16"
		}
		return "[]" + w.one("", "", "*") + kind, ",list"
	case n == 8:
		kind, _ = w.leaf()
		if kind == "time.Time" { // of which a map is refused
			return "[]" + kind, ""
		}
		return w.one("[]", "map[string]", "map[string]*") + kind, ""
	case depth < 2 && n == 9:
		return w.one("", "*") + w.structure(depth+1), ""
	case depth < 2 && n == 10:
		return "[]" + w.structure(depth+1), w.one("", ",list")
	case depth < 2:
		return "map[string]" + w.structure(depth+1), ""
	}
	return "[][]int64", ",list"
}

// leaf is a type without parts, and its options.
func (w typeWriter) leaf() (kind, options string) {
	encoding := w.one("", "", ",dict", ",delta", ",plain")
	kinds := []string{"bool", "int32", "int64", "int", "float32", "float64", "string", "[]byte", "[4]byte", "[16]byte", "time.Time"}
	if !w.avro {
		kinds = append(kinds, "int8", "int16", "uint8", "uint16", "uint32", "uint64", "uint")
	}
	kind = kinds[w.r.IntN(len(kinds))]
	switch kind {
	case "bool":
		return kind, w.one("", ",plain")
	case "float32", "float64":
		return kind, w.one("", ",dict", ",plain", ",split")
	case "int32":
		return kind, w.one("", ",date", ",decimal(2:9)") + strings.Replace(encoding, ",plain", ",split", 1)
	case "int64":
		return kind, w.one("", ",timestamp(microsecond)", ",decimal(3:18)") + strings.Replace(encoding, ",plain", ",split", 1)
	case "string":
		return kind, w.one("", "", ",enum", ",bytes") + encoding
	case "[]byte":
		return kind, w.one("", "", ",string") + encoding
	case "[16]byte":
		return kind, w.one("", ",uuid") + encoding
	case "time.Time":
		return kind, w.one("", ",timestamp(microsecond)", ",timestamp(millisecond)") + w.one("", ",dict", ",delta")
	}
	return kind, encoding
}

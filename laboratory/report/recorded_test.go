package report

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// The jobs' times in a recording are shown beside those of the run, if both are known.
func TestWhatWasRecorded(t *testing.T) {
	r := made("fair", 1, 10, 22, 30, 40)
	r.Jobs[3].State = "failed"
	r.HoldAgainst([]time.Duration{8 * time.Second, 20 * time.Second, 0, 40 * time.Second})
	var line, table, text bytes.Buffer
	if err := r.RecordedText(&line); err != nil || line.String() != "fair, seed 1: of 2 jobs the sojourn is off the recorded one by 17.5 % in the median and 25.0 % at most (j0: 10.000 s, recorded 8.000 s)\n" {
		t.Errorf("%q, %v", line.String(), err)
	}
	if err := r.CSV(&table); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{",recorded_sojourn_s,off_recorded", ",8,0.25", ",20,0.1", ",,", ",40,"} {
		if row := strings.Split(table.String(), "\r\n")[i]; !strings.HasSuffix(row, want) {
			t.Errorf("row %d is %q, want %q at its end", i, row, want)
		}
	}
	if err := Compare([]*Run{r}).Text(&text); err != nil || !strings.Contains(text.String(), "recorded sojourn mean (s)") || !strings.Contains(text.String(), "off the recorded sojourn max (%)") {
		t.Errorf("%v: %s", err, text.String())
	}
	table.Reset()
	if err := made("fair", 1, 10).CSV(&table); err != nil || strings.Contains(table.String(), "recorded") {
		t.Errorf("without a recording: %v, %s", err, table.String())
	}
}

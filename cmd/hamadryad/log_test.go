package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"
)

// A field of a log in JSON has one type, whatever it was given.
func TestFieldsOfLogsHaveOneType(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{ReplaceAttr: asText}))
	at := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	for _, value := range []any{7, "job-7", 2 * time.Second, errors.New("it broke"), []string{"a", "b"}, nil, true, 1.5, at} {
		log.With("of", value).Info("a line", "field", value, slog.Group("group", "field", value))
	}
	want := []string{"7", "job-7", "2s", "it broke", "[a b]", "<nil>", "true", "1.5", "2026-03-01T10:00:00Z"}
	lines := json.NewDecoder(&out)
	for _, text := range want {
		var line struct {
			Time      time.Time
			Level     string
			Msg       string
			Of, Field string
			Group     struct{ Field string }
		}
		if err := lines.Decode(&line); err != nil {
			t.Fatalf("a field is no text: %v", err)
		}
		if line.Field != text || line.Of != text || line.Group.Field != text || line.Level != "INFO" || line.Msg != "a line" || line.Time.IsZero() {
			t.Errorf("the line is %+v, and is to have %q", line, text)
		}
	}
}

package money_test

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/money"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]money.Amount{
		"0": 0, "100": 100 * money.Credit, "0.11": 110_000, "12.139998": 12_139_998, ".5": 500_000, "5.": 5 * money.Credit,
		"-5": -5 * money.Credit, "+1": money.Credit, "1e-05": 10, "1E2": 100 * money.Credit, "-0": 0,
		"0.11000000000000000000": 110_000, "1000000000000": money.Max, "-1000000000000": -money.Max,
	} {
		if got, err := money.Parse(text); err != nil || got != want {
			t.Errorf("%s: %d, %v, want %d", text, got, err, want)
		}
	}
	for text, why := range map[string]string{
		"": "is no number", "NaN": "is no number", "nan": "is no number", "Infinity": "is no number", "-inf": "is no number", "+Inf": "is no number",
		"1/2": "is no number", "0x10": "is no number", "1_000": "is no number", "1,5": "is no number", " 1": "is no number", "1\n": "is no number",
		".": "is no number", "e5": "is no number", "1e999": "is no number", "--1": "is no number", "１": "is no number",
		"1000000000000.000001": "more than there can be", "-1e13": "more than there can be", "1e99": "more than there can be",
		"0.0000001": "more than 6 decimals", "1e-7": "more than 6 decimals", "1e-99": "more than 6 decimals",
		strings.Repeat("9", 100): "a number of 100 characters",
	} {
		if got, err := money.Parse(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %d, error %v, want %s", text, got, err, why)
		}
	}
}

// Rounded, if requested; the bounds are the same.
func TestParseRounded(t *testing.T) {
	for text, want := range map[string]money.Amount{
		"99.89000000000000056843": 99_890_000, "0.10999999940395355225": 110_000, "0.0000005": 1, "-0.0000005": -1, "0.00000049": 0, "1e-99": 0,
		"1000000000000": money.Max, "7": 7 * money.Credit,
	} {
		if got, err := money.ParseRounded(text); err != nil || got != want {
			t.Errorf("%s: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "NaN", "1000000000000.0000001", "-1e13", strings.Repeat("9", 100)} {
		if got, err := money.ParseRounded(text); err == nil {
			t.Errorf("%q is read as %d", text, got)
		}
	}
}

// TestWhatIsWrittenIsRead: every amount comes back as it was, at the bounds too.
func TestWhatIsWrittenIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := money.Amount(rapid.Int64Range(int64(-money.Max), int64(money.Max)).Draw(t, "amount"))
		if got, err := money.Parse(a.String()); err != nil || got != a {
			t.Fatalf("%d is written %s and read %d, %v", a, a, got, err)
		}
	})
	for a, want := range map[money.Amount]string{
		0: "0.0", 99972 * money.Credit: "99972.0", 110_000: "0.11", -1: "-0.000001", money.Max: "1000000000000.0",
		math.MinInt64: "-9223372036854.775808",
	} {
		if a.String() != want {
			t.Errorf("%d is written %s, want %s", int64(a), a, want)
		}
	}
}

func TestAddKeepsToTheBounds(t *testing.T) {
	if sum, ok := money.Max.Add(1); ok || sum != money.Max {
		t.Errorf("%s, %t", sum, ok)
	}
	if sum, ok := (-money.Max).Add(-money.Max); ok || sum != -money.Max {
		t.Errorf("%s, %t", sum, ok)
	}
	if sum, ok := money.Max.Add(-money.Max); !ok || sum != 0 {
		t.Errorf("%s, %t", sum, ok)
	}
}

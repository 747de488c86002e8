// Package money is the currency of the policy dynamic-priority: whole micro-credits, so that sums
// are exact however many intervals go by.
//
//	a, err := money.Parse("12.139998") // 12,139,998 micro-credits
//
// An amount with more than six decimals is refused; only ParseRounded rounds.
package money

import (
	"fmt"
	"math/big"
	"regexp"
	"strconv"
)

// Amount is a number of micro-credits, which may be negative. Amounts from Parse, Add or Clip are
// between -Max and Max, so that the sum of two never overflows.
type Amount int64

// Credit is the unit in which people write amounts.
const Credit Amount = 1_000_000

// Max is a trillion credits, the largest absolute value of an amount.
const Max = 1_000_000_000_000 * Credit

// decimals are the digits behind the point.
const decimals = 6

// textMax bounds the text of a number, in bytes.
const textMax = 64

// number matches a decimal as people and common libraries write it, with an exponent small enough
// to need little memory.
var number = regexp.MustCompile(`^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,2})?$`)

// Parse parses credits written as a decimal number, such as 100, 0.11 or 1e-05. The error says what
// is wrong with the text, and the correct form.
func Parse(text string) (Amount, error) {
	r, err := parse(text)
	if err != nil {
		return 0, err
	}
	if !r.IsInt() {
		return 0, fmt.Errorf("%s has more than 6 decimals: the smallest amount is 0.000001", text)
	}
	return Amount(r.Num().Int64()), nil
}

// ParseRounded is Parse for the output of programs that use binary fractions. More than six
// decimals are rounded to the nearest amount, halves away from zero.
func ParseRounded(text string) (Amount, error) {
	r, err := parse(text)
	if err != nil {
		return 0, err
	}
	n, ok := new(big.Int).SetString(r.FloatString(0), 10)
	if !ok {
		return 0, fmt.Errorf("%q is no number of credits: write it like 100 or 0.25", text)
	}
	return Amount(n.Int64()), nil
}

// parse reads credits as micro-credits, which may be fractions.
func parse(text string) (*big.Rat, error) {
	if len(text) > textMax {
		return nil, fmt.Errorf("a number of %d characters: write at most %d", len(text), textMax)
	}
	if !number.MatchString(text) {
		return nil, fmt.Errorf("%q is no number of credits: write it like 100 or 0.25", text)
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, fmt.Errorf("%q is no number of credits: write it like 100 or 0.25", text)
	}
	r.Mul(r, new(big.Rat).SetInt64(int64(Credit)))
	if most := new(big.Rat).SetInt64(int64(Max)); r.Cmp(most) > 0 || r.Cmp(most.Neg(most)) < 0 {
		return nil, fmt.Errorf("%s is more than there can be: at most %s credits either way", text, Max)
	}
	return r, nil
}

// String returns the credits as a decimal, with one decimal at least, such as 99972.0.
func (a Amount) String() string {
	sign, n := "", uint64(a) //nolint:gosec // a negative one is turned around below
	if a < 0 {
		sign, n = "-", -n
	}
	var room [24]byte
	text := strconv.AppendUint(append(room[:0], sign...), n/uint64(Credit), 10)
	text = append(text, '.')
	text = strconv.AppendUint(text, n%uint64(Credit)+uint64(Credit), 10) // the added 1 keeps leading zeros
	point := len(text) - decimals - 1
	copy(text[point:], text[point+1:])
	text = text[:len(text)-1]
	for len(text) > point+1 && text[len(text)-1] == '0' {
		text = text[:len(text)-1]
	}
	return string(text)
}

// Clip returns the amount between -Max and Max that is nearest to a.
func (a Amount) Clip() Amount { return max(-Max, min(a, Max)) }

// Add returns the sum, and false if it exceeds the bounds. Both amounts must be between -Max and
// Max.
func (a Amount) Add(b Amount) (Amount, bool) {
	sum := a + b
	return sum.Clip(), sum == sum.Clip()
}

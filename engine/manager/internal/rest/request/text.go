package request

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Query reads a request's query. It refuses unreadable queries, and values that are not valid text:
// decoding would drop or change a filter.
func Query(r *http.Request) (url.Values, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	var escape url.EscapeError
	switch {
	case errors.As(err, &escape):
		return nil, badly("the address has %.16q behind its question mark, and no character is written so: write %%25 where a %% is meant", string(escape))
	case err != nil:
		return nil, badly("the address has a semicolon behind its question mark: join parameters by &, and write %%3B where a semicolon is meant")
	}
	for name, values := range q {
		if text := strings.Join(values, ""); !utf8.ValidString(name) || !utf8.ValidString(text) {
			return nil, badly("%.64q: this parameter is no text in UTF-8", name)
		}
	}
	return q, nil
}

// isText returns why a body is not one value of JSON with valid text: the decoder would replace
// invalid text, and take the last of two fields of one name.
func isText(body []byte) error {
	if !utf8.Valid(body) {
		return badly("%sit is no text in UTF-8: see byte %d", ofBody, firstWrong(body)+1)
	}
	var whole json.RawMessage
	var syntax *json.SyntaxError
	if err := json.Unmarshal(body, &whole); errors.As(err, &syntax) {
		at := min(int(syntax.Offset), len(body))
		if strings.Contains(err.Error(), "unexpected end") {
			return badly("%sit is no JSON: it breaks off behind %.32q", ofBody, end(body))
		}
		return badly("%sit is no JSON: what stands at byte %d, behind %.32q, does not belong there", ofBody, at, end(body[:max(at-1, 0)]))
	}
	if half := halfCharacter(body); half != "" {
		return badly("%s%s is half of a character: write both halves, or the character itself", ofBody, half)
	}
	if name := twice(body); name != "" {
		return badly("%s%.64s: this field stands there twice: give it once", ofBody, name)
	}
	return nil
}

// firstWrong is where valid UTF-8 ends in a text.
func firstWrong(text []byte) int {
	at := 0
	for at < len(text) {
		r, n := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	return at
}

// endShown is how many bytes before a mistake are shown.
const endShown = 16

// end is the end of a text.
func end(text []byte) string {
	return strings.ToValidUTF8(string(text[max(0, len(text)-endShown):]), "")
}

// halfCharacter finds the escape of an unpaired surrogate in JSON, where escapes occur in texts
// alone; "": none.
func halfCharacter(body []byte) string {
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' {
			continue
		}
		i++
		r := escaped(body, i)
		if !utf16.IsSurrogate(r) {
			continue
		}
		if i+5 < len(body) && body[i+5] == '\\' && utf16.DecodeRune(r, escaped(body, i+6)) != utf8.RuneError {
			i += 10
			continue
		}
		return string(body[i-1 : i+5])
	}
	return ""
}

// escaped is the code of an escape uXXXX at a place behind a backslash; -1: another escape.
func escaped(body []byte, at int) rune {
	if at+5 > len(body) || body[at] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(body[at+1:at+5]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// twice is a field that an object repeats; "": none.
func twice(body []byte) string {
	d := json.NewDecoder(bytes.NewReader(body))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return ""
	}
	seen := map[string]bool{}
	for d.More() {
		key, err := d.Token()
		name, isName := key.(string)
		var value json.RawMessage
		if err != nil || !isName || d.Decode(&value) != nil {
			return "" // it was checked to be JSON
		}
		if seen[name] {
			return name
		}
		seen[name] = true
	}
	return ""
}

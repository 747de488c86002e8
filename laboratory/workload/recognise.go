package workload

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// marks are fields of a text's first object that identify its format.
var marks = map[string]Format{
	"form":          Own,
	"duration_rule": Facebook, "task_spread": Facebook,
	"jobID": Rumen, "mapTasks": Rumen, "submitTime": Rumen,
	"am.type": Sls, "job.tasks": Sls, "job.start.ms": Sls, "job.id": Sls,
}

// recognise returns the format of a text by its beginning.
func recognise(text *bufio.Reader) (Format, error) {
	head, err := text.Peek(headBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", cut(err)
	}
	body := bytes.TrimLeft(head, " \t\r\n")
	if len(body) == 0 {
		return "", errors.New("the text is empty")
	}
	if body[0] == '{' {
		if f := markOf(head); f != "" {
			return f, nil
		}
		return "", fmt.Errorf("the first object is of no form that is known; --format says which it is: %v", Formats())
	}
	line, _, _ := strings.Cut(string(head), "\n")
	if body[0] == ';' || !strings.Contains(line, "\t") && len(strings.Fields(line)) == swfAll {
		return Swf, nil
	}
	if strings.Count(line, "\t") >= swimColumnsMin-1 {
		return Swim, nil
	}
	return "", fmt.Errorf("the text is of no form that is known: it is no object of JSON and no line of %d columns; a table needs --csv-mapping; --format says which it is: %v", swimColumnsMin, Formats())
}

// markOf looks for a mark in the first object.
func markOf(head []byte) (found Format) {
	t := newTokens(bytes.NewReader(head), 1)
	_ = t.object(func(key string) error {
		if f, ok := marks[key]; ok {
			found = f
			return io.EOF
		}
		return t.skip()
	})
	return found
}

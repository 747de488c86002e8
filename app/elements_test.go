package app

import (
	"strings"
	"testing"
)

func TestElementsFlag(t *testing.T) {
	var f elementsFlag
	if err := f.Set("0-9:5%2"); err != nil || f.String() != "0,5%2" {
		t.Errorf("it is %v (%v)", f.String(), err)
	}
	if err := f.Set("3"); err == nil || !strings.Contains(err.Error(), "given twice") {
		t.Errorf("a second list: %v", err)
	}
	var wrong elementsFlag
	if err := wrong.Set("9-1"); err == nil || wrong.Count() != 0 {
		t.Errorf("9-1 is %v (%v)", wrong.String(), err)
	}
}

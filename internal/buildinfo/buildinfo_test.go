package buildinfo

import (
	"runtime"
	"testing"
)

func TestRead(t *testing.T) {
	if i := Read(); i.Version != Unknown || i.GoVersion != runtime.Version() || i.Platform != runtime.GOOS+"/"+runtime.GOARCH {
		t.Errorf("a test, which is built without a version, is %+v", i)
	}
	stamp = "v1.2.0"
	defer func() { stamp = "" }()
	if i := Read(); i.Version != "v1.2.0" {
		t.Errorf("what is stamped v1.2.0 is %+v", i)
	}
}

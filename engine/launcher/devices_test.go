package launcher

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/worker/layout"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func resources(t *testing.T, text string) scheduler.Resources {
	t.Helper()
	r, err := scheduler.ParseResources(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func asking(t *testing.T, text string) *wire.StartAttempt {
	return &wire.StartAttempt{Resources: wire.ResourceCounts(resources(t, text))}
}

// No index is held twice, also while its last holder is about to end. Cores, and what suspension
// frees, have none.
func TestDevicesAreHeldOnce(t *testing.T) {
	d := newDevices(Config{Resources: resources(t, "cores:8,gpu:3,license-x:2,fpga:1"), SuspensionFrees: []string{"license-x"}})
	ctx := context.Background()
	if h, err := d.take(ctx, asking(t, "cores:4,license-x:2")); err != nil || h != nil {
		t.Errorf("it holds %v: %v", h, err)
	}
	one, err := d.take(ctx, asking(t, "gpu:2,fpga:1,cores:1"))
	if got := one.environment(); err != nil || !slices.Equal(got, []string{"HAMADRYAD_RESOURCE_FPGA=0", "HAMADRYAD_RESOURCE_GPU=0,1"}) {
		t.Fatalf("it holds %v: %v", got, err)
	}
	two, err := d.take(ctx, asking(t, "gpu:1"))
	if err != nil || !slices.Equal(two["gpu"], []int{2}) {
		t.Fatalf("it holds %v: %v", two, err)
	}
	got := make(chan held)
	go func() {
		h, _ := d.take(ctx, asking(t, "gpu:2"))
		got <- h
	}()
	d.release(two)
	select {
	case h := <-got:
		t.Fatalf("it holds %v while one is free", h)
	default:
	}
	d.release(one)
	if h := <-got; !slices.Equal(h["gpu"], []int{0, 1}) {
		t.Errorf("it holds %v", h)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := d.take(ended, asking(t, "gpu:3")); err == nil || !strings.Contains(err.Error(), "resource gpu is still used") {
		t.Errorf("it failed with %v", err)
	}
	if in := layout.DevicesIn([]string{"A=1", "HAMADRYAD_RESOURCE_LICENSE_X=1,12", "HAMADRYAD_RESOURCE_GPU=0"}); len(in) != 2 || !slices.Equal(in["license-x"], []int{1, 12}) || !slices.Equal(in["gpu"], []int{0}) {
		t.Errorf("read as %v", in)
	}
}

// Resources that can't be are refused, with the setting's name.
func TestWrongResourcesAreRefused(t *testing.T) {
	for want, c := range map[string]Config{
		"launcher.resources: \"A\" is no kind":   {Resources: scheduler.NewResources(scheduler.ResourceCount{Kind: "A", Count: 1})},
		"launcher.suspensionFrees names \"gpu\"": {SuspensionFrees: []string{"gpu"}},
	} {
		c.Manager, c.Data = "127.0.0.1:1", t.TempDir()
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want something with %q", err, want)
		}
	}
}

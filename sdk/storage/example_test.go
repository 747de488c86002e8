package storage_test

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/hamadryad/hamadryad/sdk/storage"
)

// A file is written and read by its URL. It is seen once it is whole.
func Example() {
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	if err := writeAndRead(context.Background(), storage.Join(folder, "part-0")); err != nil {
		fmt.Println(err)
	}
	// Output: an oak
}

func writeAndRead(ctx context.Context, url string) error {
	store, err := storage.For(url)
	if err != nil {
		return err
	}
	file, err := store.Create(ctx, url)
	if err != nil {
		return err
	}
	defer file.Abort() // does nothing after Commit
	if _, err := io.WriteString(file, "an oak\n"); err != nil {
		return err
	}
	if err := file.Commit(); err != nil {
		return err
	}
	in, err := store.Open(ctx, url, 0, -1)
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(os.Stdout, in)
	return err
}

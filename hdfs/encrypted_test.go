package hdfs

import (
	"bytes"
	"testing"

	"github.com/hamadryad/hamadryad/internal/hdfstest"
)

// Where DataNodes encrypt what they send, it can't be verified on its way: the small
// reads that are made instead find damage too.
func TestEncryptedTransfer(t *testing.T) {
	t.Parallel()
	// Without the cipher suite the library reads nothing at all.
	c := hdfstest.Start(t, hdfstest.Options{DataNodes: 2, BlockSize: 1 << 20, Properties: map[string]string{
		"dfs.encrypt.data.transfer": "true", "dfs.encrypt.data.transfer.cipher.suites": "AES/CTR/NoPadding", "dfs.block.access.token.enable": "true",
	}})
	s := store(t, c, Options{})
	content := noise(2<<20 + 1234)
	write(t, s, "hdfs:///a", content)
	known(t, s, "hdfs:///a", 2)
	if out := c.Hdfs(t, "dfs", "-cat", "/a"); out != string(content) {
		t.Errorf("hdfs dfs -cat has %d other bytes", len(out))
	}
	replicas := c.BlockFiles(t, "/a")
	for i, r := range replicas {
		if i%2 == r.Block%2 {
			if err := r.Flip(int64(100 * r.Block)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 3 {
		holds(t, "a replica of each block is damaged", s, "hdfs:///a", content)
	}
	for i, r := range replicas {
		if r.Block == 1 && i%2 != r.Block%2 {
			if err := r.Flip(100); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, err := read(s, "hdfs:///a", 0, -1)
	says(t, "both damaged", err, errBlock, "hdfs:///a", "block 1", "checksum")
	if !bytes.HasPrefix(content, got) {
		t.Error("wrong bytes came out")
	}
}

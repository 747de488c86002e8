package minihdfs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os/user"
	"path"
	"slices"
	"strings"
	"time"
)

const (
	// webTimeout bounds one call that moves a file.
	webTimeout = time.Minute
	// A DataNode holds a connection to the NameNode's previous process, and finds it broken at the
	// next call: that call is retried, webTries times in all.
	webTries = 10
	webPause = 100 * time.Millisecond
)

// WriteFile writes a file, and makes the folders above it, through WebHDFS: Hadoop's own code
// without the start of a Java program. It replaces an existing file. replicas 0 means the cluster's
// default.
func (c *Cluster) WriteFile(ctx context.Context, name string, data []byte, replicas int) error {
	query := url.Values{"overwrite": {"true"}}
	if replicas > 0 {
		query.Set("replication", fmt.Sprint(replicas))
	}
	_, err := c.moveFile(ctx, http.MethodPut, "CREATE", name, query, data)
	return err
}

// ReadFile reads a whole file through WebHDFS.
func (c *Cluster) ReadFile(ctx context.Context, name string) ([]byte, error) {
	return c.moveFile(ctx, http.MethodGet, "OPEN", name, nil, nil)
}

// Remove removes a file or a folder with its content. A missing one is no error.
func (c *Cluster) Remove(ctx context.Context, name string) error {
	_, err := c.webHDFS(ctx, http.MethodDelete, "DELETE", name, url.Values{"recursive": {"true"}})
	return err
}

// MakeFolder makes a folder and those above it.
func (c *Cluster) MakeFolder(ctx context.Context, name string) error {
	_, err := c.webHDFS(ctx, http.MethodPut, "MKDIRS", name, nil)
	return err
}

// Tree lists all files and folders below a folder, in order.
func (c *Cluster) Tree(ctx context.Context, folder string) ([]string, error) {
	body, err := c.webHDFS(ctx, http.MethodGet, "LISTSTATUS", folder, nil)
	if err != nil {
		return nil, err
	}
	var answer struct {
		FileStatuses struct {
			FileStatus []struct{ PathSuffix, Type string }
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, err
	}
	var all []string
	for _, s := range answer.FileStatuses.FileStatus {
		name := path.Join(folder, s.PathSuffix)
		all = append(all, name)
		if s.Type == "DIRECTORY" {
			below, err := c.Tree(ctx, name)
			if err != nil {
				return nil, err
			}
			all = append(all, below...)
		}
	}
	slices.Sort(all)
	return all, nil
}

// moveFile moves a file, and retries where a DataNode has lost its NameNode.
func (c *Cluster) moveFile(ctx context.Context, method, op, name string, query url.Values, data []byte) ([]byte, error) {
	for try := 1; ; try++ {
		body, err := c.moveOnce(ctx, method, op, name, query, data)
		if err == nil || try == webTries || !strings.Contains(err.Error(), "java.io.EOFException") {
			return body, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(webPause):
		}
	}
}

// moveOnce asks the NameNode for a DataNode, and sends the request to it.
func (c *Cluster) moveOnce(ctx context.Context, method, op, name string, query url.Values, data []byte) ([]byte, error) {
	if query == nil {
		query = url.Values{}
	}
	query.Set("noredirect", "true")
	body, err := c.webHDFS(ctx, method, op, name, query)
	if err != nil {
		return nil, err
	}
	var answer struct{ Location string }
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, err
	}
	where, err := url.Parse(answer.Location)
	if err != nil {
		return nil, err
	}
	where.Host = net.JoinHostPort("127.0.0.1", where.Port()) // no name service knows its host
	return call(ctx, method, where.String(), data)
}

// webHDFS is a call that the NameNode answers itself.
func (c *Cluster) webHDFS(ctx context.Context, method, op, name string, query url.Values) ([]byte, error) {
	me, err := user.Current()
	if err != nil {
		return nil, err
	}
	if query == nil {
		query = url.Values{}
	}
	query.Set("op", op)
	query.Set("user.name", me.Username)
	where := url.URL{Scheme: "http", Host: c.WebHDFS(), Path: "/webhdfs/v1" + name, RawQuery: query.Encode()}
	return call(ctx, method, where.String(), nil)
}

func call(ctx context.Context, method, where string, data []byte) (body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, webTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, where, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	resp, err := webClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if body, err = io.ReadAll(resp.Body); err != nil {
		return nil, err
	}
	switch {
	case resp.StatusCode == http.StatusNotFound:
		return nil, fmt.Errorf("%s: %w", req.URL.Path, fs.ErrNotExist)
	case resp.StatusCode >= http.StatusMultipleChoices:
		return nil, fmt.Errorf("%s %s: %s: %s", method, req.URL.Path, resp.Status, body[:min(len(body), tailBytes)])
	}
	return body, nil
}

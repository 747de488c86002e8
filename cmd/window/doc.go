// Package window has no code. Its tests open the manager's pages in a browser while real clusters
// work, and change things by clicks. They compare the pages with the command line, the audit and
// the event log. "make screenshots" makes them take the pictures in docs/pages.
package window

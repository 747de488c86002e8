// Package window has no code: its tests open the manager's pages in a browser while real clusters
// work, change things by clicks, and hold what the command line, the audit and the event log then
// say against them. "make screenshots" has them make the pictures in docs/pages.
package window
